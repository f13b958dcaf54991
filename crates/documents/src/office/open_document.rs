//! OpenDocument: texts, slides and tables.

use super::Archive;
use super::xml::{Element, Start, read_elements};
use crate::error::ReadError;
use crate::html::CELL_GAP;
use crate::limits::Limits;
use crate::table::Table;
use crate::text::{Draft, Place};

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
    let mut open = OpenContent::new(archive.limits);
    read_elements(&content, &mut |element, path| {
        if path.iter().any(|name| HIDDEN.contains(&name.as_str())) {
            return Ok(());
        }
        match element {
            Element::Start(start) => open.start(&start, path, draft),
            Element::Text(text) => {
                if path.iter().any(|name| name == "p" || name == "h") {
                    open.words.push_str(text);
                }
                Ok(())
            }
            Element::End(name) => open.end(name, draft),
        }
    })
}

/// What is open at a place of the document.
struct OpenContent<'a> {
    limits: &'a Limits,
    words: String,
    level: usize,
    slides: usize,
    items: usize,
    /// The table, in a document of tables; in others its rows are lines.
    table: Option<Table<'a>>,
    /// How many tables are open.
    tables: usize,
    row: Vec<String>,
    cell: String,
    repeated: usize,
}

impl<'a> OpenContent<'a> {
    fn new(limits: &'a Limits) -> Self {
        OpenContent {
            limits,
            words: String::new(),
            level: 1,
            slides: 0,
            items: 0,
            table: None,
            tables: 0,
            row: Vec::new(),
            cell: String::new(),
            repeated: 1,
        }
    }

    fn start(
        &mut self,
        start: &Start<'_>,
        path: &[String],
        draft: &mut Draft<'_>,
    ) -> Result<(), ReadError> {
        let number = |name: &str| start.get(name).and_then(|number| number.parse::<usize>().ok());
        match start.name.as_str() {
            "h" => self.level = number("outline-level").unwrap_or(1).max(1),
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
                if self.tables == 1 && path.iter().any(|name| name == SPREADSHEET) {
                    let name = start.get("name").unwrap_or_default();
                    self.table = Some(Table::new(vec![name], self.limits));
                }
            }
            "table-row" if self.tables == 1 => self.row.clear(),
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
            "p" | "h" => self.end_paragraph(name, draft)?,
            "list-item" => self.items = self.items.saturating_sub(1),
            "table-cell" if self.tables == 1 => {
                let count = self.repeated.min(REPEATED_MAX.saturating_sub(self.row.len()));
                self.row.extend(std::iter::repeat_n(self.cell.clone(), count));
                self.cell.clear();
            }
            "table-row" if self.tables == 1 => {
                let is_empty = self.row.iter().all(String::is_empty);
                match &mut self.table {
                    _ if is_empty => {}
                    Some(table) => table.row(self.row.iter().map(String::as_str))?,
                    None => draft.line(&self.row.join(CELL_GAP))?,
                }
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
