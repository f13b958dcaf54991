//! What is a logical URI, and how is it read and printed? The only module that knows the syntax.
//!
//! Canonical form: `mv2://<workspace>/<path>`, path of one or more segments. The contract's run-scoped
//! shape `mv2://<workspace>/<spec>/<run>/<type>/<path>` is one family of paths, `mv2://default/note/<id>`
//! another. Everywhere a URI is read, `note/abc` stands for `mv2://default/note/abc`.
//! A URI is a key: it never changes once returned and is never a path on any disk.

use std::fmt;

use crate::error::{Error, Result};

/// Longest URI accepted, in bytes of its canonical form.
pub const URI_BYTES_MAX: usize = 1024;
/// The scheme, shared with the tools whose stores use the same logical names.
pub const SCHEME: &str = "mv2://";
/// The workspace that short forms belong to.
pub const DEFAULT_WORKSPACE: &str = "default";

/// A logical URI in canonical form.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Uri(String);

impl Uri {
    /// Reads a URI, canonical or short.
    ///
    /// # Errors
    /// [`Error::InvalidUri`] for an empty or too long URI, an empty, `.` or `..` segment, a backslash, or a
    /// control, white-space, bidi or zero-width character.
    pub fn parse(text: &str) -> Result<Uri> {
        let canonical = match text.strip_prefix(SCHEME) {
            Some(rest) if rest.contains('/') => text.to_string(),
            Some(_) => return Err(invalid(text, "it names a workspace but no record in it")),
            None if text.contains("://") => return Err(invalid(text, "its scheme is not mv2://")),
            None => format!("{SCHEME}{DEFAULT_WORKSPACE}/{text}"),
        };
        check(&canonical).map_err(|reason| invalid(text, reason))?;
        Ok(Uri(canonical))
    }

    /// The URI of path segments below the default workspace, each made safe by [`slug`].
    #[must_use]
    pub fn from_segments<'a>(segments: impl IntoIterator<Item = &'a str>) -> Uri {
        let mut text = format!("{SCHEME}{DEFAULT_WORKSPACE}");
        for segment in segments {
            text.push('/');
            text.push_str(&slug(segment));
        }
        Uri(text)
    }

    /// Stands where a record's URI was erased with its content.
    pub(crate) fn erased() -> Uri {
        Uri(format!("{SCHEME}{DEFAULT_WORKSPACE}/_erased"))
    }

    /// The canonical form.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The form without scheme and default workspace where there is one, else the canonical form.
    #[must_use]
    pub fn short(&self) -> &str {
        self.0
            .strip_prefix(SCHEME)
            .and_then(|rest| rest.strip_prefix(DEFAULT_WORKSPACE))
            .and_then(|rest| rest.strip_prefix('/'))
            .unwrap_or(&self.0)
    }

    /// Hash that stands for the URI in indexes: 64 bits, collisions are told apart by the stored URI.
    #[must_use]
    pub fn hash(&self) -> u64 {
        hash_bytes(self.0.as_bytes())
    }
}

impl fmt::Display for Uri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The hash of a URI's canonical bytes, as indexes hold it.
pub(crate) fn hash_bytes(canonical: &[u8]) -> u64 {
    xxhash_rust::xxh3::xxh3_64(canonical)
}

/// One path segment made of `text`: lower-cased letters and digits of any script kept, `.`, `_` and `-`
/// kept, everything else turned into single dashes, at most [`SLUG_CHARS_MAX`] characters, never empty.
#[must_use]
pub fn slug(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars().flat_map(char::to_lowercase) {
        if c.is_alphanumeric() || matches!(c, '.' | '_') {
            out.push(c);
        } else if !out.is_empty() && !out.ends_with('-') {
            out.push('-');
        }
        if out.chars().count() >= SLUG_CHARS_MAX {
            break;
        }
    }
    let trimmed = out.trim_matches(['-', '.']);
    if trimmed.is_empty() { "_".to_string() } else { trimmed.to_string() }
}

/// Longest segment that [`slug`] makes, in characters.
pub const SLUG_CHARS_MAX: usize = 64;

fn invalid(text: &str, reason: &'static str) -> Error {
    Error::InvalidUri { uri: text.chars().take(URI_BYTES_MAX).collect(), reason }
}

fn check(canonical: &str) -> Result<(), &'static str> {
    if canonical.len() > URI_BYTES_MAX {
        return Err("it is longer than 1024 bytes");
    }
    let rest = &canonical[SCHEME.len()..];
    for segment in rest.split('/') {
        match segment {
            "" => return Err("a part between slashes is empty"),
            "." | ".." => return Err("`.` and `..` are not allowed as parts"),
            _ => {}
        }
    }
    match rest.chars().find(|&c| forbidden(c)) {
        Some('\\') => Err("a backslash is not allowed"),
        Some(_) => Err("control, white-space, bidi and zero-width characters are not allowed"),
        None => Ok(()),
    }
}

fn forbidden(c: char) -> bool {
    c == '\\' || c.is_control() || c.is_whitespace() || is_invisible(c)
}

/// Whether `c` is drawn as nothing or reorders the text around it (bidi controls, zero-width characters,
/// tags, variation-free joiners): such a character can make two different texts look alike.
#[must_use]
pub fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_and_canonical_are_the_same_key() {
        let short = Uri::parse("note/abc").expect("valid");
        assert_eq!(short.as_str(), "mv2://default/note/abc");
        assert_eq!(short, Uri::parse("mv2://default/note/abc").expect("valid"));
        assert_eq!(short.short(), "note/abc");
        assert_eq!(Uri::parse("mv2://other/x").expect("valid").short(), "mv2://other/x");
    }

    #[test]
    fn odd_uris_are_refused_with_a_reason() {
        for odd in ["", "a//b", "../x", "a/./b", "http://x/y", "mv2://ws", "mv2:///x", "a b", "a\nb", "a\u{202e}b", "a\\b", "a/"]
        {
            assert!(matches!(Uri::parse(odd), Err(Error::InvalidUri { .. })), "{odd:?}");
        }
        assert!(Uri::parse(&"x".repeat(URI_BYTES_MAX)).is_err());
        assert!(Uri::parse("ěščř/日本/%2e%2e").is_ok());
    }

    #[test]
    fn slugs_are_valid_segments() {
        for (text, want) in [("Hello, World!", "hello-world"), ("..", "_"), ("", "_"), ("a/b", "a-b"), ("Ünïcode ✓", "ünïcode")]
        {
            assert_eq!(slug(text), want);
        }
        assert!(Uri::parse(&slug(&"é".repeat(500))).is_ok());
    }
}
