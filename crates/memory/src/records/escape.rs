//! Stored text is shown so that it can neither act on a terminal nor hide in a log or from a
//! reader.
//!
//! Stored bytes are never changed; only what is shown is. Control characters (C0, DEL, C1), bidi
//! controls and characters that are drawn as nothing become visible escapes. What emoji and scripts
//! need stays as it is: the selector that follows an emoji, the joiner between two, the joiners of
//! Arabic and Indic letters, the tags of the three flags that have them.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::sync::LazyLock;

use regex_syntax::hir::{Class, HirKind};

use super::uri::is_invisible;

/// Text of several lines: newlines and tabs stay, everything else that is not plain is made
/// visible.
#[must_use]
pub fn body(text: &str) -> Cow<'_, str> {
    escape(text, |c| c == '\n' || c == '\t')
}

/// Text for one line: newlines and tabs are made visible too.
#[must_use]
pub fn line(text: &str) -> Cow<'_, str> {
    escape(text, |_| false)
}

/// Whether text can be shown as it is, on one line.
#[must_use]
pub fn is_plain(text: &str) -> bool {
    seen(text).all(|(_, seen)| seen)
}

/// Whether a character acts, or is drawn as nothing, wherever it stands. Some of them are ordinary
/// beside others ([`line()`]).
#[must_use]
pub fn is_hidden(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_control();
    }
    c.is_control() || is_invisible(c) || BLANKS.contains(&c) || IGNORABLE.has(c)
}

/// Drawn as nothing, although Unicode takes them for marks that are seen.
const BLANKS: [char; 3] = ['\u{2800}', '\u{16fe4}', '\u{1d159}'];
/// Joins what stands on both sides.
const JOINER: char = '\u{200d}';
/// Keeps apart what stands on both sides, within a word.
const NON_JOINER: char = '\u{200c}';
/// Selects the coloured form of an emoji.
const EMOJI_FORM: char = '\u{fe0f}';
/// Selects the form of an emoji that is a letter.
const TEXT_FORM: char = '\u{fe0e}';
/// Puts what stands before it on a key.
const KEY_CAP: char = '\u{20e3}';
/// Begins a flag that tags name.
const BLACK_FLAG: char = '\u{1f3f4}';
/// The only tags that a flag is drawn for: of England, Scotland and Wales.
const FLAG_TAGS: [&str; 3] = [
    "\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}",
    "\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}",
    "\u{e0067}\u{e0062}\u{e0077}\u{e006c}\u{e0073}\u{e007f}",
];

/// Characters with a property, by the tables of Unicode.
struct Characters(Vec<(char, char)>);

impl Characters {
    /// Those of a class, as regular expressions write it.
    fn of(class: &str) -> Characters {
        let parsed = regex_syntax::parse(class).expect("a class that Unicode has");
        let HirKind::Class(Class::Unicode(class)) = parsed.into_kind() else {
            unreachable!("a class of characters");
        };
        Characters(class.ranges().iter().map(|range| (range.start(), range.end())).collect())
    }

    fn has(&self, c: char) -> bool {
        let after = self.0.partition_point(|&(first, _)| first <= c);
        after.checked_sub(1).is_some_and(|at| c <= self.0[at].1)
    }
}

static IGNORABLE: LazyLock<Characters> =
    LazyLock::new(|| Characters::of(r"\p{Default_Ignorable_Code_Point}"));
static EMOJI: LazyLock<Characters> = LazyLock::new(|| Characters::of(r"\p{Emoji}"));
static PICTURES: LazyLock<Characters> =
    LazyLock::new(|| Characters::of(r"\p{Extended_Pictographic}"));
/// Letters and marks of scripts that are written with joiners.
static JOINING: LazyLock<Characters> = LazyLock::new(|| {
    Characters::of(
        r"[\p{Arabic}\p{Syriac}\p{Mongolian}\p{Devanagari}\p{Bengali}\p{Gurmukhi}\p{Gujarati}\p{Oriya}\p{Tamil}\p{Telugu}\p{Kannada}\p{Malayalam}\p{Sinhala}\p{Khmer}\p{Myanmar}]",
    )
});

/// The characters of a text, and of each whether it can be shown as it is where it stands.
pub(super) fn seen(text: &str) -> impl Iterator<Item = (char, bool)> {
    let (mut before, mut tags_until) = (None, 0);
    text.char_indices().map(move |(at, c)| {
        let last = before.replace(c);
        if !is_hidden(c) {
            if c == BLACK_FLAG {
                tags_until = at + c.len_utf8() + flag_tags(&text[at + c.len_utf8()..]);
            }
            return (c, true);
        }
        let after = text[at + c.len_utf8()..].chars().next();
        (c, at < tags_until || last.is_some_and(|last| is_ordinary(last, c, after)))
    })
}

/// Length of the tags at the beginning that a flag is drawn for, in bytes.
fn flag_tags(text: &str) -> usize {
    FLAG_TAGS.iter().find(|tags| text.starts_with(**tags)).map_or(0, |tags| tags.len())
}

/// Whether a character that is drawn as nothing belongs between these.
fn is_ordinary(before: char, c: char, after: Option<char>) -> bool {
    match c {
        // Of a digit only on a key cap.
        EMOJI_FORM | TEXT_FORM if before.is_ascii() => EMOJI.has(before) && after == Some(KEY_CAP),
        EMOJI_FORM | TEXT_FORM => EMOJI.has(before),
        JOINER if after.is_some_and(|after| PICTURES.has(after)) => {
            before == EMOJI_FORM || EMOJI.has(before) && !before.is_ascii()
        }
        JOINER | NON_JOINER => JOINING.has(before) && after.is_none_or(|after| !is_hidden(after)),
        _ => false,
    }
}

/// Compact JSON in which characters that act or are drawn as nothing are written by their numbers,
/// as `\u001b`: the same value to a parser, harmless to a terminal.
#[must_use]
pub fn json(value: &serde_json::Value) -> String {
    within_json(&value.to_string())
}

/// The same of JSON that is written already.
#[must_use]
pub(crate) fn within_json(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        // A line's end stands between values only: within texts it is escaped already.
        if c == '\n' || !is_hidden(c) {
            out.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            write!(out, "\\u{unit:04x}").expect("writing to a String cannot fail");
        }
    }
    out
}

fn escape(text: &str, stays: impl Fn(char) -> bool) -> Cow<'_, str> {
    if seen(text).all(|(c, seen)| seen || stays(c)) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for (c, seen) in seen(text) {
        if seen || stays(c) { out.push(c) } else { push_visible(&mut out, c) }
    }
    Cow::Owned(out)
}

fn push_visible(out: &mut String, c: char) {
    let written = match c {
        '\n' => out.write_str("\\n"),
        '\r' => out.write_str("\\r"),
        '\t' => out.write_str("\\t"),
        c if (c as u32) < 0x100 => write!(out, "\\x{:02x}", c as u32),
        c => write!(out, "\\u{{{:x}}}", c as u32),
    };
    written.expect("writing to a String cannot fail");
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOSTILE: &str = "a\x1b[31m\u{9b}2J\u{202e}b\u{200b}\x07\u{7f}\u{e0041}\r";

    #[test]
    fn what_could_act_on_a_terminal_is_shown() {
        assert_eq!(line(HOSTILE), "a\\x1b[31m\\x9b2J\\u{202e}b\\u{200b}\\x07\\x7f\\u{e0041}\\r");
        assert_eq!(body("a\n\tb\x1b"), "a\n\tb\\x1b");
        assert_eq!(line("a\n\tb"), "a\\n\\tb");
        assert!(matches!(line("žluťoučký 日本 \\x1b"), Cow::Borrowed(_)));
    }

    #[test]
    fn json_is_harmless_and_says_the_same() {
        let value = serde_json::json!({ HOSTILE: [HOSTILE, "a\n\tb ❤\u{fe0f}"] });
        let text = json(&value);
        assert!(text.chars().all(|c| !is_hidden(c)), "{text:?}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).expect("valid JSON"), value);
    }

    #[test]
    fn whatever_is_drawn_as_nothing_is_shown() {
        let spans = [
            (0xad, 0xad),
            (0x34f, 0x34f),
            (0x61c, 0x61c),
            (0x115f, 0x1160),
            (0x17b4, 0x17b5),
            (0x180b, 0x180f),
            (0x200b, 0x200f),
            (0x2028, 0x202e),
            (0x2060, 0x206f),
            (0x2800, 0x2800),
            (0x3164, 0x3164),
            (0xfe00, 0xfe0f),
            (0xfeff, 0xfeff),
            (0xffa0, 0xffa0),
            (0xfff0, 0xfffb),
            (0x16fe4, 0x16fe4),
            (0x1bca0, 0x1bca3),
            (0x1d159, 0x1d159),
            (0x1d173, 0x1d17a),
            (0xe0000, 0xe0fff),
        ];
        for (first, last) in spans {
            for code in first..=last {
                let c = char::from_u32(code).expect("a character");
                let shown = format!("a\\{}b", format_args!("u{{{code:x}}}"));
                let shown = if code < 0x100 { format!("a\\x{code:x}b") } else { shown };
                assert_eq!(line(&format!("a{c}b")), shown);
                assert!(!is_plain(&format!("a{c}")));
            }
        }
    }

    #[test]
    fn what_emoji_and_scripts_need_stays() {
        for ordinary in [
            "it works ❤\u{fe0f} and ☎\u{fe0e}",
            "1\u{fe0f}\u{20e3} first",
            "👩\u{200d}💻 and 👩🏽\u{200d}🚀, 🏳\u{fe0f}\u{200d}🌈, 👨\u{200d}👩\u{200d}👧",
            "می\u{200c}خواهم",
            "क्\u{200d}ष and ශ්\u{200d}රී",
            "🏴\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}!",
        ] {
            assert!(matches!(line(ordinary), Cow::Borrowed(_)), "{}", line(ordinary));
            assert!(is_plain(ordinary));
        }
    }

    #[test]
    fn what_only_looks_like_it_is_shown() {
        for (hidden, shown) in [
            ("❤\u{fe0f}\u{fe0f}\u{fe01}", "❤\u{fe0f}\\u{fe0f}\\u{fe01}"),
            ("a\u{fe0f}1\u{fe0f}2", "a\\u{fe0f}1\\u{fe0f}2"),
            ("\u{fe0f}", "\\u{fe0f}"),
            ("a\u{200d}b", "a\\u{200d}b"),
            ("👩\u{200d}b", "👩\\u{200d}b"),
            ("می\u{200c}\u{200d}خ", "می\\u{200c}\\u{200d}خ"),
            ("🏴\u{e0041}\u{e007f}", "🏴\\u{e0041}\\u{e007f}"),
            ("葛\u{e0100}", "葛\\u{e0100}"),
        ] {
            assert_eq!(line(hidden), shown);
        }
    }
}
