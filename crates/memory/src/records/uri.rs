//! Logical URIs, and how they are read and printed. The only module that knows the syntax.
//!
//! Canonical form: `mv2://<workspace>/<path>`, path of one or more segments. The contract's
//! run-scoped shape `mv2://<workspace>/<spec>/<run>/<type>/<path>` is one family of paths,
//! `mv2://default/note/<id>` another. Everywhere a URI is read, `note/abc` stands for
//! `mv2://default/note/abc`. A URI is a key: it never changes once returned and is never a path on
//! any disk.

use std::fmt;

use crate::error::{Error, Result};
use crate::records::content::BlobId;

/// Longest URI accepted, in bytes of its canonical form.
pub const URI_BYTES_MAX: usize = 1024;
/// The scheme, shared with the tools whose stores use the same logical names.
pub const SCHEME: &str = "mv2://";
/// The workspace that short forms belong to.
pub const DEFAULT_WORKSPACE: &str = "default";

/// First part of the URIs of branches, and of checkpoints.
const BRANCH: &str = "branch";
const CHECKPOINT: &str = "checkpoint";
/// First part of the URIs of signatures.
const SIGNATURE: &str = "signature";
/// What the names of what waits for review begin with.
const PENDING_PREFIX: &str = "kapsa/pending/";
/// What the names of remotes begin with.
const REMOTE_PREFIX: &str = "kapsa/remote/";
/// What the names of blobs begin with.
const BLOB_PREFIX: &str = "kapsa/blob/";
/// Hexadecimal digits behind the number of an event that came from another capsule and found its
/// number taken.
pub(crate) const OWN_MARK_CHARS: usize = 8;

/// What a URI that belongs to a run names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UriType {
    /// Something that a run made or used.
    Artifact,
    /// Something that happened.
    Event,
    /// A state of things that was worth a name.
    Checkpoint,
    /// Rules that a run worked under.
    Policy,
    /// A subject with facts.
    Card,
    /// A relation of two subjects.
    Edge,
}

impl UriType {
    /// All of them.
    pub const ALL: [UriType; 6] = [
        UriType::Artifact,
        UriType::Event,
        UriType::Checkpoint,
        UriType::Policy,
        UriType::Card,
        UriType::Edge,
    ];

    /// Its name in URIs.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            UriType::Artifact => "artifact",
            UriType::Event => "event",
            UriType::Checkpoint => "checkpoint",
            UriType::Policy => "policy",
            UriType::Card => "card",
            UriType::Edge => "edge",
        }
    }
}

/// The parts of a URI that belongs to a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InRun<'a> {
    /// What the run works on.
    pub spec: &'a str,
    /// The run.
    pub run: &'a str,
    /// What the URI names.
    pub kind: UriType,
    /// Its name within the run, one part or several.
    pub path: &'a str,
}

/// Checks one part of a URI.
///
/// # Errors
/// [`Error::InvalidUri`] when it is empty, holds a slash, or breaks a rule of [`Uri::parse`].
pub fn check_component(text: &str) -> Result<()> {
    if text.contains('/') {
        return Err(invalid(text, "a part of a URI cannot contain a slash"));
    }
    Uri::parse(&format!("part/{text}")).map(drop)
}

/// A logical URI in canonical form.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Uri(String);

impl Uri {
    /// Reads a URI, canonical or short.
    ///
    /// # Errors
    /// [`Error::InvalidUri`] for an empty or too long URI, an empty, `.` or `..` segment, a
    /// backslash, or a control, white-space, bidi or zero-width character.
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

    /// `mv2://<workspace>/branch/<name>`, under which the capsule keeps a branch.
    pub(crate) fn branch(name: &str) -> Result<Uri> {
        Uri::parse(&format!("{BRANCH}/{name}"))
    }

    /// `mv2://<workspace>/checkpoint/<id>`; the id is one that the capsule made.
    pub(crate) fn checkpoint(id: &str) -> Uri {
        Uri::from_segments([CHECKPOINT, id])
    }

    /// `mv2://<workspace>/<spec>/<run>/event/<sequence>`; spec and run are
    /// [checked](check_component).
    pub(crate) fn event(spec: &str, run: &str, sequence: u64) -> Uri {
        Uri(format!(
            "{SCHEME}{DEFAULT_WORKSPACE}/{spec}/{run}/{}/{sequence}",
            UriType::Event.name()
        ))
    }

    /// `mv2://<workspace>/signature/<sequence>`, the name of a signature by its own place.
    pub(crate) fn signature(sequence: u64) -> Uri {
        Uri(format!("{SCHEME}{DEFAULT_WORKSPACE}/{SIGNATURE}/{sequence}"))
    }

    /// `mv2://<workspace>/policy/<id>`: policies belong to no run.
    ///
    /// # Errors
    /// [`Error::InvalidUri`].
    pub fn policy(id: &str) -> Result<Uri> {
        check_component(id)?;
        Uri::parse(&format!("policy/{id}"))
    }

    /// `mv2://<workspace>/<spec>/<run>/<type>/<path>`.
    ///
    /// # Errors
    /// [`Error::InvalidUri`] when a part is empty, holds a slash (the path may), or breaks another
    /// rule of [`Uri::parse`].
    pub fn of_run(spec: &str, run: &str, kind: UriType, path: &str) -> Result<Uri> {
        check_component(spec)?;
        check_component(run)?;
        Uri::parse(&format!("{spec}/{run}/{}/{path}", kind.name()))
    }

    /// The parts of a URI that belongs to a run; none for one of another shape.
    #[must_use]
    pub fn in_run(&self) -> Option<InRun<'_>> {
        let mut parts = self.path().splitn(4, '/');
        let (spec, run, kind, path) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let kind = UriType::ALL.into_iter().find(|known| known.name() == kind)?;
        Some(InRun { spec, run, kind, path })
    }

    /// Name of the branch that the capsule keeps under this URI.
    pub(crate) fn branch_name(&self) -> Option<&str> {
        self.path().strip_prefix(BRANCH)?.strip_prefix('/')
    }

    /// The id of the checkpoint that the capsule keeps under this URI.
    pub(crate) fn checkpoint_id(&self) -> Option<&str> {
        self.path().strip_prefix(CHECKPOINT)?.strip_prefix('/').filter(|id| !id.contains('/'))
    }

    /// Whether something that waits for review has this name.
    #[must_use]
    pub fn is_pending(&self) -> bool {
        let number = self.short().strip_prefix(PENDING_PREFIX);
        number.is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
    }

    /// Name of the record `sequence` that waits for review.
    pub(crate) fn pending(sequence: u64) -> Uri {
        Uri(format!("{SCHEME}{DEFAULT_WORKSPACE}/{PENDING_PREFIX}{sequence}"))
    }

    /// What is known of the remote `name`.
    pub(crate) fn remote(name: &str) -> Uri {
        Uri(format!("{SCHEME}{DEFAULT_WORKSPACE}/{REMOTE_PREFIX}{name}"))
    }

    /// Name of the remote that this URI is about.
    pub(crate) fn remote_name(&self) -> Option<&str> {
        self.short().strip_prefix(REMOTE_PREFIX).filter(|name| !name.is_empty())
    }

    /// Name of the record that holds a blob.
    pub(crate) fn blob(id: &BlobId) -> Uri {
        Uri(format!("{SCHEME}{DEFAULT_WORKSPACE}/{BLOB_PREFIX}{id}"))
    }

    /// The blob that is kept under this URI.
    pub(crate) fn blob_id(&self) -> Option<BlobId> {
        BlobId::parse(self.short().strip_prefix(BLOB_PREFIX)?)
    }

    /// Whether only the capsule itself writes under this URI: its branches, checkpoints, events,
    /// remotes, signatures and blobs, and what waits for review.
    #[must_use]
    pub fn is_reserved(&self) -> bool {
        let numbered = |path: &str| path.bytes().all(|b| b.is_ascii_digit());
        let signature = self.path().strip_prefix(SIGNATURE).and_then(|at| at.strip_prefix('/'));
        self.branch_name().is_some()
            || self.checkpoint_id().is_some()
            || signature.is_some_and(numbered)
            || self.is_pending()
            || self.remote_name().is_some()
            || self.blob_id().is_some()
            || self.in_run().is_some_and(|at| at.kind == UriType::Event && is_event(at.path))
    }

    /// What comes after the workspace.
    pub(crate) fn path(&self) -> &str {
        self.0[SCHEME.len()..].split_once('/').map_or("", |(_, path)| path)
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

    /// Hash that stands for the URI in indexes: 64 bits, collisions are told apart by the stored
    /// URI.
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

/// One path segment made of `text`: lower-cased letters and digits of any script kept, `.`, `_` and
/// `-` kept, everything else turned into single dashes, at most [`SLUG_CHARS_MAX`] characters,
/// never empty.
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

/// Whether `c` is drawn as nothing or reorders the text around it (bidi controls, zero-width
/// characters, tags, variation-free joiners): such a character can make two different texts look
/// alike.
#[must_use]
pub fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// The number of an event, with a mark behind it where it came from another capsule.
fn is_event(path: &str) -> bool {
    let numbered = |path: &str| path.bytes().all(|b| b.is_ascii_digit());
    let is_mark =
        |mark: &str| mark.len() == OWN_MARK_CHARS && mark.bytes().all(|b| b.is_ascii_hexdigit());
    match path.split_once('-') {
        Some((number, mark)) => numbered(number) && is_mark(mark),
        None => numbered(path),
    }
}

/// Refuses a name that only the capsule itself gives.
///
/// # Errors
/// `InvalidOperation`.
pub(crate) fn refuse_reserved(uri: &Uri) -> Result<()> {
    // Names like theirs that name nothing would look as if they did.
    let is_alike = [PENDING_PREFIX, REMOTE_PREFIX, BLOB_PREFIX]
        .iter()
        .any(|begins| uri.short().starts_with(begins));
    if !uri.is_reserved() && !is_alike {
        return Ok(());
    }
    let reason = format!(
        "{uri} is a name that the capsule gives to its own branches, checkpoints, events, \
         remotes, signatures, blobs and pending records"
    );
    Err(Error::InvalidOperation { reason })
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
    fn the_shapes_of_the_capsules_own_uris() {
        let event = Uri::event("S-1", "r2", 17);
        assert_eq!(event.as_str(), "mv2://default/S-1/r2/event/17");
        assert_eq!(
            event.in_run(),
            Some(InRun { spec: "S-1", run: "r2", kind: UriType::Event, path: "17" })
        );
        let artifact = Uri::of_run("S-1", "r2", UriType::Artifact, "plan/a.md").expect("valid");
        assert_eq!(
            artifact.in_run().map(|at| (at.kind, at.path)),
            Some((UriType::Artifact, "plan/a.md"))
        );
        assert_eq!(Uri::branch("run/x").expect("valid").branch_name(), Some("run/x"));
        assert_eq!(Uri::checkpoint("abc").checkpoint_id(), Some("abc"));
        for reserved in
            ["branch/x", "checkpoint/x", "a/b/event/3", "kapsa/pending/3", "signature/3"]
        {
            assert!(Uri::parse(reserved).expect("valid").is_reserved(), "{reserved}");
        }
        for free in [
            "branches/x",
            "a/b/event/x",
            "event/3",
            "a/b/artifact/3",
            "policy/p",
            "checkpoint/a/b",
            "signature/mine",
            "a/signature/3",
        ] {
            assert!(!Uri::parse(free).expect("valid").is_reserved(), "{free}");
        }
        for refused in ["kapsa/blob/x", "kapsa/pending/x", "kapsa/remote/", "branch/x"] {
            let uri = Uri::parse(refused);
            assert!(
                uri.is_err() || uri.is_ok_and(|uri| refuse_reserved(&uri).is_err()),
                "{refused}"
            );
        }
        for odd in ["", "a/b", "..", "a b"] {
            assert!(Uri::of_run(odd, "r", UriType::Card, "c").is_err(), "{odd:?}");
            assert!(Uri::policy(odd).is_err(), "{odd:?}");
        }
    }

    #[test]
    fn odd_uris_are_refused_with_a_reason() {
        for odd in [
            "",
            "a//b",
            "../x",
            "a/./b",
            "http://x/y",
            "mv2://ws",
            "mv2:///x",
            "a b",
            "a\nb",
            "a\u{202e}b",
            "a\\b",
            "a/",
        ] {
            assert!(matches!(Uri::parse(odd), Err(Error::InvalidUri { .. })), "{odd:?}");
        }
        assert!(Uri::parse(&"x".repeat(URI_BYTES_MAX)).is_err());
        assert!(Uri::parse("ěščř/日本/%2e%2e").is_ok());
    }

    #[test]
    fn slugs_are_valid_segments() {
        for (text, want) in [
            ("Hello, World!", "hello-world"),
            ("..", "_"),
            ("", "_"),
            ("a/b", "a-b"),
            ("Ünïcode ✓", "ünïcode"),
        ] {
            assert_eq!(slug(text), want);
        }
        assert!(Uri::parse(&slug(&"é".repeat(500))).is_ok());
    }
}
