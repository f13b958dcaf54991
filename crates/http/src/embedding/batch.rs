//! Divides texts among requests. Knows neither services nor vectors.

use std::ops::Range;

use kapsa_model::EmbedError;

/// Most texts in a request.
pub(super) const BATCH_TEXTS_MAX: usize = 64;
/// Most bytes that the texts of a request take as JSON.
const BATCH_BYTES_MAX: usize = 512 * 1024;

/// The texts of one request, and how many there are in all.
#[derive(Debug, PartialEq)]
pub(super) struct Batch {
    pub(super) range: Range<usize>,
    total: usize,
}

impl Batch {
    /// The text at a place of this batch, for a message. Texts are counted from 1.
    pub(super) fn one(&self, at: usize) -> String {
        format!("text {} of {}", self.range.start + at + 1, self.total)
    }

    /// The texts of this batch, for a message.
    pub(super) fn all(&self) -> String {
        if self.range.len() == 1 {
            return self.one(0);
        }
        format!("one of the texts {} to {} of {}", self.range.start + 1, self.range.end, self.total)
    }
}

/// The batches of `texts`, each of which is sent after `prefix`.
pub(super) fn batches(texts: &[&str], prefix: &str) -> Result<Vec<Batch>, EmbedError> {
    let total = texts.len();
    let mut batches: Vec<Batch> = Vec::new();
    let (mut start, mut bytes) = (0, 0);
    for (at, text) in texts.iter().enumerate() {
        // Two quotes and a comma.
        let more = json_bytes(prefix) + json_bytes(text) + 3;
        if more > BATCH_BYTES_MAX {
            let text = Batch { range: at..at + 1, total }.one(0);
            let message =
                format!("{text} takes {more} bytes; a request may have {BATCH_BYTES_MAX}");
            return Err(EmbedError { message, hint: Some("send shorter texts".to_owned()) });
        }
        if at - start == BATCH_TEXTS_MAX || bytes + more > BATCH_BYTES_MAX {
            batches.push(Batch { range: start..at, total });
            (start, bytes) = (at, 0);
        }
        bytes += more;
    }
    if start < total {
        batches.push(Batch { range: start..total, total });
    }
    Ok(batches)
}

/// Bytes of a text as JSON, at most.
fn json_bytes(text: &str) -> usize {
    let escaped = |byte| match byte {
        b'"' | b'\\' => 2,
        0..=0x1f => 6,
        _ => 1,
    };
    text.bytes().map(escaped).sum()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn ranges(texts: &[&str], prefix: &str) -> Vec<Range<usize>> {
        batches(texts, prefix).unwrap().into_iter().map(|batch| batch.range).collect()
    }

    #[test]
    fn batches_hold_their_limits() {
        assert!(batches(&[], "p").unwrap().is_empty());
        assert_eq!(ranges(&["a"; 65], ""), [0..64, 64..65]);
        let third = "x".repeat(BATCH_BYTES_MAX / 3);
        assert_eq!(ranges(&[third.as_str(); 4], ""), [0..2, 2..4]);
        let escaped = "\u{1}".repeat(BATCH_BYTES_MAX / 6);
        let problem = batches(&["a", &escaped], "").unwrap_err();
        assert!(problem.message.starts_with("text 2 of 2 takes"), "{problem}");
    }
}
