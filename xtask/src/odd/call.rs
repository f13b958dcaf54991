//! One strange call: its words, and what it is given on standard input.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use crate::harness::random::Random;
use crate::harness::tree::{Flag, Verb};

/// Values that nobody expects. No path leads out of the folder of the run.
const STRANGE: [&str; 40] = [
    "",
    " ",
    "-",
    "--",
    "-1",
    "-x",
    "--json",
    "0",
    "00",
    "1e400",
    "NaN",
    "inf",
    "4294967296",
    "9223372036854775808",
    "18446744073709551616",
    "99999999999999999999999999",
    "0x10",
    "1,5",
    "\u{1b}[31mred",
    "\u{202e}reversed",
    "two\nlines",
    "\ttab",
    "é\u{301}",
    "🦀",
    "..",
    ".",
    "../..",
    "missing/file",
    "a/../b",
    "%s%n",
    "$(true)",
    "'\"",
    "{}",
    "[1",
    "{\"a\":18446744073709551616}",
    "2026-02-30",
    "-7d",
    "9999999999y",
    "mv2://",
    "re:(",
];
/// Values that mean something in the capsule of the run.
const SOUND: [&str; 24] = [
    "note/1",
    "note/2",
    "mv2://default/note/3",
    "harbour",
    "main",
    "work",
    "run/17",
    "17",
    "me",
    "cro",
    "fact",
    "a text of some words",
    "1",
    "3",
    "0.5",
    "7d",
    "2026-01-01",
    "{\"a\":1}",
    "a=b",
    "lantern.md",
    "notes",
    "other.kapsa",
    "new-file",
    "bundled",
];
/// Lengths of values that are too long for something.
const LENGTHS: [usize; 3] = [300, 5000, 100_000];
/// What is written to standard input.
const INPUTS: [&[u8]; 8] = [
    b"",
    b"plain text\n",
    b"{\"text\":\"a record\"}\n",
    b"{\"text\":\"\"}\n{\"text\":5}\n",
    b"[[[[",
    b"\xff\xfe\x00",
    b"find harbour\nput --text x\n\"\n",
    b"{\"uri\":\"note/1\",\"text\":\"another revision\",\"metadata\":{\"a\":[1,{}]}}\n",
];

/// A call.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub(super) words: Vec<OsString>,
    pub(super) input: Vec<u8>,
    /// Whether its answer must be JSON.
    pub(super) json: bool,
}

impl Call {
    /// A call of one of `verbs`.
    pub(super) fn random(random: &mut Random, verbs: &[Verb]) -> Call {
        let verb = &verbs[random.index(verbs.len()).expect("there are verbs")];
        let json = random.percent(60);
        let mut words: Vec<OsString> = Vec::new();
        words.extend(json.then(|| "--json".into()));
        words.extend(verb.path.iter().map(OsString::from));
        let given = match random.below(10) {
            0 => 0,
            1 => verb.arguments + 2,
            _ => verb.arguments,
        };
        words.extend((0..given).map(|_| value(random, None)));
        for _ in 0..random.below(5) {
            let Some(index) = random.index(verb.flags.len()) else { break };
            let flag = &verb.flags[index];
            // Whoever asks for help gets text.
            if flag.name != "--help" {
                push(random, &mut words, flag);
            }
        }
        if random.percent(3) {
            words.push("--no-such-option".into());
        }
        let input = INPUTS[random.index(INPUTS.len()).expect("not empty")].to_vec();
        Call { words, input, json }
    }

    /// As it would be typed in a shell.
    pub(super) fn typed(&self) -> String {
        let word = |word: &OsString| {
            let text: String = word.to_string_lossy().chars().take(120).collect();
            format!("{text:?}")
        };
        let words: Vec<String> = self.words.iter().map(word).collect();
        format!("kapsa {} < {:?}", words.join(" "), String::from_utf8_lossy(&self.input))
    }
}

/// Adds an option with a value, in one word or two.
fn push(random: &mut Random, words: &mut Vec<OsString>, flag: &Flag) {
    let Some(name) = &flag.value else {
        words.push(OsString::from(&flag.name));
        return;
    };
    let value = value(random, Some(name));
    if random.percent(50) {
        let mut word = OsString::from(format!("{}=", flag.name));
        word.push(value);
        words.push(word);
    } else {
        words.extend([OsString::from(&flag.name), value]);
    }
}

/// A value, sound or strange. The system takes no zero byte in it.
fn value(random: &mut Random, name: Option<&str>) -> OsString {
    // Nobody waits for an hour.
    if name == Some("SECONDS") && random.percent(90) {
        return "1".into();
    }
    match random.below(20) {
        0 => OsString::from_vec(vec![b'a', 0xff, 0xfe]),
        1 => {
            let length = LENGTHS[random.index(LENGTHS.len()).expect("not empty")];
            OsStr::from_bytes(&vec![b'x'; length]).to_os_string()
        }
        2..6 => STRANGE[random.index(STRANGE.len()).expect("not empty")].into(),
        _ => SOUND[random.index(SOUND.len()).expect("not empty")].into(),
    }
}
