//! The names that belong to an agent or to a fact, and what a record names that its reader may not
//! know of.
//!
//! The layout of these URIs is fixed here, since access control depends on it; what lies under them
//! is the agents' business.

use crate::error::Result;
use crate::records::kinds::{ACCESS, EPISODE, FACT, INSIGHT};
use crate::records::record::Record;
use crate::records::uri::{Uri, is_invisible};

/// What the names of the files of agents begin with.
const FILES: &str = "memories";
/// The part of a name that stands for no agent.
pub const NOBODY: &str = "_";

/// Whose memory a URI belongs to: that of an agent's episode, insight or file. What counts reads is
/// nobody's, and so are the owner's files: the owner needs no leave.
pub fn owner_of(uri: &Uri) -> Option<String> {
    let (kind, rest) = uri.short().split_once('/')?;
    match kind {
        EPISODE | INSIGHT => Some(unescape(rest.split('/').next()?).unwrap_or_default()),
        FILES => {
            let agent = rest.split('/').next().filter(|agent| *agent != NOBODY);
            Some(agent.and_then(unescape).unwrap_or_default())
        }
        ACCESS => Some(String::new()),
        _ => None,
    }
}

/// URI of the fact with this id; none when the id is empty or too long.
#[must_use]
pub fn fact_uri_of(id: &str) -> Option<Uri> {
    if id.is_empty() { None } else { Uri::parse(&format!("{FACT}/{}", escape(id))).ok() }
}

/// A part of a URI that stands for any text: what a URI cannot hold, and `%`, as `%` and the two
/// hexadecimal digits of each byte.
#[must_use]
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let is_dots = matches!(text, "." | "..");
    for c in text.chars() {
        let odd =
            matches!(c, '%' | '/' | '\\') || c.is_control() || c.is_whitespace() || is_invisible(c);
        if odd || is_dots {
            c.encode_utf8(&mut [0; 4])
                .bytes()
                .for_each(|byte| out.push_str(&format!("%{byte:02X}")));
        } else {
            out.push(c);
        }
    }
    out
}

/// The text that a part of a URI stands for; none for a part that [`escape`] does not make.
#[must_use]
pub fn unescape(part: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(part.len());
    let mut rest = part.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        rest = after;
        if first != b'%' {
            bytes.push(first);
            continue;
        }
        let digits = std::str::from_utf8(rest.get(..2)?).ok()?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = &rest[2..];
    }
    String::from_utf8(bytes).ok().filter(|text| escape(text) == part)
}

/// What a fact names beside itself, in its metadata: ids of other facts.
pub const RELATIONS: [&str; 5] =
    ["supersedes", "superseded_by", "contested_with", "pending_with", "interrupted_by"];

/// Leaves out of a fact's record the facts that are not `known`.
pub(crate) fn without_hidden(
    record: &mut Record,
    mut known: impl FnMut(&Uri) -> Result<bool>,
) -> Result<()> {
    if record.kind != FACT {
        return Ok(());
    }
    for name in RELATIONS {
        let Some(value) = record.metadata.get(name) else { continue };
        let mut kept = Vec::new();
        for id in value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice) {
            let Some(uri) = id.as_str().and_then(fact_uri_of) else { continue };
            if known(&uri)? {
                kept.push(id.clone());
            }
        }
        let is_list = value.is_array();
        match (kept.is_empty(), is_list) {
            (true, _) => drop(record.metadata.remove(name)),
            (false, true) => drop(record.metadata.insert(name.to_string(), kept.into())),
            (false, false) => {}
        }
    }
    Ok(())
}
