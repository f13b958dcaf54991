//! Whether what is assigned to a name is a secret: `API_KEY=…`, `password: …`.
//!
//! Knows nothing of issuers. A name that says "secret" is not enough: most such values are
//! placeholders, calls, other names, or settings. In the style of the environment (upper case) any
//! value of 16 characters counts that is not one of these; elsewhere it must look drawn by chance.

use std::ops::Range;

use super::Parts;

/// The length in characters from which a value counts by its name alone.
const VALUE_CHARS_MIN: usize = 16;

/// The length from which a value counts whose name only ends in "key".
const KEY_CHARS_MIN: usize = 20;

/// The variety of the characters of what is drawn by chance, in bits per character.
const RANDOM_BITS_MIN: f64 = 3.0;

/// Words of which one makes a name in `…key` that of a secret.
const KEYS: [&str; 13] = [
    "api", "secret", "access", "auth", "private", "encrypt", "sign", "master", "service",
    "account", "client", "webhook", "deploy",
];

/// Parts of names whose values are public.
const PUBLIC: [&str; 14] = [
    "public",
    "primary",
    "foreign",
    "sort",
    "partition",
    "cache",
    "page",
    "continuation",
    "next",
    "max_",
    "csrf",
    "cursor",
    "idempotency",
    "sync",
];

/// What a value that stands for another one is.
const PLACEHOLDERS: [&str; 24] = [
    "true",
    "false",
    "null",
    "none",
    "nil",
    "undefined",
    "string",
    "password",
    "passwd",
    "pass",
    "pwd",
    "secret",
    "token",
    "user",
    "test",
    "admin",
    "key",
    "value",
    "postgres",
    "mysecretpassword",
    "hunter2",
    "root",
    "guest",
    "passwort",
];

/// What a value that stands for another one has in it.
const PLACEHOLDER_PARTS: [&str; 22] = [
    "example",
    "your",
    "changeme",
    "change_me",
    "change-me",
    "placeholder",
    "xxxx",
    "****",
    "redacted",
    "dummy",
    "sample",
    "foobar",
    "...",
    "…",
    "${",
    "{{",
    "$(",
    "env.",
    "env[",
    "environ",
    "getenv",
    "todo",
];

/// Whether the value of an assignment is a secret; the groups are those of its rule.
pub(super) fn is_secret(parts: &Parts) -> bool {
    let (name, whole, quote) = (parts.text("name"), parts.text("value"), parts.text("quote"));
    let value = whole.trim_end_matches(ENDS);
    if is_placeholder(value) || is_expression(value) {
        return false;
    }
    let lower = name.to_ascii_lowercase();
    if PUBLIC.iter().any(|part| lower.contains(part)) {
        return false;
    }
    let is_upper = name.len() > 4 && !name.bytes().any(|byte| byte.is_ascii_lowercase());
    let chars = value.chars().count();
    if lower.ends_with("key") && !KEYS.iter().any(|part| lower.contains(part)) {
        let is_named = is_upper && lower.contains('_');
        return is_named && chars >= KEY_CHARS_MIN && is_random(value) && !is_hexadecimal(value);
    }
    let is_word = ["password", "passwd", "pwd", "passphrase", "passwort"];
    if is_word.iter().any(|word| lower.ends_with(word)) && is_strong(value) {
        return true;
    }
    chars >= VALUE_CHARS_MIN && (is_upper && !is_name(value) || is_random(value))
        || !quote.is_empty() && chars >= VALUE_CHARS_MIN && is_mixed(value)
}

/// What may follow a value and is not of it.
const ENDS: [char; 7] = [',', ';', ')', '}', ']', '.', '>'];

/// The range of a secret without what follows it in the sentence or the code.
pub(super) fn trimmed(text: &[u8], range: Range<usize>) -> Range<usize> {
    let found = &text[range.clone()];
    let is_end = |byte: &u8| ENDS.contains(&char::from(*byte));
    let ends = found.iter().rev().take_while(|byte| is_end(byte)).count();
    range.start..range.end - ends
}

/// Whether a value stands for another one.
pub(super) fn is_placeholder(value: &str) -> bool {
    let lower = value.to_lowercase();
    let bare = lower.trim_matches(|c: char| !c.is_alphanumeric());
    let first = lower.chars().next();
    let is_same = lower.chars().all(|c| Some(c) == first);
    is_same
        || bare.is_empty()
        || PLACEHOLDERS.contains(&bare)
        || PLACEHOLDER_PARTS.iter().any(|part| lower.contains(part))
        || matches!(first, Some('$' | '%' | '<' | '{' | '['))
}

/// Whether a value is code, a path or an address rather than a text.
fn is_expression(value: &str) -> bool {
    let is_path = ["/", "./", "~/", "../", "http:", "https:", "file:", "="];
    is_path.iter().any(|start| value.starts_with(start))
        || value.contains(['(', '[', '{', '<', '|'])
        || value.contains("://")
        || value.contains("::")
        || value.contains("->")
        || value.starts_with(['&', '*', '@', '\\'])
}

/// Whether a value is a name: letters with underscores or dots.
fn is_name(value: &str) -> bool {
    value.chars().all(|c| c.is_ascii_alphabetic() || matches!(c, '_' | '.'))
}

fn is_hexadecimal(value: &str) -> bool {
    value.chars().all(|c| c.is_ascii_hexdigit() || c == '-')
}

fn classes(value: &str) -> usize {
    let has = |is: fn(&u8) -> bool| usize::from(value.bytes().any(|byte| is(&byte)));
    has(u8::is_ascii_lowercase)
        + has(u8::is_ascii_uppercase)
        + has(u8::is_ascii_digit)
        + has(u8::is_ascii_punctuation)
}

/// Whether a value is what programs ask of a password.
fn is_strong(value: &str) -> bool {
    let has_digit = value.bytes().any(|byte| byte.is_ascii_digit());
    value.chars().count() >= 8 && has_digit && classes(value) >= 3
}

fn is_mixed(value: &str) -> bool {
    value.bytes().any(|byte| byte.is_ascii_digit()) && !is_name(value) && classes(value) >= 2
}

/// Whether a value looks drawn by chance: letters among digits, few of them twice.
pub(super) fn is_random(value: &str) -> bool {
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    let letters = value.bytes().filter(u8::is_ascii_alphabetic).count();
    // `claude-sonnet-4-20250514`, `v1.2.3-rc.1`: words and numbers that stand apart.
    let turns = value.as_bytes().windows(2).filter(|pair| {
        pair[0].is_ascii_digit() && pair[1].is_ascii_alphabetic()
            || pair[0].is_ascii_alphabetic() && pair[1].is_ascii_digit()
    });
    digits >= 2 && letters >= 4 && turns.count() >= 3 && bits(value) >= RANDOM_BITS_MIN
}

/// The entropy of the characters of a value, in bits per character.
fn bits(value: &str) -> f64 {
    let mut uses = [0u32; 256];
    value.bytes().for_each(|byte| uses[usize::from(byte)] += 1);
    let all = f64::from(u32::try_from(value.len()).unwrap_or(u32::MAX));
    let shares = uses.iter().filter(|uses| **uses > 0).map(|uses| f64::from(*uses) / all);
    -shares.map(|share| share * share.log2()).sum::<f64>()
}
