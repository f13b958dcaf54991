//! Other spellings that a word of a query may have in a text.
//!
//! The index keeps words without case and Latin accents. What it keeps apart all the same, and
//! people do not, is bridged here: a query looks for the other spellings too. Only for ranking: a
//! required word is taken as it is written.

use crate::analyser::{TOKEN_BYTES_MAX, is_unspaced};
use crate::fold::is_combining;
use crate::steps;

/// Lengths of a hash that is known by its first digits, and how many these are.
const HASH_BYTES: [usize; 2] = [40, 64];
const SHORT_HASH_BYTES: std::ops::RangeInclusive<usize> = 7..=12;
/// Fewest digits of numbers that are joined, a date's.
const JOINED_DIGITS_MIN: usize = 8;
/// Fewest letters of a word that may be an acronym's plural or lose its article.
const WORD_CHARS_MIN: usize = 3;
/// Longest word whose `-us` may be a plural, such as `menus`: the stemmer takes it for Latin.
const PLURAL_BYTES_MAX: usize = 5;
/// Longest word that has other spellings, in bytes: those of a longer one are too long for a term.
const SPELLED_BYTES_MAX: usize = 4 * TOKEN_BYTES_MAX;
/// Spellings of one word at most.
const SPELLINGS_MAX: usize = 16;

/// What often follows, and comes before, a Chinese character in Chinese and Japanese.
const AFTER_HAN: &str = "はがをのにでともやへかだなさちたしすく的了是在和有不们很也都";
const BEFORE_HAN: &str = "のないたるはがをにでともおごくう的了是在和有不这个一小大老新只";
/// Particles, and beginnings of particles, of Korean.
const AFTER_HANGUL: &str = "은는이가을를에의도로만과와으까부처보하나랑들";

/// Full-width forms of the half-width Katakana from U+FF66 on.
const KATAKANA: &str = "ヲァィゥェォャュョッーアイウエオカキクケコサシスセソタチツテトナニヌネノハヒフヘホマミムメモヤユヨラリルレロワン\u{3099}\u{309a}";

/// Letters and what they are together with a combining mark: the letter, the mark, both as one.
const COMPOSED: [(char, char, char); 32] = [
    ('и', '\u{306}', 'й'),
    ('И', '\u{306}', 'Й'),
    ('у', '\u{306}', 'ў'),
    ('У', '\u{306}', 'Ў'),
    ('е', '\u{308}', 'ё'),
    ('Е', '\u{308}', 'Ё'),
    ('і', '\u{308}', 'ї'),
    ('І', '\u{308}', 'Ї'),
    ('α', '\u{301}', 'ά'),
    ('ε', '\u{301}', 'έ'),
    ('η', '\u{301}', 'ή'),
    ('ι', '\u{301}', 'ί'),
    ('ο', '\u{301}', 'ό'),
    ('υ', '\u{301}', 'ύ'),
    ('ω', '\u{301}', 'ώ'),
    ('Α', '\u{301}', 'Ά'),
    ('Ε', '\u{301}', 'Έ'),
    ('Η', '\u{301}', 'Ή'),
    ('Ι', '\u{301}', 'Ί'),
    ('Ο', '\u{301}', 'Ό'),
    ('Υ', '\u{301}', 'Ύ'),
    ('Ω', '\u{301}', 'Ώ'),
    ('ι', '\u{308}', 'ϊ'),
    ('υ', '\u{308}', 'ϋ'),
    ('ϊ', '\u{301}', 'ΐ'),
    ('ϋ', '\u{301}', 'ΰ'),
    ('ا', '\u{653}', 'آ'),
    ('ا', '\u{654}', 'أ'),
    ('ا', '\u{655}', 'إ'),
    ('و', '\u{654}', 'ؤ'),
    ('ي', '\u{654}', 'ئ'),
    ('ウ', '\u{3099}', 'ヴ'),
];

/// Other spellings of the words of `text`, a piece of a query without blanks; `full_width` asks for
/// full-width ones of ASCII words.
pub(crate) fn spellings(text: &str, full_width: bool) -> Vec<String> {
    let mut found = Vec::new();
    found.extend(joined(text));
    let composed = composed(text);
    if composed != text {
        found.push(composed.clone());
    }
    let words = composed.split(|c: char| !c.is_alphanumeric() && !is_mark(c) && c != '_');
    for word in words.flat_map(scripts).filter(|word| word.len() <= SPELLED_BYTES_MAX) {
        let before = found.len();
        if word.is_ascii() {
            ascii(word, &mut found);
            if full_width {
                found.push(word.chars().map(widened).collect());
            }
        } else {
            other(word, &mut found);
        }
        found.truncate(before + SPELLINGS_MAX);
    }
    found.retain(|spelling| spelling != text && spelling.len() <= TOKEN_BYTES_MAX);
    found
}

/// Pairs with `c` that are indexed where `c` stands in a text without spaces.
pub(crate) fn neighbours(c: char) -> Vec<String> {
    let (after, before) = match c {
        '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}' => {
            (AFTER_HAN, BEFORE_HAN)
        }
        '\u{ac00}'..='\u{d7af}' => (AFTER_HANGUL, ""),
        _ => ("", ""),
    };
    let after = after.chars().map(|next| String::from_iter([c, next]));
    after.chain(before.chars().map(|before| String::from_iter([before, c]))).collect()
}

/// The runs of `word` with and without spaces between words: `2024` and `年`.
fn scripts(word: &str) -> impl Iterator<Item = &str> {
    let mut rest = word;
    std::iter::from_fn(move || {
        let unspaced = is_unspaced(rest.chars().next()?);
        let len = rest.find(|c| is_unspaced(c) != unspaced).unwrap_or(rest.len());
        let (run, after) = rest.split_at(len);
        rest = after;
        Some(run)
    })
}

/// Signs that are written with a letter, and that some leave out.
fn is_mark(c: char) -> bool {
    is_combining(c)
        || matches!(c, '\u{591}'..='\u{5c7}' | '\u{610}'..='\u{61a}' | '\u{640}' | '\u{64b}'..='\u{65f}' | '\u{670}')
}

/// `e-mail` as `email`, `node.js` as `nodejs`, `2024-05-01` as `20240501`.
fn joined(text: &str) -> Option<String> {
    let text = text.trim_matches(|c: char| !c.is_alphanumeric());
    let separators = |c: char| matches!(c, '-' | '.');
    let allowed = text.chars().all(|c| c.is_alphanumeric() || separators(c));
    let out: String = text.chars().filter(|&c| !separators(c)).collect();
    let digit = |text: &str, at: usize| text.as_bytes().get(at).is_some_and(u8::is_ascii_digit);
    let joint =
        |(at, sign): (usize, &str)| match (digit(text, at.wrapping_sub(1)), digit(text, at + 1)) {
            (true, true) => sign == "-" && out.len() >= JOINED_DIGITS_MIN,
            (before, after) => sign == "-" || !before && !after,
        };
    let fits = allowed && out.len() < text.len() && out.len() <= TOKEN_BYTES_MAX;
    (fits && text.match_indices(separators).all(joint)).then_some(out)
}

fn ascii(word: &str, found: &mut Vec<String>) {
    let hex = word.bytes().all(|b| b.is_ascii_hexdigit());
    if hex && HASH_BYTES.contains(&word.len()) {
        found.extend(SHORT_HASH_BYTES.map(|len| word[..len].to_owned()));
    }
    let lower = word.to_ascii_lowercase();
    if word.len() >= WORD_CHARS_MIN && lower.ends_with('u') {
        found.push(lower + "s");
    } else if (WORD_CHARS_MIN + 1..=PLURAL_BYTES_MAX).contains(&word.len()) && lower.ends_with("us")
    {
        found.push(lower[..lower.len() - 1].to_owned());
    }
}

fn other(word: &str, found: &mut Vec<String>) {
    let narrow: String = word.chars().map(narrowed).collect();
    let narrow = if narrow == word { narrow } else { composed(&narrow) };
    if narrow != word {
        found.push(narrow);
    }
    let lower = word.to_lowercase();
    for c in lower.chars() {
        match c {
            'ä' | 'ö' | 'ü' | 'å' | 'ø' => return found.push(two_letters(&lower)),
            'α'..='ω' | 'ά'..='ί' | 'ό'..='ώ' | 'ϊ' | 'ϋ' | 'ΐ' | 'ΰ' => {
                return greek(&lower, found);
            }
            'е' | 'ё' => return cyrillic(&lower, found),
            '\u{5d0}'..='\u{5ea}' => return hebrew(&lower, found),
            '\u{620}'..='\u{64a}' => return arabic(&lower, found),
            _ => {}
        }
    }
}

/// `müller` as `mueller`.
fn two_letters(lower: &str) -> String {
    let mut out = String::new();
    for c in lower.chars() {
        match c {
            'ä' => out.push_str("ae"),
            'ö' | 'ø' => out.push_str("oe"),
            'ü' => out.push_str("ue"),
            'å' => out.push_str("aa"),
            _ => out.push(c),
        }
    }
    out
}

fn unaccented_greek(c: char) -> char {
    match c {
        'ά' => 'α',
        'έ' => 'ε',
        'ή' => 'η',
        'ί' | 'ϊ' | 'ΐ' => 'ι',
        'ό' => 'ο',
        'ύ' | 'ϋ' | 'ΰ' => 'υ',
        'ώ' => 'ω',
        _ => c,
    }
}

fn accented_greek(c: char) -> Option<char> {
    let pairs =
        ['α', 'ε', 'η', 'ι', 'ο', 'υ', 'ω'].into_iter().zip(['ά', 'έ', 'ή', 'ί', 'ό', 'ύ', 'ώ']);
    pairs.into_iter().find(|&(plain, _)| plain == c).map(|(_, accented)| accented)
}

/// As in capitals, without an accent, and, if there is none, with one on each vowel. `σ` at the end
/// of a word in capitals stays one.
fn greek(lower: &str, found: &mut Vec<String>) {
    let lower = lower.strip_suffix('σ').map_or_else(|| lower.to_owned(), |rest| format!("{rest}ς"));
    let plain: String = lower.chars().map(unaccented_greek).collect();
    let capitals = |small: &str| small.strip_suffix('ς').map(|rest| format!("{rest}σ"));
    found.push(plain.clone());
    found.extend(capitals(&plain));
    found.push(lower.clone());
    found.extend(capitals(&lower));
    if lower == plain {
        for (at, accented) in
            plain.char_indices().filter_map(|(at, c)| Some((at, accented_greek(c)?)))
        {
            found.push(replaced(&plain, at, accented));
        }
    }
}

/// `word` with another character of the same length at `at`.
fn replaced(word: &str, at: usize, c: char) -> String {
    steps::note(word.len());
    let mut out = word.to_owned();
    out.replace_range(at..at + c.len_utf8(), c.encode_utf8(&mut [0; 4]));
    out
}

/// `ё` is mostly written `е`.
fn cyrillic(lower: &str, found: &mut Vec<String>) {
    let plain = lower.replace('ё', "е");
    if plain == lower {
        found.extend(plain.match_indices('е').map(|(at, _)| replaced(&plain, at, 'ё')));
    } else {
        found.push(plain);
    }
}

/// Without vowel points, with and without the article.
fn hebrew(word: &str, found: &mut Vec<String>) {
    let plain: String = word.chars().filter(|&c| !is_mark(c)).collect();
    with_articles(&plain, &["ה"], found);
}

/// Without vowel signs, with the letters that are often written for others, with and without the
/// article.
fn arabic(word: &str, found: &mut Vec<String>) {
    let plain: String = word.chars().filter(|&c| !is_mark(c)).collect();
    let alef = |c| matches!(c, 'أ' | 'إ' | 'آ' | 'ٱ');
    with_articles(&plain, &["ال", "وال", "بال"], found);
    if plain.contains(alef) {
        found.push(plain.replace(alef, "ا"));
    }
    if let Some(rest) = plain.strip_prefix('ا').filter(|rest| !rest.starts_with('ل')) {
        found.extend(["أ", "إ", "آ"].map(|alef| format!("{alef}{rest}")));
    }
    for (one, another) in [('ة', 'ه'), ('ه', 'ة'), ('ى', 'ي'), ('ي', 'ى')] {
        found.extend(plain.strip_suffix(one).map(|rest| format!("{rest}{another}")));
    }
}

/// The word, with each of the articles, or without the one that it has.
fn with_articles(word: &str, articles: &[&str], found: &mut Vec<String>) {
    found.push(word.to_owned());
    let bare = articles.iter().find_map(|article| word.strip_prefix(article));
    match bare.filter(|bare| bare.chars().count() >= WORD_CHARS_MIN) {
        Some(bare) => found.push(bare.to_owned()),
        None => found.extend(articles.iter().map(|article| format!("{article}{word}"))),
    }
}

/// The ASCII character of a full-width one, the full-width Katakana of a half-width one.
fn narrowed(c: char) -> char {
    match c {
        '\u{ff01}'..='\u{ff5e}' => char::from((c as u32 - 0xff00 + 0x20) as u8),
        '\u{ff66}'..='\u{ff9f}' => KATAKANA.chars().nth((c as u32 - 0xff66) as usize).unwrap_or(c),
        _ => c,
    }
}

/// The full-width character of an ASCII one.
fn widened(c: char) -> char {
    let wide = if c.is_ascii_graphic() { char::from_u32(c as u32 - 0x20 + 0xff00) } else { None };
    wide.unwrap_or(c)
}

/// `text` with letters and their marks as one character, as nearly everybody writes them outside
/// Latin; Latin marks do not matter.
fn composed(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match out.chars().next_back().and_then(|last| composition(last, c)) {
            Some(both) => {
                out.pop();
                out.push(both);
            }
            None => out.push(c),
        }
    }
    out
}

fn composition(last: char, c: char) -> Option<char> {
    let (first, second) = (last as u32, c as u32);
    match (last, c) {
        (_, '\0'..='\u{7f}') => None,
        // Hangul: 21 vowels for each first consonant, 28 endings for each of both.
        ('\u{1100}'..='\u{1112}', '\u{1161}'..='\u{1175}') => {
            char::from_u32(0xac00 + ((first - 0x1100) * 21 + second - 0x1161) * 28)
        }
        ('\u{ac00}'..='\u{d7a3}', '\u{11a8}'..='\u{11c2}') if (first - 0xac00) % 28 == 0 => {
            char::from_u32(first + second - 0x11a7)
        }
        // Kana: the voiced form follows the plain one, then the half-voiced one.
        (_, '\u{3099}') if "かきくけこさしすせそたちつてとはひふへほカキクケコサシスセソタチツテトハヒフヘホ".contains(last) => {
            char::from_u32(first + 1)
        }
        (_, '\u{309a}') if "はひふへほハヒフヘホ".contains(last) => char::from_u32(first + 2),
        _ => COMPOSED.iter().find(|&&(letter, mark, _)| (letter, mark) == (last, c)).map(|&(_, _, both)| both),
    }
}

/// The character of `text`, if it is a single one of a script without spaces.
pub(crate) fn lone_character(text: &str) -> Option<char> {
    let mut chars = text.chars();
    let first = chars.next().filter(|&c| is_unspaced(c));
    if chars.next().is_none() { first } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        assert_eq!(spellings(text, false).join(" "), expected, "{text}");
    }

    #[test]
    fn ascii_words() {
        check("memory", "");
        check("e-mail", "email");
        check("(Node.js)", "Nodejs");
        check("2024-05-01", "20240501");
        check("5-10", "");
        check("3.14", "");
        check("v0.27.0", "");
        check("don't", "");
        check("GPU", "gpus");
        check("menus", "menu");
        check("status", "");
        check(
            &"0123456789".repeat(4),
            "0123456 01234567 012345678 0123456789 01234567890 012345678901",
        );
        assert_eq!(spellings("API", true), ["ＡＰＩ"]);
    }

    #[test]
    fn other_scripts() {
        check("Müller", "mueller");
        check("naïve", "");
        check("πόλη", "πολη");
        check("πόλης", "πολης πολησ πόλησ");
        check("ΠΟΛΗ", "πολη πολη πόλη πολή");
        check("ёжик", "ежик");
        check("еже", "ёже ежё");
        check("Андреи\u{306}", "Андрей андрёй");
        check("שָׁלוֹם", "שלום השלום");
        check("الكتاب", "كتاب");
        check("احمد", "الاحمد والاحمد بالاحمد أحمد إحمد آحمد");
        check("ｶﾞﾗｽ", "ガラス");
        check("Ｒｕｓｔ", "Rust");
        check("カ\u{3099}", "ガ");
        check("\u{1112}\u{1161}\u{11ab}", "한");
        check("東京都", "");
    }

    #[test]
    fn lone_characters() {
        assert_eq!(lone_character("猫"), Some('猫'));
        assert_eq!(lone_character("猫が"), None);
        assert_eq!(lone_character("x"), None);
        assert!(
            neighbours('猫').contains(&"猫が".to_owned())
                && neighbours('猫').contains(&"の猫".to_owned())
        );
        assert!(neighbours('물').contains(&"물을".to_owned()));
        assert!(neighbours('が').is_empty());
    }
}
