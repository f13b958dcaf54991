//! The turns of a conversation beside a hit, as whoever asks may see them.

use kapsa_index::Candidate;

use crate::error::Result;
use crate::records::record::Record;
use crate::records::request::Filter;
use crate::records::turn::session;
use crate::view::View;
use crate::view::visibility::Visibility;

/// Most turns on each side of a hit.
pub const AROUND_MAX: usize = 50;

/// The `count` turns before a record and those after it in the same conversation, in their order;
/// none of what is not a turn.
pub(super) fn around(view: &View, record: &Record, count: usize) -> Result<Vec<Record>> {
    let count = count.min(AROUND_MAX);
    let Some(session) = session(record).filter(|_| count > 0) else { return Ok(Vec::new()) };
    let mut filter = Filter::default().within(view)?;
    filter.all.push(vec![format!("tag:session={session}")]);
    let searcher = view.store().searcher()?;
    let mut visibility = Visibility::of(view);
    let mut accept = |candidate: Candidate<'_>| visibility.accepts(&candidate);
    let at = Some(record.sequence);
    let mut sequences = searcher.newest(&filter, count, at, &mut accept)?;
    sequences.reverse();
    sequences.extend(searcher.oldest(&filter, count, at, &mut accept)?);
    visibility.finish()?;
    sequences.into_iter().map(|sequence| view.store().record(sequence)).collect()
}
