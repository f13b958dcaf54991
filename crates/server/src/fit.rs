//! Answers fit what clients take: what has no room is left out, counted, and can be asked for.

use kapsa_memory::tokens::estimate;
use serde::Serialize;

/// Most tokens of an answer, by the estimate of [`kapsa_memory::tokens`]. Clients refuse answers
/// of more than 25,000 tokens by their own count, which may be higher.
pub const ANSWER_TOKENS_MAX: usize = 18_000;
/// Tokens that are left for what stands around a list.
const FRAME_TOKENS: usize = 600;

/// Keeps the first items of a list that fit an answer, and at least one. Returns how many were
/// left out.
pub(crate) fn keep<T: Serialize>(items: &mut Vec<T>) -> usize {
    let mut left = ANSWER_TOKENS_MAX - FRAME_TOKENS;
    let fitting = items.iter().take_while(|item| {
        let size = serde_json::to_string(item).map_or(0, |text| estimate(&text));
        let fits = size <= left;
        left = left.saturating_sub(size);
        fits
    });
    let kept = fitting.count().max(1).min(items.len());
    let out = items.len() - kept;
    items.truncate(kept);
    out
}

/// Most bytes of one text in an answer.
pub(crate) const TEXT_BYTES_MAX: usize = (ANSWER_TOKENS_MAX - FRAME_TOKENS) * 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_room_is_left_out_and_counted() {
        let mut items: Vec<String> = (0..40).map(|_| "word ".repeat(1000)).collect();
        let out = keep(&mut items);
        assert_eq!((items.len() + out, items.len() < 15), (40, true));
        let mut one = vec!["word ".repeat(100_000)];
        assert_eq!((keep(&mut one), one.len()), (0, 1));
        assert_eq!(keep(&mut Vec::<String>::new()), 0);
    }
}
