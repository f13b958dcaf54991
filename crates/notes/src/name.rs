//! The names of notes as files: slugs, dates before them, ids behind them. A name made here is a
//! file name on every system and never leads out of its folder.

use unicode_normalization::UnicodeNormalization;

use super::stamp::Stamp;

/// Longest slug, in ASCII characters.
pub const SLUG_CHARS_MAX: usize = 60;
/// Hexadecimal digits that stand for a title without any ASCII letter or digit.
const HASH_DIGITS: usize = 8;
/// What is before them.
const UNNAMED: &str = "note";
/// Names that a system keeps for itself, whatever ending follows them.
const RESERVED: [&str; 6] = ["aux", "clock", "con", "nul", "prn", "conin"];
/// The same with a digit behind them.
const RESERVED_NUMBERED: [&str; 2] = ["com", "lpt"];
/// Latin letters that are no letter with an accent.
const LETTERS: [(char, &str); 9] = [
    ('ß', "ss"),
    ('æ', "ae"),
    ('œ', "oe"),
    ('ø', "o"),
    ('ł', "l"),
    ('đ', "d"),
    ('ð', "d"),
    ('þ', "th"),
    ('ı', "i"),
];
/// Longest short id in the name of a summary, in characters.
const SHORT_ID_CHARS_MAX: usize = 12;

/// A title as part of a file name: lower-case ASCII letters, digits and single `-` between them,
/// at most [`SLUG_CHARS_MAX`], never empty, never a name that a system keeps for itself.
///
/// Accents fall away. A title of other scripts only is named by its hash, so that two of them
/// differ.
#[must_use]
pub fn slug(title: &str) -> String {
    let mut slug = String::new();
    for c in title.nfkd().flat_map(char::to_lowercase) {
        if c.is_ascii_alphanumeric() {
            slug.push(c);
        } else if let Some((_, letters)) = LETTERS.iter().find(|(letter, _)| *letter == c) {
            slug.push_str(letters);
        } else if !is_accent(c) && !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
        // A word more, so that the cut below can fall between two.
        if slug.len() > 2 * SLUG_CHARS_MAX {
            break;
        }
    }
    let cut = cut(slug.trim_end_matches('-'), SLUG_CHARS_MAX);
    match cut {
        "" => format!("{UNNAMED}-{}", &hash(title.as_bytes())[..HASH_DIGITS]),
        reserved if is_reserved(reserved) => format!("{UNNAMED}-{reserved}"),
        slug => slug.to_owned(),
    }
}

/// A mark that belongs to the letter before it: no letter of its own, and no gap.
fn is_accent(c: char) -> bool {
    unicode_normalization::char::is_combining_mark(c)
}

/// The slug without the words behind `chars_max`; a first word that is longer is cut within.
fn cut(slug: &str, chars_max: usize) -> &str {
    if slug.len() <= chars_max {
        return slug;
    }
    let begun = &slug[..chars_max];
    if slug.as_bytes()[chars_max] == b'-' {
        return begun.trim_end_matches('-');
    }
    match begun.rsplit_once('-') {
        Some((words, _)) if words.len() >= chars_max / 2 => words,
        _ => begun.trim_end_matches('-'),
    }
}

fn is_reserved(slug: &str) -> bool {
    let is_digit = |rest: &str| rest.len() == 1 && rest.bytes().all(|byte| byte.is_ascii_digit());
    let is_numbered = |name: &str| slug.strip_prefix(name).is_some_and(is_digit);
    RESERVED.contains(&slug) || RESERVED_NUMBERED.iter().any(|name| is_numbered(name))
}

/// A slug with a number behind it, for the second note of the same name and day and those after it.
pub(crate) fn numbered(slug: &str, number: usize) -> String {
    let end = format!("-{number}");
    format!("{}{end}", cut(slug, SLUG_CHARS_MAX - end.len()))
}

/// File name of a decision or a learning: `20261130-use-port-5433.md`.
#[must_use]
pub fn memory_file_name(created: &Stamp, slug: &str) -> String {
    format!("{}-{slug}.md", created.compact_date)
}

/// File name of a summary: `20261130-101500-moved-staging-1a2b3c.md`. The id is that of the run, so
/// that equal titles within a second have two names; what is no letter or digit falls away.
#[must_use]
pub fn summary_file_name(created: &Stamp, slug: &str, short_id: &str) -> String {
    let id: String = short_id
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .take(SHORT_ID_CHARS_MAX)
        .map(|c| c.to_ascii_lowercase())
        .collect();
    let id = if id.is_empty() { hash(short_id.as_bytes())[..HASH_DIGITS].to_owned() } else { id };
    format!("{}-{}-{slug}-{id}.md", created.compact_date, created.compact_time)
}

/// The hash of bytes by which changes are noticed: BLAKE3, 64 hexadecimal digits.
#[must_use]
pub fn hash(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_becomes_words_and_hyphens() {
        for (title, expected) in [
            ("Use port 5433 for staging", "use-port-5433-for-staging"),
            ("  Später: «Ærø» & café!  ", "spater-aero-cafe"),
            ("ﬁle ½ Ｗｉｄｅ", "file-1-2-wide"),
            ("../../etc/passwd", "etc-passwd"),
            ("a\0b\u{202e}c\n---\n", "a-b-c"),
            ("CON", "note-con"),
            ("com1", "note-com1"),
            ("com", "com"),
            ("console", "console"),
        ] {
            assert_eq!(slug(title), expected, "{title}");
        }
    }

    #[test]
    fn titles_without_letters_have_names_of_their_own() {
        for title in ["", "---", "日本", "🎉", "\u{0}"] {
            let name = slug(title);
            assert!(name.starts_with("note-") && name.len() == 13, "{name}");
        }
        assert_ne!(slug("日本"), slug("中国"));
    }

    #[test]
    fn a_long_title_is_cut_between_words() {
        let words = slug(&"seven77 ".repeat(20));
        assert_eq!(words, "seven77-seven77-seven77-seven77-seven77-seven77-seven77");
        let one = slug(&"x".repeat(10_000));
        assert_eq!(one.len(), SLUG_CHARS_MAX);
        let exact = format!("{} tail", "y".repeat(SLUG_CHARS_MAX));
        assert_eq!(slug(&exact), "y".repeat(SLUG_CHARS_MAX));
    }

    #[test]
    fn a_number_fits_behind_the_longest_slug() {
        let long = "z".repeat(SLUG_CHARS_MAX);
        assert_eq!(numbered(&long, 12).len(), SLUG_CHARS_MAX);
        assert_eq!(numbered("short", 2), "short-2");
    }

    #[test]
    fn names_begin_with_their_time() {
        let stamp = Stamp::from_micros(1_796_033_700_000_000).expect("a date");
        assert_eq!(memory_file_name(&stamp, "a-b"), "20261130-a-b.md");
        assert_eq!(summary_file_name(&stamp, "a-b", "1A2B3C"), "20261130-101500-a-b-1a2b3c.md");
        let odd = summary_file_name(&stamp, "a", "../..");
        assert!(odd.starts_with("20261130-101500-a-") && !odd.contains(".."), "{odd}");
    }
}
