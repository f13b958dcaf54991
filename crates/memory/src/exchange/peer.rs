//! The other side of an exchange, as this one uses it: a capsule at a path, or whatever answers the
//! same questions through a pipe.

use std::path::{Path, PathBuf};

use kapsa_capsule::{CommitSpan, Snapshot, commits_after};

use crate::error::{Error, Result, misuse};
use crate::exchange::contents::first_blobs;
use crate::exchange::parcel::{Chunk, Offer, Parcel, Point, Sender, carry_vectors, vectors_of};
use crate::records::branch::Made;
use crate::records::content::{BLOB_BYTES_MAX, BlobId};
use crate::records::record::BranchId;
use crate::tables::lineage::Lineage;
use crate::versions::branch::branch_record;
use crate::versions::join::{Join, knows};
use crate::view::{View, blobs, branches};
use crate::write::contents::Blobs;
use crate::write::writer::Writer;

/// A capsule that records are exchanged with.
pub trait Peer {
    /// Its newest commit with records.
    ///
    /// # Errors
    /// What the disk or the connection reports; so do all of these.
    fn head(&mut self) -> Result<Point>;

    /// The chain after a commit; none beyond the newest.
    ///
    /// # Errors
    /// As [`Peer::head`].
    fn chain(&mut self, commit: u64) -> Result<Option<[u8; 32]>>;

    /// Records that came after a commit, the first chunk of them.
    ///
    /// # Errors
    /// As [`Peer::head`].
    fn news(&mut self, after: u64) -> Result<Chunk>;

    /// Which of these records a branch of it lacks.
    ///
    /// # Errors
    /// As [`Peer::head`].
    fn lacks(&mut self, branch: &str, offers: &[Offer]) -> Result<Vec<bool>>;

    /// Gives a branch of it records, in their order and in one commit, with their vectors. Returns
    /// its newest commit.
    ///
    /// # Errors
    /// As [`Peer::head`]; `InvalidOperation` when it was opened to be read only.
    fn put(&mut self, branch: &str, parcels: Vec<Parcel>, vectors: Vec<Vec<u8>>) -> Result<Point>;

    /// The first of these blobs, as many as one answer holds.
    ///
    /// # Errors
    /// As [`Peer::head`]; `InvalidOperation` when it has none of them.
    fn blobs(&mut self, ids: &[BlobId]) -> Result<Vec<Vec<u8>>>;

    /// Which of these blobs it lacks.
    ///
    /// # Errors
    /// As [`Peer::head`].
    fn lacks_blobs(&mut self, ids: &[BlobId]) -> Result<Vec<bool>>;

    /// Gives it blobs, before the records that have them.
    ///
    /// # Errors
    /// As [`Peer::put`].
    fn put_blobs(&mut self, blobs: Vec<Vec<u8>>) -> Result<()>;
}

/// A capsule at a path.
#[derive(Debug)]
pub struct LocalPeer {
    path: PathBuf,
    view: View,
    writer: Option<Writer>,
    /// Commits after one of them, as they were last asked for.
    spans: Option<(u64, Vec<CommitSpan>)>,
}

impl LocalPeer {
    /// Opens a capsule to take records from.
    ///
    /// # Errors
    /// As [`crate::Reader::open`].
    pub fn open(path: &Path) -> Result<LocalPeer> {
        let view = View::new(Snapshot::open(path)?);
        Ok(LocalPeer { path: path.to_path_buf(), view, writer: None, spans: None })
    }

    /// Takes a capsule that is open for writing, to give it records. Nobody else writes to it
    /// until this is dropped.
    ///
    /// # Errors
    /// What the disk or a damaged file reports.
    pub fn of(mut writer: Writer) -> Result<LocalPeer> {
        let view = View::new(writer.capsule_mut().snapshot()?);
        let path = writer.path().to_path_buf();
        Ok(LocalPeer { path, view, writer: Some(writer), spans: None })
    }

    fn point(&self) -> Point {
        let commit = self.view.store().snapshot().commit();
        Point { commit: commit.number, chain: commit.chain }
    }

    /// The lineage of a branch; none where there is no such branch.
    fn lineage(&self, branch: &str) -> Result<Option<(BranchId, Lineage)>> {
        let store = self.view.store();
        if branch == crate::records::branch::MAIN {
            return Ok(Some((BranchId::MAIN, Lineage::main())));
        }
        let found = branches::find(store, branch)?;
        if found.as_ref().is_some_and(|made| made.archived || made.tracks) {
            return Err(misuse(&format!("branch {branch} of the other capsule is not written to")));
        }
        found.map(|made| Ok((made.id, store.lineage_of(made.id)?))).transpose()
    }
}

impl Peer for LocalPeer {
    fn head(&mut self) -> Result<Point> {
        Ok(self.point())
    }

    fn chain(&mut self, commit: u64) -> Result<Option<[u8; 32]>> {
        Ok(self.view.store().snapshot().chain_of(commit)?)
    }

    fn news(&mut self, after: u64) -> Result<Chunk> {
        let snapshot = self.view.store().snapshot();
        let is_known = self.spans.as_ref().is_some_and(|(from, _)| *from <= after);
        if !is_known {
            self.spans = Some((after, commits_after(snapshot, after)?));
        }
        let all = self.spans.iter().flat_map(|(_, spans)| spans);
        let spans: Vec<CommitSpan> = all.filter(|span| span.number > after).copied().collect();
        let (parcels, done) = Sender::new(&self.view).chunk(&spans, None)?;
        let Some(done) = done else {
            return Ok(Chunk { upto: self.point(), is_last: true, ..Chunk::default() });
        };
        let is_last = done.number == self.point().commit;
        let chain = snapshot.chain_of(done.number)?.unwrap_or_default();
        let vectors = vectors_of(&self.view, &parcels);
        Ok(Chunk { parcels, vectors, upto: Point { commit: done.number, chain }, is_last })
    }

    fn lacks(&mut self, branch: &str, offers: &[Offer]) -> Result<Vec<bool>> {
        let Some((_, lineage)) = self.lineage(branch)? else {
            return Ok(vec![true; offers.len()]);
        };
        let store = self.view.store();
        let lacks = |offer: &Offer| Ok(!knows(store, &lineage, &offer.uri, &offer.identity)?);
        offers.iter().map(lacks).collect()
    }

    fn put(&mut self, branch: &str, parcels: Vec<Parcel>, vectors: Vec<Vec<u8>>) -> Result<Point> {
        let place = self.lineage(branch)?;
        let Some(writer) = &mut self.writer else {
            return Err(misuse(&format!("{} is open to be read only", self.path.display())));
        };
        let next = self.view.store().snapshot().commit().next_sequence;
        let mut all = Vec::new();
        let (id, lineage) = match place {
            Some(place) => place,
            None => {
                let record = Made::record(branch, BranchId::MAIN, next, None, false)?;
                all.push(branch_record(record, BranchId::MAIN, next, None));
                let id = BranchId(next);
                (id, Lineage::main().child(id, next))
            }
        };
        let view = self.view.with(lineage);
        let mut join = Join::new(&view, id, next + all.len() as u64);
        let arrivals = parcels.iter().map(Parcel::arrival).collect::<Result<Vec<_>>>()?;
        for content in arrivals.iter().filter_map(|arrival| arrival.body.record.content.as_ref()) {
            if !blobs::has_all(view.store(), content)? {
                return Err(Error::ContentMissing);
            }
        }
        join.all(arrivals)?;
        let places = join.places;
        all.extend(join.pending);
        writer.write(all)?;
        carry_vectors(writer, vectors, &parcels, &places)?;
        self.view = self.view.main_of(writer.capsule_mut().snapshot()?)?;
        self.spans = None;
        Ok(self.point())
    }
    fn blobs(&mut self, ids: &[BlobId]) -> Result<Vec<Vec<u8>>> {
        first_blobs(&self.view, ids)
    }

    fn lacks_blobs(&mut self, ids: &[BlobId]) -> Result<Vec<bool>> {
        ids.iter().map(|id| Ok(!blobs::has(self.view.store(), id)?)).collect()
    }

    fn put_blobs(&mut self, blobs: Vec<Vec<u8>>) -> Result<()> {
        let Some(writer) = &mut self.writer else {
            return Err(misuse(&format!("{} is open to be read only", self.path.display())));
        };
        let mut all = Blobs::default();
        for blob in blobs {
            if blob.len() > BLOB_BYTES_MAX {
                return Err(misuse("the other capsule sent a blob that is larger than any"));
            }
            all.add(blob);
        }
        all.store(writer)?;
        self.view = self.view.main_of(writer.capsule_mut().snapshot()?)?;
        self.spans = None;
        Ok(())
    }
}
