//! OpenDocument: texts, slides and tables.

use super::Archive;
use super::xml::{Element, Start, read_elements};
use crate::error::ReadError;
use crate::html::CELL_GAP;
use crate::limits::{Limits, expect_at_most};
use crate::table::{CELL_CHARS_MAX, Table};
use crate::text::{Draft, HEADING_CHARS_MAX, Place, one_line};

pub(super) const CONTENT: &str = "content.xml";
/// The element of a document of tables.
const SPREADSHEET: &str = "spreadsheet";
/// Most cells and spaces that a repetition stands for.
const REPEATED_MAX: usize = 512;
/// Elements whose text is not part of the document.
const HIDDEN: [&str; 3] = ["tracked-changes", "annotation", "notes-configuration"];

pub(super) fn read(archive: &mut Archive<'_>, draft: &mut Draft<'_>) -> Result<(), ReadError> {
    archive.says("meta.xml", draft)?;
    let content = archive.expect_part(CONTENT)?;
    read_content(&content, &mut OpenContent::new(archive.limits), draft)
}

fn read_content(
    content: &str,
    open: &mut OpenContent<'_>,
    draft: &mut Draft<'_>,
) -> Result<(), ReadError> {
    read_elements(content, &mut |element, _| {
        if open.is_hidden(&element) {
            return Ok(());
        }
        match element {
            Element::Start(start) => open.start(&start, draft)?,
            Element::Text(text) if open.texts > 0 => open.words.push_str(text),
            Element::Text(_) => {}
            Element::End(name) => open.end(name, draft)?,
        }
        // A space may stand for many, and so may a cell.
        let collected = open.words.len() + open.cell.len() + open.row_bytes;
        expect_at_most(collected, open.limits.text_bytes, "bytes of text")
    })
}

/// What is open at a place of the document.
struct OpenContent<'a> {
    limits: &'a Limits,
    /// How many elements are open whose text is not part of the document.
    hidden: usize,
    /// How many paragraphs and headings are open.
    texts: usize,
    /// How many documents of tables are open.
    spreadsheets: usize,
    words: String,
    level: usize,
    slides: usize,
    items: usize,
    /// The table, in a document of tables; in others its rows are lines.
    table: Option<Table<'a>>,
    /// How many tables are open.
    tables: usize,
    row: Vec<String>,
    /// Bytes of the row.
    row_bytes: usize,
    cell: String,
    repeated: usize,
}

impl<'a> OpenContent<'a> {
    fn new(limits: &'a Limits) -> Self {
        OpenContent {
            limits,
            hidden: 0,
            texts: 0,
            spreadsheets: 0,
            words: String::new(),
            level: 1,
            slides: 0,
            items: 0,
            table: None,
            tables: 0,
            row: Vec::new(),
            row_bytes: 0,
            cell: String::new(),
            repeated: 1,
        }
    }

    /// Whether an element is part of what is hidden.
    fn is_hidden(&mut self, element: &Element<'_>) -> bool {
        let was_hidden = self.hidden > 0;
        match element {
            Element::Start(start) if HIDDEN.contains(&start.name.as_str()) => self.hidden += 1,
            Element::End(name) if HIDDEN.contains(name) => {
                self.hidden = self.hidden.saturating_sub(1);
            }
            _ => {}
        }
        was_hidden || self.hidden > 0
    }

    fn start(&mut self, start: &Start<'_>, draft: &mut Draft<'_>) -> Result<(), ReadError> {
        let number = |name: &str| start.get(name).and_then(|number| number.parse::<usize>().ok());
        match start.name.as_str() {
            "h" => {
                self.texts += 1;
                self.level = number("outline-level").unwrap_or(1).max(1);
            }
            "p" => self.texts += 1,
            SPREADSHEET => self.spreadsheets += 1,
            "s" => {
                let count = number("c").unwrap_or(1).min(REPEATED_MAX);
                self.words.extend(std::iter::repeat_n(' ', count));
            }
            "tab" => self.words.push('\t'),
            "line-break" => self.words.push('\n'),
            "list-item" => self.items += 1,
            "page" => {
                self.slides += 1;
                let place = Place::Slide(self.slides);
                draft.place(place)?;
                draft.heading(1, &start.get("name").unwrap_or_else(|| place.to_string()))?;
            }
            "table" => {
                self.tables += 1;
                if self.tables == 1 && self.spreadsheets > 0 {
                    let name = start.get("name").unwrap_or_default();
                    let name = one_line(&name, HEADING_CHARS_MAX);
                    self.table = Some(Table::new(vec![name], self.limits));
                }
            }
            "table-row" if self.tables == 1 => self.clear_row(),
            "table-cell" if self.tables == 1 => {
                self.cell.clear();
                self.repeated = number("number-columns-repeated").unwrap_or(1).min(REPEATED_MAX);
            }
            _ => {}
        }
        Ok(())
    }

    fn end(&mut self, name: &str, draft: &mut Draft<'_>) -> Result<(), ReadError> {
        match name {
            "p" | "h" => {
                self.texts = self.texts.saturating_sub(1);
                self.end_paragraph(name, draft)?;
            }
            SPREADSHEET => self.spreadsheets = self.spreadsheets.saturating_sub(1),
            "list-item" => self.items = self.items.saturating_sub(1),
            "table-cell" if self.tables == 1 => {
                let count = self.repeated.min(REPEATED_MAX.saturating_sub(self.row.len()));
                let mut cell = std::mem::take(&mut self.cell);
                // Cut before it is repeated; a cell of a text that stands once is kept whole.
                if self.table.is_some() || count > 1 {
                    cell = one_line(&cell, CELL_CHARS_MAX);
                }
                self.row_bytes += cell.len() * count;
                self.row.extend(std::iter::repeat_n(cell, count));
            }
            "table-row" if self.tables == 1 => {
                let is_empty = self.row.iter().all(String::is_empty);
                match &mut self.table {
                    _ if is_empty => {}
                    Some(table) => table.row(self.row.iter().map(String::as_str))?,
                    None => draft.line(&self.row.join(CELL_GAP))?,
                }
                self.clear_row();
            }
            "table" => {
                self.tables = self.tables.saturating_sub(1);
                if self.tables == 0
                    && let Some(table) = self.table.take()
                {
                    for section in table.finish()? {
                        draft.add(section)?;
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn clear_row(&mut self) {
        self.row.clear();
        self.row_bytes = 0;
    }

    fn end_paragraph(&mut self, name: &str, draft: &mut Draft<'_>) -> Result<(), ReadError> {
        let words = std::mem::take(&mut self.words);
        if self.tables > 0 {
            if !self.cell.is_empty() {
                self.cell.push(' ');
            }
            self.cell.push_str(words.trim());
            return Ok(());
        }
        match name {
            "h" => draft.heading(self.level, &words),
            _ if self.items > 0 => draft.line(&format!("- {}", words.trim())),
            _ => draft.paragraph(&words),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_cut_before_it_is_repeated() {
        let long = "word ".repeat(CELL_CHARS_MAX);
        let row = |repeated: usize| {
            format!(
                "<table><table-row><table-cell number-columns-repeated='{repeated}'><p>{long}</p>\
                 </table-cell>"
            )
        };
        // What is open at the end of an unfinished row.
        let read = |content: &str, limits: &Limits| {
            let mut open = OpenContent::new(limits);
            read_content(content, &mut open, &mut Draft::new(limits)).map(|()| open.row)
        };
        let limits = Limits { text_bytes: 4 << 20, ..Limits::default() };
        for content in [row(512), format!("<spreadsheet>{}", row(512))] {
            let cells = read(&content, &limits).expect("few");
            assert_eq!(cells.len(), REPEATED_MAX);
            assert!(cells.iter().all(|cell| cell.len() <= CELL_CHARS_MAX), "{}", cells[0].len());
        }
        let alone = read(&row(1), &limits).expect("few");
        assert_eq!(alone[0].len(), long.trim().len(), "a cell of a text is kept whole");
        let few = Limits { text_bytes: 1 << 20, ..Limits::default() };
        assert!(matches!(read(&row(512), &few), Err(ReadError::TooLarge { .. })));
    }

    #[test]
    fn what_is_hidden_is_not_read_and_what_follows_is() {
        let content =
            "<p>a<annotation><p>b<annotation>c</annotation>d</p></annotation>e</p><h>f</h>
            <spreadsheet><table name='t'><table-row><table-cell><p>1</p></table-cell></table-row>
            </table></spreadsheet>g<p>h</p>";
        let limits = Limits::default();
        let mut draft = Draft::new(&limits);
        read_content(content, &mut OpenContent::new(&limits), &mut draft).expect("few");
        let text = draft.finish().expect("few");
        let found: Vec<_> = text.sections.iter().map(|s| s.text.as_str()).collect();
        assert_eq!(found, ["ae", "1", "h"]);
    }
}
