//! Conversations put together from spans: each span repeats what was said before, in any order of
//! the file, and each turn is taken once. Knows no format.

use std::collections::HashMap;

use crate::draft::Draft;
use crate::json;
use crate::limits::{KEPT_BYTES_MAX, SESSIONS_MAX};
use crate::output::Output;
use crate::session::{Agent, Turn};
use crate::skipped::Reason;

/// What tells one turn from another.
type Fingerprint = [u8; 16];

struct Thread {
    about: Draft,
    /// Turns by when they were first said.
    groups: Vec<(i64, Vec<Turn>)>,
    /// How often a turn was said.
    counts: HashMap<Fingerprint, u32>,
}

/// The conversations of a file.
pub(super) struct Threads {
    agent: Agent,
    threads: Vec<Thread>,
    positions: HashMap<String, usize>,
    kept: usize,
}

impl Threads {
    pub(super) fn new(agent: Agent) -> Self {
        Self { agent, threads: Vec::new(), positions: HashMap::new(), kept: 0 }
    }

    /// Takes what is new in a list of turns: a turn that stands in it twice was said twice.
    pub(super) fn add(&mut self, key: &str, at: i64, turns: Draft, output: &mut Output<'_>) {
        let room = KEPT_BYTES_MAX - self.kept;
        let Some(thread) = self.thread(key, output) else { return };
        thread.about.saw(Some(at).filter(|&at| at != 0));
        let mut here: HashMap<Fingerprint, u32> = HashMap::new();
        let mut new = Vec::new();
        let mut kept = 0;
        for turn in turns.into_turns() {
            let print = fingerprint(&turn);
            let count = here.entry(print).or_default();
            *count += 1;
            let known = thread.counts.entry(print).or_default();
            if *count > *known {
                *known = *count;
                kept += weight(&turn);
                new.push(turn);
            } else {
                output.skip(Reason::Replayed, "message");
            }
        }
        if kept > room {
            output.skip(Reason::OverLimit, "span");
        } else if !new.is_empty() {
            thread.groups.push((at, new));
            self.kept += kept;
        }
    }

    fn thread(&mut self, key: &str, output: &mut Output<'_>) -> Option<&mut Thread> {
        if let Some(&known) = self.positions.get(key) {
            return self.threads.get_mut(known);
        }
        if self.threads.len() as u64 >= SESSIONS_MAX {
            output.skip(Reason::OverLimit, "session");
            return None;
        }
        self.positions.insert(key.to_owned(), self.threads.len());
        let about = Draft::new(self.agent, key);
        self.threads.push(Thread { about, groups: Vec::new(), counts: HashMap::new() });
        self.threads.last_mut()
    }

    /// Hands out every conversation, its turns in the order of time.
    pub(super) fn finish(&mut self, output: &mut Output<'_>) {
        for thread in std::mem::take(&mut self.threads) {
            let Thread { mut about, mut groups, .. } = thread;
            groups.sort_by_key(|(at, _)| *at);
            groups.into_iter().flat_map(|(_, turns)| turns).for_each(|turn| about.push(turn));
            about.finish(output);
        }
    }
}

fn weight(turn: &Turn) -> usize {
    let arguments = turn.call.as_ref().map_or(0, |call| json::weight(&call.arguments));
    size_of::<Turn>() + turn.text.len() + arguments
}

fn fingerprint(turn: &Turn) -> Fingerprint {
    let mut hasher = blake3::Hasher::new();
    hasher.update(format!("{:?} {:?} ", turn.speaker, turn.kind).as_bytes());
    match (&turn.call, &turn.result) {
        (Some(call), _) if !call.id.is_empty() => hasher.update(call.id.as_bytes()),
        (Some(call), _) => hasher.update(format!("{} {}", call.name, call.arguments).as_bytes()),
        (_, Some(result)) if !result.call.is_empty() => hasher.update(result.call.as_bytes()),
        _ => hasher.update(turn.text.as_bytes()),
    };
    let mut print = [0; 16];
    print.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
    print
}
