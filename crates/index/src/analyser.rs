//! The terms of a text.
//!
//! A *word* is a run of letters, digits and `_`, with `.` allowed between two digits. A word gives
//! one term for each of its parts (`camelCase`, `snake_case`, `CS0854`), at consecutive positions,
//! and, if it has several, one more for the whole word, at the position of the first part. Phrases
//! look only at the parts, so that `"get user name"` finds `getUserName` and `get_user_name`.
//! Scripts written without spaces give overlapping pairs of characters.
//!
//! Every term is in lower case, without Latin accents, and, if it is plain ASCII letters, stemmed
//! as English. A word too long for that has a hash of itself as its term; if it also has too many
//! parts for phrases, its first parts are terms beside it. The same text always gives the same
//! terms: a change here is a new [`ANALYSER_ID`], unless it only adds terms where there were none.
//!
//! The work is proportional to the length of the text, whatever is in it.

use std::cell::RefCell;
use std::ops::Range;
use std::sync::Mutex;

use tantivy::tokenizer::{Token, TokenStream, Tokenizer};
use xxhash_rust::xxh3::{Xxh3Default, xxh3_64};

use crate::fold::{is_combining, push_folded};
use crate::stem::StemCache;
use crate::steps;

/// Identifies what this module does, in every segment built with it.
pub(crate) const ANALYSER_ID: u32 = 1;
/// Longest term in bytes; of a longer word, a hash is the term.
pub const TOKEN_BYTES_MAX: usize = 64;
/// Longest word that is stemmed: no stem of a longer one is short enough for a term, and the
/// stemmer takes time with the square of the length.
const STEMMED_BYTES_MAX: usize = 2 * TOKEN_BYTES_MAX;
/// Begins the hash of a word; no other term begins so.
const LONG_PREFIX: char = '\u{3}';
/// How much of a long word is folded at once, in bytes.
const FOLDED_BYTES: usize = 4096;
/// Most parts a word is split into; a word with more is indexed only as a whole.
const PARTS_MAX: usize = 16;
/// Most parts that are indexed beside the hash of a word that has too many to be split.
const INSIDE_PARTS_MAX: usize = 256;
/// Most changes between letters and digits in a word that is still split there; more look like a
/// hash, whose pieces nobody searches.
const DIGIT_CHANGES_MAX: usize = 4;
/// Words shorter than this have no stem of their own.
const STEM_BYTES_MIN: usize = 3;

/// One term of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Term<'a> {
    /// Normalised form.
    pub(crate) text: &'a str,
    /// Position in words, the first is 0.
    pub(crate) position: u32,
    /// Bytes of the analysed text it stands for.
    pub(crate) range: Range<usize>,
    pub(crate) role: Role,
}

/// What a term is of its word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// What phrases are made of: a word, or one of its parts.
    Part,
    /// A whole word that is also indexed in parts.
    Whole,
    /// A part of a word that phrases know only as a whole.
    Inside,
}

/// How far a text is analysed.
#[derive(Default)]
pub(crate) struct Progress {
    offset: usize,
    position: u32,
}

/// Which terms a caller wants: those that begin with one of these bytes. A word's stem begins as
/// the word does, so that a word that begins with another byte is counted, and neither stemmed nor
/// sent.
#[derive(Clone)]
pub(crate) struct Wanted([bool; 256]);

impl Wanted {
    pub(crate) fn all() -> Wanted {
        Wanted([true; 256])
    }

    /// Terms that may be one of `terms`. Words that do not begin with an ASCII letter or digit are
    /// always wanted: folding may change their first byte.
    pub(crate) fn like<'a>(terms: impl Iterator<Item = &'a str>) -> Wanted {
        let mut wanted = [false; 256];
        wanted[0x80..].fill(true);
        for first in terms.filter_map(|term| term.bytes().next()) {
            wanted[usize::from(first)] = true;
        }
        Wanted(wanted)
    }

    /// Whether the word at `range` can be skipped, and counted as one term all the same.
    fn skips(&self, text: &str, range: &Range<usize>) -> bool {
        let word = &text[range.clone()];
        let first = word.as_bytes().first();
        let unwanted = |first: u8| !self.0[usize::from(first)];
        let skips = if word.len() <= TOKEN_BYTES_MAX {
            first.is_some_and(|first| unwanted(first.to_ascii_lowercase()))
        } else {
            // The term of a word that can be stemmed is a stem or a hash.
            word.len() > STEMMED_BYTES_MAX && unwanted(LONG_PREFIX as u8)
        };
        skips && word.is_ascii()
    }
}

/// Splits texts into terms; keep one around, it remembers stems.
pub(crate) struct Analyser {
    wanted: Wanted,
    /// Terms that were not wanted since the last [`Analyser::analyse_wanted`].
    skipped: u32,
    stems: StemCache,
    term: String,
    first: String,
    parts: Vec<Range<usize>>,
}

/// Runs `task` with this thread's analyser.
pub(crate) fn with_analyser<T>(task: impl FnOnce(&mut Analyser) -> T) -> T {
    thread_local! {
        static ANALYSER: RefCell<Lent> = RefCell::new(Lent::new());
    }
    ANALYSER.with_borrow_mut(|lent| task(lent.0.as_mut().expect("present until the thread ends")))
}

/// Analysers of threads that have ended: a thread that indexes one batch finds the stems of the
/// batch before.
static ANALYSERS: Mutex<Vec<Analyser>> = Mutex::new(Vec::new());
/// Most analysers that are kept for later threads.
const ANALYSERS_MAX: usize = 16;

/// An analyser that goes back when its thread ends.
struct Lent(Option<Analyser>);

impl Lent {
    fn new() -> Lent {
        let kept = ANALYSERS.lock().ok().and_then(|mut analysers| analysers.pop());
        Lent(Some(kept.unwrap_or_else(Analyser::new)))
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        if let (Some(analyser), Ok(mut analysers)) = (self.0.take(), ANALYSERS.lock())
            && analysers.len() < ANALYSERS_MAX
        {
            analysers.push(analyser);
        }
    }
}

impl Analyser {
    pub(crate) fn new() -> Self {
        Analyser {
            wanted: Wanted::all(),
            skipped: 0,
            stems: StemCache::new(),
            term: String::new(),
            first: String::new(),
            parts: Vec::new(),
        }
    }

    /// Calls `sink` with each term of `text`, in order of position. Returns the number of
    /// positions.
    pub(crate) fn analyse(&mut self, text: &str, sink: &mut impl FnMut(Term<'_>)) -> u32 {
        let mut progress = Progress::default();
        while self.step(text, &mut progress, sink) {}
        progress.position
    }

    /// Calls `sink` with the wanted terms of `text`, and perhaps with others. Returns how many
    /// terms there were besides.
    pub(crate) fn analyse_wanted(
        &mut self,
        text: &str,
        wanted: &Wanted,
        sink: &mut impl FnMut(Term<'_>),
    ) -> u32 {
        (self.wanted, self.skipped) = (wanted.clone(), 0);
        self.analyse(text, sink);
        self.wanted = Wanted::all();
        self.skipped
    }

    /// Calls `sink` with each term of the next word of `text`, if there is one.
    #[inline]
    pub(crate) fn step(
        &mut self,
        text: &str,
        progress: &mut Progress,
        sink: &mut impl FnMut(Term<'_>),
    ) -> bool {
        let Some(run) = next_run(text, progress.offset) else {
            steps::note(text.len() - progress.offset);
            return false;
        };
        debug_assert!(
            progress.offset <= run.range.start && run.range.start < run.range.end,
            "a step goes forward"
        );
        steps::note(run.range.end - progress.offset);
        progress.offset = run.range.end;
        let position = progress.position;
        progress.position += match run.kind {
            RunKind::Lower => self.lower(text, run.range, position, sink),
            RunKind::Plain => self.plain(text, run.range, position, sink),
            RunKind::Compound => self.compound(text, run.range, position, sink),
            RunKind::Unspaced => self.unspaced(text, run.range, position, sink),
        };
        true
    }

    /// The most frequent case by far: nothing to copy.
    fn lower(
        &mut self,
        text: &str,
        range: Range<usize>,
        position: u32,
        sink: &mut impl FnMut(Term<'_>),
    ) -> u32 {
        if !(STEM_BYTES_MIN..=TOKEN_BYTES_MAX).contains(&range.len()) {
            return self.plain(text, range, position, sink);
        }
        if self.wanted.skips(text, &range) {
            self.skipped += 1;
            return 1;
        }
        send(self.stems.stem(&text[range.clone()]), position, range, Role::Part, sink);
        1
    }

    fn plain(
        &mut self,
        text: &str,
        range: Range<usize>,
        position: u32,
        sink: &mut impl FnMut(Term<'_>),
    ) -> u32 {
        if is_possessive(text, &range) {
            return 0;
        }
        self.emit(text, range, position, Role::Part, sink);
        1
    }

    /// Returns whether the term is a hash.
    fn emit(
        &mut self,
        text: &str,
        range: Range<usize>,
        position: u32,
        role: Role,
        sink: &mut impl FnMut(Term<'_>),
    ) -> bool {
        if self.wanted.skips(text, &range) {
            self.skipped += 1;
            return range.len() > TOKEN_BYTES_MAX;
        }
        let term = term_of(&text[range.clone()], &mut self.term, &mut self.stems);
        send(term, position, range, role, sink);
        is_hash(term)
    }

    /// A word with a change of case or of class, an underscore or a point inside.
    fn compound(
        &mut self,
        text: &str,
        range: Range<usize>,
        position: u32,
        sink: &mut impl FnMut(Term<'_>),
    ) -> u32 {
        let mut parts = std::mem::take(&mut self.parts);
        let joined = split_parts(&text[range.clone()], range.start, &mut parts);
        debug_assert!(
            parts.is_sorted_by(|one, other| one.end <= other.start),
            "the parts of a word follow each other"
        );
        let count = match parts.as_slice() {
            [] => 0,
            [word] if joined => {
                let word = word.clone();
                if self.emit(text, word.clone(), position, Role::Part, sink) {
                    split_inside(&text[word.clone()], word.start, &mut parts);
                    for part in &parts {
                        self.emit(text, part.clone(), position, Role::Inside, sink);
                    }
                }
                1
            }
            [part] => self.plain(text, part.clone(), position, sink),
            [first, .., last] => {
                let word = first.start..last.end;
                self.emit_whole(text, word, first.clone(), position, sink);
                for (part, position) in parts[1..].iter().zip(position + 1..) {
                    self.emit(text, part.clone(), position, Role::Part, sink);
                }
                parts.len() as u32
            }
        };
        self.parts = parts;
        count
    }

    /// Sends the whole word, unless it is the same term as its first part, and that part.
    fn emit_whole(
        &mut self,
        text: &str,
        word: Range<usize>,
        first: Range<usize>,
        position: u32,
        sink: &mut impl FnMut(Term<'_>),
    ) {
        let part = term_of(&text[first.clone()], &mut self.term, &mut self.stems);
        self.first.clear();
        self.first.push_str(part);
        let whole = term_of(&text[word.clone()], &mut self.term, &mut self.stems);
        if whole != self.first {
            send(whole, position, word, Role::Whole, sink);
        }
        send(&self.first, position, first, Role::Part, sink);
    }

    /// Pairs of neighbouring characters, or the only one.
    fn unspaced(
        &mut self,
        text: &str,
        range: Range<usize>,
        position: u32,
        sink: &mut impl FnMut(Term<'_>),
    ) -> u32 {
        let starts = text[range.clone()].char_indices();
        let mut ends = starts.clone().skip(2).map(|(at, _)| range.start + at);
        let chars = starts.clone().count();
        let mut count = 0;
        for (start, _) in starts.take(chars.saturating_sub(1).max(1)) {
            let pair = range.start + start..ends.next().unwrap_or(range.end);
            send(&text[pair.clone()], position + count, pair, Role::Part, sink);
            count += 1;
        }
        debug_assert!(
            count as usize == chars.saturating_sub(1).max(1),
            "a term for each pair, or for the only character"
        );
        count
    }
}

fn send(
    term: &str,
    position: u32,
    range: Range<usize>,
    role: Role,
    sink: &mut impl FnMut(Term<'_>),
) {
    debug_assert!(!range.is_empty(), "a term stands for some bytes of the text");
    debug_assert!(term.len() <= TOKEN_BYTES_MAX, "of a longer word, a hash is the term");
    steps::note(1);
    if !term.is_empty() {
        sink(Term { text: term, position, range, role });
    }
}

/// The term that `word` is indexed as: its stem, or a hash of it if that is too long.
fn term_of<'a>(word: &str, out: &'a mut String, stems: &'a mut StemCache) -> &'a str {
    steps::note(word.len());
    out.clear();
    let mut hash = None;
    if word.len() > STEMMED_BYTES_MAX {
        hash = fold_long(word, out);
    } else {
        fold(word, out);
    }
    let hash = match hash {
        Some(hash) => hash,
        None if out.len() <= TOKEN_BYTES_MAX => return stemmed(out, stems),
        None => {
            let stem = stemmed(out, stems);
            if stem.len() <= TOKEN_BYTES_MAX {
                *out = stem.to_owned();
                return out;
            }
            xxh3_64(out.as_bytes())
        }
    };
    *out = format!("{LONG_PREFIX}{hash:016x}");
    out
}

/// Whether a term stands for a word that is too long to be one.
pub(crate) fn is_hash(term: &str) -> bool {
    term.starts_with(LONG_PREFIX)
}

/// Appends what is left of `word` without case and accents if that can be stemmed, and returns its
/// hash otherwise.
fn fold_long(word: &str, out: &mut String) -> Option<u64> {
    let (mut hash, mut is_long) = (Xxh3Default::new(), false);
    let mut rest = word;
    while !rest.is_empty() {
        let most = rest.len().min(FOLDED_BYTES);
        let len = (1..=most).rev().find(|&len| rest.is_char_boundary(len)).unwrap_or(rest.len());
        let (next, later) = rest.split_at(len);
        fold(next, out);
        if out.len() > STEMMED_BYTES_MAX {
            hash.update(out.as_bytes());
            out.clear();
            is_long = true;
        }
        rest = later;
    }
    hash.update(out.as_bytes());
    is_long.then(|| hash.digest())
}

/// Appends `word` without case and accents.
fn fold(word: &str, out: &mut String) {
    if word.is_ascii() {
        let start = out.len();
        out.push_str(word);
        out[start..].make_ascii_lowercase();
    } else {
        word.chars().for_each(|c| push_folded(c, out));
    }
}

/// The term that a normalised word is indexed as.
fn stemmed<'a>(word: &'a str, stems: &'a mut StemCache) -> &'a str {
    let letters = word.len() >= STEM_BYTES_MIN && word.bytes().all(|b| b.is_ascii_lowercase());
    if letters { stems.stem(word) } else { word }
}

/// The `s` of `user's`.
fn is_possessive(text: &str, range: &Range<usize>) -> bool {
    matches!(&text[range.clone()], "s" | "S") && {
        let before = text[..range.start].strip_suffix(['\'', '\u{2019}']);
        before.is_some_and(|before| before.ends_with(char::is_alphanumeric))
    }
}

struct Run {
    kind: RunKind,
    range: Range<usize>,
}

#[derive(PartialEq)]
enum RunKind {
    /// Lower-case ASCII letters.
    Lower,
    /// A word without parts.
    Plain,
    /// A word that may have parts.
    Compound,
    /// Characters of a script without spaces.
    Unspaced,
}

/// Class of an ASCII byte; the flags of a run's bytes tell whether it can have parts.
const LOWER: u8 = 1;
const UPPER: u8 = 2;
const DIGIT: u8 = 4;
const JOINER: u8 = 8;
const WIDE: u8 = 16;

static CLASS: [u8; 256] = classes();

const fn classes() -> [u8; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = match byte as u8 {
            b'a'..=b'z' => LOWER,
            b'A'..=b'Z' => UPPER,
            b'0'..=b'9' => DIGIT,
            b'_' => JOINER,
            0x80.. => WIDE,
            _ => 0,
        };
        byte += 1;
    }
    table
}

/// The next word or run of unspaced characters at or after `offset`.
fn next_run(text: &str, mut offset: usize) -> Option<Run> {
    let bytes = text.as_bytes();
    loop {
        let class = CLASS[usize::from(*bytes.get(offset)?)];
        if class & WIDE != 0 {
            let c = text[offset..].chars().next()?;
            if is_unspaced(c) {
                return Some(unspaced_run(text, offset));
            }
            if c.is_alphanumeric() {
                return Some(word_run(text, offset));
            }
            offset += c.len_utf8();
        } else if class != 0 {
            return Some(word_run(text, offset));
        } else {
            offset += 1;
        }
    }
}

fn unspaced_run(text: &str, start: usize) -> Run {
    let rest = &text[start..];
    let len = rest.find(|c| !is_unspaced(c)).unwrap_or(rest.len());
    assert!(len > 0, "a character of such a script begins here");
    Run { kind: RunKind::Unspaced, range: start..start + len }
}

fn word_run(text: &str, start: usize) -> Run {
    let bytes = text.as_bytes();
    let first = CLASS[usize::from(bytes[start])];
    let mut end = start;
    // Classes of all bytes, except a capital at the start, which makes no part.
    let mut rest = 0;
    while let Some(&byte) = bytes.get(end) {
        let len = match CLASS[usize::from(byte)] {
            WIDE => word_char_len(&text[end..]),
            0 => usize::from(is_decimal_point(bytes, end)),
            _ => 1,
        };
        if len == 0 {
            break;
        }
        rest |= match CLASS[usize::from(byte)] {
            UPPER if end == start => 0,
            0 => JOINER,
            class => class,
        };
        end += len;
    }
    assert!(end > start, "a word begins here");
    let kind = match (first, rest) {
        (LOWER, LOWER) => RunKind::Lower,
        (_, 0 | LOWER) | (UPPER, UPPER) | (DIGIT, DIGIT) => RunKind::Plain,
        _ => RunKind::Compound,
    };
    Run { kind, range: start..end }
}

/// Length of the character that `rest` begins with, 0 if it cannot be part of a word.
fn word_char_len(rest: &str) -> usize {
    let is_word = |c: &char| (c.is_alphanumeric() || is_combining(*c)) && !is_unspaced(*c);
    rest.chars().next().filter(is_word).map_or(0, char::len_utf8)
}

fn is_decimal_point(bytes: &[u8], at: usize) -> bool {
    let digit = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_digit);
    bytes[at] == b'.' && at > 0 && digit(bytes.get(at - 1)) && digit(bytes.get(at + 1))
}

/// Whether `c` is of a script that is written without spaces between words.
pub(crate) fn is_unspaced(c: char) -> bool {
    matches!(c,
        '\u{0e00}'..='\u{0eff}'     // Thai, Lao
        | '\u{1000}'..='\u{109f}'   // Myanmar
        | '\u{1100}'..='\u{11ff}'   // Hangul Jamo
        | '\u{1780}'..='\u{17ff}'   // Khmer
        | '\u{3005}'..='\u{3007}'   // ideographic marks
        | '\u{3040}'..='\u{30fa}'   // Hiragana, Katakana
        | '\u{30fc}'..='\u{318f}'   // prolonged sound mark, Bopomofo, Hangul
        | '\u{31a0}'..='\u{31ff}'
        | '\u{3400}'..='\u{4dbf}'   // Han
        | '\u{4e00}'..='\u{9fff}'
        | '\u{ac00}'..='\u{d7af}'   // Hangul
        | '\u{f900}'..='\u{faff}'
        | '\u{ff66}'..='\u{ff9f}'   // half-width Katakana
        | '\u{20000}'..='\u{3ffff}')
}

/// What a character of a word is, to find where parts meet.
#[derive(Clone, Copy, PartialEq)]
enum CharKind {
    Joiner,
    Digit,
    Upper,
    Letter,
}

fn kind_of_ascii(byte: u8) -> CharKind {
    match byte {
        b'_' | b'.' => CharKind::Joiner,
        b'0'..=b'9' => CharKind::Digit,
        b'A'..=b'Z' => CharKind::Upper,
        _ => CharKind::Letter,
    }
}

fn kind_of(c: char) -> CharKind {
    match c {
        '_' | '.' => CharKind::Joiner,
        _ if c.is_numeric() => CharKind::Digit,
        _ if c.is_uppercase() => CharKind::Upper,
        _ => CharKind::Letter,
    }
}

/// Where parts of a word meet.
#[derive(Clone, Copy, PartialEq)]
enum Splits {
    Joiners,
    /// Also where the case changes.
    Case,
    /// Also between letters and digits.
    Digits,
}

/// Fills `parts` with the parts of `word`, which begins at `base`; of a word with too many with the
/// word, and returns true.
fn split_parts(word: &str, base: usize, parts: &mut Vec<Range<usize>>) -> bool {
    let splits = if looks_like_a_hash(word) { Splits::Case } else { Splits::Digits };
    split(word, base, splits, PARTS_MAX, parts);
    let joined = parts.len() > PARTS_MAX;
    if joined {
        parts[0].end = parts[parts.len() - 1].end;
        parts.truncate(1);
    }
    joined
}

/// Fills `parts` with the first parts of a word that has too many to be split.
fn split_inside(word: &str, base: usize, parts: &mut Vec<Range<usize>>) {
    let splits = if looks_like_a_hash(word) { Splits::Joiners } else { Splits::Digits };
    split(word, base, splits, INSIDE_PARTS_MAX, parts);
    parts.truncate(INSIDE_PARTS_MAX);
    if parts.len() == 1 {
        parts.clear();
    }
}

/// Fills `parts` with the first `most` parts of `word`, and with one more for the rest.
fn split(word: &str, base: usize, splits: Splits, most: usize, parts: &mut Vec<Range<usize>>) {
    if word.is_ascii() {
        let kinds = word.bytes().map(kind_of_ascii).enumerate();
        split_kinds(kinds, word.len(), base, splits, most, parts);
    } else {
        let chars = word.char_indices().filter(|&(_, c)| !is_combining(c));
        let kinds = chars.map(|(at, c)| (at, kind_of(c)));
        split_kinds(kinds, word.len(), base, splits, most, parts);
    }
}

/// The same for a word of `len` bytes, given the offset and the kind of each character.
fn split_kinds(
    kinds: impl Iterator<Item = (usize, CharKind)>,
    len: usize,
    base: usize,
    splits: Splits,
    most: usize,
    parts: &mut Vec<Range<usize>>,
) {
    steps::note(len);
    parts.clear();
    let mut before = CharKind::Joiner;
    let mut kinds = kinds.peekable();
    while let Some((at, kind)) = kinds.next() {
        let next = kinds.peek().map(|&(_, next)| next);
        let end = base + kinds.peek().map_or(len, |&(at, _)| at);
        if kind != CharKind::Joiner {
            let starts = parts.len() <= most && starts_part(before, kind, next, splits);
            match parts.last_mut() {
                Some(part) if !starts => part.end = end,
                _ => parts.push(base + at..end),
            }
        }
        before = kind;
    }
    debug_assert!(
        parts.iter().all(|part| base <= part.start && part.end <= base + len),
        "the parts lie in the word"
    );
}

fn starts_part(before: CharKind, kind: CharKind, next: Option<CharKind>, splits: Splits) -> bool {
    match (before, kind) {
        (CharKind::Joiner, _) => true,
        _ if splits == Splits::Joiners => false,
        (CharKind::Digit, CharKind::Digit) => false,
        (CharKind::Digit, _) | (_, CharKind::Digit) => splits == Splits::Digits,
        (CharKind::Letter, CharKind::Upper) => true,
        (CharKind::Upper, CharKind::Upper) => next == Some(CharKind::Letter),
        _ => false,
    }
}

/// Whether letters and digits alternate in `word` as in no name.
fn looks_like_a_hash(word: &str) -> bool {
    steps::note(word.len());
    let changes = if word.is_ascii() {
        digit_changes(word.bytes().map(kind_of_ascii))
    } else {
        digit_changes(word.chars().map(kind_of))
    };
    changes > DIGIT_CHANGES_MAX
}

/// How often a letter and a digit meet.
fn digit_changes(kinds: impl Iterator<Item = CharKind> + Clone) -> usize {
    let pairs = kinds.clone().zip(kinds.skip(1));
    let joined = |kind| kind == CharKind::Joiner;
    pairs
        .filter(|&(a, b)| {
            !joined(a) && !joined(b) && (a == CharKind::Digit) != (b == CharKind::Digit)
        })
        .count()
}

/// The analyser as a tantivy tokenizer.
#[derive(Clone)]
pub(crate) struct TextTokenizer;

impl Tokenizer for TextTokenizer {
    type TokenStream<'a> = TextStream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> TextStream<'a> {
        TextStream { text, token: Token::default(), queue: None }
    }
}

/// Terms of one text; [`TokenStream::process`] is the fast way through.
pub(crate) struct TextStream<'a> {
    text: &'a str,
    token: Token,
    queue: Option<std::vec::IntoIter<Token>>,
}

impl TokenStream for TextStream<'_> {
    fn advance(&mut self) -> bool {
        let mut queue = self.queue.take().unwrap_or_else(|| {
            let mut tokens = Vec::new();
            self.process(&mut |token| tokens.push(token.clone()));
            tokens.into_iter()
        });
        let next = queue.next();
        self.queue = Some(queue);
        next.map(|token| self.token = token).is_some()
    }

    fn token(&self) -> &Token {
        &self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        &mut self.token
    }

    fn process(&mut self, sink: &mut dyn FnMut(&Token)) {
        let token = &mut self.token;
        let mut send = |term: Term<'_>| {
            token.text.clear();
            token.text.push_str(term.text);
            token.position = term.position as usize;
            token.offset_from = term.range.start;
            token.offset_to = term.range.end;
            sink(token);
        };
        with_analyser(|analyser| analyser.analyse(self.text, &mut send));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Terms as `text@position`, a whole word with a `*`, a part inside of a long one with a `+`.
    fn check(text: &str, expected: &str) {
        let mut found = Vec::new();
        let positions = Analyser::new().analyse(text, &mut |term| {
            let star = match term.role {
                Role::Part => "",
                Role::Whole => "*",
                Role::Inside => "+",
            };
            found.push(format!("{}{star}@{}", term.text, term.position));
            assert!(text.get(term.range.clone()).is_some(), "{text}: {:?}", term.range);
            assert!(!term.range.is_empty());
        });
        assert_eq!(found.join(" "), expected, "{text}");
        let last = found.iter().filter_map(|term| term.rsplit('@').next()?.parse().ok()).max();
        assert!(last.is_none_or(|last: u32| last < positions));
    }

    #[test]
    fn words() {
        check("", "");
        check(" \t.,-", "");
        check("The quick Foxes, running!", "the@0 quick@1 fox@2 run@3");
        check("the user's don't", "the@0 user@1 don@2 t@3");
        check("HTTP 404", "http@0 404@1");
        check("Éclairs naïve Straße e\u{301}tude", "eclair@0 naiv@1 strass@2 etud@3");
        check("ΠΌΛΗ Москва", "πόλη@0 москва@1");
    }

    #[test]
    fn identifiers() {
        check("getUserName runs", "getusernam*@0 get@0 user@1 name@2 run@3");
        check("snake_case_tests", "snake_case_tests*@0 snake@0 case@1 test@2");
        check("a/b/c.rs", "a@0 b@1 c@2 rs@3");
        check("CS0854", "cs0854*@0 cs@0 0854@1");
        check("HTTPServer", "httpserver*@0 http@0 server@1");
        check("utf8 x86_64", "utf8*@0 utf@0 8@1 x86_64*@2 x@2 86@3 64@4");
        check("v0.27.0, 3.14.", "v0.27.0*@0 v@0 0@1 27@2 0@3 3.14*@4 3@4 14@5");
        check("__init__ _x ___", "init@0 x@1");
        check("runS", "run@0 s@1");
        check("JavaScript javascript", "javascript*@0 java@0 script@1 javascript@2");
        check("3fa9bc12de4f56", "3fa9bc12de4f56@0");
        check("std::io::Error", "std@0 io@1 error@2");
        check("ÉcoleSupérieure", "ecolesuperieur*@0 ecol@0 superieur@1");
    }

    #[test]
    fn ascii_is_no_special_case() {
        (0..128).for_each(|byte: u8| {
            assert!(kind_of_ascii(byte) == kind_of(char::from(byte)), "{byte}")
        });
    }

    #[test]
    fn scripts_without_spaces() {
        check("東京都", "東京@0 京都@1");
        check("東 x", "東@0 x@1");
        check("Rust言語です", "rust@0 言語@1 語で@2 です@3");
        check("한국어 공부", "한국@0 국어@1 공부@2");
    }

    #[test]
    fn long_words() {
        let long = "x".repeat(TOKEN_BYTES_MAX + 1);
        let hash = hash_of(&long);
        check(&format!("a {long} b"), &format!("a@0 {hash}@1 b@2"));
        check(
            &format!("a {}é b", &long[1..]),
            &format!("a@0 {}@1 b@2", hash_of(&format!("{}e", &long[1..]))),
        );
        let many = vec!["ab"; PARTS_MAX + 1].join("_");
        check(&many, &format!("{many}@0"));
        let stem = format!("a{}", "x".repeat(TOKEN_BYTES_MAX - 2));
        check(&format!("{stem}ing"), &format!("{stem}@0"));
        let digits = "3fa9bc12de4f56".repeat(10);
        check(&digits.to_uppercase(), &format!("{}@0", hash_of(&digits)));
        check(
            &format!("sha_{digits}"),
            &format!("{}*@0 sha@0 {}@1", hash_of(&format!("sha_{digits}")), hash_of(&digits)),
        );
    }

    fn hash_of(word: &str) -> String {
        format!("{LONG_PREFIX}{:016x}", xxh3_64(word.as_bytes()))
    }

    #[test]
    fn no_stem_of_a_long_word_is_short() {
        let mut stems = StemCache::new();
        let endings = ["fulnesses", "ationally", "izations", "iveness", "ousnesses", "mently"];
        for _ in 0..2 {
            for ending in endings {
                let mut word = ending.to_owned();
                for more in endings.iter().cycle().take(30) {
                    word = format!("{more}{word}");
                    let stem = stems.stem(&word);
                    assert!(
                        word.len() <= STEMMED_BYTES_MAX || stem.len() > TOKEN_BYTES_MAX,
                        "{word}"
                    );
                }
            }
        }
    }

    #[test]
    fn words_with_many_parts() {
        let parts: Vec<String> =
            (0..INSIDE_PARTS_MAX + 9).map(|n| format!("{}x", letters(n))).collect();
        let word = parts.join("_");
        let inside: Vec<String> =
            parts[..INSIDE_PARTS_MAX].iter().map(|part| format!("{part}+@1")).collect();
        check(
            &format!("a {word} b"),
            &format!("a@0 {}@1 {} b@2", hash_of(&word), inside.join(" ")),
        );
        let camel = vec!["Get"; 30].concat();
        let inside = vec!["get+@0"; 30].join(" ");
        check(&camel, &format!("{}@0 {inside}", hash_of(&camel.to_lowercase())));
        let base64 = "aB3dE5gH7".repeat(9);
        check(&base64, &format!("{}@0", hash_of(&base64.to_lowercase())));
        let joined = format!("{base64}_tests");
        check(
            &joined,
            &format!(
                "{}@0 {}+@0 test+@0",
                hash_of(&joined.to_lowercase()),
                hash_of(&base64.to_lowercase())
            ),
        );
    }

    fn letters(n: usize) -> String {
        [n / 26, n % 26].map(|n| char::from(b'a' + n as u8)).iter().collect()
    }

    #[test]
    fn long_words_fold_like_short_ones() {
        let mut stems = StemCache::new();
        for word in ["É", "ﬃß", "a", "Ⱥ", "e\u{301}"] {
            let long = word.repeat(FOLDED_BYTES);
            let mut folded = String::new();
            fold(&long, &mut folded);
            assert_eq!(term_of(&long, &mut String::new(), &mut stems), hash_of(&folded), "{word}");
        }
        let accents = format!("e{}t", "\u{301}".repeat(FOLDED_BYTES));
        assert_eq!(term_of(&accents, &mut String::new(), &mut stems), "et");
    }

    #[test]
    fn streams_alike_one_by_one_and_at_once() {
        let text = "getUserName of the 東京都";
        let mut tokenizer = TextTokenizer;
        let mut at_once = Vec::new();
        tokenizer.token_stream(text).process(&mut |token| at_once.push(token.clone()));
        let mut stream = tokenizer.token_stream(text);
        let one_by_one: Vec<_> = std::iter::from_fn(|| stream.next().cloned()).collect();
        assert_eq!(one_by_one, at_once);
    }
}
