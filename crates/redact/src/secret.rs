//! The passwords, keys and tokens in a text, by the shape that their issuers give them or by the
//! name that they are assigned to.
//!
//! Knows nothing of what becomes of them. Placeholders, hashes, identifiers and calls are no
//! secrets; addresses of mail are not either. All keywords are sought in one pass; a pattern is
//! built, and tried, only where a keyword of its rule is there.

mod assigned;
mod private_key;

use std::ops::Range;
use std::sync::{LazyLock, OnceLock};

use aho_corasick::{AhoCorasick, AhoCorasickBuilder};
use memchr::memmem;
use regex_automata::meta::Regex;
use regex_automata::util::captures::Captures;
use regex_automata::{Anchored, Input};

use crate::{Span, build, joined};

/// How far back the name of a value, or the scheme of a URL, is read from its keyword, in bytes.
const NAME_BYTES_MAX: usize = 64;

/// Longest name with a password in a URL, in bytes.
const URL_USER_BYTES_MAX: usize = 256;

/// One kind of secret.
struct SecretRule {
    name: &'static str,
    /// What it is, for a person.
    what: &'static str,
    /// What it begins with, in any case; or what the name that it begins with holds.
    keywords: &'static [&'static str],
    /// Its first group is the secret; without groups, the whole match.
    pattern: &'static str,
    /// Whether what stands behind a keyword lets a match be expected: cheaper than the pattern.
    may_follow: fn(&[u8]) -> bool,
    /// Whether a match is one.
    is_secret: fn(&Parts, &[u8]) -> bool,
}

/// The parts of a match.
struct Parts<'t> {
    text: &'t [u8],
    captures: Captures,
}

impl Parts<'_> {
    fn range(&self, name: &str) -> Option<Range<usize>> {
        self.captures.get_group_by_name(name).map(|span| span.range())
    }

    fn text(&self, name: &str) -> String {
        self.range(name).map_or_else(String::new, |range| text(&self.text[range]))
    }
}

/// The rule whose secret has a body, which its pattern does not describe.
const PRIVATE_KEY: &str = "private_key";

const RULES: &[SecretRule] = &[
    SecretRule {
        name: PRIVATE_KEY,
        what: "a private key",
        keywords: &["-----begin"],
        pattern: r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----",
        may_follow: |_| true,
        is_secret: |_, found| !found.windows(3).any(|part| part == b"..."),
    },
    SecretRule {
        name: "aws_access_key",
        what: "an access key of AWS",
        keywords: &["akia", "asia", "abia", "acca"],
        pattern: r"\b((?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16})\b",
        may_follow: |_| true,
        is_secret: is_varied,
    },
    SecretRule {
        name: "github_token",
        what: "a GitHub token",
        keywords: &["ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"],
        pattern: r"\b((?:gh[pousr]_[A-Za-z0-9]{36,255})|(?:github_pat_[A-Za-z0-9_]{22,255}))",
        may_follow: |_| true,
        is_secret: is_varied,
    },
    SecretRule {
        name: "gitlab_token",
        what: "a GitLab token",
        keywords: &["glpat-", "gldt-", "glrt-"],
        pattern: r"\b(gl(?:pat|dt|rt)-[A-Za-z0-9_-]{20,300})",
        may_follow: |_| true,
        is_secret: is_varied,
    },
    SecretRule {
        name: "slack_token",
        what: "a Slack token",
        keywords: &["xoxa-", "xoxb-", "xoxe-", "xoxo-", "xoxp-", "xoxr-", "xoxs-", "xapp-"],
        pattern: r"\b((?:xox[abeoprs]|xapp)-[A-Za-z0-9-]{10,300})",
        may_follow: |_| true,
        is_secret: has_digits,
    },
    SecretRule {
        name: "slack_webhook",
        what: "the address of a Slack webhook",
        keywords: &["hooks.slack.com"],
        pattern: r"hooks\.slack\.com/(?:services|workflows)/([A-Za-z0-9/_-]{20,200})",
        may_follow: |_| true,
        is_secret: is_varied,
    },
    SecretRule {
        name: "stripe_key",
        what: "a Stripe key",
        keywords: &["sk_live_", "rk_live_"],
        pattern: r"\b([sr]k_live_[A-Za-z0-9]{10,250})",
        may_follow: |_| true,
        is_secret: is_varied,
    },
    SecretRule {
        name: "model_api_key",
        what: "a key of a model's interface",
        keywords: &["sk-"],
        pattern: r"\b(sk-[A-Za-z0-9_-]{20,300})",
        may_follow: |_| true,
        is_secret: |parts, found| is_varied(parts, found) && has_long_part(found),
    },
    SecretRule {
        name: "google_api_key",
        what: "a Google key",
        keywords: &["aiza"],
        pattern: r"\b(AIza[0-9A-Za-z_-]{35})",
        may_follow: |_| true,
        is_secret: is_varied,
    },
    SecretRule {
        name: "npm_token",
        what: "an npm token",
        keywords: &["npm_"],
        pattern: r"\b(npm_[A-Za-z0-9]{36})\b",
        may_follow: |_| true,
        is_secret: is_varied,
    },
    SecretRule {
        name: "pypi_token",
        what: "a PyPI token",
        keywords: &["pypi-"],
        pattern: r"\b(pypi-[A-Za-z0-9_-]{50,400})",
        may_follow: |_| true,
        is_secret: is_varied,
    },
    SecretRule {
        name: "hugging_face_token",
        what: "a Hugging Face token",
        keywords: &["hf_"],
        pattern: r"\b(hf_[A-Za-z0-9]{34,40})\b",
        may_follow: |_| true,
        is_secret: is_varied,
    },
    SecretRule {
        name: "json_web_token",
        what: "a signed token (JWT)",
        keywords: &["eyj"],
        pattern: r"\b(eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{16,})",
        may_follow: |_| true,
        is_secret: |_, found| names_algorithm(found),
    },
    SecretRule {
        name: "url_password",
        what: "a password in a URL",
        keywords: &["://"],
        pattern: concat!(
            r"(?P<name>[A-Za-z0-9+._-]{2,64})://",
            r#"[^\s/:@"'<>`]{0,80}:(?P<value>[^\s/@"'<>`]{3,128})@[A-Za-z0-9\[]"#,
        ),
        may_follow: is_sign_near,
        is_secret: |_, found| !assigned::is_placeholder(&text(found)),
    },
    SecretRule {
        name: "command_password",
        what: "a password on a command line",
        keywords: &["sshpass", "docker login", "mysql", "curl"],
        pattern: concat!(
            r"(?:sshpass\s+-p\s*|docker login\b[^\n|;&]{0,200}?\s(?:-p\s*|--password[= ])",
            r"|mysql(?:dump|admin|import)?\b[^\n|;&]{0,200}?\s(?:-p|--password=)",
            r"|curl\b[^\n|;&]{0,300}?\s(?:-u\s*|--user[= ])['\x22]?[^\s:'\x22]{1,100}:)",
            r"['\x22]?([^\s'\x22]{6,200})",
        ),
        may_follow: |_| true,
        is_secret: is_typed_password,
    },
    SecretRule {
        name: "bearer_token",
        what: "a bearer token",
        keywords: &["bearer"],
        pattern: r#"(?i:\bbearer)[ \t]+["']?([A-Za-z0-9._~+/-]{20,4096}=*)"#,
        may_follow: |_| true,
        is_secret: |_, found| assigned::is_random(&text(found)),
    },
    SecretRule {
        name: "basic_credentials",
        what: "a name and a password in a header",
        keywords: &["basic"],
        pattern: r#"(?i:\bbasic)[ \t]+([A-Za-z0-9+/]{12,4096}={0,2})"#,
        may_follow: |_| true,
        is_secret: |_, found| found.len() % 4 == 0 && assigned::is_random(&text(found)),
    },
    SecretRule {
        name: "assigned_secret",
        what: "a value that is assigned to the name of a secret",
        keywords: &["key", "token", "secret", "passw", "passphrase", "pwd", "credential"],
        pattern: concat!(
            r"(?P<name>[A-Za-z0-9_.-]{0,64}(?i:key|token|secret|password|passwd|passwort",
            r#"|passphrase|pwd|credentials?))["'\]]{0,2}[ \t]{0,3}(?P<sign>:=|=>|=|:)[ \t]{0,3}"#,
            r#"(?P<quote>["'`]?)(?P<value>[^\s"'`]{8,512})"#,
        ),
        may_follow: is_assigned,
        is_secret: |parts, _| assigned::is_secret(parts),
    },
];

struct Prefilter {
    keywords: AhoCorasick,
    /// For each keyword, its rule.
    rules: Vec<usize>,
    /// For each rule, its pattern.
    patterns: Vec<OnceLock<Regex>>,
}

static PREFILTER: LazyLock<Prefilter> = LazyLock::new(|| {
    let named = RULES.iter().enumerate();
    let named = named.flat_map(|(at, rule)| rule.keywords.iter().map(move |word| (*word, at)));
    let (words, rules): (Vec<&str>, Vec<usize>) = named.unzip();
    let keywords = AhoCorasickBuilder::new().ascii_case_insensitive(true).build(words);
    Prefilter {
        keywords: keywords.expect("the keywords fit into an automaton"),
        rules,
        patterns: RULES.iter().map(|_| OnceLock::new()).collect(),
    }
});

/// Whether a text in lower case has a keyword of a secret, which any text with one has: for short
/// texts, without building what seeks them in long ones.
#[must_use]
pub fn may_have_secrets(folded: &str) -> bool {
    let mut keywords = RULES.iter().flat_map(|rule| rule.keywords);
    keywords.any(|word| memmem::find(folded.as_bytes(), word.as_bytes()).is_some())
}

/// The same of any text, for many of them.
pub(crate) fn is_keyword_in(text: &str) -> bool {
    PREFILTER.keywords.is_match(text)
}

/// The secrets in a text: ascending, not overlapping.
#[must_use]
pub fn secrets(text: &str) -> Vec<Span> {
    let mut found_spans: Vec<(usize, Span)> = Vec::new();
    let mut examined = [0; RULES.len()];
    for found in PREFILTER.keywords.find_overlapping_iter(text) {
        let at = PREFILTER.rules[found.pattern().as_usize()];
        let start = start(&RULES[at], text.as_bytes(), found.start());
        if start >= examined[at] && (RULES[at].may_follow)(&text.as_bytes()[found.end()..]) {
            examined[at] = start + 1;
            let span = found_by(at, text.as_bytes(), start);
            examined[at] = span.as_ref().map_or(examined[at], |span| span.range.end);
            found_spans.extend(span.map(|span| (at, span)));
        }
    }
    // Of two that begin together, the rule that knows more is named.
    found_spans.sort_by_key(|(at, span)| (span.range.start, *at));
    joined(found_spans.into_iter().map(|(_, span)| span).collect())
}

/// Where what a rule finds begins, if its keyword is here.
fn start(rule: &SecretRule, text: &[u8], keyword: usize) -> usize {
    if !rule.pattern.contains("(?P<name>") {
        return keyword;
    }
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"_.+-".contains(byte);
    let before = text[..keyword].iter().rev().take(NAME_BYTES_MAX);
    keyword - before.take_while(|byte| is_name(byte)).count()
}

/// Whether a name ends here and something is assigned to it.
fn is_assigned(after: &[u8]) -> bool {
    let is_name = |byte: &&u8| byte.is_ascii_alphanumeric() || b"_.-".contains(byte);
    let after = &after[after.iter().take(NAME_BYTES_MAX).take_while(is_name).count()..];
    let quotes = after.iter().take(2).take_while(|byte| b"\"']".contains(byte)).count();
    let after = after[quotes..].iter().take(4);
    let mut after = after.skip_while(|byte| b" \t".contains(byte));
    after.next().is_some_and(|byte| b":=".contains(byte))
}

/// Whether a name, a password and a host may follow.
fn is_sign_near(after: &[u8]) -> bool {
    memchr::memchr(b'@', &after[..after.len().min(URL_USER_BYTES_MAX)]).is_some()
}

fn found_by(at: usize, text: &[u8], start: usize) -> Option<Span> {
    let rule = &RULES[at];
    let pattern = PREFILTER.patterns[at]
        .get_or_init(|| build(rule.pattern).expect("a test builds every pattern"));
    let mut captures = pattern.create_captures();
    let input = Input::new(text).range(start..).anchored(Anchored::Yes);
    pattern.search_captures(&input, &mut captures);
    let whole = captures.get_match()?.range();
    let parts = Parts { text, captures };
    let value = parts.range("value");
    let first = parts.captures.get_group(1).map(|span| span.range());
    let mut secret = value.or(first).unwrap_or(whole);
    if rule.name == PRIVATE_KEY {
        secret.end = private_key::end(text, secret.end)?;
    }
    if !(rule.is_secret)(&parts, &text[secret.clone()]) {
        return None;
    }
    let is_assigned = parts.range("sign").is_some();
    let range = match is_assigned {
        true => assigned::trimmed(text, to_its_end(text, secret, is_of_value)),
        false => to_its_end(text, secret, is_of_token),
    };
    Some(Span { range, rule: rule.name })
}

/// What is longer than its rule expects is taken whole.
fn to_its_end(text: &[u8], secret: Range<usize>, is_of_it: fn(u8) -> bool) -> Range<usize> {
    let rest = &text[secret.end..];
    let more = rest.iter().take_while(|byte| is_of_it(**byte)).count();
    secret.start..secret.end + more
}

fn is_of_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_-+/=".contains(&byte)
}

/// Whether a byte is of an assigned value, as the pattern of its rule says.
fn is_of_value(byte: u8) -> bool {
    !byte.is_ascii_whitespace() && !b"\"'`".contains(&byte)
}

/// What a text holds, for a person and without the secrets themselves; nothing without any.
#[must_use]
pub fn secrets_described(spans: &[Span]) -> Option<String> {
    let first = spans.first()?;
    let what =
        RULES.iter().find(|rule| rule.name == first.rule).map_or("a secret", |rule| rule.what);
    Some(match spans.len() {
        1 => format!("{what} ({})", first.rule),
        more => format!("{what} ({}) and {} more", first.rule, more - 1),
    })
}

fn text(found: &[u8]) -> String {
    String::from_utf8_lossy(found).into_owned()
}

/// Whether it is not `xxxx…`, `your-key…`.
fn is_varied(_: &Parts, found: &[u8]) -> bool {
    let mut seen = [false; 256];
    found.iter().for_each(|byte| seen[usize::from(*byte)] = true);
    let tail = &found[found.len() / 2..];
    let is_same = tail.windows(2).all(|pair| pair[0] == pair[1]);
    let lower = text(found).to_ascii_lowercase();
    let is_named = ["your", "xxxx", "placeholder", "redacted", "changeme", "...", "____"];
    seen.iter().filter(|seen| **seen).count() >= 8
        && !is_same
        && !is_named.iter().any(|word| lower.contains(word))
}

/// Whether a word on a command line is a password and does not stand for one.
fn is_typed_password(_: &Parts, found: &[u8]) -> bool {
    let value = text(found);
    let has = |is: fn(&u8) -> bool| found.iter().any(is);
    let is_drawn = has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic);
    is_drawn && !assigned::is_placeholder(&value) && !value.contains("$(")
}

fn has_digits(parts: &Parts, found: &[u8]) -> bool {
    is_varied(parts, found) && found.iter().filter(|byte| byte.is_ascii_digit()).count() >= 3
}

/// Whether letters and digits stand together longer than words do, or all kinds of them do.
fn has_long_part(found: &[u8]) -> bool {
    let longest = found.split(|byte| matches!(byte, b'-' | b'_')).map(<[u8]>::len).max();
    let has = |is: fn(&u8) -> bool| found.iter().any(is);
    longest.unwrap_or(0) >= 16
        || has(u8::is_ascii_digit) && has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase)
}

/// Whether the first part, which is JSON in base64, names the algorithm: `"alg"` has three
/// spellings there, by its place.
fn names_algorithm(found: &[u8]) -> bool {
    let header = found.split(|byte| *byte == b'.').next().unwrap_or_default();
    ["ImFsZyI", "JhbGci", "iYWxnI"]
        .iter()
        .any(|spelling| header.windows(spelling.len()).any(|part| part == spelling.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_builds() {
        for rule in RULES {
            let built = build(rule.pattern);
            assert!(built.is_ok(), "{}: {:?}", rule.name, built.err());
        }
    }
}
