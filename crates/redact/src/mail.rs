//! Addresses of mail in a text.
//!
//! Knows nothing of secrets. What only looks like an address stays: names of images for dense
//! screens (`icon@2x.png`), versions of packages, users of machines in commands for `ssh` and
//! `git`, addresses that examples use or that nobody reads.

use std::ops::Range;

use memchr::memchr_iter;

use crate::Span;

/// The rule of an address.
const RULE: &str = "email";

/// Longest name before the sign, in bytes (RFC 5321, 4.5.3.1.1).
const NAME_BYTES_MAX: usize = 64;

/// Longest domain, in bytes (RFC 5321, 4.5.3.1.2).
const DOMAIN_BYTES_MAX: usize = 255;

/// Names that nobody reads mail under.
const NOBODY: [&str; 8] =
    ["git", "noreply", "no-reply", "donotreply", "do-not-reply", "user", "username", "root"];

/// Last parts of domains that no mail goes to: reserved ones (RFC 2606, 6761, 6762), and the
/// endings of files and of code.
const NO_DOMAINS: [&str; 40] = [
    "test",
    "example",
    "invalid",
    "localhost",
    "local",
    "internal",
    "lan",
    "png",
    "jpg",
    "jpeg",
    "gif",
    "svg",
    "webp",
    "avif",
    "bmp",
    "ico",
    "css",
    "scss",
    "js",
    "mjs",
    "cjs",
    "ts",
    "tsx",
    "jsx",
    "json",
    "html",
    "md",
    "mdx",
    "py",
    "rs",
    "go",
    "rb",
    "java",
    "sh",
    "yml",
    "yaml",
    "toml",
    "lock",
    "txt",
    "service",
];

/// The addresses of mail in a text: ascending, not overlapping.
pub(crate) fn addresses(text: &str) -> Vec<Span> {
    let bytes = text.as_bytes();
    let found = memchr_iter(b'@', bytes).filter_map(|at| address(bytes, at));
    found.map(|range| Span { range, rule: RULE }).collect()
}

fn address(text: &[u8], sign: usize) -> Option<Range<usize>> {
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"._%+-".contains(byte);
    let name = text[..sign].iter().rev().take(NAME_BYTES_MAX + 1);
    let name = name.take_while(|byte| is_name(byte)).count();
    let is_domain = |byte: &u8| byte.is_ascii_alphanumeric() || b".-".contains(byte);
    let domain = text[sign + 1..].iter().take(DOMAIN_BYTES_MAX + 1);
    let domain = domain.take_while(|byte| is_domain(byte)).count();
    if name == 0 || name > NAME_BYTES_MAX || domain > DOMAIN_BYTES_MAX {
        return None;
    }
    let start = sign - name;
    let start = start + text[start..sign].iter().take_while(|byte| b".-%+".contains(byte)).count();
    let found = text[sign + 1..sign + 1 + domain].iter().rev();
    let end = sign + 1 + domain - found.take_while(|byte| b".-".contains(byte)).count();
    let follows = text.get(end..).unwrap_or_default();
    // `git@host.org:path` is where a repository is, `//user@host.org` is a URL.
    let is_place = follows.first() == Some(&b':')
        && follows.get(1).is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'/')
        || text[..start].ends_with(b"//");
    let (name, domain) = (lower(&text[start..sign]), lower(&text[sign + 1..end]));
    (start < sign && !is_place && is_read(&name, &domain)).then_some(start..end)
}

fn lower(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).to_ascii_lowercase()
}

/// Whether somebody may read what is sent there.
fn is_read(name: &str, domain: &str) -> bool {
    let Some((host, last)) = domain.rsplit_once('.') else { return false };
    let is_example = ["example.com", "example.org", "example.net"]
        .iter()
        .any(|known| domain == *known || domain.ends_with(&format!(".{known}")));
    last.len() >= 2
        && last.bytes().all(|byte| byte.is_ascii_alphabetic())
        && host.split('.').all(|label| !label.is_empty())
        && !is_scale(domain)
        && !is_example
        && !NO_DOMAINS.contains(&last)
        && !NOBODY.contains(&name)
        && !name.ends_with("noreply")
}

/// `2x.png`, `3x-dark.svg`: an image for a screen of so many dots.
fn is_scale(domain: &str) -> bool {
    let digits = domain.bytes().take_while(u8::is_ascii_digit).count();
    let after = domain.as_bytes().get(digits..).unwrap_or_default();
    let is_image = domain.rsplit('.').next().is_some_and(|last| NO_DOMAINS.contains(&last));
    digits > 0 && after.first() == Some(&b'x') && is_image
}
