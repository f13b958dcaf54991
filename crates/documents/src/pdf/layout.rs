//! Pieces of text become lines and paragraphs: in the order in which a page draws them, which is
//! nearly always the one in which it is read.

/// A piece of text and where it stands.
#[derive(Debug)]
pub(super) struct Piece {
    pub(super) text: String,
    /// Where it begins.
    pub(super) start: (f32, f32),
    /// Where it ends.
    pub(super) end: (f32, f32),
    /// The direction in which it runs, of length 1.
    pub(super) direction: (f32, f32),
    /// How large its font is.
    pub(super) size: f32,
}

/// Further across than this, in sizes, is another line.
const LINE_SHIFT: f32 = 0.5;
/// Further across than this is another paragraph.
const PARAGRAPH_SHIFT: f32 = 1.9;
/// Further along than this is another word.
const WORD_GAP: f32 = 0.15;
/// Further back than this is another column.
const BACK: f32 = 1.0;
/// Further along than this is another column: a cell of a table.
const COLUMN_GAP: f32 = 3.0;

/// Puts pieces together.
#[derive(Default)]
pub(super) struct Layout {
    text: String,
    last: Option<Piece>,
}

impl Layout {
    pub(super) fn add(&mut self, piece: Piece) {
        if piece.text.is_empty() {
            return;
        }
        if let Some(last) = &self.last {
            match gap(last, &piece) {
                Gap::None => {}
                Gap::Word => self.push_space(&piece.text, " "),
                Gap::Column => self.push_space(&piece.text, "  "),
                Gap::Line => self.end_line(&piece.text),
                Gap::Paragraph => {
                    self.text.truncate(self.text.trim_end_matches(' ').len());
                    self.text.push_str("\n\n");
                }
            }
        }
        self.text.push_str(&piece.text);
        self.last = Some(piece);
    }

    fn push_space(&mut self, next: &str, space: &str) {
        if !self.text.ends_with([' ', '\n']) && !next.starts_with(' ') {
            self.text.push_str(space);
        }
    }

    /// Ends a line; a word that goes on in the next one is one word.
    fn end_line(&mut self, next: &str) {
        self.text.truncate(self.text.trim_end_matches(' ').len());
        let mut before = self.text.chars().rev();
        let is_hyphen = matches!(before.next(), Some('-' | '\u{ad}' | '\u{2010}'));
        let is_cut = is_hyphen
            && before.next().is_some_and(char::is_alphabetic)
            && next.trim_start().starts_with(char::is_lowercase);
        if is_cut {
            self.text.pop();
        } else {
            self.text.push('\n');
        }
    }

    pub(super) fn finish(self) -> String {
        self.text
    }
}

enum Gap {
    None,
    Word,
    Column,
    Line,
    Paragraph,
}

/// What lies between two pieces.
fn gap(last: &Piece, next: &Piece) -> Gap {
    let (ux, uy) = next.direction;
    let turned = last.direction.0 * ux + last.direction.1 * uy < 0.9;
    let (dx, dy) = (next.start.0 - last.end.0, next.start.1 - last.end.1);
    let (along, across) = (dx * ux + dy * uy, (dy * ux - dx * uy).abs());
    let size = last.size.max(next.size).max(f32::MIN_POSITIVE);
    let is_far = |distance: f32, sizes: f32| distance > sizes * size;
    if turned || is_far(across, PARAGRAPH_SHIFT) {
        Gap::Paragraph
    } else if is_far(across, LINE_SHIFT) || is_far(-along, BACK) {
        Gap::Line
    } else if is_far(along, COLUMN_GAP) {
        Gap::Column
    } else if is_far(along, WORD_GAP) {
        Gap::Word
    } else {
        Gap::None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(text: &str, x: f32, y: f32) -> Piece {
        let end = x + text.len() as f32 * 5.0;
        Piece { text: text.into(), start: (x, y), end: (end, y), direction: (1.0, 0.0), size: 10.0 }
    }

    #[test]
    fn pieces_become_lines_and_paragraphs() {
        let mut layout = Layout::default();
        for (text, x, y) in [
            ("The", 0.0, 100.0),
            ("har", 18.0, 100.0),
            ("bour com-", 33.0, 100.0),
            ("puter", 0.0, 88.0),
            ("runs.", 0.0, 76.0),
            ("New", 0.0, 40.0),
            ("cell", 100.0, 40.0),
        ] {
            layout.add(piece(text, x, y));
        }
        assert_eq!(layout.finish(), "The harbour computer\nruns.\n\nNew  cell");
    }
}
