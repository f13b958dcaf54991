//! The bytes of a file beside a record: how many, their hash, and the blobs that they are kept in.
//!
//! A blob is a piece of a file under the name of its hash: what many files share is kept once.
//! Where one file is cut depends on its content, so that an edit changes the blobs around it only.

use std::fmt;

use base16ct::lower;

/// Largest content of one record, in bytes (4 GiB).
pub const CONTENT_BYTES_MAX: u64 = 4 << 30;
/// Smallest blob but the last one of a file, in bytes.
pub(crate) const BLOB_BYTES_MIN: usize = 512 << 10;
/// About as large is a blob, in bytes.
pub(crate) const BLOB_BYTES: usize = 2 << 20;
/// Largest blob, in bytes.
pub(crate) const BLOB_BYTES_MAX: usize = 8 << 20;
/// Most blobs of one content.
const BLOBS_MAX: usize = CONTENT_BYTES_MAX as usize / BLOB_BYTES_MIN + 1;
/// Longest name or media type, in bytes.
pub(crate) const CONTENT_NAME_BYTES_MAX: usize = 255;
/// Bytes of a hash.
const HASH_BYTES: usize = 32;

/// Name of a blob: BLAKE3 of its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlobId(pub(crate) [u8; HASH_BYTES]);

impl BlobId {
    /// That of these bytes.
    pub(crate) fn of(bytes: &[u8]) -> BlobId {
        BlobId(*blake3::hash(bytes).as_bytes())
    }

    /// The one that these 64 hexadecimal digits stand for.
    pub(crate) fn parse(digits: &str) -> Option<BlobId> {
        let mut hash = [0; HASH_BYTES];
        let decoded = lower::decode(digits, &mut hash).ok()?;
        (decoded.len() == HASH_BYTES).then_some(BlobId(hash))
    }
}

impl fmt::Display for BlobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&lower::encode_string(&self.0))
    }
}

/// The bytes of a file, which a record has beside its text. Made by storing them, so that what it
/// names was there.
#[derive(Clone, PartialEq, Eq)]
pub struct Content {
    pub(crate) size: u64,
    pub(crate) hash: [u8; HASH_BYTES],
    pub(crate) media_type: String,
    pub(crate) name: String,
    pub(crate) blobs: Vec<BlobId>,
}

impl fmt::Debug for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Content")
            .field("size", &self.size)
            .field("hash", &self.hash())
            .field("blobs", &self.blobs.len())
            .finish_non_exhaustive()
    }
}

impl Content {
    /// How many bytes it has.
    #[must_use]
    pub fn size_bytes(&self) -> u64 {
        self.size
    }

    /// BLAKE3 of all of them, 64 hexadecimal digits.
    #[must_use]
    pub fn hash(&self) -> String {
        lower::encode_string(&self.hash)
    }

    /// Its media type as RFC 9110 has it, such as `image/png`.
    #[must_use]
    pub fn media_type(&self) -> &str {
        &self.media_type
    }

    /// Name of the file that it was read from, without folders. Shown, never opened.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// In how many blobs it is kept.
    #[must_use]
    pub fn blob_count(&self) -> usize {
        self.blobs.len()
    }

    /// Its bytes in a record: the table is in `docs/format.md`.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = self.size.to_le_bytes().to_vec();
        out.extend_from_slice(&self.hash);
        for text in [&self.media_type, &self.name] {
            out.push(u8::try_from(text.len()).expect("names are checked when content is stored"));
            out.extend_from_slice(text.as_bytes());
        }
        self.blobs.iter().for_each(|blob| out.extend_from_slice(&blob.0));
        out
    }

    /// Reads it.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Content, &'static str> {
        const CUT: &str = "what it says of its content is cut short";
        let (size, rest) = bytes.split_first_chunk().ok_or(CUT)?;
        let (hash, mut rest) = rest.split_first_chunk::<HASH_BYTES>().ok_or(CUT)?;
        let size = u64::from_le_bytes(*size);
        let mut texts = [String::new(), String::new()];
        for text in &mut texts {
            let (length, after) = rest.split_first().ok_or(CUT)?;
            let (name, after) = after.split_at_checked(usize::from(*length)).ok_or(CUT)?;
            *text = String::from_utf8(name.to_vec()).map_err(|_| "a name is not UTF-8")?;
            rest = after;
        }
        let (blobs, odd) = rest.as_chunks::<HASH_BYTES>();
        if !odd.is_empty() {
            return Err(CUT);
        }
        if size > CONTENT_BYTES_MAX || blobs.len() > BLOBS_MAX {
            return Err("its content is larger than any may be");
        }
        let [media_type, name] = texts;
        let blobs = blobs.iter().map(|hash| BlobId(*hash)).collect();
        Ok(Content { size, hash: *hash, media_type, name, blobs })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_is_read_as_it_was_written_and_cut_short_is_refused() {
        let content = Content {
            size: 3,
            hash: [7; 32],
            media_type: "image/png".to_string(),
            name: "photo.png".to_string(),
            blobs: vec![BlobId::of(b"abc"), BlobId([9; 32])],
        };
        let bytes = content.encode();
        assert_eq!(Content::decode(&bytes), Ok(content));
        for end in 0..bytes.len() {
            let is_whole = end == bytes.len() - 32 || end == bytes.len() - 64;
            assert_eq!(Content::decode(&bytes[..end]).is_ok(), is_whole, "{end}");
        }
        let mut huge = bytes;
        huge[..8].copy_from_slice(&u64::MAX.to_le_bytes());
        assert!(Content::decode(&huge).is_err());
    }

    #[test]
    fn a_blob_is_named_by_its_hash() {
        let blob = BlobId::of(b"abc");
        assert_eq!(BlobId::parse(&blob.to_string()), Some(blob));
        for odd in ["", "ab", &"g".repeat(64), &"A".repeat(64)] {
            assert_eq!(BlobId::parse(odd), None, "{odd}");
        }
    }
}
