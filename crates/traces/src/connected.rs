//! The folders and files of traces that a memory is connected with: what `sync` reads when nobody
//! names any. Kept as one note of the capsule.

use std::path::PathBuf;

use kapsa_agents::StoreLocation;
use kapsa_memory::kinds::TRACE_NOTE;
use kapsa_memory::{NewRecord, Uri};
use serde_json::{Map, Value};

use crate::error::Result;

/// The name of the note.
const URI: &str = "kapsa/trace/note/connected";
/// The field that lists the paths.
const PATHS: &str = "paths";
/// Most places that a memory is connected with.
pub const CONNECTED_MAX: usize = 256;

/// The places, in their order.
///
/// # Errors
/// What the disk or a damaged file reports.
pub fn connected(location: &StoreLocation) -> Result<Vec<PathBuf>> {
    let note = location.noted(&Uri::parse(URI)?)?;
    let paths = note.as_ref().and_then(|note| note.metadata.get(PATHS)?.as_array());
    let paths = paths.map(Vec::as_slice).unwrap_or_default();
    Ok(paths.iter().filter_map(Value::as_str).map(PathBuf::from).collect())
}

/// Connects the memory with exactly these places, of which the first [`CONNECTED_MAX`] are kept.
/// What is noted already costs nothing.
///
/// # Errors
/// The capsule cannot be written.
pub fn connect(location: &StoreLocation, places: &[PathBuf]) -> Result<()> {
    if connected(location)? == places {
        return Ok(());
    }
    let paths = places.iter().take(CONNECTED_MAX).map(|path| path.to_string_lossy().into());
    let mut metadata = Map::new();
    metadata.insert(PATHS.to_string(), Value::Array(paths.collect()));
    let note = NewRecord {
        uri: Some(Uri::parse(URI)?),
        kind: TRACE_NOTE.to_string(),
        metadata,
        ..NewRecord::text("connected")
    };
    Ok(location.change_notes(vec![note], Vec::new())?)
}
