//! Builds a segment from documents, or from other segments.

use tantivy::directory::{OwnedBytes, RamDirectory};
use tantivy::index::SegmentComponent;
use tantivy::indexer::merge_filtered_segments;
use tantivy::{Directory, Index, Segment, SegmentReader, SingleSegmentIndexWriter};

use crate::blob::{self, Blob, Columns, FILES};
use crate::directory::{BlobIndex, damaged, settings};
use crate::error::{Error, Result};
use crate::guard::guard;
use crate::schema::{Document, SCHEMA, TEXT, tokenizers};
use crate::segment_bytes::SegmentBytes;

/// Least memory a builder starts with, in bytes.
const MEMORY_BYTES_MIN: usize = 1 << 20;
/// Most memory a segment under construction may use, in bytes.
pub const SEGMENT_MEMORY_BYTES_MAX: usize = 2 << 30;
/// Most documents in one segment.
pub const SEGMENT_DOCUMENTS_MAX: u32 = 1 << 30;

/// One segment under construction, in memory and not searchable.
///
/// The order of [`add`](SegmentBuilder::add) is the order of sequence numbers: the document added
/// `n`th has the segment's first sequence number plus `n`.
pub struct SegmentBuilder {
    built: Built,
    columns: Columns,
    documents: u32,
}

impl SegmentBuilder {
    /// A builder for about `memory_bytes` of postings, which only sizes its hash table.
    ///
    /// # Errors
    /// [`Error::Build`].
    pub fn new(memory_bytes: usize) -> Result<Self> {
        let memory = memory_bytes.clamp(MEMORY_BYTES_MIN, SEGMENT_MEMORY_BYTES_MAX);
        Ok(SegmentBuilder { built: Built::new(memory)?, columns: Columns::default(), documents: 0 })
    }

    /// Adds the next document.
    ///
    /// # Errors
    /// [`Error::SegmentFull`], [`Error::Build`].
    pub fn add(&mut self, document: &Document<'_>) -> Result<()> {
        if self.documents == SEGMENT_DOCUMENTS_MAX
            || self.memory_bytes() >= SEGMENT_MEMORY_BYTES_MAX
        {
            return Err(Error::SegmentFull);
        }
        self.built.add(document)?;
        self.columns.key_hashes.push(document.key_hash);
        self.columns.times_us.push(document.time_us);
        self.documents += 1;
        debug_assert_eq!(
            self.columns.times_us.len(),
            self.documents as usize,
            "every document has a time"
        );
        Ok(())
    }

    /// Documents added so far.
    pub fn len(&self) -> u32 {
        self.documents
    }

    /// Whether no document has been added.
    pub fn is_empty(&self) -> bool {
        self.documents == 0
    }

    /// Memory in use, in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.built.writer.mem_usage()
    }

    /// The segment's bytes. A builder without documents gives a segment without documents.
    ///
    /// # Errors
    /// [`Error::Build`].
    pub fn finish(self) -> Result<Vec<u8>> {
        let (segment, directory) = self.built.finish()?;
        assert_eq!(segment.meta().max_doc(), self.documents, "tantivy wrote every document");
        pack(&segment, &directory, &self.columns)
    }
}

/// Concatenates segments, in the given order; no document is dropped. Every byte of them is checked
/// first.
///
/// # Errors
/// Those of reading a segment, and [`Error::Build`].
pub fn merge(segments: &[SegmentBytes]) -> Result<Vec<u8>> {
    let blobs: Result<Vec<Blob>> = segments.iter().cloned().map(Blob::parse).collect();
    let blobs = blobs?;
    let documents: u64 = blobs.iter().map(|blob| u64::from(blob.documents)).sum();
    if documents > u64::from(SEGMENT_DOCUMENTS_MAX) {
        return Err(Error::SegmentFull);
    }
    if documents == 0 {
        return SegmentBuilder::new(MEMORY_BYTES_MIN)?.finish();
    }
    let mut columns = Columns::default();
    for blob in &blobs {
        blob.check_all()?;
        let Columns { key_hashes, times_us } = blob.columns()?;
        columns.key_hashes.extend(key_hashes);
        columns.times_us.extend(times_us);
    }
    assert_eq!(columns.key_hashes.len() as u64, documents, "every document keeps its key");
    let source = BlobIndex::new(blobs)?;
    let sources: Vec<Segment> = (0..segments.len()).map(|ord| source.segment(ord)).collect();
    let directory = RamDirectory::create();
    let alive = vec![None; sources.len()];
    let index = guard(|| {
        merge_filtered_segments(&sources, settings(), alive, directory.clone()).map_err(damaged)
    })?;
    let segment = only_segment(&index)?;
    assert_eq!(u64::from(segment.meta().max_doc()), documents, "tantivy dropped no document");
    pack(&segment, &directory, &columns)
}

/// A tantivy writer and where it writes.
struct Built {
    writer: SingleSegmentIndexWriter,
    directory: RamDirectory,
}

impl Built {
    fn new(memory_bytes: usize) -> Result<Built> {
        let directory = RamDirectory::create();
        let writer = Index::builder()
            .schema(SCHEMA.clone())
            .settings(settings())
            .tokenizers(tokenizers())
            .single_segment_index_writer(directory.clone(), memory_bytes)
            .map_err(failed)?;
        Ok(Built { writer, directory })
    }

    fn add(&mut self, document: &Document<'_>) -> Result<()> {
        self.writer.add_document(document.to_tantivy()).map_err(failed)
    }

    fn finish(self) -> Result<(Segment, RamDirectory)> {
        let index = self.writer.finalize().map_err(failed)?;
        Ok((only_segment(&index)?, self.directory))
    }
}

fn only_segment(index: &Index) -> Result<Segment> {
    let mut segments = index.searchable_segments().map_err(failed)?;
    assert_eq!(segments.len(), 1, "tantivy wrote one segment");
    Ok(segments.remove(0))
}

/// A file of `segment`, as written, tantivy's footer included.
fn read(
    segment: &Segment,
    directory: &RamDirectory,
    file: &SegmentComponent,
) -> Result<OwnedBytes> {
    let slice = directory.open_read(&segment.relative_path(file.clone())).map_err(failed)?;
    slice.read_bytes().map_err(failed)
}

fn pack(segment: &Segment, directory: &RamDirectory, columns: &Columns) -> Result<Vec<u8>> {
    assert_eq!(
        columns.times_us.len(),
        segment.meta().max_doc() as usize,
        "the columns are of the segment's documents"
    );
    let tokens = if segment.meta().max_doc() == 0 { 0 } else { tokens(segment).map_err(failed)? };
    let files: Result<Vec<OwnedBytes>> =
        FILES.iter().map(|file| read(segment, directory, file)).collect();
    let files = files?.try_into().expect("one for each file");
    Ok(blob::write(tokens, columns, &files))
}

fn tokens(segment: &Segment) -> tantivy::Result<u64> {
    Ok(SegmentReader::open(segment)?.inverted_index(TEXT)?.total_num_tokens())
}

fn failed(error: impl ToString) -> Error {
    Error::Build(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::directory::{EMPTY_STORE, NO_POSITIONS};

    fn written(component: &SegmentComponent, documents: &[Document<'_>]) -> OwnedBytes {
        let mut built = Built::new(MEMORY_BYTES_MIN).expect("begins");
        documents.iter().for_each(|document| built.add(document).expect("room for a word"));
        let (segment, directory) = built.finish().expect("built in memory");
        read(&segment, &directory, component).expect("written")
    }

    /// Building them anew for each search would cost a cold process a fifth of its time. After an
    /// update of tantivy, run this once with KAPSA_WRITE_STAND_INS set.
    #[test]
    #[expect(
        clippy::disallowed_methods,
        reason = "whoever updates tantivy asks for new files by it"
    )]
    fn the_stand_ins_are_what_tantivy_writes() {
        let word = Document { title: "word", text: "", terms: &[], key_hash: 0, time_us: 0 };
        let files = [
            ("empty.store", EMPTY_STORE, written(&SegmentComponent::Store, &[])),
            ("none.pos", NO_POSITIONS, written(&SegmentComponent::Positions, &[word])),
        ];
        for (name, kept, written) in files {
            if std::env::var_os("KAPSA_WRITE_STAND_INS").is_some() {
                let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/stand_ins/");
                std::fs::write(format!("{folder}{name}"), &written[..])
                    .expect("the source folder can be written");
            } else {
                assert_eq!(kept, &written[..], "{name}");
            }
        }
    }
}
