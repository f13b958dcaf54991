//! The other side of an exchange behind a pipe: a program that answers what is asked of a capsule,
//! question by question.
//!
//! A frame is a byte that says what it is, the length of what follows (8 bytes, little-endian) and
//! that. Each question has one answer. Whatever comes through is bounded by named limits.

use std::io::{self, Read, Write};

use crate::error::{Error, Result, misuse};
use crate::exchange::parcel::{
    Chunk, Offer, Parcel, Point, put_part, take_chain, take_number, take_part, text,
};
use crate::exchange::peer::Peer;
use crate::records::content::BlobId;

/// What both sides say first.
const GREETING: &[u8; 16] = b"kapsa exchange 1";
/// Most bytes of one frame.
const FRAME_BYTES_MAX: u64 = 1 << 29;
/// Most records of one frame.
const FRAME_RECORDS_MAX: u64 = 1 << 20;

const HEAD: u8 = 1;
const CHAIN: u8 = 2;
const NEWS: u8 = 3;
const LACKS: u8 = 4;
const PUT: u8 = 5;
const BLOBS: u8 = 6;
const LACKS_BLOBS: u8 = 7;
const PUT_BLOBS: u8 = 8;
const DONE: u8 = 0;
const FAILED: u8 = 255;

/// A capsule behind a pipe.
#[derive(Debug)]
pub struct PipePeer<R, W> {
    from: R,
    to: W,
}

impl<R: Read, W: Write> PipePeer<R, W> {
    /// Greets whoever answers.
    ///
    /// # Errors
    /// `InvalidOperation` when it is not Kapsa, or one that exchanges otherwise.
    pub fn open(mut from: R, mut to: W) -> Result<PipePeer<R, W>> {
        let mut greeting = [0; GREETING.len()];
        let greeted = to.write_all(GREETING).and_then(|()| to.flush());
        let answered = greeted.and_then(|()| from.read_exact(&mut greeting));
        if answered.is_err() || greeting != *GREETING {
            return Err(misuse(
                "nobody answers there as Kapsa does: is it installed there, in the same version?",
            ));
        }
        Ok(PipePeer { from, to })
    }

    fn ask(&mut self, what: u8, question: &[u8]) -> Result<Vec<u8>> {
        write_frame(&mut self.to, what, question).map_err(broken)?;
        let (status, answer) = read_frame(&mut self.from).map_err(broken)?.ok_or_else(ended)?;
        match status {
            DONE => Ok(answer),
            _ => Err(misuse(&format!("the other capsule: {}", text(&answer)?))),
        }
    }
}

fn broken(error: io::Error) -> Error {
    misuse(&format!("the connection to the other capsule broke: {error}"))
}

fn ended() -> Error {
    misuse("the other side ended in the middle; what came before stays")
}

fn write_frame(to: &mut impl Write, what: u8, bytes: &[u8]) -> io::Result<()> {
    to.write_all(&[what])?;
    to.write_all(&(bytes.len() as u64).to_le_bytes())?;
    to.write_all(bytes)?;
    to.flush()
}

/// None where nothing comes any more.
fn read_frame(from: &mut impl Read) -> io::Result<Option<(u8, Vec<u8>)>> {
    let mut what = [0];
    if from.read(&mut what)? == 0 {
        return Ok(None);
    }
    let mut length = [0; 8];
    from.read_exact(&mut length)?;
    let length = u64::from_le_bytes(length);
    if length > FRAME_BYTES_MAX {
        let kind = io::ErrorKind::InvalidData;
        return Err(io::Error::new(kind, "a frame is longer than any should be"));
    }
    let mut bytes = Vec::new();
    // What is announced is not believed before it came.
    if from.take(length).read_to_end(&mut bytes)? as u64 != length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(Some((what[0], bytes)))
}

fn put_point(out: &mut Vec<u8>, point: Point) {
    out.extend_from_slice(&point.commit.to_le_bytes());
    out.extend_from_slice(&point.chain);
}

fn take_point(bytes: &mut &[u8]) -> Result<Point> {
    Ok(Point { commit: take_number(bytes)?, chain: take_chain(bytes)? })
}

/// So many things, each read by `take`.
fn take_all<T>(bytes: &mut &[u8], take: fn(&mut &[u8]) -> Result<T>) -> Result<Vec<T>> {
    let count = take_number(bytes)?;
    if count > FRAME_RECORDS_MAX {
        return Err(misuse("the other capsule sent more records at once than any should"));
    }
    (0..count).map(|_| take(bytes)).collect()
}

fn take_block(bytes: &mut &[u8]) -> Result<Vec<u8>> {
    Ok(take_part(bytes)?.to_vec())
}

fn put_blob_id(id: &BlobId, out: &mut Vec<u8>) {
    out.extend_from_slice(&id.0);
}

fn take_blob_id(bytes: &mut &[u8]) -> Result<BlobId> {
    Ok(BlobId(take_chain(bytes)?))
}

/// An answer to so many questions.
fn yes_or_no(answer: &[u8], count: usize) -> Result<Vec<bool>> {
    if answer.len() != count {
        return Err(misuse("the other capsule answered something else than it was asked"));
    }
    Ok(answer.iter().map(|one| *one != 0).collect())
}

fn put_all<T>(out: &mut Vec<u8>, all: &[T], put: fn(&T, &mut Vec<u8>)) {
    out.extend_from_slice(&(all.len() as u64).to_le_bytes());
    all.iter().for_each(|one| put(one, out));
}

impl<R: Read, W: Write> Peer for PipePeer<R, W> {
    fn head(&mut self) -> Result<Point> {
        take_point(&mut self.ask(HEAD, &[])?.as_slice())
    }

    fn chain(&mut self, commit: u64) -> Result<Option<[u8; 32]>> {
        let answer = self.ask(CHAIN, &commit.to_le_bytes())?;
        if answer.is_empty() { Ok(None) } else { Ok(Some(take_chain(&mut answer.as_slice())?)) }
    }

    fn news(&mut self, after: u64) -> Result<Chunk> {
        let answer = self.ask(NEWS, &after.to_le_bytes())?;
        let mut bytes = answer.as_slice();
        let upto = take_point(&mut bytes)?;
        let is_last = take_number(&mut bytes)? != 0;
        let vectors = take_all(&mut bytes, take_block)?;
        Ok(Chunk { parcels: take_all(&mut bytes, Parcel::decode)?, vectors, upto, is_last })
    }

    fn lacks(&mut self, branch: &str, offers: &[Offer]) -> Result<Vec<bool>> {
        let mut question = Vec::new();
        put_part(&mut question, branch.as_bytes());
        put_all(&mut question, offers, Offer::encode);
        yes_or_no(&self.ask(LACKS, &question)?, offers.len())
    }

    fn put(&mut self, branch: &str, parcels: Vec<Parcel>, vectors: Vec<Vec<u8>>) -> Result<Point> {
        let mut question = Vec::new();
        put_part(&mut question, branch.as_bytes());
        put_all(&mut question, &vectors, |block, out| put_part(out, block));
        put_all(&mut question, &parcels, Parcel::encode);
        take_point(&mut self.ask(PUT, &question)?.as_slice())
    }

    fn blobs(&mut self, ids: &[BlobId]) -> Result<Vec<Vec<u8>>> {
        let mut question = Vec::new();
        put_all(&mut question, ids, put_blob_id);
        take_all(&mut self.ask(BLOBS, &question)?.as_slice(), take_block)
    }

    fn lacks_blobs(&mut self, ids: &[BlobId]) -> Result<Vec<bool>> {
        let mut question = Vec::new();
        put_all(&mut question, ids, put_blob_id);
        yes_or_no(&self.ask(LACKS_BLOBS, &question)?, ids.len())
    }

    fn put_blobs(&mut self, blobs: Vec<Vec<u8>>) -> Result<()> {
        let mut question = Vec::new();
        put_all(&mut question, &blobs, |blob, out| put_part(out, blob));
        self.ask(PUT_BLOBS, &question).map(drop)
    }
}

/// Answers for a capsule until nobody asks any more.
///
/// # Errors
/// When the connection breaks, or whoever asks is not Kapsa. What goes wrong with the capsule is
/// told to whoever asks.
pub fn serve(peer: &mut dyn Peer, mut from: impl Read, mut to: impl Write) -> Result<()> {
    let mut greeting = [0; GREETING.len()];
    let greeted = from.read_exact(&mut greeting);
    if greeted.is_err() || greeting != *GREETING {
        return Err(misuse("this verb answers other capsules; it is of no use by hand"));
    }
    to.write_all(GREETING).and_then(|()| to.flush()).map_err(broken)?;
    while let Some((what, question)) = read_frame(&mut from).map_err(broken)? {
        let (status, answer) = match answer(peer, what, &question) {
            Ok(answer) => (DONE, answer),
            Err(error) => (FAILED, error.to_string().into_bytes()),
        };
        write_frame(&mut to, status, &answer).map_err(broken)?;
    }
    Ok(())
}

fn answer(peer: &mut dyn Peer, what: u8, mut question: &[u8]) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    let bytes = &mut question;
    match what {
        HEAD => put_point(&mut out, peer.head()?),
        CHAIN => out.extend(peer.chain(take_number(bytes)?)?.into_iter().flatten()),
        NEWS => {
            let chunk = peer.news(take_number(bytes)?)?;
            put_point(&mut out, chunk.upto);
            out.extend_from_slice(&u64::from(chunk.is_last).to_le_bytes());
            put_all(&mut out, &chunk.vectors, |block, out| put_part(out, block));
            put_all(&mut out, &chunk.parcels, Parcel::encode);
        }
        LACKS => {
            let branch = text(take_part(bytes)?)?;
            let offers = take_all(bytes, Offer::decode)?;
            out.extend(peer.lacks(&branch, &offers)?.into_iter().map(u8::from));
        }
        PUT => {
            let branch = text(take_part(bytes)?)?;
            let vectors = take_all(bytes, take_block)?;
            let parcels = take_all(bytes, Parcel::decode)?;
            put_point(&mut out, peer.put(&branch, parcels, vectors)?);
        }
        BLOBS => {
            let blobs = peer.blobs(&take_all(bytes, take_blob_id)?)?;
            put_all(&mut out, &blobs, |blob, out| put_part(out, blob));
        }
        LACKS_BLOBS => {
            let lacks = peer.lacks_blobs(&take_all(bytes, take_blob_id)?)?;
            out.extend(lacks.into_iter().map(u8::from));
        }
        PUT_BLOBS => peer.put_blobs(take_all(bytes, take_block)?)?,
        _ => return Err(misuse("that is no question")),
    }
    Ok(out)
}
