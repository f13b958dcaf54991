//! Compares a new fact with the known ones, without a model: the same facts get the same answer.
//!
//! What two texts are to each other says `kapsa-statement`; what that means for facts is decided
//! here: when they hold, who states them, and how sure they are. Two facts are compared when the
//! same people may know them: same domain, same level, same names. What only one of two readers may
//! know is kept for each by itself, and no answer gives away what its reader may not know.
//!
//! A verdict that the words do not decide is pending: the new fact is stored beside the known one,
//! both are marked, and somebody decides. In doubt nothing is lost.

use std::collections::BTreeSet;

use kapsa_statement::{
    About, Judgement, Relation, Statement, initials, is_numeronym, relate, slug,
};

use super::types::Fact;

/// Least likeness at which a new fact names the one that comes nearest.
pub const LIKENESS_RELATED: f64 = 0.4;

/// What a new fact is to what is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// Known: one more piece of evidence for it.
    Same,
    /// Another value of the same property, in whose place it comes.
    Supersedes,
    /// What is right, where the known one was wrong.
    Corrects,
    /// The same, more exactly.
    Refines,
    /// The known one has ended, or is not so.
    Retracts,
    /// A further value of a property that can have many.
    Coexists,
    /// Another value of the same property, and nothing decides which one holds.
    Contests,
    /// Somebody has to decide.
    Pending,
    /// Not known.
    New,
}

impl Verdict {
    /// All of them.
    pub const ALL: [Verdict; 9] = [
        Verdict::Same,
        Verdict::Supersedes,
        Verdict::Corrects,
        Verdict::Refines,
        Verdict::Retracts,
        Verdict::Coexists,
        Verdict::Contests,
        Verdict::Pending,
        Verdict::New,
    ];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Same => "same",
            Verdict::Supersedes => "supersedes",
            Verdict::Corrects => "corrects",
            Verdict::Refines => "refines",
            Verdict::Retracts => "retracts",
            Verdict::Coexists => "coexists",
            Verdict::Contests => "contests",
            Verdict::Pending => "pending",
            Verdict::New => "new",
        }
    }

    /// The one with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Verdict> {
        Verdict::ALL.into_iter().find(|verdict| verdict.name() == name)
    }

    /// Whether the new fact takes the place of the known one.
    #[must_use]
    pub fn replaces(self) -> bool {
        matches!(
            self,
            Verdict::Supersedes | Verdict::Corrects | Verdict::Refines | Verdict::Retracts
        )
    }

    /// Which of several counts: what is known already first, then what is in doubt, then what is
    /// decided.
    fn weight(self) -> u8 {
        match self {
            Verdict::Same => 6,
            Verdict::Contests => 5,
            _ if self.replaces() => 4,
            Verdict::Pending => 3,
            Verdict::Coexists => 2,
            _ => 0,
        }
    }

    fn of(relation: Relation) -> Verdict {
        match relation {
            Relation::Same => Verdict::Same,
            Relation::Changes => Verdict::Supersedes,
            Relation::Corrects => Verdict::Corrects,
            Relation::Refines => Verdict::Refines,
            Relation::Retracts => Verdict::Retracts,
            Relation::Coexists => Verdict::Coexists,
            Relation::Contests => Verdict::Contests,
            Relation::Unrelated => Verdict::New,
        }
    }
}

/// A verdict, and why.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// The verdict.
    pub verdict: Verdict,
    /// What a pending one would be if nobody decided otherwise.
    pub proposed: Option<Verdict>,
    /// Id of the fact that it is about; of a new one the one that comes nearest, if any does.
    pub other: Option<String>,
    /// How much alike the two texts are, 0 to 1.
    pub likeness: f64,
    /// The reason.
    pub reason: &'static str,
    /// What speaks for it, in single words.
    pub features: Vec<String>,
}

/// How facts are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preset {
    /// Only the same words are the same, and only a given attribute makes another value.
    Exact,
    /// By what the texts state; what they do not decide is pending.
    Near,
    /// By what the texts state; what is proposed is taken.
    Wide,
}

impl Preset {
    /// All of them.
    pub const ALL: [Preset; 3] = [Preset::Exact, Preset::Near, Preset::Wide];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Preset::Exact => "exact",
            Preset::Near => "near",
            Preset::Wide => "wide",
        }
    }

    /// The one with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Preset> {
        Preset::ALL.into_iter().find(|preset| preset.name() == name)
    }

    /// What `new` is to all that is known: the verdict that counts most, of equal ones that about
    /// the text most like it, then the first.
    #[must_use]
    pub fn compare(&self, new: &Fact, known: &[Fact]) -> Comparison {
        strongest(&self.compare_each(new, known, &Vocabulary::default()))
    }

    /// What `new` is to each fact of `known` that it is compared with, in their order. Facts whose
    /// place another took, those that other people may know, and the fact itself are passed over.
    #[must_use]
    pub fn compare_each(
        &self,
        new: &Fact,
        known: &[Fact],
        vocabulary: &Vocabulary,
    ) -> Vec<Comparison> {
        let compared: Vec<&Fact> = known
            .iter()
            .filter(|old| {
                old.id != new.id
                    && old.superseded_by.is_none()
                    && old.pending.is_none()
                    && has_same_readers(new, old)
            })
            .collect();
        let comparer = Comparer {
            preset: *self,
            new,
            statement: Statement::of(&new.content),
            many: many_of(new, &compared, vocabulary),
            alone: compared.len() == 1,
            vocabulary,
        };
        let mut all: Vec<Comparison> = compared.iter().map(|old| comparer.one(old)).collect();
        if new.attribute.is_empty() {
            keep_nearest(&mut all);
        }
        all
    }
}

/// What a capsule says of attributes and entities.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Vocabulary {
    /// Slugs of what the entity of the new fact is also called.
    pub aliases: Vec<String>,
    /// Whether an entity can have many values of the attribute of the new fact, where that was
    /// declared.
    pub many: Option<bool>,
}

/// Whether an entity can have many values of what the new fact is about: declared, or learned from
/// several that hold at once and contest nothing.
fn many_of(new: &Fact, compared: &[&Fact], vocabulary: &Vocabulary) -> Option<bool> {
    if vocabulary.many.is_some() || new.attribute.is_empty() {
        return vocabulary.many;
    }
    let beside = |fact: &&&Fact| {
        has_attribute(new, fact)
            && fact.contested_with.is_empty()
            && fact.pending_with.is_empty()
            && fact.coexists
    };
    (compared.iter().filter(beside).count() > 0).then_some(true)
}

/// Where no attribute is given, one fact takes the place of one other at most: the most alike.
fn keep_nearest(all: &mut [Comparison]) {
    let decides = |comparison: &Comparison| {
        comparison.verdict.replaces()
            || matches!(comparison.verdict, Verdict::Contests | Verdict::Pending)
    };
    let best = all
        .iter()
        .enumerate()
        .filter(|(_, comparison)| decides(comparison))
        .max_by(|(m, a), (n, b)| {
            let rank = |comparison: &Comparison| {
                (comparison.verdict != Verdict::Pending, comparison.likeness)
            };
            rank(a).0.cmp(&rank(b).0).then(rank(a).1.total_cmp(&rank(b).1)).then(n.cmp(m))
        })
        .map(|(at, _)| at);
    for (at, comparison) in all.iter_mut().enumerate() {
        if decides(comparison) && Some(at) != best {
            comparison.verdict = Verdict::New;
            comparison.reason = "another known fact is nearer to it";
        }
    }
}

fn has_attribute(a: &Fact, b: &Fact) -> bool {
    slug(&a.attribute) == slug(&b.attribute)
}

/// How the entities of two facts compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Entities {
    Same,
    /// One may be short for the other.
    Perhaps,
    Others,
}

struct Comparer<'a> {
    preset: Preset,
    new: &'a Fact,
    statement: Statement,
    many: Option<bool>,
    alone: bool,
    vocabulary: &'a Vocabulary,
}

impl Comparer<'_> {
    fn one(&self, old: &Fact) -> Comparison {
        let new = self.new;
        let entities = self.entities(old);
        let given = !new.attribute.is_empty() && !old.attribute.is_empty();
        if entities == Entities::Others || given && !has_attribute(new, old) {
            return nothing_like(NOTHING_LIKE_IT);
        }
        let about = About {
            old_entity: &old.entity,
            new_entity: &new.entity,
            attribute: if given { &new.attribute } else { "" },
            many: self.many,
            same_source: new.source == old.source,
            alone: self.alone,
            scheduled: new.valid_from.is_some_and(|from| from > new.updated_at),
        };
        let judged = relate(&Statement::of(&old.content), &self.statement, &about);
        let (verdict, reason) = self.verdict(old, &judged, given);
        let is_exact = judged.likeness >= 1.0 && verdict == Verdict::Same;
        let doubtful = !judged.sure
            || entities == Entities::Perhaps
            || judged.is_held && new.valid_from.is_none() && verdict != Verdict::Same;
        let pending = doubtful
            && !is_exact
            && self.preset == Preset::Near
            && !matches!(verdict, Verdict::New | Verdict::Coexists);
        let names = verdict != Verdict::New || judged.likeness >= LIKENESS_RELATED;
        Comparison {
            verdict: if pending { Verdict::Pending } else { verdict },
            proposed: pending.then_some(verdict),
            other: names.then(|| old.id.clone()),
            likeness: judged.likeness,
            reason: if pending && judged.sure { self.why_pending(entities) } else { reason },
            features: judged.features,
        }
    }

    fn why_pending(&self, entities: Entities) -> &'static str {
        if entities == Entities::Perhaps {
            "one entity may be short for the other"
        } else {
            "it is about what is to come, or depends on something, and does not say when"
        }
    }

    fn entities(&self, old: &Fact) -> Entities {
        let (ours, theirs) = (slug(&self.new.entity), slug(&old.entity));
        if ours == theirs || self.vocabulary.aliases.contains(&theirs) {
            return Entities::Same;
        }
        let is_short = |short: &str, long: &str| {
            is_numeronym(short)
                && initials(long).is_some_and(|letters| letters == short.to_lowercase())
        };
        let (new, old) = (self.new.entity.as_str(), old.entity.as_str());
        if is_short(new, old) || is_short(old, new) { Entities::Perhaps } else { Entities::Others }
    }

    /// What a judgement about the texts means for the facts.
    fn verdict(&self, old: &Fact, judged: &Judgement, given: bool) -> (Verdict, &'static str) {
        let new = self.new;
        let is_same_text = judged.relation == Relation::Same && judged.likeness >= 1.0;
        if judged.relation == Relation::Same && (is_same_text || self.preset != Preset::Exact) {
            if hold_alike(new, old) {
                return (Verdict::Same, judged.reason);
            }
            return (Verdict::New, "it says the same of another time");
        }
        let has_entity = !new.entity.is_empty();
        if !has_entity || self.preset == Preset::Exact && !given {
            return (Verdict::New, NOTHING_LIKE_IT);
        }
        match judged.relation {
            Relation::Unrelated => (Verdict::New, NOTHING_LIKE_IT),
            Relation::Coexists => (Verdict::Coexists, judged.reason),
            _ if !hold_at_once(new, old) => {
                (Verdict::New, "it is valid at another time than the known value")
            }
            relation => another_value(new, old, relation, judged.reason),
        }
    }
}

/// What a fact is to another that says something else of the same property.
fn another_value(
    new: &Fact,
    old: &Fact,
    relation: Relation,
    reason: &'static str,
) -> (Verdict, &'static str) {
    let verdict =
        Verdict::of(if relation == Relation::Same { Relation::Changes } else { relation });
    if new.valid_from > old.valid_from {
        let later = if verdict == Verdict::Contests { Verdict::Supersedes } else { verdict };
        return (later, "another value of the same property, which holds from a later moment on");
    }
    if new.valid_from < old.valid_from {
        return (
            Verdict::Contests,
            "another value of the same property, which holds from an earlier moment on",
        );
    }
    if verdict == Verdict::Contests {
        return (verdict, reason);
    }
    if new.confidence < old.confidence {
        return (
            Verdict::Contests,
            "another value of the same property, stated with less confidence",
        );
    }
    if new.updated_at < old.updated_at {
        return (Verdict::Contests, "another value of the same property, and an older one");
    }
    (verdict, reason)
}

fn nothing_like(reason: &'static str) -> Comparison {
    Comparison {
        verdict: Verdict::New,
        proposed: None,
        other: None,
        likeness: 0.0,
        reason,
        features: Vec::new(),
    }
}

/// The one that counts most.
pub(super) fn strongest(all: &[Comparison]) -> Comparison {
    all.iter().fold(nothing_like(NOTHING_LIKE_IT), |best, next| {
        let stronger =
            (next.verdict.weight(), next.likeness) > (best.verdict.weight(), best.likeness);
        if stronger { next.clone() } else { best }
    })
}

const NOTHING_LIKE_IT: &str = "no known fact of this entity, domain and level says the same, or gives another value of the same property";

/// Whether the same people may know both.
pub(super) fn has_same_readers(a: &Fact, b: &Fact) -> bool {
    let names = |fact: &Fact| fact.named.iter().cloned().collect::<BTreeSet<String>>();
    (&a.domain, a.classification) == (&b.domain, b.classification) && names(a) == names(b)
}

/// Whether a fact says of the same time what another says: it names the same, or none while the
/// other holds.
fn hold_alike(new: &Fact, old: &Fact) -> bool {
    if (new.valid_from, new.valid_to) == (None, None) {
        return old.holds_at(new.created_at);
    }
    (new.valid_from, new.valid_to) == (old.valid_from, old.valid_to)
}

/// Whether there is a moment at which both hold.
fn hold_at_once(a: &Fact, b: &Fact) -> bool {
    let ends_before = |a: &Fact, b: &Fact| {
        a.valid_to.is_some_and(|to| b.valid_from.is_some_and(|from| to <= from))
    };
    !ends_before(a, b) && !ends_before(b, a)
}
