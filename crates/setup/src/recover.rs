//! Takes what setup put into a text out of it again, when a person changed the text since: first by
//! the very lines that were put, else by editing the document. Texts only; knows no file.

use similar::{DiffTag, TextDiff};

use crate::content::{Content, Prune};
use crate::error::EditError;
use crate::ledger::Swap;

/// Most bytes of lines that are remembered of one edit.
const SWAPS_BYTES_MAX: usize = 64 * 1024;

/// Which lines an edit put in place of which.
pub(crate) fn swaps(original: &str, after: &str) -> Vec<Swap> {
    let diff = TextDiff::from_lines(original, after);
    let (was, put) = (diff.old_slices(), diff.new_slices());
    let swaps: Vec<Swap> = diff
        .ops()
        .iter()
        .filter(|op| op.tag() != DiffTag::Equal)
        .map(|op| Swap { put: put[op.new_range()].concat(), was: was[op.old_range()].concat() })
        .collect();
    let bytes: usize = swaps.iter().map(|swap| swap.put.len() + swap.was.len()).sum();
    let is_usable = bytes <= SWAPS_BYTES_MAX && swaps.iter().all(|swap| !swap.put.is_empty());
    if is_usable { swaps } else { Vec::new() }
}

/// The text without what is ours.
pub(crate) fn without_ours(
    content: &Content,
    text: &str,
    swaps: &[Swap],
    program: &str,
    prune: Prune<'_>,
) -> Result<Option<String>, EditError> {
    let swapped = swap_back(text, swaps).filter(|swapped| {
        content.same_but_ours(text, swapped, program)
            && matches!(content.remove(swapped, program, prune), Ok(None))
    });
    match swapped {
        Some(swapped) => Ok(Some(swapped)),
        None => content.remove(text, program, prune),
    }
}

/// The text with each swap undone; none where a swap is not found exactly once.
fn swap_back(text: &str, swaps: &[Swap]) -> Option<String> {
    let mut found = Vec::new();
    for swap in swaps {
        let mut places = text.match_indices(&swap.put).filter(|(at, _)| begins_line(text, *at));
        let (at, put) = places.next()?;
        if places.next().is_some() {
            return None;
        }
        found.push((at, at + put.len(), &swap.was));
    }
    found.sort_unstable_by_key(|(start, ..)| *start);
    if found.is_empty() || found.windows(2).any(|pair| pair[0].1 > pair[1].0) {
        return None;
    }
    let mut out = text.to_string();
    for (start, end, was) in found.into_iter().rev() {
        out.replace_range(start..end, was);
    }
    Some(out)
}

fn begins_line(text: &str, at: usize) -> bool {
    at == 0 || text[..at].ends_with('\n')
}
