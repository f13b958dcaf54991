//! Where readers put their sessions and what they skip, and what was seen before. Knows nothing of
//! formats.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::ControlFlow;

use kapsa_redact::redact;

use crate::detect::Format;
use crate::limits::{SEEN_MAX, SESSIONS_MAX};
use crate::session::Session;
use crate::skipped::{Reason, Skipped};

/// What was found in a file, beside its sessions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reading {
    /// The format, if it is known.
    pub format: Option<Format>,
    /// How many sessions there were.
    pub sessions: u64,
    /// What was skipped in the whole file.
    pub skipped: Skipped,
    /// The last line, if it is still being written: read the file again later.
    pub waiting: Option<u64>,
    /// Whether the receiver of the sessions wanted no more.
    pub stopped: bool,
}

/// The ids of records that were read, so that each is taken once across files: 16 bytes each, at
/// most [`SEEN_MAX`].
#[derive(Debug, Default)]
pub struct Seen {
    files: HashMap<[u8; 16], u32>,
    file: u32,
}

impl Seen {
    /// Nothing seen yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// What comes is of another file.
    pub(crate) fn next_file(&mut self) {
        self.file = self.file.saturating_add(1);
    }

    /// Remembers an id; says whether it was known.
    pub(crate) fn again(&mut self, id: &str) -> bool {
        self.first_file(id).is_some()
    }

    /// Remembers an id; says whether another file had it first.
    pub(crate) fn elsewhere(&mut self, id: &str) -> bool {
        self.first_file(id).is_some_and(|file| file != self.file)
    }

    fn first_file(&mut self, id: &str) -> Option<u32> {
        let mut key = [0; 16];
        key.copy_from_slice(&blake3::hash(id.as_bytes()).as_bytes()[..16]);
        let known = self.files.get(&key).copied();
        if known.is_none() && self.files.len() < SEEN_MAX {
            self.files.insert(key, self.file);
        }
        known
    }
}

/// Shortest name that is looked at, in bytes: no secret is shorter.
const NAME_BYTES_MIN: usize = 16;

/// A name without what must not be kept: names are stored where texts are redacted.
fn named(name: &str) -> Cow<'_, str> {
    if name.len() < NAME_BYTES_MIN { Cow::Borrowed(name) } else { redact(name).text }
}

/// Takes what must not be kept out of the names in a session.
fn rename(session: &mut Session) {
    let own = [&mut session.cwd, &mut session.repo, &mut session.branch, &mut session.parent];
    let own = own.into_iter().flatten().chain([&mut session.id]);
    let of_calls = session.turns.iter_mut().flat_map(|turn| {
        let call = turn.call.as_mut().map(|call| [&mut call.id, &mut call.name]);
        call.into_iter().flatten().chain(turn.result.as_mut().map(|result| &mut result.call))
    });
    for name in own.chain(of_calls) {
        if let Cow::Owned(redacted) = named(name) {
            *name = redacted;
        }
    }
}

/// What a reader of a format writes to.
pub(crate) struct Output<'a> {
    pub(crate) reading: Reading,
    pub(crate) seen: &'a mut Seen,
    each: &'a mut dyn FnMut(Session) -> ControlFlow<()>,
    /// What was skipped since the last session.
    pending: Skipped,
}

impl<'a> Output<'a> {
    pub(crate) fn new(
        seen: &'a mut Seen,
        each: &'a mut dyn FnMut(Session) -> ControlFlow<()>,
    ) -> Self {
        Self { reading: Reading::default(), seen, each, pending: Skipped::default() }
    }

    pub(crate) fn skip(&mut self, reason: Reason, kind: &str) {
        self.pending.count(reason, &named(kind));
    }

    /// Hands out a session that holds something.
    pub(crate) fn session(&mut self, mut session: Session) {
        if self.reading.stopped || session.turns.is_empty() {
            return;
        }
        if self.reading.sessions == SESSIONS_MAX {
            self.skip(Reason::OverLimit, "session");
            return;
        }
        rename(&mut session);
        self.reading.sessions += 1;
        self.reading.skipped.merge(&self.pending);
        session.skipped = std::mem::take(&mut self.pending);
        self.reading.stopped = (self.each)(session).is_break();
    }

    pub(crate) fn finish(mut self) -> Reading {
        self.reading.skipped.merge(&self.pending);
        self.reading
    }
}
