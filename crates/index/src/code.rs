//! Finds the words of a query that are code, and meant exactly.
//!
//! Counted as code:
//!
//! - letters and digits in one word: `CS0854`, `E0382`, `v0.27.0`, `k8s`, `bd8926f`, `0x1F`,
//!   `ORA-00942`, `GPT-4`;
//! - `_` or `::` between or before letters: `snake_case`, `__init__`, `std::sync::Arc`;
//! - a capital after a small letter, or a word after an acronym: `getUserName`, `HashMap`,
//!   `IOError`;
//! - paths and addresses: `src/main.rs`, `C:\Users\x`, `https://example.com/a`, `ann@example.com`;
//! - file names with a usual ending: `Cargo.toml`, `node.js`;
//! - `C++`, `C#`, `F#`, which the index knows only as `c` and `f`.
//!
//! Not counted: plain words and acronyms, numbers, dates, times, ordinals (`2nd`), measures and
//! anything else that is a number with letters after it (`10ms`, `5km`, `1990s`, `4K`, `1080p`,
//! `2h30m`), a letter with a digit (`Q3`, `A4`) unless it is a version (`v2`), names of people and
//! products (`iPhone`, `GitHub`, `McDonald`), and pairs of words (`and/or`, `she/her`).
//! What is excluded (`-word`) or in a field clause (`kind:fact`) is not meant to be found, so it
//! does not count either.

use crate::analyser::is_unspaced;
use crate::query::{Sign, items};
use crate::steps;

/// Signs that make a word one that is meant as it is written.
const SYMBOLS: &str = "[]{}<>#@$%^&=+|~";
/// Fewest digits of an abbreviated hash.
const HASH_BYTES_MIN: usize = 7;
/// Longest unit of a measure, such as `kHz`; also the longest ending of an ordinal, a decade or a
/// time of day.
const UNIT_BYTES_MAX: usize = 3;
/// Longest code, in bytes; longer words are looked for as other words are.
const CODE_BYTES_MAX: usize = 256;
/// Digits from which on a number after a hyphen is the number of something, not a year or a rank.
const NUMBERED_DIGITS_MIN: usize = 5;
/// Fewest letters on each side of the one `/` of a path; fewer are `and/or`, `km/h` or `TCP/IP`.
const PATH_LETTERS_MIN: usize = 3;

/// Fewest capitals of an acronym before a word; one more begins the word, as in `IOError`.
const ACRONYM_LETTERS_MIN: usize = 2;

/// Endings of file names.
const EXTENSIONS: [&str; 84] = [
    "bak", "bash", "bat", "bin", "bmp", "c", "cc", "cfg", "cmd", "conf", "cpp", "cs", "csproj",
    "css", "csv", "dart", "db", "dll", "doc", "docx", "env", "exe", "fs", "gif", "go", "gradle",
    "gz", "h", "hpp", "hs", "htm", "html", "ini", "ipynb", "jar", "java", "jpeg", "jpg", "js",
    "json", "jsonl", "jsx", "kapsa", "kt", "lock", "log", "lua", "md", "mjs", "mp3", "mp4", "odt",
    "parquet", "pdf", "php", "pl", "png", "ppt", "pptx", "proto", "ps1", "py", "rb", "rs", "rst",
    "scala", "scss", "sh", "sln", "sql", "sqlite", "svg", "swift", "tar", "tex", "toml", "ts",
    "tsv", "tsx", "txt", "wasm", "xml", "yaml", "yml",
];

/// Names with a capital inside that are no code, in lower case.
const NAMES: [&str; 51] = [
    "airbnb",
    "airpods",
    "bigquery",
    "bittorrent",
    "blackberry",
    "chatgpt",
    "coffeescript",
    "deepmind",
    "deepseek",
    "devops",
    "doordash",
    "dropbox",
    "duckduckgo",
    "facetime",
    "fedex",
    "github",
    "gitlab",
    "graphql",
    "hubspot",
    "javascript",
    "latex",
    "linkedin",
    "livejournal",
    "macbook",
    "macos",
    "mailchimp",
    "mariadb",
    "mastercard",
    "mongodb",
    "mysql",
    "nosql",
    "onedrive",
    "openai",
    "paypal",
    "playstation",
    "postgresql",
    "powerpoint",
    "powershell",
    "sharepoint",
    "snapchat",
    "soundcloud",
    "stackoverflow",
    "tiktok",
    "tripadvisor",
    "typescript",
    "watchos",
    "webassembly",
    "whatsapp",
    "wordpress",
    "youtube",
    "phd",
];

/// Beginnings of surnames, before another capital.
const NAME_BEGINNINGS: [&str; 7] = ["Mc", "Mac", "De", "Di", "La", "Le", "Van"];

/// Words with a `/` between them that are no path, in lower case.
const PAIRS: [&str; 17] = [
    "boy/girl",
    "buy/sell",
    "client/server",
    "day/night",
    "he/him/his",
    "him/her",
    "his/her",
    "input/output",
    "mom/dad",
    "pass/fail",
    "pros/cons",
    "read/write",
    "she/her",
    "she/her/hers",
    "they/them",
    "true/false",
    "win/lose",
];

/// The months of a year, in lower case.
pub(crate) const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];
/// Fewest letters of a month's name.
const MONTH_LETTERS_MIN: usize = 3;

/// The words of `query` that look like code and are meant exactly, in order, as they are written
/// there.
///
/// ```
/// let question = "why does get_user(id) in src/main.rs:42 give CS0854 on the 2nd call?";
/// let found = kapsa_index::code_words(question);
/// assert_eq!(found, ["get_user", "src/main.rs", "CS0854"]);
/// ```
pub fn code_words(query: &str) -> Vec<&str> {
    let asked = items(query).filter(|item| item.field.is_none() && item.sign != Sign::MustNot);
    asked
        .flat_map(|item| pieces(item.text))
        .filter(|word| word.len() <= CODE_BYTES_MAX && is_code(word))
        .collect()
}

/// The words of a text, without its quotes and the punctuation after them, that hold a sign which
/// the index does not know, and that are meant as they are written: `[CORRECTION]`, `-rf`, `50%`,
/// `#relaunch`, `a=b`. For [`has_code_word`].
///
/// ```
/// let found = kapsa_index::symbol_words("may I use `rm -rf` for #relaunch (50%)?");
/// assert_eq!(found, ["-rf", "#relaunch", "50%"]);
/// ```
pub fn symbol_words(text: &str) -> Vec<&str> {
    let around = |c: char| matches!(c, '"' | '\'' | '`' | '(' | ')' | '“' | '”' | '‘' | '’');
    let after = |c: char| around(c) || matches!(c, '.' | ',' | ';' | ':' | '!' | '?');
    let words =
        text.split_whitespace().map(|word| word.trim_start_matches(around).trim_end_matches(after));
    words.filter(|word| word.len() <= CODE_BYTES_MAX && has_symbol(word)).collect()
}

/// Whether a word holds a letter or a digit, and a sign that says more than where words meet.
fn has_symbol(word: &str) -> bool {
    let signs = |c: char| SYMBOLS.contains(c);
    let is_flag = word.starts_with(['-', '.']) && word.len() > 1;
    word.contains(char::is_alphanumeric) && (word.contains(signs) || is_flag)
}

/// Whether `text` contains `word` as a whole identifier, in capitals or not.
///
/// `get_user` is not in `get_user_name`, nor `v0.27` in `v0.27.0`, but `main.rs` is in
/// `src/main.rs`.
///
/// ```
/// assert!(kapsa_index::has_code_word("It is error cs0854 (again).", "CS0854"));
/// assert!(!kapsa_index::has_code_word("It is error CS08541.", "CS0854"));
/// ```
pub fn has_code_word(text: &str, word: &str) -> bool {
    let Some(first) = word.chars().next() else {
        return false;
    };
    let may_begin = |c: char| c.to_lowercase().eq(first.to_lowercase());
    steps::note(text.len());
    let places = text.char_indices().filter(|&(_, c)| may_begin(c)).map(|(start, _)| start);
    let mut begun = places.filter(|&start| begins(&text[..start], word));
    begun.any(|start| {
        let len = prefix_len(&text[start..], word);
        len.is_some_and(|len| ends(word, &text[start + len..]))
    })
}

/// How many bytes of `text` are `prefix`, but for case.
fn prefix_len(text: &str, prefix: &str) -> Option<usize> {
    let mut rest = text.chars();
    for expected in prefix.chars() {
        steps::note(1);
        let found = rest.next()?;
        if found != expected && !found.to_lowercase().eq(expected.to_lowercase()) {
            return None;
        }
    }
    Some(text.len() - rest.as_str().len())
}

/// Whether `word` begins an identifier after `before`.
fn begins(before: &str, word: &str) -> bool {
    let went_on = is_digit(word.chars().next())
        && before.strip_suffix('.').is_some_and(|rest| is_digit(rest.chars().next_back()));
    !is_inside(before.chars().next_back(), word) && !went_on
}

/// Whether `word` ends an identifier before `after`.
fn ends(word: &str, after: &str) -> bool {
    // `0.27` goes on in `0.27.0`.
    let goes_on = is_digit(word.chars().next_back())
        && after.strip_prefix('.').is_some_and(|rest| is_digit(rest.chars().next()));
    !is_inside(after.chars().next(), word) && !goes_on
}

/// Whether a neighbour of `word` belongs to the same identifier.
fn is_inside(neighbour: Option<char>, word: &str) -> bool {
    neighbour.is_some_and(|c| is_word_char(c) || matches!(c, '+' | '#') && word.ends_with(c))
}

fn is_digit(c: Option<char>) -> bool {
    c.is_some_and(|c| c.is_ascii_digit())
}

/// Whether `c` is part of an identifier. Characters of scripts without spaces stand beside one:
/// `CS0854が`.
fn is_word_char(c: char) -> bool {
    c == '_' || c.is_alphanumeric() && !is_unspaced(c)
}

/// What may be code as one: letters, digits and the signs of paths and numbers between them.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        loop {
            let start = rest.find(|c| is_word_char(c) || matches!(c, '/' | '\\'))?;
            // Of `../src/main.rs` and `~/src/main.rs` what other paths to it have too.
            let relative = rest[..start].ends_with(['.', '~']);
            rest = &rest[start..];
            let len = piece_len(rest);
            assert!(len > 0, "a piece begins with a character that does not end it");
            let piece = &rest[..len];
            rest = &rest[len..];
            let piece = piece.trim_end_matches(['.', '-', '/', '\\', ':', '@']);
            let piece = if relative || piece.starts_with("//") {
                piece.trim_start_matches('/')
            } else {
                piece
            };
            if !piece.is_empty() {
                return Some(piece);
            }
        }
    })
}

/// Length of the piece at the start of `text`.
fn piece_len(text: &str) -> usize {
    let ends = |&(at, c): &(usize, char)| match c {
        '.' | '-' | '/' | '\\' | '@' => false,
        // Of `src/main.rs:42` the file, of `std::io`, `C:\x` and `https://x` everything.
        ':' => !text[..at].ends_with(':') && !text[at + 1..].starts_with([':', '\\', '/']),
        _ => !is_word_char(c),
    };
    let len = text.char_indices().find(ends).map_or(text.len(), |(at, _)| at);
    let sign =
        ["++", "#"].into_iter().find(|sign| text[len..].starts_with(sign)).filter(|_| len == 1);
    let whole = sign.filter(|sign| {
        !text[len + sign.len()..].starts_with(|c| is_word_char(c) || matches!(c, '+' | '#'))
    });
    len + whole.map_or(0, str::len)
}

fn is_code(word: &str) -> bool {
    is_language(word)
        || has_joint(word, "::")
        || has_underscore(word)
        || is_address(word)
        || is_path(word)
        || is_file(word)
        || is_numbered(word)
        || is_camel_case(word)
}

/// `C++`, `C#`.
fn is_language(word: &str) -> bool {
    let name = word.strip_suffix("++").or_else(|| word.strip_suffix('#'));
    name.is_some_and(|name| name.len() == 1 && name.bytes().all(|b| b.is_ascii_alphabetic()))
}

/// Whether `joint` stands between two word characters.
fn has_joint(word: &str, joint: &str) -> bool {
    word.match_indices(joint).any(|(at, _)| {
        word[..at].ends_with(is_word_char) && word[at + joint.len()..].starts_with(is_word_char)
    })
}

/// `_word_` is emphasis.
fn has_underscore(word: &str) -> bool {
    let name = word.trim_matches('_');
    let emphasis = word.len() == name.len() + 2 && word.starts_with('_') && word.ends_with('_');
    let letters = name.chars().any(char::is_alphabetic);
    letters && (name.contains('_') || word.starts_with('_') && !emphasis || word.ends_with("__"))
}

/// An e-mail address.
fn is_address(word: &str) -> bool {
    let Some((name, host)) = word.split_once('@') else {
        return false;
    };
    !name.is_empty() && has_joint(host, ".") && !host.contains(['@', '/', '\\'])
}

fn is_path(word: &str) -> bool {
    if !word.contains(['/', '\\']) {
        return false;
    }
    let named = |part: &&str| {
        part.chars().any(char::is_alphabetic) && !part.starts_with(|c: char| c.is_ascii_digit())
    };
    let parts: Vec<&str> = word.split(['/', '\\']).filter(named).collect();
    let long = |part: &&str| part.chars().count() >= PATH_LETTERS_MIN;
    let rooted = word.starts_with(['/', '\\']) || word.contains([':', '\\', '.']);
    let pair =
        !rooted && (PAIRS.contains(&word.to_ascii_lowercase().as_str()) || !parts.iter().all(long));
    parts.len() >= 2 && !pair
}

fn is_file(word: &str) -> bool {
    let Some((name, extension)) = word.rsplit_once('.') else {
        return false;
    };
    let known = EXTENSIONS.binary_search(&extension.to_ascii_lowercase().as_str()).is_ok();
    known && name.chars().any(is_word_char) && !name.contains('@')
}

/// Letters and digits in one word, or a code with a number after a hyphen.
fn is_numbered(word: &str) -> bool {
    if !word.is_ascii() || word.contains(['/', '\\', '@', ':']) {
        return false;
    }
    word.split('-').any(is_numbered_part) || is_issue(word)
}

fn is_numbered_part(word: &str) -> bool {
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    let letters = word.bytes().filter(u8::is_ascii_alphabetic).count();
    if digits == 0 || letters == 0 {
        return false;
    }
    let hash = word.len() >= HASH_BYTES_MIN && word.bytes().all(|b| b.is_ascii_hexdigit());
    let lower = word.to_ascii_lowercase();
    let hex =
        lower.strip_prefix("0x").is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_hexdigit()));
    let short = digits + letters < 3 && !lower.starts_with('v');
    !is_date(&lower) && (hash || hex || !(short || is_measure(word)))
}

/// Whether it is numbers with a unit each, such as `10ms`, `2nd`, `2h30` or `1e6`, or one number
/// and a word.
fn is_measure(word: &str) -> bool {
    let mut rest = word;
    let mut units = Vec::new();
    while let Some(after) = after_number(rest) {
        let len = after.bytes().take_while(u8::is_ascii_alphabetic).count();
        units.push(len);
        rest = &after[len..];
    }
    rest.is_empty() && (units.len() == 1 || units.iter().all(|&len| len <= UNIT_BYTES_MAX))
}

/// What follows the number, with at most one point, at the start of `text`.
fn after_number(text: &str) -> Option<&str> {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let whole = digits(text);
    let rest = &text[whole..];
    let fraction = rest.strip_prefix('.').map_or(0, digits);
    (whole > 0).then_some(if fraction > 0 { &rest[1 + fraction..] } else { rest })
}

/// `may5`, `dec2024`, `fy24`.
fn is_date(lower: &str) -> bool {
    let name = lower.trim_end_matches(|c: char| c.is_ascii_digit());
    name == "fy" || is_month(name)
}

fn is_month(lower: &str) -> bool {
    lower.len() >= MONTH_LETTERS_MIN && MONTHS.iter().any(|month| month.starts_with(lower))
}

/// `ORA-00942`, `CVE-2024-1234`, `GPT-4o`; in small letters only with a long number, for there are
/// `top-10` and `pre-2020`.
fn is_issue(word: &str) -> bool {
    let Some((name, number)) = word.split_once('-') else {
        return false;
    };
    let numbers = number.split('-').all(|part| part.starts_with(|c: char| c.is_ascii_digit()));
    let long = number.starts_with('0') || number.len() >= NUMBERED_DIGITS_MIN;
    let upper =
        name.bytes().all(|b| b.is_ascii_uppercase()) && !is_month(&name.to_ascii_lowercase());
    let lower = name.bytes().all(|b| b.is_ascii_alphabetic())
        && number.bytes().all(|b| b.is_ascii_digit())
        && long;
    name.len() > 1 && numbers && (upper || lower)
}

/// A capital after a small letter, or a word after an acronym, unless it is a name.
fn is_camel_case(word: &str) -> bool {
    word.split(['.', '-']).any(|part| {
        let pairs = part.chars().zip(part.chars().skip(1));
        let changes = pairs.filter(|(a, b)| a.is_lowercase() && b.is_uppercase()).count();
        let name = part.chars().all(char::is_alphabetic) && is_name(part, changes);
        (changes > 0 || has_acronym(part)) && !name
    })
}

/// `IOError`; `APIs` is just a plural.
fn has_acronym(word: &str) -> bool {
    let rest = word.trim_start_matches(char::is_uppercase);
    let capitals = word[..word.len() - rest.len()].chars().count();
    capitals > ACRONYM_LETTERS_MIN && rest.chars().take_while(|c| c.is_lowercase()).count() > 1
}

/// Whether a word with so many capitals inside is the name of a product (`iPhone`, `GitHub`) or of
/// a person (`McDonald`).
fn is_name(word: &str, capitals: usize) -> bool {
    let mut first = word.chars();
    let like_iphone = first.next().is_some_and(char::is_lowercase)
        && first.next().is_some_and(char::is_uppercase);
    let surname = |begin: &str| {
        word.strip_prefix(begin).is_some_and(|rest| rest.starts_with(char::is_uppercase))
    };
    let single = capitals == 1 && (like_iphone || NAME_BEGINNINGS.into_iter().any(surname));
    single || NAMES.contains(&word.to_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extensions_are_in_order() {
        assert!(EXTENSIONS.is_sorted());
    }

    #[test]
    fn code() {
        for (query, expected) in [
            ("what is CS0854", "CS0854"),
            ("error E0382?", "E0382"),
            ("error[E0382]: borrow of moved value", "E0382"),
            ("ORA-00942, ora-00942", "ORA-00942 ora-00942"),
            ("CVE-2024-1234 and JIRA-17", "CVE-2024-1234 JIRA-17"),
            ("GPT-4 or GPT-4o", "GPT-4 GPT-4o"),
            ("since v0.27.0.", "v0.27.0"),
            ("API v2", "v2"),
            ("0.27.0rc1", "0.27.0rc1"),
            ("commit bd8926f", "bd8926f"),
            ("3fa9bc12de4f56", "3fa9bc12de4f56"),
            ("550e8400-e29b-41d4-a716-446655440000", "550e8400-e29b-41d4-a716-446655440000"),
            ("mask 0x1F", "0x1F"),
            ("k8s utf8 x86_64 sha256 H2O", "k8s utf8 x86_64 sha256 H2O"),
            ("snake_case, _private and __init__", "snake_case _private __init__"),
            ("MAX_SIZE=10", "MAX_SIZE"),
            ("std::sync::Arc", "std::sync::Arc"),
            ("std::vector<int>", "std::vector"),
            ("getUserName() useState", "getUserName useState"),
            ("a HashMap<String, u32>", "HashMap u32"),
            (
                "NullPointerException XMLHttpRequest IOError",
                "NullPointerException XMLHttpRequest IOError",
            ),
            ("src/main.rs:42", "src/main.rs"),
            ("look into crates/index", "crates/index"),
            ("../src/lib.rs ~/docs/plan", "src/lib.rs docs/plan"),
            (r"C:\Users\x\file.txt", r"C:\Users\x\file.txt"),
            ("/etc/nginx/nginx.conf", "/etc/nginx/nginx.conf"),
            ("see https://example.com/a.", "https://example.com/a"),
            ("ann.smith@example.com", "ann.smith@example.com"),
            ("Cargo.toml and README.md.", "Cargo.toml README.md"),
            ("Node.js", "Node.js"),
            ("C++ or C# (or F#)?", "C++ C# F#"),
            ("\"get_user failed\" +CS0854", "get_user CS0854"),
            ("エラーCS0854が出る", "CS0854"),
            ("CS0854's", "CS0854"),
            ("config[\"max_size\"]", "max_size"),
        ] {
            assert_eq!(code_words(query).join(" "), expected, "{query}");
        }
    }

    #[test]
    fn no_code() {
        for query in [
            "",
            "what did she say about the memory",
            "NASA sent an iPhone and iPads to GitHub, YouTube and JavaScript",
            "McDonald, MacArthur and DeVito",
            "APIs, IDs and GPUs",
            "2nd 3rd 21st 1990s the 20s",
            "10ms 5km 2.5GB 100k 4K 3D 5G 1080p 10x",
            "2h30m 10h30 1e6 2.5e3 1920x1080",
            "5pm 10:30am 2024-05-01T10:00:00Z 10:30",
            "12-May-2024 May5 Dec2024 MAY-2024 FY24 Q3 A4",
            "42 3.14 1,000 #1234 HTTP 404 24/7 1/2",
            "2024-05-01 01.05.2024 5/6/2024",
            "and/or he/she she/her w/o n/a AC/DC TCP/IP km/h 10km/h I/O",
            "10-year-old mid-20s top-10 pre-2020 21st-century 7zip",
            "e-mail well-known don't O'Brien's",
            "-CS0854 kind:get_user uri:src/main.rs",
            "_emphasis_ and **bold** -- ... / \\ :: _ __",
            "e.g. the U.S. or .NET; Done. Next",
            "第3章 2024年 3月 5個",
            "naïve Straße Ёж ΣΟΦΟΣ",
            "a+b c+ c## 5# ++i #tag",
        ] {
            assert_eq!(code_words(query), [""; 0], "{query}");
        }
    }

    #[test]
    fn whole_identifiers() {
        for (text, word, expected) in [
            ("It is CS0854.", "CS0854", true),
            ("it is cs0854", "CS0854", true),
            ("CS08541", "CS0854", false),
            ("XCS0854 and then CS0854", "CS0854", true),
            ("get_user_name", "get_user", false),
            ("get_user_name", "user_name", false),
            ("self.get_user()", "get_user", true),
            ("GETUSERNAME", "getUserName", true),
            ("v0.27.0", "v0.27", false),
            ("v0.27.", "v0.27", true),
            ("GPT-4.5", "GPT-4", false),
            ("GPT-4, they say", "gpt-4", true),
            ("in src/main.rs:42", "src/main.rs", true),
            ("in src/main.rs:42", "main.rs", true),
            ("in src/main.rst", "main.rs", false),
            ("/etc/nginx/nginx.conf", "/etc/nginx/nginx.conf", true),
            ("use std::sync::Arc;", "std::sync::Arc", true),
            ("I like C++.", "C++", true),
            ("I like C.", "C++", false),
            ("I like c# more", "C#", true),
            ("エラーCS0854が", "CS0854", true),
            ("GRÖßE_MAX", "größe_max", true),
            ("ΣΟΦΟΣ_1", "σοφοσ_1", true),
            ("", "CS0854", false),
            ("CS0854", "", false),
            ("CS085", "CS0854", false),
        ] {
            assert_eq!(has_code_word(text, word), expected, "{text} {word}");
        }
    }
}
