//! The text of a frame. Memvid keeps a text as it was given in the payload, or cuts it into frames
//! of its own, or keeps only what it searches, with other fields of the frame behind it.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

use memvid_core::Memvid;
use memvid_core::types::{Frame, FrameRole};

/// Where a text was found, and so how true it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum From {
    /// As it was given.
    Payload,
    /// From parts, without blank lines and doubled spaces.
    Parts,
    /// From parts that are less than there was: of tables and code the library keeps a few.
    Remains,
    /// From what is searched, likewise.
    Index,
}

impl From {
    pub(crate) fn name(self) -> &'static str {
        match self {
            From::Payload => "payload",
            From::Parts => "parts",
            From::Remains => "remains",
            From::Index => "index",
        }
    }
}

/// The text of a document; none when it has only bytes. Fails where they are not what was written.
pub(crate) fn of(
    memvid: &mut Memvid,
    file: &File,
    frame: &Frame,
    parts: &[&Frame],
) -> Result<Option<(String, From)>, String> {
    let mut payload = |frame: &Frame| {
        check(file, frame)?;
        memvid.frame_canonical_payload(frame.id).map_err(|error| error.to_string())
    };
    if !parts.is_empty() {
        let mut bytes = Vec::new();
        for part in parts {
            bytes.extend(payload(part)?);
        }
        return Ok(String::from_utf8(bytes).ok().map(|text| {
            let from = if is_whole(frame, &text) { From::Parts } else { From::Remains };
            (text, from)
        }));
    }
    if frame.payload_length > 0 {
        let bytes = payload(frame)?;
        if let Ok(text) = String::from_utf8(bytes) {
            return Ok(Some((text, From::Payload)));
        }
    }
    let searched = frame.search_text.as_deref().unwrap_or_default();
    let text = without_fields(searched, frame);
    Ok((!text.is_empty()).then(|| (text.to_string(), From::Index)))
}

/// The text of a frame that was found: its own, of a document that was cut what the library keeps
/// of it to search, which is the beginning. Fails where it is not what was written.
pub(crate) fn found(memvid: &mut Memvid, file: &File, frame: &Frame) -> Result<String, String> {
    if frame.chunk_manifest.is_some() {
        let searched = frame.search_text.as_deref().unwrap_or_default();
        return Ok(without_fields(searched, frame).to_string());
    }
    Ok(of(memvid, file, frame, &[])?.map(|(text, _)| text).unwrap_or_default())
}

/// Compares what is stored with its checksum, which the library writes and does not look at.
fn check(file: &File, frame: &Frame) -> Result<(), String> {
    let length = file.metadata().map_err(|error| error.to_string())?.len();
    let end = frame.payload_offset.checked_add(frame.payload_length);
    if end.is_none_or(|end| end > length) {
        return Err("its bytes are beyond the end of the file".to_string());
    }
    let size = usize::try_from(frame.payload_length).map_err(|error| error.to_string())?;
    let mut stored = vec![0; size];
    let read: io::Result<()> = file.read_exact_at(&mut stored, frame.payload_offset);
    read.map_err(|error| error.to_string())?;
    match blake3::hash(&stored).as_bytes() == &frame.checksum {
        true => Ok(()),
        false => Err("its bytes are not what was written".to_string()),
    }
}

/// Whether the parts have all the characters that their places span.
fn is_whole(frame: &Frame, text: &str) -> bool {
    let manifest = frame.chunk_manifest.as_ref();
    let end = manifest.and_then(|manifest| manifest.chunks.iter().map(|chunk| chunk.end).max());
    end.is_none_or(|end| text.chars().count() >= end)
}

/// The frames that a document was cut into, in order.
pub(crate) fn parts<'a>(document: &Frame, frames: &'a [Frame]) -> Vec<&'a Frame> {
    // A part follows its document, and keeps its place when a revision replaces it.
    let mut parts: Vec<&Frame> = frames
        .iter()
        .filter(|frame| {
            frame.role == FrameRole::DocumentChunk && frame.parent_id == Some(document.id)
        })
        .collect();
    parts.sort_by_key(|part| (part.chunk_index, part.id));
    parts.dedup_by_key(|part| part.chunk_index);
    parts
}

/// What is searched, without the lines of other fields that the library adds behind the text.
fn without_fields<'a>(searched: &'a str, frame: &Frame) -> &'a str {
    // A frame without a URI gets one after its text was made.
    for uri in [frame.uri.as_deref(), None] {
        let added = fields(frame, uri);
        if added.is_empty() {
            return searched;
        }
        if let Some(text) = searched.strip_suffix(&added) {
            return text.strip_suffix('\n').unwrap_or(text);
        }
    }
    searched
}

/// The lines, as the library makes them.
fn fields(frame: &Frame, uri: Option<&str>) -> String {
    let mut lines = Vec::new();
    for (name, value) in
        [("title", frame.title.as_deref()), ("uri", uri), ("track", frame.track.as_deref())]
    {
        let value = value.unwrap_or_default().trim();
        if !value.is_empty() {
            lines.push(format!("{name}: {value}"));
        }
    }
    for (name, words) in [("tags", &frame.tags), ("labels", &frame.labels)] {
        if !words.is_empty() {
            lines.push(format!("{name}: {}", words.join(" ")));
        }
    }
    for (name, value) in &frame.extra_metadata {
        if !value.trim().is_empty() {
            lines.push(format!("{name}: {value}"));
        }
    }
    if !frame.content_dates.is_empty() {
        lines.push(format!("dates: {}", frame.content_dates.join(" ")));
    }
    if let Some(Ok(metadata)) = frame.metadata.as_ref().map(serde_json::to_string) {
        lines.push(format!("metadata: {metadata}"));
    }
    lines.join("\n")
}
