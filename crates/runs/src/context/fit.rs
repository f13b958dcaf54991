//! Fits lines into a budget, and puts them in order.

use std::collections::{HashMap, HashSet};

use kapsa_memory::tokens;

use super::weigh::PLAN_SHARE;
use super::{Line, MARKER_BEGIN, MARKER_END, note};

/// Stands at the end of a passage that was cut to fit.
const CUT_MARK: &str = " …";
/// Fewest characters of a passage that are worth showing.
const CUT_CHARS_MIN: usize = 40;
/// What stands around a line: two characters before it and its end.
const LINE_FRAME_BYTES: usize = 3;

/// Where a line comes from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spot {
    pub(super) group: usize,
    pub(super) sequence: u64,
    pub(super) start: usize,
    pub(super) is_plan: bool,
}

/// Titles that are shown already: each is shown once in its store.
#[derive(Default)]
struct Titles(HashSet<(usize, String)>);

impl Titles {
    /// The line as it stands after those before it.
    fn line(&mut self, group: usize, line: Line) -> Line {
        let is_new = self.0.insert((group, line.title.clone()));
        Line { title: if is_new { line.title } else { String::new() }, ..line }
    }
}

/// The lines that fit, in their order, and how many do not. They come the most valuable first. A
/// plan that comes first takes no more than its share where something else answers the query.
pub(super) fn fit(lines: Vec<(Spot, Line)>, tokens_max: usize) -> (Vec<Line>, usize) {
    let bytes_max = tokens_max.saturating_mul(tokens::TOKEN_BYTES);
    let frame = MARKER_BEGIN.len() + MARKER_END.len() + 2;
    let bytes = |line: &Line| line.body().len() + LINE_FRAME_BYTES;
    let count = lines.len();
    let all = frame + lines.iter().map(|(_, line)| bytes(line)).sum::<usize>();
    let mut room = bytes_max.saturating_sub(frame);
    if all > bytes_max {
        room = room.saturating_sub(note(count, tokens_max).len() + LINE_FRAME_BYTES);
    }
    let mut kept: Vec<(usize, Spot, Line)> = Vec::new();
    let mut titles = Titles::default();
    // Stores stand where their best line would, and what they say stands in its own order, the
    // newest record first.
    let mut places: HashMap<usize, usize> = HashMap::new();
    let is_answered = lines.iter().any(|(spot, line)| !spot.is_plan && line.score > 0.0);
    for (spot, mut line) in lines {
        let is_shared = kept.is_empty() && spot.is_plan && is_answered;
        let own_room = if is_shared { (room as f32 * PLAN_SHARE) as usize } else { room };
        if kept.is_empty() && bytes(&line) > own_room {
            line = shortened(line, own_room);
            if is_shared && bytes(&line) > own_room {
                continue;
            }
        }
        let is_titled = titles.0.contains(&(spot.group, line.title.clone()));
        let needed = bytes(&line)
            - if is_titled && !line.title.is_empty() { line.title.len() + 2 } else { 0 };
        if needed <= room {
            room -= needed;
            titles.0.insert((spot.group, line.title.clone()));
            let next = places.len();
            kept.push((*places.entry(spot.group).or_insert(next), spot, line));
        }
    }
    let left_out = count - kept.len();
    kept.sort_by_key(|(place, spot, _)| (*place, std::cmp::Reverse(spot.sequence), spot.start));
    let mut titles = Titles::default();
    (kept.into_iter().map(|(_, spot, line)| titles.line(spot.group, line)).collect(), left_out)
}

/// The best line in part, where it has no room as a whole: that says more than a lesser one. As it
/// is where too little would be left.
fn shortened(line: Line, room: usize) -> Line {
    let over = (line.body().len() + LINE_FRAME_BYTES + CUT_MARK.len()).saturating_sub(room);
    let text = tokens::first_bytes(&line.text, line.text.len().saturating_sub(over)).trim_end();
    match text.chars().count() < CUT_CHARS_MIN {
        true => line,
        false => Line { text: format!("{text}{CUT_MARK}"), ..line },
    }
}
