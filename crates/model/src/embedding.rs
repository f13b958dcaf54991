//! What an embedder turns texts into, and how a text is cut into passages. Runs no model.

use std::fmt;
use std::ops::Range;

/// What a text is embedded for: some models treat the two differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// A question.
    Query,
    /// A text that questions should find.
    Passage,
}

/// How the vectors of a text's tokens become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pooling {
    /// Their mean.
    Mean,
    /// The first token's.
    First,
    /// A service does it and does not say how.
    Remote,
}

impl Pooling {
    /// The recorded name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Pooling::Mean => "mean",
            Pooling::First => "first",
            Pooling::Remote => "remote",
        }
    }
}

/// A model and how it is used. Vectors of two models that differ in anything here are never
/// compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Model {
    /// For people, such as `paraphrase-MiniLM-L3-v2-int8` or `ollama/nomic-embed-text`.
    pub name: String,
    /// BLAKE3 of the weights and the vocabulary; for a service, of its kind, the model's name and
    /// what else is known.
    pub hash: [u8; 32],
    /// Numbers in a vector, at most [`DIMENSION_MAX`].
    pub dimension: u32,
    /// How the tokens' vectors become one.
    pub pooling: Pooling,
    /// Put before each query.
    pub query_prefix: String,
    /// Put before each passage.
    pub passage_prefix: String,
    /// Tokens of a text that the model reads; it does not see the rest.
    pub tokens_max: u32,
    /// The cosine of texts that have nothing to do with each other, in hundredths, at most
    /// [`COSINE_FLOOR_MAX`]; 0 where it is about none. Above 0 a ranking measures cosines by those
    /// of the other candidates.
    pub cosine_floor: u8,
}

impl Model {
    /// [`Model::hash`] in hexadecimal.
    #[must_use]
    pub fn hash_hex(&self) -> String {
        base16ct::lower::encode_string(&self.hash)
    }

    /// A cosine of this model as one of a model without a floor: unrelated texts have about 0, the
    /// same text has 1.
    #[must_use]
    pub fn likeness(&self, cosine: f32) -> f32 {
        let floor = f32::from(self.cosine_floor) / 100.0;
        (cosine - floor) / (1.0 - floor)
    }
}

/// Most numbers in a vector.
pub const DIMENSION_MAX: u32 = 4096;
/// Highest [`Model::cosine_floor`].
pub const COSINE_FLOOR_MAX: u8 = 95;

/// Why a text has no vector.
#[derive(Debug)]
pub struct EmbedError {
    /// What failed, for a person.
    pub message: String,
    /// What to try.
    pub hint: Option<String>,
}

impl fmt::Display for EmbedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for EmbedError {}

/// Turns texts into vectors.
pub trait Embedder: Send + Sync {
    /// Which model this is.
    fn model(&self) -> &Model;

    /// One vector of [`Model::dimension`] numbers and Euclidean length 1 for each text, in order.
    ///
    /// # Errors
    /// When the model cannot be read or the service does not answer; then there is no vector at
    /// all.
    fn embed(&self, texts: &[&str], purpose: Purpose) -> Result<Vec<Vec<f32>>, EmbedError>;

    /// The passages, as ranges of bytes, that a text is cut into before it is embedded. They
    /// overlap and cover every word.
    fn passages(&self, text: &str) -> Vec<Range<usize>> {
        cut(text, &about_tokens(text), PIECES_MAX, PIECES_MAX / 8)
    }
}

/// Longest passage where tokens are not counted, in pieces of about a token each.
const PIECES_MAX: usize = 320;
/// About as many characters make a token of an English text.
const PIECE_CHARS: usize = 4;

/// A part of a text that is never cut, and its size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Its bytes.
    pub range: Range<usize>,
    /// The number of its tokens, or an estimate.
    pub tokens: usize,
}

/// Cuts a text into passages of at most `most` tokens, each of which begins with about `overlap`
/// tokens of the previous one. A passage ends at the end of a line or of a sentence if there is one
/// in its last third.
#[must_use]
pub fn cut(text: &str, pieces: &[Piece], most: usize, overlap: usize) -> Vec<Range<usize>> {
    let mut passages = Vec::new();
    let mut start = 0;
    while start < pieces.len() {
        let (mut end, mut tokens) = (start, 0);
        while end < pieces.len() && (end == start || tokens + pieces[end].tokens <= most) {
            tokens += pieces[end].tokens;
            end += 1;
        }
        if end < pieces.len() {
            let third = start + (end - start) * 2 / 3;
            let good = (third.max(start + 1)..=end)
                .rev()
                .find(|&end| ends_well(text, &pieces[end - 1], &pieces[end]));
            end = good.unwrap_or(end);
        }
        passages.push(pieces[start].range.start..pieces[end - 1].range.end);
        if end == pieces.len() {
            break;
        }
        let (mut next, mut shared) = (end, 0);
        while next - 1 > start && shared + pieces[next - 1].tokens <= overlap {
            next -= 1;
            shared += pieces[next].tokens;
        }
        start = next;
    }
    passages
}

fn ends_well(text: &str, last: &Piece, next: &Piece) -> bool {
    let gap = &text[last.range.end..next.range.start];
    let end = text[..last.range.end].chars().next_back();
    gap.contains('\n')
        || matches!(end, Some('。' | '！' | '？'))
        || (!gap.is_empty() && matches!(end, Some('.' | '!' | '?' | ';' | ':')))
}

/// Pieces of about a token each, for embedders that cannot count tokens.
fn about_tokens(text: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut chars = text.char_indices().peekable();
    while let Some((start, c)) = chars.next() {
        if c.is_whitespace() {
            continue;
        }
        let (mut end, mut count) = (start + c.len_utf8(), 1);
        let single = !c.is_ascii();
        while let Some((at, c)) = chars
            .next_if(|(_, c)| !single && count < PIECE_CHARS && c.is_ascii() && !c.is_whitespace())
        {
            end = at + c.len_utf8();
            count += 1;
        }
        pieces.push(Piece { range: start..end, tokens: 1 });
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<Piece> {
        let at = |word: &str| word.as_ptr() as usize - text.as_ptr() as usize;
        text.split_whitespace()
            .map(|word| Piece { range: at(word)..at(word) + word.len(), tokens: 1 })
            .collect()
    }

    #[test]
    fn passages_overlap_and_end_at_sentences() {
        let text = "one two three. four five six seven\neight nine ten";
        let cut = |most, overlap| {
            cut(text, &words(text), most, overlap)
                .into_iter()
                .map(|range| &text[range])
                .collect::<Vec<_>>()
        };
        assert_eq!(cut(20, 2), [text]);
        assert_eq!(
            cut(4, 1),
            ["one two three.", "three. four five six", "six seven", "seven\neight nine ten"]
        );
        assert_eq!(cut(1, 1).len(), 10);
        assert_eq!(cut(0, 5).len(), 10, "a piece is never cut, and none is left out");
        assert!(super::cut("", &[], 5, 1).is_empty());
    }

    #[test]
    fn every_letter_is_in_a_passage() {
        for text in [
            "x".repeat(5000),
            "東京タワー。".repeat(900),
            "naïve café ".repeat(700),
            "a b\n".repeat(900),
        ] {
            let passages = cut(&text, &about_tokens(&text), 128, 24);
            assert!(passages.len() > 3);
            let mut covered = 0;
            for passage in passages {
                assert!(passage.start <= covered || text[covered..passage.start].trim().is_empty());
                assert!(passage.end > covered);
                covered = passage.end;
            }
            assert!(text[covered..].trim().is_empty());
        }
    }
}
