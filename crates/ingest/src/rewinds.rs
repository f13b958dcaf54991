//! Branches of a session that its user left: of the messages that follow the same one, the user
//! went back to before all but one. Knows nothing of formats.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::ops::Range;

use crate::limits::LINKS_MAX;

/// Identifies a record within a session.
type Key = u64;

/// What a record is to its branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Link {
    /// A message that somebody typed: where two follow one record, the user went back.
    Prompt,
    /// Something that the model said or did.
    Answer,
    /// What belongs to the record before it: results, and what the program put in.
    Other,
}

#[derive(Debug)]
struct Node {
    /// The record before it, where it names one.
    parent: Option<Key>,
    /// The same, across what the program cut off to save room.
    before: Option<Key>,
    link: Link,
    turns: Range<usize>,
}

/// The records of a session, each with the one that it follows.
#[derive(Debug, Default)]
pub(crate) struct Rewinds {
    /// Keyed at random: nobody can choose ids that collide.
    hasher: RandomState,
    nodes: Vec<Node>,
    places: HashMap<Key, usize>,
    is_over: bool,
}

impl Rewinds {
    /// Notes a record: its id, the ids of the record that it follows and of the one before a cut,
    /// and which turns it holds.
    pub(crate) fn note(
        &mut self,
        id: &str,
        [parent, before]: [Option<&str>; 2],
        link: Link,
        turns: Range<usize>,
    ) {
        if self.nodes.len() == LINKS_MAX {
            self.is_over = true;
            return;
        }
        let [key, parent, before] =
            [Some(id), parent, before].map(|id| id.map(|id| self.hasher.hash_one(id)));
        let Some(key) = key else { return };
        // What holds nothing stands for the record that it follows.
        let parent = match self.at(parent) {
            Some(at) if self.nodes[at].is_bare() => self.nodes[at].parent.or(parent),
            _ => parent,
        };
        self.places.insert(key, self.nodes.len());
        self.nodes.push(Node { parent, before, link, turns });
    }

    /// Which turns are of branches that the user left, in their order. Of a session with more than
    /// [`LINKS_MAX`] records none: where it went on is not known.
    pub(crate) fn left(&self) -> Vec<usize> {
        let heads = self.heads();
        if self.is_over || heads.is_empty() {
            return Vec::new();
        }
        let mut is_left = vec![false; self.nodes.len()];
        let mut turns = Vec::new();
        for (at, node) in self.nodes.iter().enumerate() {
            // A record comes after the one that it follows.
            let follows = self.before(at).is_some_and(|before| before < at && is_left[before]);
            is_left[at] = follows || heads.contains(&at);
            if is_left[at] {
                turns.extend(node.turns.clone());
            }
        }
        turns.sort_unstable();
        turns.dedup();
        turns
    }

    /// The first records of the branches that were left. One that was never answered is none: it
    /// may have waited for its turn.
    fn heads(&self) -> Vec<usize> {
        let mut prompts: HashMap<Key, Vec<usize>> = HashMap::new();
        for (at, node) in self.nodes.iter().enumerate() {
            if let (Some(parent), Link::Prompt) = (node.parent, node.link) {
                prompts.entry(parent).or_default().push(at);
            }
        }
        prompts.retain(|_, prompts| prompts.len() > 1);
        if prompts.is_empty() {
            return Vec::new();
        }
        let (is_last, is_answered) = (self.last_branch(), self.answered());
        let mut heads = Vec::new();
        for prompts in prompts.values() {
            let kept = prompts.iter().rev().find(|at| is_last[**at]).or(prompts.last());
            heads.extend(prompts.iter().filter(|at| kept != Some(at) && is_answered[**at]));
        }
        heads.sort_unstable();
        heads
    }

    /// Which records the last prompt or answer follows.
    fn last_branch(&self) -> Vec<bool> {
        let mut is_last = vec![false; self.nodes.len()];
        let mut next = self.nodes.iter().rposition(|node| node.link != Link::Other);
        while let Some(at) = next {
            is_last[at] = true;
            next = self.before(at).filter(|&before| before < at);
        }
        is_last
    }

    /// Which records an answer follows.
    fn answered(&self) -> Vec<bool> {
        let mut is_answered = vec![false; self.nodes.len()];
        for at in (0..self.nodes.len()).rev() {
            if let Some(before) = self.before(at).filter(|&before| before < at) {
                is_answered[before] |= is_answered[at] || self.nodes[at].link == Link::Answer;
            }
        }
        is_answered
    }

    /// Where the record stands that one follows, also across a cut.
    fn before(&self, at: usize) -> Option<usize> {
        let node = &self.nodes[at];
        self.at(node.parent).or_else(|| self.at(node.before))
    }

    fn at(&self, key: Option<Key>) -> Option<usize> {
        self.places.get(&key?).copied()
    }
}

impl Node {
    fn is_bare(&self) -> bool {
        self.link == Link::Other && self.turns.is_empty() && self.before.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The turns that were left of records `id<parent`, with one turn each: a prompt `u…`, an
    /// answer `a…`, a result `r…`, or nothing `x…`.
    fn left(records: &str) -> Vec<usize> {
        let mut rewinds = Rewinds::default();
        for (turn, record) in records.split(' ').enumerate() {
            let (id, parent) = record.split_once('<').expect("a parent");
            let (link, length) = match &id[..1] {
                "u" => (Link::Prompt, 1),
                "a" => (Link::Answer, 1),
                "r" => (Link::Other, 1),
                _ => (Link::Other, 0),
            };
            let (parent, before) = match parent.strip_prefix('^') {
                Some(before) => (None, Some(before)),
                None => (Some(parent).filter(|parent| !parent.is_empty()), None),
            };
            rewinds.note(id, [parent, before], link, turn..turn + length);
        }
        rewinds.left()
    }

    #[test]
    fn the_branch_that_goes_on_is_kept() {
        for (records, expected) in [
            ("u1< a1<u1 u2<a1 a2<u2 u3<a1 a3<u3", &[2, 3][..]),
            ("u1< a1<u1 u2<a1 a2<u2 u3<a1 a3<u3 u4<a1 a4<u4", &[2, 3, 4, 5]),
            // The user went back to the branch that came first.
            ("u1< a1<u1 u2<a1 a2<u2 u3<a1 a3<u3 u4<a2 a4<u4", &[4, 5]),
            // A branch of a branch.
            ("u1< a1<u1 u2<a1 a2<u2 u3<a2 a3<u3 u4<a2 a4<u4 u5<a1 a5<u5", &[2, 3, 4, 5, 6, 7]),
            // What the program put between the records.
            ("u1< a1<u1 x1<a1 u2<x1 x2<u2 a2<x2 r2<a2 u3<a1 a3<u3", &[3, 5, 6]),
            // Across a cut.
            ("u1< a1<u1 u2<a1 a2<u2 u3<a1 a3<u3 x1<^a2 r4<x1 a4<r4", &[4, 5]),
        ] {
            assert_eq!(left(records), expected, "{records}");
        }
    }

    #[test]
    fn other_branches_are_no_rewinds() {
        for records in [
            // Calls side by side.
            "u1< a1<u1 a2<a1 r1<a1 r2<a2 a3<r2",
            // Typed while the model worked, or not answered yet.
            "u1< a1<u1 r1<a1 u2<a1 a2<r1",
            "u1< a1<u1 u2<a1 u3<a1 a3<u3",
            // Several beginnings.
            "u1< a1<u1 u2< a2<u2",
            // No such record, itself, and each other.
            "u1<none a1<u1 u2<u2 a2<u3 u3<a2",
        ] {
            assert_eq!(left(records), [0; 0], "{records}");
        }
    }

    #[test]
    fn a_session_with_too_many_records_keeps_all() {
        let mut rewinds = Rewinds::default();
        for (turn, (id, parent, link)) in [
            ("u1", None, Link::Prompt),
            ("u2", Some("u1"), Link::Prompt),
            ("a2", Some("u2"), Link::Answer),
            ("u3", Some("u1"), Link::Prompt),
        ]
        .into_iter()
        .enumerate()
        {
            rewinds.note(id, [parent, None], link, turn..turn + 1);
        }
        assert_eq!(rewinds.left(), [1, 2]);
        for number in 0..LINKS_MAX {
            rewinds.note(&number.to_string(), [None, None], Link::Other, 0..0);
        }
        assert_eq!(rewinds.left(), [0; 0]);
    }
}
