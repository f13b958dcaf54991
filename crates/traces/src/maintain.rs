//! Upkeep of what traces brought: what says the same becomes one memory, what nobody needs is
//! archived, and the rest is left alone. In doubt nothing is done, and nothing is ever deleted.

use std::collections::BTreeSet;
use std::sync::Arc;

use kapsa_agents::{
    CapsuleFactStore, Fact, FactDecision, FactQuery, FactStore, StoreLocation, TimeSource,
};
use kapsa_memory::{Micros, Provenance, Trust};

use crate::decide::Thresholds;
use crate::error::Result;
use crate::known::{Known, with_evidence};

/// Below this confidence a memory that one session alone brought is archived.
pub const CONFIDENCE_KEPT_MIN: f64 = 0.3;
/// Words of content below which a memory says too little to be found again.
const WORDS_MIN: usize = 2;
/// Who decided, in the history of a memory.
const BY: &str = "kapsa maintain";

/// How upkeep is done.
#[derive(Clone, Debug)]
pub struct MaintainOptions {
    /// Only memories of this repository.
    pub repository: Option<String>,
    /// Whether nothing is written; default yes.
    pub is_dry: bool,
    /// From where on a text is taken for another one's.
    pub thresholds: Thresholds,
    /// Who does it.
    pub provenance: Provenance,
    /// The time.
    pub clock: TimeSource,
}

impl MaintainOptions {
    /// All repositories, and nothing written.
    #[must_use]
    pub fn new(clock: impl Into<TimeSource>) -> MaintainOptions {
        MaintainOptions {
            repository: None,
            is_dry: true,
            thresholds: Thresholds::default(),
            provenance: Provenance::default(),
            clock: clock.into(),
        }
    }
}

/// What became of one memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Upkept {
    /// Its id.
    pub id: String,
    /// It in one line.
    pub title: String,
    /// The memory that it is part of now.
    pub into: Option<String>,
    /// How much the two overlap, 0 to 1.
    pub score: f64,
    /// Why.
    pub reason: &'static str,
}

/// What upkeep did, or would do.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Maintained {
    /// Whether nothing was written.
    pub is_dry: bool,
    /// Memories that say what another one says.
    pub merged: Vec<Upkept>,
    /// Memories of one title whose texts became one.
    pub consolidated: Vec<Upkept>,
    /// Memories that hold no more.
    pub archived: Vec<Upkept>,
    /// Memories that were left alone.
    pub unchanged: u64,
}

/// Looks through what traces brought, the oldest first.
///
/// # Errors
/// The capsule cannot be read or written.
pub fn maintain(location: &StoreLocation, options: &MaintainOptions) -> Result<Maintained> {
    // Texts that are joined are trusted no further than the traces that they come from.
    let location = location.brought_by(options.provenance.clone().at_most(Some(Trust::Trace)));
    let store = CapsuleFactStore::new(location);
    let mut upkeep = Upkeep {
        store: Arc::new(store),
        options,
        now: options.clock.now(),
        gone: BTreeSet::new(),
        report: Maintained { is_dry: options.is_dry, ..Maintained::default() },
    };
    let query =
        FactQuery { entity: options.repository.clone(), limit: usize::MAX, ..FactQuery::default() };
    let mut facts = upkeep.store.query(&query)?;
    facts.retain(is_of_traces);
    facts.sort_by(|a, b| (a.created_at, &a.id).cmp(&(b.created_at, &b.id)));
    for fact in facts {
        upkeep.look_at(&fact.id)?;
    }
    Ok(upkeep.report)
}

/// Whether traces brought it, and it holds with nobody having to decide about it.
fn is_of_traces(fact: &Fact) -> bool {
    fact.trust == Trust::Trace
        && fact.superseded_by.is_none()
        && fact.valid_to.is_none()
        && fact.pending.is_none()
        && fact.pending_with.is_empty()
        && fact.contested_with.is_empty()
}

struct Upkeep<'a> {
    store: Arc<CapsuleFactStore>,
    options: &'a MaintainOptions,
    now: Micros,
    /// Memories that are part of another one, or archived.
    gone: BTreeSet<String>,
    report: Maintained,
}

impl Upkeep<'_> {
    /// The memory is read again: an earlier one may have changed it.
    fn look_at(&mut self, id: &str) -> Result<()> {
        if self.gone.contains(id) {
            return Ok(());
        }
        let Some(fact) = self.store.get(id)?.filter(is_of_traces) else { return Ok(()) };
        let known = Known::of(fact);
        if let Some(reason) = unneeded(&known) {
            let ended = Fact { valid_to: Some(self.now), ..known.fact.clone() };
            self.report.archived.push(upkept(&known, None, 0.0, reason));
            self.gone.insert(known.fact.id.clone());
            return self.write(&[ended]);
        }
        let near = self.store.near(&known.fact)?;
        let earlier = near.into_iter().filter(|other| {
            is_of_traces(other)
                && other.entity == known.fact.entity
                && !self.gone.contains(&other.id)
                && (other.created_at, &other.id) < (known.fact.created_at, &known.fact.id)
        });
        let best = earlier
            .map(Known::of)
            .filter(|other| primitive_of(other) == primitive_of(&known))
            .map(|other| (known.words.overlap(&other.words), other))
            .filter(|(overlap, _)| !overlap.differs)
            .max_by(|(a, _), (b, _)| a.score.total_cmp(&b.score));
        match best {
            Some((overlap, other)) if overlap.score >= self.options.thresholds.update => {
                self.join(&other, &known, overlap.score, "it says the same")
            }
            Some((overlap, other)) if other.title == known.title => {
                self.join(&other, &known, overlap.score, "it has the same title")
            }
            _ => {
                self.report.unchanged += 1;
                Ok(())
            }
        }
    }

    /// Makes the later memory part of the earlier one, which keeps its name.
    fn join(
        &mut self,
        earlier: &Known,
        later: &Known,
        score: f64,
        reason: &'static str,
    ) -> Result<()> {
        let Some(text) = earlier.with_news(&later.title, &later.body) else {
            self.report.unchanged += 1;
            return Ok(());
        };
        let done = upkept(later, Some(&earlier.fact.id), score, reason);
        let is_merged = score >= self.options.thresholds.update;
        let list = match is_merged {
            true => &mut self.report.merged,
            false => &mut self.report.consolidated,
        };
        list.push(done);
        self.gone.insert(later.fact.id.clone());
        let mut kept = with_evidence(&earlier.fact, &later.fact.evidence);
        kept.content = text;
        kept.updated_at = kept.updated_at.max(self.now);
        let mut ended = later.fact.clone();
        ended.superseded_by = Some(kept.id.clone());
        ended.updated_at = ended.updated_at.max(self.now);
        ended.decision =
            Some(FactDecision { what: "same".to_string(), by: BY.to_string(), at: self.now });
        self.write(&[kept, ended])
    }

    fn write(&self, facts: &[Fact]) -> Result<()> {
        if self.options.is_dry {
            return Ok(());
        }
        Ok(self.store.store_many(facts)?)
    }
}

fn primitive_of(known: &Known) -> Option<&'static str> {
    known.kind().map(kapsa_extract::MemoryType::primitive)
}

/// Why a memory is not worth its place; none where it is.
fn unneeded(known: &Known) -> Option<&'static str> {
    let is_alone = known.fact.evidence_count <= 1;
    if is_alone && known.fact.confidence < CONFIDENCE_KEPT_MIN {
        return Some("one session alone brought it, with little confidence");
    }
    let words = known.title.split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() > 2);
    (words.count() < WORDS_MIN && known.body.is_empty()).then_some("it says too little")
}

fn upkept(known: &Known, into: Option<&str>, score: f64, reason: &'static str) -> Upkept {
    Upkept {
        id: known.fact.id.clone(),
        title: known.title.clone(),
        into: into.map(str::to_string),
        score,
        reason,
    }
}
