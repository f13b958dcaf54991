//! What a call answered, in words that mean the same for all three capsules: paths and sequences
//! are
//! replaced. Knows nothing of what may be answered.

use std::process::Output;

use super::build::Sequences;

/// What stands before a sequence in an answer.
const BEFORE: [&str; 9] = [
    "#",
    "\"sequence\":",
    "\\\"sequence\\\":",
    "\"next_cursor\":\"",
    "\\\"next_cursor\\\":\\\"",
    "\"last_sequence\":",
    "sequence ",
    "no record ",
    "kapsa/pending/",
];
/// What a name begins with that the program drew, and how many digits of base 16 follow.
const DRAWN: [&str; 4] = ["f_", "ep_", "ins_", "t_"];
const DRAWN_DIGITS: usize = 16;
/// The letters of other drawn names, and how many there are.
const LETTERS: &str = "0123456789abcdefghjkmnpqrstvwxyz";
const DRAWN_LETTERS: usize = 13;

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reply {
    pub(super) code: Option<i32>,
    pub(super) out: String,
    pub(super) err: String,
}

impl Reply {
    /// The answer that a call gave in `folder`, to somebody who gave these sequences.
    pub(super) fn of(output: &Output, folder: &str, sequences: &Sequences, given: &[u64]) -> Reply {
        let text = |bytes: &[u8]| {
            let text = String::from_utf8_lossy(bytes).replace(folder, "<folder>");
            uncounted(&undrawn(&canonical(&text, sequences, given)))
        };
        Reply { code: output.status.code(), out: text(&output.stdout), err: text(&output.stderr) }
    }

    /// The answer as it came.
    pub(super) fn raw(output: &Output, folder: &str) -> Reply {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).replace(folder, "<folder>");
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        Reply { code: output.status.code(), out, err }
    }

    pub(super) fn contains(&self, word: &str) -> bool {
        self.out.contains(word) || self.err.contains(word)
    }

    /// What stands around a word.
    pub(super) fn around(&self, word: &str) -> String {
        let text = if self.out.contains(word) { &self.out } else { &self.err };
        let at = text.find(word).unwrap_or_default();
        format!("{word} in: {}", short(text, at.saturating_sub(120)))
    }

    /// The code of the error that it ended with, in JSON or not.
    pub(super) fn is_denied(&self) -> bool {
        self.code == Some(1)
            && [
                "access_denied",
                "may not",
                "uri_not_found",
                "not found",
                "no such",
                "nothing is remembered",
            ]
            .iter()
            .any(|word| self.err.contains(word))
    }

    /// What differs from another answer, in short.
    pub(super) fn difference(&self, other: &Reply) -> String {
        if self.code != other.code {
            return format!(
                "exit {:?} / {:?}: {} / {}",
                self.code,
                other.code,
                short(&self.err, 0),
                short(&other.err, 0)
            );
        }
        let (name, one, two) = if self.out == other.out {
            ("err", &self.err, &other.err)
        } else {
            ("out", &self.out, &other.out)
        };
        let same = one.bytes().zip(two.bytes()).take_while(|(one, two)| one == two).count();
        let from = same.saturating_sub(60);
        format!("{name} at {same}: {:?} / {:?}", short(one, from), short(two, from))
    }
}

fn short(text: &str, from: usize) -> String {
    let bytes = text.as_bytes();
    let end = bytes.len().min(from + 240);
    String::from_utf8_lossy(&bytes[from.min(end)..end]).trim().to_owned()
}

/// The text with each sequence in it replaced by its place among those that all three capsules
/// have.
fn canonical(text: &str, sequences: &Sequences, given: &[u64]) -> String {
    let mut canonical = String::with_capacity(text.len());
    let mut rest = text;
    loop {
        let next =
            BEFORE.iter().filter_map(|before| rest.find(before).map(|at| at + before.len())).min();
        let Some(at) = next else { break };
        let (before, after) = rest.split_at(at);
        canonical.push_str(before);
        let digits = after.bytes().take_while(u8::is_ascii_digit).count();
        if let Ok(number) = after[..digits].parse() {
            canonical.push_str(&replaced(number, sequences, given));
        }
        rest = &after[digits..];
    }
    canonical + rest
}

/// The text without the names that the program drew: they depend on the sequence.
fn undrawn(text: &str) -> String {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut undrawn = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(is_part) {
        let (before, word) = rest.split_at(start);
        let (word, after) = word.split_at(word.find(|c| !is_part(c)).unwrap_or(word.len()));
        undrawn.push_str(before);
        undrawn.push_str(if is_drawn(word) { "<drawn>" } else { word });
        rest = after;
    }
    undrawn + rest
}

/// The text without how often and when a fact was read: a read is counted at once or, where the
/// lock is not free, not at all.
fn uncounted(text: &str) -> String {
    let mut uncounted = text.to_owned();
    for (before, ends) in [("\"access_count\":", [',', '}']), (",\"accessed_at\":", [',', '}'])] {
        let mut from = 0;
        while let Some(start) = uncounted[from..].find(before).map(|at| from + at) {
            let value = start + before.len();
            let end = uncounted[value..].find(ends).map_or(uncounted.len(), |at| value + at);
            uncounted.replace_range(start..end, "");
            from = start;
        }
    }
    uncounted
}

fn is_drawn(word: &str) -> bool {
    let digits = DRAWN.iter().find_map(|before| word.strip_prefix(before));
    digits.is_some_and(|digits| {
        digits.len() == DRAWN_DIGITS && digits.bytes().all(|digit| digit.is_ascii_hexdigit())
    }) || word.len() == DRAWN_LETTERS && word.chars().all(|letter| LETTERS.contains(letter))
}

fn replaced(number: u64, sequences: &Sequences, given: &[u64]) -> String {
    match sequences.common.get(&number) {
        Some(place) => format!("@{place}"),
        None if given.contains(&number) => "@given".to_owned(),
        None if number > sequences.last => format!("@+{}", number - sequences.last),
        None => format!("@{number}!"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drawn_names_are_replaced() {
        let check = |text: &str, expected: &str| assert_eq!(undrawn(text), expected);
        check("note/ktcsmxqn58dxm #1", "note/<drawn> #1");
        check("{\"id\":\"f_3bfda7a91fe229a2\"}", "{\"id\":\"<drawn>\"}");
        check("f_mine, note/zirconfact", "f_mine, note/zirconfact");
    }

    #[test]
    fn counts_of_reads_are_not_compared() {
        let text = |counts: &str| format!("{{\"id\":\"f2\",{counts}}},{{\"id\":\"f4\"}}");
        let read = text("\"access_count\":1,\"accessed_at\":\"2026-09-25T01:33:20Z\"");
        assert_eq!(uncounted(&read), uncounted(&text("\"access_count\":0")));
    }

    #[test]
    fn sequences_are_replaced_by_their_place() {
        let common = [(1, 0), (4, 1)].into_iter().collect();
        let sequences = Sequences { common, hidden: vec![2, 3], last: 4 };
        let check =
            |text: &str, expected: &str| assert_eq!(canonical(text, &sequences, &[3]), expected);
        check("note/1  #4  added", "note/1  #@1  added");
        check("{\"sequence\":1,\"other\":4}", "{\"sequence\":@0,\"other\":4}");
        check("#2 #3 #5", "#@2! #@given #@+1");
        check("no sequence here, not #x", "no sequence here, not #x");
    }
}
