//! What a statement is to an earlier one about the same entity.
//!
//! The order of the rules matters: what words say outright (a correction, an end) counts before
//! what values and words show. Where the two may be about different things, or nothing shows which
//! of them holds, the judgement is not sure, and somebody else has to decide.

use std::collections::HashSet;

use super::attribute::{AttributeId, is_many, is_plural, names_many};
use super::cue::Cue;
use super::diff::{Diff, Values, topic};
use super::statement::Statement;
use super::tables::is_property;

/// Least likeness of two statements without values or names that are about one attribute.
const LIKENESS_CHANGED_MIN: f64 = 0.34;
/// Least likeness of two that say the same in other words, where no attribute is given.
const LIKENESS_REWORDED_MIN: f64 = 0.4;
/// Least likeness at which that is sure, where nothing but names is in common.
const LIKENESS_SURE_MIN: f64 = 0.5;

/// Least number of words that both of two rewordings have, where no name or value is in common.
const REWORDED_OVERLAP_MIN: usize = 2;

/// What a statement is to an earlier one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Relation {
    /// It is about something else.
    Unrelated,
    /// It says the same, or a part of it.
    Same,
    /// It says the same more exactly.
    Refines,
    /// It gives another value, in whose place it comes.
    Changes,
    /// It says that the earlier one was wrong, and what is right.
    Corrects,
    /// It says that the earlier one has ended, or is not so.
    Retracts,
    /// It gives a further value of an attribute that can have many.
    Coexists,
    /// It gives another value, and nothing says which one holds.
    Contests,
}

impl Relation {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Relation::Unrelated => "unrelated",
            Relation::Same => "same",
            Relation::Refines => "refines",
            Relation::Changes => "changes",
            Relation::Corrects => "corrects",
            Relation::Retracts => "retracts",
            Relation::Coexists => "coexists",
            Relation::Contests => "contests",
        }
    }
}

/// What is known of two statements besides their texts.
#[derive(Clone, Copy, Debug, Default)]
pub struct About<'a> {
    /// The entity of the earlier one.
    pub old_entity: &'a str,
    /// The entity of the new one.
    pub new_entity: &'a str,
    /// The attribute that both were given; empty when they were not.
    pub attribute: &'a str,
    /// Whether the entity can have many values of it, where that was declared or learned.
    pub many: Option<bool>,
    /// Whether one source states both.
    pub same_source: bool,
    /// Whether nothing else is known of the entity.
    pub alone: bool,
    /// Whether the new one begins to hold at a later moment.
    pub scheduled: bool,
}

/// What a statement is to an earlier one, and why.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// What it is.
    pub relation: Relation,
    /// Whether the words decide that; if not, somebody else must.
    pub sure: bool,
    /// Share of the content of both that both have.
    pub likeness: f64,
    /// The reason.
    pub reason: &'static str,
    /// What speaks for it, in single words.
    pub features: Vec<String>,
    /// Whether the new one alone is about what is to come, or depends on something.
    pub is_held: bool,
}

/// A relation, whether it is sure, and the reason.
type Ruling = (Relation, bool, &'static str);

/// Whether two statements are about one property.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kinship {
    No,
    Maybe,
    Yes,
}

/// What `new` is to `old`.
#[must_use]
pub fn relate(old: &Statement, new: &Statement, about: &About<'_>) -> Judgement {
    let topic = topic(&[about.old_entity, about.new_entity, about.attribute]);
    let diff = Diff::of(old, new, &topic);
    let pair = Pair { old, new, about, diff, shared: Shared::of(old, new, &topic) };
    let (relation, sure, reason) = pair.ruling();
    let mut features = vec![format!("values {:?}", pair.diff.values).to_lowercase()];
    features.extend(new.cues().names().map(|name| format!("cue {name}")));
    features.extend(pair.diff.is_swapped.then(|| "swapped".to_string()));
    features.extend((pair.many() == Some(true)).then(|| "many values".to_string()));
    let is_same_text = (&old.order, &old.marks, &old.rest) == (&new.order, &new.marks, &new.rest);
    let likeness = if is_same_text { 1.0 } else { pair.diff.likeness };
    let is_held = pair.has(Cue::Future) || pair.has(Cue::Condition);
    Judgement { relation, sure, likeness, reason, features, is_held }
}

struct Pair<'a> {
    old: &'a Statement,
    new: &'a Statement,
    about: &'a About<'a>,
    diff: Diff<'a>,
    shared: Shared,
}

/// The common attributes that two statements are about.
struct Shared {
    /// Those of both.
    both: Vec<AttributeId>,
    /// Whether each is about some.
    each: bool,
}

impl Shared {
    fn of(old: &Statement, new: &Statement, topic: &HashSet<String>) -> Shared {
        let of = |statement: &Statement| -> Vec<AttributeId> {
            let said = statement.attributes.iter().filter(|said| !said.is_one_of(topic));
            said.map(|said| said.attribute).collect()
        };
        let (old, new) = (of(old), of(new));
        let both = old.iter().copied().filter(|attribute| new.contains(attribute)).collect();
        Shared { both, each: !old.is_empty() && !new.is_empty() }
    }
}

impl Pair<'_> {
    fn ruling(&self) -> Ruling {
        let (old, new) = (self.old, self.new);
        if old.rest != new.rest {
            return (Relation::Unrelated, true, "it is too long to be one statement");
        }
        if !old.is_empty() && old.order == new.order && old.marks == new.marks {
            return (Relation::Same, true, "it has the same words");
        }
        if !old.is_empty() && old.order == new.order {
            return (
                Relation::Changes,
                false,
                "it has the same words with other signs or capitals",
            );
        }
        if self.is_of_another_thing() {
            return (Relation::Unrelated, true, "it is about another thing of the kind");
        }
        let kinship = if self.is_given() { Kinship::Yes } else { kinship(self) };
        if kinship == Kinship::No {
            return (Relation::Unrelated, true, "it is about something else");
        }
        let (relation, sure, reason) = self.related();
        (relation, sure && kinship == Kinship::Yes, reason)
    }

    /// Whether the two are about different things of one kind, such as `pump 1` and `pump 2`. Where
    /// nothing else differs, the thing may be the value: `pump 2 is the spare`.
    fn is_of_another_thing(&self) -> bool {
        let (old, new) = (&self.old.subject, &self.new.subject);
        let may_be_value = self.is_given()
            || self.has_turn()
            || old.names_role() && new.names_role()
            || !self.shared.both.is_empty() && self.diff.values == Values::Differ;
        old.is_other_than(new) && (self.diff.regions > 1 || !may_be_value)
    }

    fn is_given(&self) -> bool {
        !self.about.attribute.is_empty()
    }

    fn has(&self, cue: Cue) -> bool {
        self.new.cues.has(cue) && !self.old.cues.has(cue)
    }

    /// Whether words say that something is no longer, or was never, as it was said.
    fn has_turn(&self) -> bool {
        let turns = [Cue::Change, Cue::Correction, Cue::Retraction, Cue::Future];
        turns.into_iter().any(|cue| self.has(cue))
    }

    /// Whether an entity can have many values of what the two are about; none if nothing says so.
    fn many(&self) -> Option<bool> {
        if self.about.many.is_some() {
            return self.about.many;
        }
        let counts = !matches!(self.diff.values, Values::None | Values::OnlyOld | Values::OnlyNew);
        let shared = self.shared.both.iter().filter_map(|attribute| is_many(*attribute));
        let shared: Vec<bool> = shared.collect();
        if self.is_given() {
            let plural = is_plural(self.about.attribute) || names_many(self.about.attribute);
            return Some(plural && !counts && !self.lists_both());
        }
        if shared.is_empty() {
            self.diff.adds_up().then_some(true)
        } else {
            Some(shared.contains(&true) && !counts)
        }
    }

    fn lists_both(&self) -> bool {
        let lists = |statement: &Statement| statement.items.iter().any(|item| item.is_listed);
        lists(self.old) && lists(self.new)
    }

    /// What the new one is, given that both are about one property.
    fn related(&self) -> Ruling {
        let diff = &self.diff;
        let differs = !Diff::is_nothing(&diff.only_new)
            || !matches!(diff.values, Values::Equal | Values::None | Values::Less);
        if self.has(Cue::Correction) && differs {
            return (Relation::Corrects, true, "its words say that the known one was wrong");
        }
        if self.has(Cue::Addition) && differs {
            return (Relation::Coexists, true, "its words say that it comes to what is known");
        }
        if self.has(Cue::Retraction) {
            return self.ended();
        }
        if self.old.cues.has(Cue::Negation) != self.new.cues.has(Cue::Negation) {
            return self.negated();
        }
        let changes = self.has(Cue::Change) || self.has(Cue::Future) || self.about.scheduled;
        if changes && (gives_another_value(self) || diff.is_left) {
            return (Relation::Changes, true, "its words say that something changed");
        }
        let has_content = !Diff::is_nothing(&diff.only_new) || !Diff::is_nothing(&diff.only_old);
        if changes && has_content {
            return (Relation::Changes, false, "its words say that something changed");
        }
        if diff.names_unnamed() && self.about.same_source {
            return (Relation::Refines, true, "it names what was not named");
        }
        if diff.is_swapped {
            return (Relation::Changes, false, "it has the same words in another order");
        }
        self.by_values()
    }

    /// The new one says that something has ended.
    fn ended(&self) -> Ruling {
        let diff = &self.diff;
        let names_another = diff.replaces_names() || diff.values == Values::Differ;
        if names_another && self.has(Cue::Change) {
            return (Relation::Changes, true, "its words say that something changed");
        }
        let mentions = diff.overlap() > 0 || diff.values == Values::Equal;
        if self.many() == Some(true) && !mentions {
            return (Relation::Coexists, true, "it ends another value");
        }
        let replaces = diff.replaces_names() || diff.values == Values::Differ;
        let relation = if replaces { Relation::Changes } else { Relation::Retracts };
        (relation, true, "its words say that something has ended")
    }

    /// One of the two denies something, and the other does not.
    fn negated(&self) -> Ruling {
        let diff = &self.diff;
        let meets = diff.overlap() > 0
            || Diff::is_nothing(&diff.only_new)
            || Diff::is_nothing(&diff.only_old);
        if !meets {
            return (Relation::Retracts, false, "only one of the two denies something");
        }
        if !self.about.same_source && !self.has(Cue::Change) {
            return (Relation::Contests, true, "another source says the opposite");
        }
        (Relation::Retracts, true, "it says the opposite")
    }

    /// Another value: in the place of the old one, or against it.
    fn changed(&self, sure: bool) -> Ruling {
        if self.many() == Some(true) {
            return (
                Relation::Coexists,
                true,
                "a further value of an attribute that can have many",
            );
        }
        if self.about.same_source {
            (Relation::Changes, sure, "another value of the same property")
        } else {
            (
                Relation::Contests,
                sure,
                "another value of the same property, stated by another source",
            )
        }
    }

    fn by_values(&self) -> Ruling {
        let diff = &self.diff;
        match diff.values {
            Values::Differ => self.changed(!self.is_qualified()),
            Values::Less if self.shrinks_list() => self.changed(true),
            Values::More if self.lists_both() => self.changed(true),
            Values::Disjoint => (Relation::Changes, false, "it gives a value of another kind"),
            Values::OnlyOld | Values::Less => {
                if Diff::is_nothing(&diff.only_new)
                    || diff.values == Values::Less && !diff.replaces_words()
                {
                    self.coarser()
                } else {
                    (Relation::Same, false, "it leaves out a value, in other words")
                }
            }
            Values::OnlyNew | Values::More => self.finer(),
            Values::Equal | Values::None => self.by_names(),
        }
    }

    /// Whether more than the value is another: what it is a value of may be, too.
    fn is_qualified(&self) -> bool {
        let diff = &self.diff;
        diff.regions > 1 && (diff.replaces_words() || diff.replaces_names())
    }

    /// Whether the new one leaves out parts of a list that the old one has.
    fn shrinks_list(&self) -> bool {
        let lists = self.old.items.iter().any(|item| item.is_listed);
        let values = |item: &&super::statement::Item| item.is_listed;
        lists
            && self.diff.only_old.iter().any(values)
            && self.diff.shared.iter().any(|item| item.is_listed)
    }

    /// The new one says a part of what the old one says.
    fn coarser(&self) -> Ruling {
        if self.shrinks_list() {
            return self.changed(true);
        }
        let loses_name = Diff::names(&self.diff.only_old) > 0;
        let is_sure = !loses_name || self.diff.is_part;
        (Relation::Same, is_sure, "it says a part of what is known")
    }

    /// The new one says what the old one says, and more.
    fn finer(&self) -> Ruling {
        let diff = &self.diff;
        let replaces = diff.replaces_names() || diff.replaces_words();
        if replaces {
            let is_slot = diff.regions == 1 && (diff.overlap() > 0 || diff.has_same_frame);
            return self.changed(is_slot);
        }
        if !self.about.same_source {
            return (Relation::Contests, true, "another source says more than is known");
        }
        let is_nothing_lost = Diff::words(&diff.only_old) + Diff::names(&diff.only_old) == 0;
        let is_slot = diff.overlap() > 0 || diff.regions == 1 && diff.has_same_frame;
        let is_sure = is_nothing_lost || self.is_given() && is_slot;
        (Relation::Refines, is_sure, "it says more than is known")
    }

    /// The values are equal, or there are none: names and words decide.
    fn by_names(&self) -> Ruling {
        let diff = &self.diff;
        let (no_old, no_new) = (Diff::is_nothing(&diff.only_old), Diff::is_nothing(&diff.only_new));
        match (no_old, no_new) {
            (true, true) if self.old.signs() != self.new.signs() => {
                (Relation::Changes, false, "it has the same words with other signs")
            }
            (true, true) if self.has_other_tense() => {
                (Relation::Retracts, false, "it says what was")
            }
            (true, true) => (Relation::Same, true, "it says the same in other words"),
            _ if diff.modifies() && no_old != no_new => self.modified(),
            (true, false) if self.lists_both() => self.changed(true),
            (true, false) if is_reworded(self) => {
                (Relation::Same, true, "it says the same in other words")
            }
            (true, false) => self.finer(),
            (false, true) => self.coarser(),
            (false, false) => self.replaced(),
        }
    }

    /// One of the two has a word that turns another one into something else.
    fn modified(&self) -> Ruling {
        if self.about.same_source {
            (Relation::Changes, true, "a word makes another thing of it")
        } else {
            (Relation::Contests, true, "a word makes another thing of it, says another source")
        }
    }

    /// Whether one of the two says what was, in a sentence that is built alike.
    fn has_other_tense(&self) -> bool {
        let is_alike = self.old.items.len() == self.new.items.len();
        is_alike && self.old.is_past() != self.new.is_past()
    }

    /// Each has words that the other has not.
    fn replaced(&self) -> Ruling {
        let diff = &self.diff;
        if diff.replaces_names() {
            let is_known = self.is_given() || self.many().is_some();
            return self.changed(is_known && diff.regions <= 2 || diff.regions <= 1);
        }
        let has_anchor = diff.values == Values::Equal || Diff::names(&diff.shared) > 0;
        let is_slot = diff.regions == 1 && diff.has_same_frame;
        if diff.excludes() {
            return self.changed(true);
        }
        if has_anchor && !(is_slot && diff.values != Values::Equal) {
            let is_alike = diff.values == Values::Equal || diff.likeness >= LIKENESS_SURE_MIN;
            let is_sure = is_alike && (self.is_given() || !self.shared.both.is_empty());
            return (Relation::Same, is_sure, "it says the same in other words");
        }
        if is_slot && (diff.overlap() > 0 || self.is_given() || names_property(self)) {
            return self.changed(true);
        }
        if diff.likeness >= LIKENESS_CHANGED_MIN {
            return self.changed(diff.regions <= 1);
        }
        (
            Relation::Same,
            false,
            "other words for one property, and nothing shows what they are to each other",
        )
    }
}

/// Whether both give a value to one property, where nobody said to which.
fn kinship(pair: &Pair<'_>) -> Kinship {
    let diff = &pair.diff;
    let overlap = diff.overlap();
    let is_slot = diff.regions == 1 && diff.has_same_frame;
    let same = !pair.shared.both.is_empty();
    if pair.shared.each && (same || !is_slot) {
        let differs_in_count = diff.values == Values::Disjoint && !pair.has_turn();
        let is_qualified = diff.regions > 1 && !pair.has_turn();
        let is_other = !same || differs_in_count || is_qualified;
        return if is_other { Kinship::No } else { Kinship::Yes };
    }
    if is_slot && diff.excludes() {
        return Kinship::Yes;
    }
    if pair.has_turn() {
        return kinship_of_turn(pair, overlap);
    }
    if diff.regions > 1 {
        let is_filled_anew = diff.replaces_only_values() && overlap > 0;
        return if is_filled_anew { Kinship::Yes } else { Kinship::No };
    }
    if diff.replaces_address() && diff.regions == 1 {
        return Kinship::Yes;
    }
    match diff.values {
        Values::Differ | Values::Less | Values::More => {
            let qualifies = diff.replaces_words() || diff.replaces_names();
            let meets = overlap > 0 || diff.has_same_frame;
            if qualifies || !meets { Kinship::No } else { Kinship::Yes }
        }
        Values::Equal if diff.replaces_words() || diff.replaces_names() => {
            kinship_by_likeness(pair)
        }
        Values::Equal => {
            if overlap > 0 || diff.has_same_frame {
                Kinship::Yes
            } else {
                Kinship::Maybe
            }
        }
        Values::Disjoint => Kinship::No,
        Values::OnlyOld | Values::OnlyNew | Values::None => kinship_of_words(pair, overlap),
    }
}

/// Of statements whose words say that something changed.
fn kinship_of_turn(pair: &Pair<'_>, overlap: usize) -> Kinship {
    let diff = &pair.diff;
    // Since which version or day it has ended is no other property.
    let says_more = Diff::words(&diff.only_new) + Diff::names(&diff.only_new) > 0;
    let is_bare = !says_more && diff.shared.is_empty();
    if overlap > 0 || matches!(diff.values, Values::Equal | Values::Less | Values::More) {
        let is_qualified = diff.values == Values::Differ
            && diff.replaces_words()
            && diff.likeness < LIKENESS_CHANGED_MIN;
        return if is_qualified { Kinship::Maybe } else { Kinship::Yes };
    }
    if is_bare && pair.has(Cue::Retraction) {
        return if pair.about.alone { Kinship::Yes } else { Kinship::No };
    }
    if diff.replaces_address() || pair.about.alone && diff.replaces_measure() {
        return Kinship::Yes;
    }
    let comparable = diff.values == Values::Differ || diff.replaces_names();
    // Of the one thing that is known, what has changed can only be that.
    match pair.about.alone && comparable {
        true if diff.regions <= 1 => Kinship::Yes,
        true => Kinship::Maybe,
        false => Kinship::No,
    }
}

fn kinship_of_words(pair: &Pair<'_>, overlap: usize) -> Kinship {
    let diff = &pair.diff;
    let negates = pair.old.is_negative() != pair.new.is_negative();
    let only_old = Diff::is_nothing(&diff.only_old);
    let only_new = Diff::is_nothing(&diff.only_new);
    if overlap > 0 && (only_old || only_new) {
        return Kinship::Yes;
    }
    if negates {
        return if overlap > 1 {
            Kinship::Yes
        } else if overlap == 1 {
            Kinship::Maybe
        } else {
            Kinship::No
        };
    }
    let is_slot = diff.regions == 1 && diff.has_same_frame;
    if is_slot && overlap == 0 && !diff.replaces_names() {
        return if names_property(pair) { Kinship::Yes } else { Kinship::No };
    }
    let is_name = diff.replaces_names() && !diff.replaces_words();
    if is_slot && (overlap > 0 || is_name) || is_name && overlap > 0 && diff.regions <= 1 {
        let is_clear = diff.is_definite || diff.adds_up();
        return if is_clear { Kinship::Yes } else { Kinship::Maybe };
    }
    kinship_by_likeness(pair)
}

/// Whether the name of the entity is that of a property, and the two say what it is: `log-level`.
fn names_property(pair: &Pair<'_>) -> bool {
    let entity = pair.about.old_entity.to_lowercase();
    let last = entity.split(|c: char| !c.is_alphanumeric()).next_back();
    pair.diff.is_definite && last.is_some_and(is_property)
}

fn kinship_by_likeness(pair: &Pair<'_>) -> Kinship {
    let has_names = Diff::names(&pair.diff.shared) > 0 || pair.diff.values == Values::Equal;
    let replaces = pair.diff.replaces_names();
    let is_alike = pair.diff.likeness >= LIKENESS_REWORDED_MIN && has_names && !replaces;
    if is_alike { Kinship::Maybe } else { Kinship::No }
}

/// Whether the new one has a value, name or word in the place of one of the old one.
fn gives_another_value(pair: &Pair<'_>) -> bool {
    let diff = &pair.diff;
    matches!(diff.values, Values::Differ | Values::Disjoint | Values::OnlyNew)
        || Diff::names(&diff.only_new) + Diff::words(&diff.only_new) > 0
        || !Diff::is_nothing(&diff.only_old) && !Diff::is_nothing(&diff.only_new)
}

/// Whether all that the new one has besides is words of a rewording: the sentence is built
/// otherwise, and no name is added.
fn is_reworded(pair: &Pair<'_>) -> bool {
    let diff = &pair.diff;
    let has_anchor = diff.values == Values::Equal
        || Diff::names(&diff.shared) > 0
        || pair.is_given() && diff.overlap() >= REWORDED_OVERLAP_MIN;
    has_anchor
        && !diff.has_same_frame
        && !diff.is_insertion
        && Diff::names(&diff.only_new) == 0
        && (pair.is_given() || diff.values == Values::Equal)
        && Diff::words(&diff.only_new) <= 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(old: &str, new: &str, about: &About<'_>) -> Judgement {
        relate(&Statement::of(old), &Statement::of(new), about)
    }

    fn about<'a>(entity: &'a str, attribute: &'a str) -> About<'a> {
        About {
            old_entity: entity,
            new_entity: entity,
            attribute,
            same_source: true,
            alone: true,
            ..About::default()
        }
    }

    fn check(entity: &str, attribute: &str, rows: &[(&str, &str, Relation)]) {
        for (old, new, want) in rows {
            let judged = judged(old, new, &about(entity, attribute));
            let got = (judged.relation, judged.sure);
            assert_eq!(got, (*want, true), "{old:?} {new:?}: {judged:?}");
        }
    }

    #[test]
    fn one_attribute_that_is_given() {
        check(
            "lake",
            "depth",
            &[
                ("The lake is 3 km long", "The lake is 3000 m long", Relation::Same),
                ("The lake is 40 m deep", "The lake is 55 m deep", Relation::Changes),
                ("The lake is 40 m deep", "Correction: the lake is 55 m deep", Relation::Corrects),
                ("The lake is closed", "The lake is open", Relation::Changes),
            ],
        );
        check(
            "ida",
            "manager",
            &[
                ("Ida reports to Bo", "Bo is Ida's manager", Relation::Same),
                ("Ida reports to Bo", "Ida reports to Cy", Relation::Changes),
                ("Ida reports to Bo", "Ida does not report to Bo any more", Relation::Retracts),
                ("Ida has a boss", "Ida has a boss in Oslo", Relation::Refines),
            ],
        );
        check(
            "ida",
            "languages",
            &[
                ("Ida speaks Danish", "Ida speaks Welsh", Relation::Coexists),
                ("Ida speaks Danish", "Ida also speaks Welsh", Relation::Coexists),
            ],
        );
        check(
            "board",
            "who",
            &[
                ("The board is Ann, Bo and Cy", "The board is Ann and Cy", Relation::Changes),
                (
                    "The market is held every Sunday",
                    "The market is held every second Sunday",
                    Relation::Refines,
                ),
            ],
        );
    }

    #[test]
    fn the_same_in_other_words_is_no_change() {
        check(
            "kiosk",
            "hours",
            &[
                (
                    "The kiosk is open from 8 to 14 o'clock",
                    "The kiosk is open 8 a.m. to 2 p.m.",
                    Relation::Same,
                ),
                ("The kiosk opens at nine o'clock", "The kiosk opens at 9:00", Relation::Same),
                ("El quiosco abre a las tres", "El quiosco abre a las 3:00", Relation::Same),
                ("売店は金曜日です。", "売店は毎週金曜日に行われます。", Relation::Same),
                ("売店は金曜日です。", "売店は土曜日です。", Relation::Changes),
                ("报告周三完成", "报告周四完成", Relation::Changes),
            ],
        );
        check(
            "backup",
            "way",
            &[
                (
                    "Backup of the archive is nightly",
                    "Nightly it backs up the archive",
                    Relation::Same,
                ),
                (
                    "The archive is copied by satellite link",
                    "Copies of the archive arrive by satellite link",
                    Relation::Same,
                ),
            ],
        );
        check(
            "floor-three",
            "place",
            &[("Ida is on floor 3", "Ida is on the third floor", Relation::Same)],
        );
    }

    #[test]
    fn what_was_left_has_changed() {
        let rows = [
            ("Ida lives in Rome", "Ida moved away from Rome", Relation::Changes),
            ("Ida reads law at Lund", "Ida finished Lund and reads art at Pisa", Relation::Changes),
            (
                "Someone in the choir keeps the keys",
                "Bo in the choir keeps the keys",
                Relation::Refines,
            ),
            (
                "The lift carries old crates",
                "The lift carries crates older than 9 days",
                Relation::Refines,
            ),
        ];
        check("ida", "note", &rows);
        check(
            "lift",
            "",
            &[
                ("The lift needs 2 of 3 motors", "The lift needs 4 of 5 motors", Relation::Changes),
                ("The lift is there", "The lift was removed in 4.2", Relation::Retracts),
                (
                    "The lift made 7 trips in the first week",
                    "The lift made 9 trips in the second week",
                    Relation::Unrelated,
                ),
            ],
        );
        check(
            "wind-mode",
            "",
            &[("The wind mode is calm", "The wind mode is wild", Relation::Changes)],
        );
        check(
            "lift",
            "supported keys",
            &[("The lift supports metal keys", "The lift supports chip cards", Relation::Coexists)],
        );
    }

    #[test]
    fn things_of_one_kind_are_told_apart() {
        check(
            "pump",
            "",
            &[
                ("Pump 1 is loud", "Pump 2 is loud", Relation::Unrelated),
                ("Pump A is loud", "Pump B is now quiet", Relation::Unrelated),
                ("Pump-1 is loud", "Pump-2 is loud", Relation::Unrelated),
                ("泵1 是红的。", "泵2 是红的。", Relation::Unrelated),
                ("The pump is version 1", "The pump is version 2", Relation::Changes),
                ("Version 1 is out", "Version 2 is out", Relation::Changes),
            ],
        );
        check(
            "pump",
            "power",
            &[
                ("Pump 1 has 3 kW", "Pump 2 has 5 kW", Relation::Unrelated),
                ("Pump 1 is our spare", "Pump 2 is our spare", Relation::Changes),
            ],
        );
    }

    #[test]
    fn attributes_are_recognised() {
        check(
            "lamp",
            "",
            &[
                ("The lamp weighs 2 kg", "The lamp weighs 3 kg", Relation::Changes),
                ("The lamp weighs 2 kg", "The lamp costs 30 EUR", Relation::Unrelated),
                ("The inner ring is 3 cm wide", "The outer ring is 9 cm wide", Relation::Unrelated),
                ("The lamp belongs to Bo", "Lamps are made in Leeds", Relation::Unrelated),
            ],
        );
        check(
            "ida",
            "",
            &[
                ("Ida lives in Rome", "Ida moved to Oslo", Relation::Changes),
                ("Ida is based in Rome", "Ida moved to Oslo", Relation::Changes),
                ("The office is in Rome", "The office moved to Oslo", Relation::Changes),
                ("Ida was born in Rome", "Ida lives in Oslo", Relation::Unrelated),
                ("Ida visited Rome", "Ida visited Oslo", Relation::Coexists),
            ],
        );
    }

    #[test]
    fn what_words_do_not_decide_is_not_sure() {
        for (old, new) in [
            ("Ida is far-sighted", "Ida wears glasses when she reads"),
            ("Ida hired Bo", "Bo hired Ida"),
            ("Ida was the captain", "Ida is the captain"),
        ] {
            let judged = judged(old, new, &about("ida", "note"));
            assert!(!judged.sure, "{old:?} {new:?}: {judged:?}");
        }
        let held = judged("The gate is blue", "The gate will be red", &about("gate", "colour"));
        assert!(held.is_held, "{held:?}");
    }

    #[test]
    fn other_sources_contest_and_do_not_replace() {
        let other = About { same_source: false, ..about("lake", "depth") };
        let of = |old, new| judged(old, new, &other).relation;
        assert_eq!(of("The lake is 40 m deep", "The lake is 55 m deep"), Relation::Contests);
        assert_eq!(of("The lake is 40 m deep", "The depth of the lake is 40 m"), Relation::Same);
        assert_eq!(of("The lake is blue", "The lake is not blue"), Relation::Contests);
        assert_eq!(of("The lake is blue", "The lake is now green"), Relation::Changes);
    }

    /// Letters whose forms in lower case have other lengths, and whatever else splits words.
    #[test]
    fn any_text_is_read() {
        const PIECES: [&str; 36] = [
            "ẞ",
            "İ",
            "ǅ",
            "K",
            "ß",
            "\u{307}",
            "n't",
            "N'T",
            "'s",
            "l'",
            "qu'",
            "-",
            "_",
            "1",
            "9",
            "端口",
            "ぁ",
            "가",
            "은",
            "é",
            "gate",
            "Room",
            " is ",
            " are ",
            " ",
            ".",
            ",",
            ":",
            "$",
            "%",
            "12:30",
            "2031-05-04",
            "\u{feff}",
            "’",
            "a.m.",
            "v2",
        ];
        let mut seed = 7u64;
        let mut below = |n: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) as usize % n
        };
        let mut before = Statement::of("");
        for _ in 0..3_000 {
            let text: String = (0..1 + below(9)).map(|_| PIECES[below(PIECES.len())]).collect();
            let statement = Statement::of(&text);
            let judged = relate(&before, &statement, &about("gate", ""));
            assert!(judged.likeness.is_finite(), "{text}");
            before = statement;
        }
    }
}
