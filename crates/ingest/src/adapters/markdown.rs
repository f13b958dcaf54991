//! Histories that programs keep as Markdown for people: aider, SpecStory, chats copied from VS
//! Code. Knows no file.
//!
//! Who speaks is said by headings, and an answer may hold lines that look like them: inside of a
//! fenced block none counts.

use super::adapter::{Adapter, Context, NotJson, Record};
use crate::detect::Format;
use crate::draft::{Draft, Spot};
use crate::limits::RECORD_BYTES_MAX;
use crate::output::Output;
use crate::session::{Agent, Outcome, Place, Speaker};
use crate::skipped::Reason;
use crate::time;

/// How aider's sessions begin.
const AIDER_START: &str = "# aider chat started at ";
/// How lines begin that the user typed into aider, and that aider or a command printed.
const AIDER_OWN: [(&str, Voice); 2] = [("#### ", Voice::User), ("> ", Voice::Console)];
/// What stands for an empty line of the user.
const AIDER_BLANK: &str = "<blank>";
/// How such lines end.
const AIDER_END: &str = "  ";
/// Who answers in a chat copied from VS Code.
const COPILOT: [&str; 2] = ["**GitHub Copilot:**", "GitHub Copilot:"];
/// How SpecStory marks a speaker.
const SPEAKER_MARK: &str = "_**";

/// Whose lines come next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Voice {
    Nobody,
    User,
    Assistant,
    /// aider's own lines, and the output of commands.
    Console,
}

/// Reads one history.
pub(super) struct Markdown {
    format: Format,
    stem: String,
    draft: Draft,
    sessions: u64,
    voice: Voice,
    words: String,
    place: Option<Place>,
    at: Option<i64>,
    /// The backticks or tildes that end the present block.
    fence: Option<String>,
    /// How a message of the user begins in a chat copied from VS Code.
    user_heading: Option<String>,
    /// The last line with words was a rule, as it stands between speakers.
    is_divided: bool,
    /// aider's lines end as newer versions end them.
    has_marks: bool,
}

impl Markdown {
    pub(super) fn new(format: Format, context: Context) -> Self {
        Self {
            format,
            draft: Draft::new(format.agent(), &context.stem),
            stem: context.stem,
            sessions: 0,
            voice: Voice::Nobody,
            words: String::new(),
            place: None,
            at: None,
            fence: None,
            user_heading: None,
            is_divided: false,
            has_marks: false,
        }
    }

    fn aider(&mut self, line: &str, place: Place, output: &mut Output<'_>) {
        if let Some(started) = line.strip_prefix(AIDER_START) {
            self.speaks(Voice::Nobody);
            self.next_session(output);
            self.fence = None;
            self.at = time::micros(started);
            self.draft.saw(self.at);
            return;
        }
        let own = AIDER_OWN
            .iter()
            .find_map(|(start, voice)| line.strip_prefix(start).map(|words| (words, *voice)));
        let voice = match own {
            Some((_, voice)) if self.is_own(line) => voice,
            _ if line.trim().is_empty() && self.voice != Voice::Assistant => {
                return self.speaks(Voice::Nobody);
            }
            _ => Voice::Assistant,
        };
        if self.voice != voice {
            self.speaks(voice);
        }
        match own {
            Some((words, _)) if voice != Voice::Assistant => {
                self.fence = None;
                self.add(words.trim_end().trim_start_matches(AIDER_BLANK), place);
            }
            _ => self.add(line, place),
        }
    }

    /// Whether aider wrote a line, and not the model in an answer: it ends its own lines with two
    /// spaces. Where a history has none that ends so, any line outside of a block counts.
    fn is_own(&mut self, line: &str) -> bool {
        let is_marked = line.ends_with(AIDER_END);
        self.has_marks |= is_marked;
        is_marked || (!self.has_marks && self.fence.is_none())
    }

    fn specstory(&mut self, line: &str, place: Place) {
        let counts = self.fence.is_none() || self.is_divided;
        let heading = line.strip_prefix(SPEAKER_MARK).filter(|_| counts);
        if let Some(heading) = heading.and_then(|rest| rest.trim_end().strip_suffix("**_")) {
            let (name, time) = heading.split_once(" (").unwrap_or((heading, ""));
            self.speaks(if name.trim() == "User" { Voice::User } else { Voice::Assistant });
            self.at = time::micros(time.trim_end_matches(')')).or(self.at);
            self.fence = None;
            self.place = Some(place);
            return;
        }
        let is_divider = line.trim_end() == "---";
        if !line.trim().is_empty() {
            self.is_divided = is_divider;
        }
        if !is_divider || self.fence.is_some() {
            self.add(line, place);
        }
    }

    fn copilot(&mut self, line: &str, place: Place) {
        let answers = COPILOT.iter().find_map(|mark| line.strip_prefix(mark));
        if self.fence.is_some() {
            self.add(line, place);
        } else if let Some(answer) = answers {
            self.speaks(Voice::Assistant);
            self.add(answer, place);
        } else if let Some((heading, words)) = self.question(line) {
            self.user_heading = Some(heading.to_owned());
            self.speaks(Voice::User);
            self.add(words, place);
        } else {
            self.add(line, place);
        }
    }

    /// The heading and the words of a line with which the user begins: `# name: words`.
    fn question<'l>(&self, line: &'l str) -> Option<(&'l str, &'l str)> {
        let heading_end = line.find(": ")? + 2;
        let (heading, words) = line.split_at(heading_end);
        let is_heading = match &self.user_heading {
            Some(known) => known == heading,
            None => heading.starts_with("# ") && !heading[2..heading.len() - 2].contains(' '),
        };
        is_heading.then_some((heading, words))
    }

    fn add(&mut self, line: &str, place: Place) {
        if self.voice == Voice::Nobody || self.words.len() + line.len() > RECORD_BYTES_MAX {
            return;
        }
        self.words.push_str(line);
        self.words.push('\n');
        if !line.trim().is_empty() {
            self.place = Some(self.place.map_or(place, |first| first.to(place)));
        }
    }

    /// Somebody else speaks: what was said until here is a turn.
    fn speaks(&mut self, voice: Voice) {
        let words = std::mem::take(&mut self.words);
        let before = std::mem::replace(&mut self.voice, voice);
        let Some(place) = self.place.take() else { return };
        let spot = Spot { at: self.at, place };
        match before {
            Voice::User => self.user(&words, spot),
            Voice::Assistant => self.draft.text(Speaker::Assistant, &words, spot),
            Voice::Console => self.draft.result("", &words, Outcome::Unknown, spot),
            Voice::Nobody => {}
        }
    }

    fn user(&mut self, words: &str, spot: Spot) {
        let is_command = self.format == Format::Aider
            && words.trim_start().starts_with(['/', '!'])
            && !ASKING.iter().any(|command| words.trim_start().starts_with(command));
        if is_command {
            self.draft.text(Speaker::Injected, words, spot);
        } else {
            self.draft.said(words, spot);
        }
    }

    fn next_session(&mut self, output: &mut Output<'_>) {
        self.sessions += 1;
        let id = match self.sessions {
            1 => self.stem.clone(),
            number => format!("{}#{number}", self.stem),
        };
        let next = Draft::new(self.format.agent(), &id);
        std::mem::replace(&mut self.draft, next).finish(output);
    }

    /// Follows fenced blocks.
    fn follow_fence(&mut self, line: &str) {
        let line = line.trim_start();
        let Some(mark) = line.chars().next().filter(|mark| matches!(mark, '`' | '~')) else {
            return;
        };
        let length = line.chars().take_while(|&c| c == mark).count();
        if length < 3 {
            return;
        }
        let rest = line[length..].trim();
        match &self.fence {
            None if !rest.contains('`') => self.fence = Some(line[..length].to_owned()),
            Some(open) if rest.is_empty() && line.starts_with(open.as_str()) => self.fence = None,
            _ => {}
        }
    }
}

/// Commands of aider whose words are for the model.
const ASKING: [&str; 4] = ["/ask ", "/architect ", "/code ", "/chat-mode "];

impl Adapter for Markdown {
    fn record(&mut self, record: &Record<'_>, output: &mut Output<'_>) -> Result<(), NotJson> {
        let line = record.text;
        match self.format {
            Format::Aider => self.aider(line, record.place, output),
            Format::SpecStory => self.specstory(line, record.place),
            _ => self.copilot(line, record.place),
        }
        self.follow_fence(line);
        if self.voice == Voice::Nobody && !line.trim().is_empty() {
            output.skip(Reason::NotDialogue, "line before the first speaker");
        }
        Ok(())
    }

    fn end(&mut self, output: &mut Output<'_>) {
        self.speaks(Voice::Nobody);
        let empty = Draft::new(Agent::Plain, "");
        std::mem::replace(&mut self.draft, empty).finish(output);
    }
}
