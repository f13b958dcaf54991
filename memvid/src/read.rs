//! `read`: everything that a file holds.

use std::fs::File;
use std::path::Path;

use memvid_core::Memvid;
use memvid_core::types::{Frame, FrameRole, FrameStatus, MemoryCard};
use serde_json::{Map, Value, json};

use crate::answer::{Answer, Failure};
use crate::text;

/// Reads the file, which may be changed: what was not yet committed in it is recovered.
pub(crate) fn run(file: &Path, answer: &mut Answer) -> Result<(), Failure> {
    let mut memvid = Memvid::open(file)?;
    let count = u64::try_from(memvid.frame_count()).unwrap_or(u64::MAX);
    let frames: Vec<Frame> =
        (0..count).map(|id| memvid.frame_by_id(id)).collect::<Result<_, _>>()?;
    let stored = File::open(file)?;
    let [mut documents, mut parts, mut images] = [0_u64; 3];
    for frame in &frames {
        match frame.role {
            FrameRole::DocumentChunk => parts += 1,
            FrameRole::ExtractedImage => images += 1,
            FrameRole::Document => {
                documents += 1;
                answer.line("frame", document(&mut memvid, &stored, frame, &frames))?;
            }
        }
    }
    let cards = memvid.memories().cards().to_vec();
    for card in &cards {
        answer.line("card", of_card(card))?;
    }
    let end = json!({
        "documents": documents, "parts": parts, "images": images, "cards": cards.len(),
        "version": memvid_core::MEMVID_CORE_VERSION,
    });
    answer.line("end", end)
}

fn document(memvid: &mut Memvid, stored: &File, frame: &Frame, frames: &[Frame]) -> Value {
    let parts = text::parts(frame, frames);
    let told = text::of(memvid, stored, frame, &parts);
    let mut out = Map::new();
    let status = match frame.status {
        FrameStatus::Active => "active",
        FrameStatus::Superseded => "superseded",
        FrameStatus::Deleted => "deleted",
    };
    out.insert("id".to_string(), json!(frame.id));
    out.insert("status".to_string(), json!(status));
    out.insert("timestamp".to_string(), json!(frame.timestamp));
    let has_own_uri = frame.uri.as_deref() != Some(&format!("mv2://frames/{}", frame.id));
    for (name, value) in [
        ("uri", frame.uri.as_deref().filter(|_| has_own_uri)),
        ("title", frame.title.as_deref()),
        ("kind", frame.kind.as_deref()),
        ("track", frame.track.as_deref()),
        ("source_path", frame.source_path.as_deref()),
        ("mime", frame.metadata.as_ref().and_then(|metadata| metadata.mime.as_deref())),
    ] {
        if let Some(value) = value {
            out.insert(name.to_string(), json!(value));
        }
    }
    for (name, words) in
        [("tags", &frame.tags), ("labels", &frame.labels), ("content_dates", &frame.content_dates)]
    {
        if !words.is_empty() {
            out.insert(name.to_string(), json!(words));
        }
    }
    if !frame.extra_metadata.is_empty() {
        out.insert("metadata".to_string(), json!(frame.extra_metadata));
    }
    match told {
        Ok(Some((text, from))) => {
            out.insert("text".to_string(), json!(text));
            out.insert("text_from".to_string(), json!(from.name()));
        }
        Ok(None) if frame.payload_length > 0 => {
            let bytes = frame.canonical_length.unwrap_or(frame.payload_length);
            out.insert("bytes".to_string(), json!(bytes));
        }
        Ok(None) => {}
        Err(error) => {
            out.insert("error".to_string(), json!(error));
        }
    }
    Value::Object(out)
}

fn of_card(card: &MemoryCard) -> Value {
    json!({
        "kind": card.kind.as_str(),
        "entity": card.entity,
        "slot": card.slot,
        "value": card.value,
        "polarity": card.polarity.map(|polarity| polarity.to_string()),
        "relation": card.version_relation.as_str(),
        "event_date": card.event_date,
        "document_date": card.document_date,
        "created_at": card.created_at,
        "confidence": card.confidence,
        "engine": card.engine,
        "source_uri": card.source_uri,
        "source_frame": card.source_frame_id,
    })
}
