//! Among hits that say different things of one property, the newer one comes first. Notes supersede
//! nothing: the older one stays a hit, and is marked.
//!
//! Only short notes of nobody's conversation are compared: a turn of a session is what somebody
//! said then, and a document says many things.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use kapsa_statement::{About, Alignment, Relation, Statement, align, relate, slug};
use xxhash_rust::xxh3::xxh3_64;

use super::fusion::Fused;
use super::points::words_in;
use crate::records::kinds::FACT;
use crate::records::record::Record;
use crate::records::turn::session;

/// Best hits that are compared with each other.
const COMPARED_MAX: usize = 20;
/// Longest text that is taken for one statement, in bytes.
const NOTE_BYTES_MAX: usize = 400;
/// Share of the better score from which on two hits are as good as equal.
const NEAR_TIE: f32 = 0.8;

/// Share of the words of the shorter of two notes that both have in the same order, from which on
/// they are read if they name no entity: what gives another value of a property names the property.
const COMMON_MIN: f32 = 0.34;
/// Places at which one has words that the other has others for, up to which they are.
const REPLACED_MAX: usize = 2;

/// A hit that states something.
struct Note {
    /// Its place among the hits.
    place: usize,
    entity: String,
    /// Hashes of its words in lower case, in their order.
    words: Vec<u64>,
    /// The same, ascending.
    sorted: Vec<u64>,
    /// What it states, once it is read.
    statement: OnceCell<Statement>,
}

impl Note {
    fn of(place: usize, record: &Record) -> Note {
        let words: Vec<u64> = words_in(&record.text).map(|word| xxh3_64(word.as_bytes())).collect();
        let mut sorted = words.clone();
        sorted.sort_unstable();
        let (entity, statement) = (slug(&record.entity), OnceCell::new());
        Note { place, entity, words, sorted, statement }
    }

    fn may_concern(&self, other: &Note) -> bool {
        if !self.entity.is_empty() && !other.entity.is_empty() {
            return self.entity == other.entity;
        }
        let enough = COMMON_MIN * self.words.len().min(other.words.len()) as f32;
        // Most pairs share too few words, in whatever order: they need no alignment.
        if (in_both(&self.sorted, &other.sorted) as f32) < enough {
            return false;
        }
        let Alignment { common, replaced } =
            align(&other.words, &self.words, |a, b| a == b, |_| true);
        common as f32 >= enough && replaced <= REPLACED_MAX
    }

    fn statement(&self, hits: &[Fused]) -> &Statement {
        self.statement.get_or_init(|| Statement::of(&hits[self.place].record.text))
    }
}

/// How many two ascending lists have in common, each as often as in both.
fn in_both(a: &[u64], b: &[u64]) -> usize {
    let (mut i, mut j, mut common) = (0, 0, 0);
    while i < a.len() && j < b.len() {
        common += usize::from(a[i] == b[j]);
        (i, j) = (i + usize::from(a[i] <= b[j]), j + usize::from(b[j] <= a[i]));
    }
    common
}

/// Puts newer hits before older ones that they bring up to date. Returns the sequences of the older
/// ones, each with that of the newer.
pub(super) fn first(fused: &mut Vec<Fused>) -> BTreeMap<u64, u64> {
    let mut notes: Vec<Note> = fused
        .iter()
        .take(COMPARED_MAX)
        .enumerate()
        .filter(|(_, hit)| is_note(&hit.record))
        .map(|(place, hit)| Note::of(place, &hit.record))
        .collect();
    // The oldest first: the newest of several comes to stand before all of them.
    let time = |place: usize| (fused[place].record.created_at, fused[place].record.sequence);
    notes.sort_by_key(|note| time(note.place));
    let mut older = BTreeMap::new();
    let mut moves = Vec::new();
    for (at, new) in notes.iter().enumerate() {
        let mut target = None;
        for old in &notes[..at] {
            if !brings_up_to_date(fused, new, old) {
                continue;
            }
            let (old_seq, new_seq) =
                (fused[old.place].record.sequence, fused[new.place].record.sequence);
            older.insert(old_seq, new_seq);
            target = target.filter(|target| *target < old.place).or(Some(old.place));
        }
        moves.extend(
            target
                .filter(|target| *target < new.place)
                .map(|target| (fused[new.place].record.sequence, fused[target].record.sequence)),
        );
    }
    for (moved, before) in moves {
        let place = |fused: &[Fused], sequence| {
            fused.iter().position(|hit| hit.record.sequence == sequence)
        };
        let (Some(from), Some(to)) = (place(fused, moved), place(fused, before)) else { continue };
        if to < from {
            let mut hit = fused.remove(from);
            hit.score = fused[to].score;
            fused.insert(to, hit);
        }
    }
    older
}

/// Whether a record is a note of one statement.
fn is_note(record: &Record) -> bool {
    record.kind != FACT
        && record.text.len() <= NOTE_BYTES_MAX
        && session(record).is_none()
        && record.source.is_none()
}

fn brings_up_to_date(fused: &[Fused], new: &Note, old: &Note) -> bool {
    let (new_hit, old_hit) = (&fused[new.place], &fused[old.place]);
    let is_newer = new_hit.record.created_at > old_hit.record.created_at;
    if !is_newer || !new.may_concern(old) {
        return false;
    }
    let about = About {
        old_entity: &old_hit.record.entity,
        new_entity: &new_hit.record.entity,
        same_source: true,
        alone: !new.entity.is_empty() && new.entity == old.entity,
        ..About::default()
    };
    let judged = relate(old.statement(fused), new.statement(fused), &about);
    let is_other_value = matches!(
        judged.relation,
        Relation::Changes | Relation::Corrects | Relation::Refines | Relation::Retracts
    );
    let (low, high) = (new_hit.score.min(old_hit.score), new_hit.score.max(old_hit.score));
    is_other_value && !judged.is_held && (judged.sure || low >= NEAR_TIE * high)
}

#[cfg(test)]
mod tests {
    use super::in_both;

    #[test]
    fn what_is_in_both_counts_as_often_as_in_both() {
        assert_eq!(in_both(&[1, 2, 2, 5, 9], &[2, 2, 2, 3, 9]), 3);
        assert_eq!(in_both(&[1, 1], &[1]), 1);
        assert_eq!(in_both(&[], &[1]), 0);
        assert_eq!(in_both(&[1, 2], &[3, 4]), 0);
    }
}
