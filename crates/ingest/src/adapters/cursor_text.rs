//! Transcripts of Cursor's agent as text: `user:` and `assistant:` on lines of their own, markers
//! in brackets for thoughts, calls and results. Knows no file.
//!
//! What the user typed is between `<user_query>` and its end, and no line in it is a marker.

use serde_json::{Map, Value};

use super::adapter::{Adapter, Context, NotJson, Record};
use crate::detect::{CURSOR_QUERY, CURSOR_USER};
use crate::draft::{Draft, Spot};
use crate::limits::{ARGUMENT_CHARS_MAX, ARGUMENTS_BYTES_MAX, RECORD_BYTES_MAX};
use crate::output::Output;
use crate::session::{Agent, Outcome, Place, Speaker};
use crate::skipped::Reason;
use crate::text;

/// After what the user typed.
const QUERY_END: &str = "</user_query>";
/// Lines with which somebody else begins to speak.
const SPEAKERS: [(&str, Block); 3] =
    [(CURSOR_USER, Block::User), ("assistant:", Block::Answer), ("A:", Block::Answer)];
/// How lines begin that mark another kind of block.
const MARKS: [(&str, Block); 3] = [
    ("[Thinking]", Block::Thought),
    ("[Tool call]", Block::Call),
    ("[Tool result]", Block::Result),
];
/// How lines of arguments begin.
const INDENT: &str = "  ";

/// Whose lines come next, and what they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Block {
    Nobody,
    User,
    Answer,
    Thought,
    Call,
    Result,
}

/// Reads one transcript.
pub(super) struct CursorText {
    draft: Draft,
    block: Block,
    words: String,
    place: Option<Place>,
    is_in_query: bool,
}

impl CursorText {
    pub(super) fn new(context: Context) -> Self {
        Self {
            draft: Draft::new(Agent::Cursor, &context.stem),
            block: Block::Nobody,
            words: String::new(),
            place: None,
            is_in_query: false,
        }
    }

    /// What a line begins, with the words after its marker.
    fn start<'l>(&self, line: &'l str) -> Option<(Block, &'l str)> {
        if self.is_in_query {
            return None;
        }
        if let Some((_, block)) = SPEAKERS.iter().find(|(mark, _)| line.trim_end() == *mark) {
            return Some((*block, ""));
        }
        if matches!(self.block, Block::Nobody | Block::User) {
            return None;
        }
        let marked =
            MARKS.iter().find_map(|(mark, block)| Some((*block, line.strip_prefix(mark)?)));
        // After an empty line, what is not set in is the answer again.
        let is_over = matches!(self.block, Block::Thought | Block::Call)
            && self.words.ends_with("\n\n")
            && !line.starts_with(INDENT)
            && !line.trim().is_empty();
        marked.or(is_over.then_some((Block::Answer, line)))
    }

    fn add(&mut self, line: &str, place: Place) {
        if self.words.len() + line.len() > RECORD_BYTES_MAX {
            return;
        }
        self.words.push_str(line);
        self.words.push('\n');
        if !line.trim().is_empty() {
            self.place = Some(self.place.map_or(place, |first| first.to(place)));
        }
    }

    /// The block ends: what it holds is a turn.
    fn finish_block(&mut self, next: Block) {
        let words = std::mem::take(&mut self.words);
        let block = std::mem::replace(&mut self.block, next);
        let Some(place) = self.place.take() else { return };
        let spot = Spot { at: None, place };
        match block {
            Block::User if words.contains(CURSOR_QUERY) => self.draft.said(&words, spot),
            // Nobody typed it: an answer may hold a line that looks like a speaker's.
            Block::User => self.draft.text(Speaker::Injected, &words, spot),
            Block::Answer => self.draft.text(Speaker::Assistant, &words, spot),
            Block::Thought => self.draft.reasoning(&words, spot),
            Block::Call => {
                let (name, rest) = words.split_once('\n').unwrap_or((&words, ""));
                self.draft.call("", name.trim(), arguments(rest), spot);
            }
            Block::Result => {
                // The name of the tool comes first; most results hold nothing else.
                let (_, text) = words.split_once('\n').unwrap_or_default();
                if !text.trim().is_empty() {
                    self.draft.result("", text, Outcome::Unknown, spot);
                }
            }
            Block::Nobody => {}
        }
    }
}

/// Arguments as they are written: `  name: value`, and further lines of the value.
fn arguments(lines: &str) -> Value {
    if lines.len() > ARGUMENTS_BYTES_MAX {
        return Value::String(text::elided(lines.trim(), ARGUMENT_CHARS_MAX));
    }
    let mut all: Vec<(&str, String)> = Vec::new();
    for line in lines.lines() {
        let named = line.strip_prefix(INDENT).and_then(|line| line.split_once(':'));
        let named = named.filter(|(name, _)| !name.is_empty() && !name.contains(' '));
        match (named, all.last_mut()) {
            (Some((name, value)), _) => all.push((name, value.trim().to_owned())),
            (None, Some((_, value))) => {
                value.push('\n');
                value.push_str(line);
            }
            (None, None) => {}
        }
    }
    let short = |value: &str| Value::String(text::elided(value.trim_end(), ARGUMENT_CHARS_MAX));
    let members = all.iter().map(|(name, value)| ((*name).to_owned(), short(value)));
    Value::Object(Map::from_iter(members))
}

impl Adapter for CursorText {
    fn record(&mut self, record: &Record<'_>, output: &mut Output<'_>) -> Result<(), NotJson> {
        let line = record.text;
        match self.start(line) {
            Some((block, words)) => {
                self.finish_block(block);
                if !words.trim().is_empty() {
                    self.add(words.trim_start(), record.place);
                }
            }
            None if self.block == Block::Nobody => {
                if !line.trim().is_empty() {
                    output.skip(Reason::NotDialogue, "line before the first speaker");
                }
            }
            None => self.add(line, record.place),
        }
        if self.block == Block::User {
            self.is_in_query |= line.contains(CURSOR_QUERY);
            self.is_in_query &= !line.contains(QUERY_END);
        }
        Ok(())
    }

    fn end(&mut self, output: &mut Output<'_>) {
        self.finish_block(Block::Nobody);
        let empty = Draft::new(Agent::Cursor, "");
        std::mem::replace(&mut self.draft, empty).finish(output);
    }
}
