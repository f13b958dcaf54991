//! What becomes of facts when a new one comes to them: evidence is added, places are taken, and
//! what nothing decides is marked. Plain values in, plain values out.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use kapsa_memory::Span;
use kapsa_memory::record::Micros;
use kapsa_statement::{Cue, Statement};

use super::compare::{Comparison, Verdict};
use super::types::{EVIDENCE_MAX, Evidence, Fact, Pending};
use super::workspace::RESTATED_RISE;

/// Gives a fact the validity that its words name, where none was given: what is to come begins
/// later, and what holds for a time ends. Days are those of UTC.
pub(super) fn dated(mut fact: Fact, now: Micros) -> Fact {
    let statement = Statement::of(&fact.content);
    let Some(today) = day_of(now) else { return fact };
    let when = statement.when();
    if fact.valid_from.is_none() {
        let from = when.from.and_then(|moment| moment.first_day(today)).and_then(start_of);
        fact.valid_from = from.filter(|from| *from > now);
    }
    let is_bounded = fact.valid_from.is_some() || statement.cues().has(Cue::Passing);
    if fact.valid_to.is_none() && is_bounded {
        let until = when.until.and_then(|moment| moment.day_after(today)).and_then(start_of);
        let begins = fact.valid_from.unwrap_or(now);
        fact.valid_to = until.filter(|until| *until > begins);
    }
    fact
}

fn day_of(at: Micros) -> Option<Date> {
    let stamp = Timestamp::from_microsecond(at).ok()?;
    Some(TimeZone::UTC.to_datetime(stamp).date())
}

fn start_of(day: Date) -> Option<Micros> {
    let stamp = TimeZone::UTC.to_timestamp(day.at(0, 0, 0, 0)).ok()?;
    Some(stamp.as_microsecond())
}

/// Puts `new` into the place of `old`. One that ends leaves the old one to hold before and after
/// it. One that begins at a moment leaves the old one to hold until then, and recall of it as long
/// as that is to come; one that does not begin says what held all along, and of the old one nothing
/// is left to hold.
pub(super) fn supersede(old: &mut Fact, new: &Fact, now: Micros) {
    old.contested_with.clear();
    old.pending_with.clear();
    old.updated_at = now;
    let ends_first = |until: Micros| old.valid_to.is_none_or(|to| until < to);
    if let Some(until) = new.valid_to.filter(|until| *until > now && ends_first(*until)) {
        old.interruptions.push(Span { from: new.valid_from.or(Some(now)), until: Some(until) });
        old.interrupted_by.push(new.id.clone());
        return;
    }
    if let Some(from) =
        new.valid_from.filter(|from| old.valid_from.is_none_or(|began| began < *from))
    {
        old.valid_to = Some(old.valid_to.map_or(from, |to| to.min(from)));
        if from > now {
            return;
        }
    } else if old.valid_to.is_some() {
        old.valid_from = old.valid_to;
    }
    old.superseded_by = Some(new.id.clone());
}

/// Whether a text that was added once more brings nothing: the same words of the same source and
/// principal, with no further tag.
pub(super) fn brings_nothing(known: &Fact, again: &Fact) -> bool {
    let says = |text: &str, source: &str, principal: &str| {
        source == again.source
            && principal == again.principal
            && super::matching::words(text) == super::matching::words(&again.content)
    };
    let said = says(&known.content, &known.source, &known.principal)
        || known.evidence.iter().any(|one| says(&one.text, &one.source, &one.principal));
    said && again.tags.iter().all(|tag| known.tags.contains(tag))
}

/// A known fact that was added once more: everything that was said is kept.
pub(super) fn restated(known: &Fact, again: &Fact, now: Micros) -> Fact {
    let mut fact = known.clone();
    // A principal that repeats itself is one witness, whatever it names as its source.
    let is_witness = again.principal.is_empty()
        || known.principal != again.principal
            && known.evidence.iter().all(|one| one.principal != again.principal);
    fact.evidence_count = fact.evidence_count.saturating_add(u64::from(is_witness));
    // A source that repeats itself is not a second witness; an unknown source may be one.
    let is_heard = |source: &str| {
        source == known.source || known.evidence.iter().any(|one| one.source == source)
    };
    let is_reworded =
        super::matching::words(&again.content) != super::matching::words(&known.content);
    if is_witness && (again.source.is_empty() && is_reworded || !is_heard(&again.source)) {
        fact.confidence = (fact.confidence + RESTATED_RISE).min(1.0);
    }
    fact.evidence.push(Evidence {
        text: again.content.clone(),
        source: again.source.clone(),
        principal: again.principal.clone(),
        tags: again.tags.clone(),
        at: again.created_at.max(again.updated_at),
        place: String::new(),
    });
    let surplus = fact.evidence.len().saturating_sub(EVIDENCE_MAX);
    fact.evidence.drain(..surplus);
    let new_tags = again.tags.iter().filter(|tag| !known.tags.contains(tag));
    fact.tags.extend(new_tags.cloned());
    fact.updated_at = now;
    fact
}

/// A fact that comes to what is known, and what changes by that.
pub(super) fn settled(
    mut fact: Fact,
    each: &[Comparison],
    known: &[Fact],
    now: Micros,
) -> (Fact, Vec<Fact>) {
    let with = |test: &dyn Fn(Verdict) -> bool| {
        let those = each.iter().filter(|comparison| test(comparison.verdict));
        those.filter_map(|comparison| comparison.other.clone()).collect::<Vec<String>>()
    };
    let superseded = with(&Verdict::replaces);
    let contested = with(&|verdict| verdict == Verdict::Contests);
    let is_decided = !superseded.is_empty() || !contested.is_empty();
    let pending =
        if is_decided { Vec::new() } else { with(&|verdict| verdict == Verdict::Pending) };
    fact.supersedes = superseded.first().cloned().or(fact.supersedes);
    fact.contested_with.clone_from(&contested);
    fact.pending_with.clone_from(&pending);
    fact.pending = if pending.is_empty() { None } else { proposal(each) };
    fact.coexists = each.iter().any(|comparison| comparison.verdict == Verdict::Coexists);
    let mut changed = Vec::new();
    for old in known.iter().filter(|old| old.id != fact.id) {
        let mut new = old.clone();
        if superseded.contains(&old.id) {
            supersede(&mut new, &fact, now);
        } else {
            let gone = |id: &String| *id == fact.id || superseded.contains(id);
            new.contested_with.retain(|id| !gone(id));
            new.pending_with.retain(|id| !gone(id));
            new.contested_with.extend(contested.contains(&old.id).then(|| fact.id.clone()));
            new.pending_with.extend(pending.contains(&old.id).then(|| fact.id.clone()));
        }
        // A mark says nothing new: it leaves the time at which the fact was last changed.
        if new != *old {
            changed.push(new);
        }
    }
    (fact, changed)
}

/// What is proposed: by the comparison that counts most.
fn proposal(each: &[Comparison]) -> Option<Pending> {
    let pending = each.iter().filter(|comparison| comparison.verdict == Verdict::Pending);
    let best = pending.max_by(|a, b| a.likeness.total_cmp(&b.likeness))?;
    Some(Pending {
        verdict: best.proposed?,
        reason: best.reason.to_string(),
        features: best.features.clone(),
        proposed_by: String::new(),
    })
}
