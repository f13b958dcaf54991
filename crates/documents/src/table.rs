//! Rows of fields: a passage is a block of rows, and each row says what its columns are called.

use std::fmt::Write;

use crate::charset;
use crate::error::ReadError;
use crate::html::CELL_GAP;
use crate::limits::{Limits, expect_at_most};
use crate::text::{Place, Section, Text, one_line};

/// Rows of a section. The blocks of a table that grows at its end stay as they are.
const ROWS_OF_SECTION: usize = 20;
/// Longest cell that is kept, in characters.
pub(crate) const CELL_CHARS_MAX: usize = 4000;
/// Longest name of a column, in characters.
const NAME_CHARS_MAX: usize = 100;
/// Most cells of a table, with those that are empty: an empty one leaves no text behind.
const CELLS_MAX: usize = 1 << 26;
/// Most columns of a row that are kept.
const COLUMNS_MAX: usize = 512;

/// Reads a table of text.
pub(crate) fn read(bytes: &[u8], delimiter: u8, limits: &Limits) -> Result<Text, ReadError> {
    let text = charset::unicode(bytes)?;
    let delimiter = if delimiter == b',' { delimiter_of(&text) } else { delimiter };
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .delimiter(delimiter)
        .from_reader(text.as_bytes());
    let mut table = Table::new(Vec::new(), limits);
    for row in reader.records() {
        let row = row.map_err(|error| ReadError::broken("not a table", error))?;
        table.row(row.iter().take(COLUMNS_MAX))?;
    }
    Ok(Text { sections: table.finish()?, ..Text::default() })
}

/// What stands between two fields, where a file does not say it: what the first line has most of.
fn delimiter_of(text: &str) -> u8 {
    let first = text.lines().next().unwrap_or_default();
    let count = |delimiter: u8| first.bytes().filter(|byte| *byte == delimiter).count();
    [b',', b';', b'\t'].into_iter().rev().max_by_key(|delimiter| count(*delimiter)).unwrap_or(b',')
}

/// A table that is being read.
pub(crate) struct Table<'a> {
    limits: &'a Limits,
    /// The headings that it stands under.
    headings: Vec<String>,
    /// What its columns are called; none until a row was read, empty where nothing calls them.
    names: Option<Vec<String>>,
    /// Rows that were read.
    count: usize,
    /// Cells that were read.
    cells: usize,
    /// The first row of the section that is being read.
    first: usize,
    lines: String,
    bytes: usize,
    sections: Vec<Section>,
}

impl<'a> Table<'a> {
    pub(crate) fn new(headings: Vec<String>, limits: &'a Limits) -> Self {
        Table {
            limits,
            headings,
            names: None,
            count: 0,
            cells: 0,
            first: 1,
            lines: String::new(),
            bytes: 0,
            sections: Vec::new(),
        }
    }

    /// Reads the next row; the first one that looks like it has the names of the columns.
    pub(crate) fn row<'c>(
        &mut self,
        cells: impl Iterator<Item = &'c str>,
    ) -> Result<(), ReadError> {
        let cells: Vec<String> = cells.map(|cell| one_line(cell, CELL_CHARS_MAX)).collect();
        self.count += 1;
        self.cells += cells.len();
        expect_at_most(self.cells, CELLS_MAX, "cells of a table")?;
        if self.names.is_none() {
            let is_named = cells.len() > 1 && cells.iter().all(|cell| is_name(cell));
            self.names = Some(if is_named { cells.clone() } else { Vec::new() });
            if is_named {
                self.first = self.count + 1;
                return Ok(());
            }
        }
        let line = self.line(&cells);
        if !line.is_empty() {
            self.bytes += line.len();
            expect_at_most(self.bytes, self.limits.text_bytes, "bytes of text")?;
            self.lines.push_str(&line);
            self.lines.push('\n');
        }
        if self.count + 1 - self.first >= ROWS_OF_SECTION { self.end_section() } else { Ok(()) }
    }

    fn line(&self, cells: &[String]) -> String {
        let mut line = String::new();
        for (at, cell) in cells.iter().enumerate().filter(|(_, cell)| !cell.is_empty()) {
            let gap = if line.is_empty() { "" } else { CELL_GAP };
            let name = self.names.as_ref().and_then(|names| names.get(at));
            let written = match name {
                Some(name) => write!(line, "{gap}{name}: {cell}"),
                None => write!(line, "{gap}{cell}"),
            };
            written.expect("writing to a String cannot fail");
        }
        line
    }

    fn end_section(&mut self) -> Result<(), ReadError> {
        let text = std::mem::take(&mut self.lines).trim_end().to_string();
        let place = Place::Rows(self.first, self.count);
        self.first = self.count + 1;
        if text.is_empty() {
            return Ok(());
        }
        let mut headings = self.headings.clone();
        headings.push(place.to_string());
        let name = Some(headings.join(" "));
        self.sections.push(Section { headings, name, text, place, ..Section::default() });
        expect_at_most(self.sections.len(), self.limits.sections, "sections")
    }

    /// Its sections. A table of nothing but names is its names.
    pub(crate) fn finish(mut self) -> Result<Vec<Section>, ReadError> {
        self.end_section()?;
        if self.sections.is_empty()
            && let Some(names) = self.names.take().filter(|names| !names.is_empty())
        {
            let text = names.join(CELL_GAP);
            let (headings, place) = (self.headings.clone(), Place::Rows(1, 1));
            self.sections.push(Section { headings, text, place, ..Section::default() });
        }
        Ok(self.sections)
    }
}

/// Whether a cell may be the name of a column.
fn is_name(cell: &str) -> bool {
    !cell.is_empty()
        && cell.chars().count() <= NAME_CHARS_MAX
        && cell.chars().any(char::is_alphabetic)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_say_what_their_columns_are_called() {
        let csv = "name,city\nAnn,\"Oslo, north\"\nBob,\n";
        let text = read(csv.as_bytes(), b',', &Limits::default()).expect("a table");
        assert_eq!(text.sections[0].text, "name: Ann | city: Oslo, north\nname: Bob");
        assert_eq!(text.sections[0].place, Place::Rows(2, 3));
        let semicolons = read(b"a;b\n1;2\n", b',', &Limits::default()).expect("a table");
        assert_eq!(semicolons.sections[0].text, "a: 1 | b: 2");
        let unnamed = read(b"1,2\n3,4\n", b',', &Limits::default()).expect("a table");
        assert_eq!(unnamed.sections[0].text, "1 | 2\n3 | 4");
        assert_eq!(read(b"a,b\n", b',', &Limits::default()).expect("names").sections.len(), 1);
    }

    #[test]
    fn blocks_stay_when_a_table_grows() {
        let rows = |count: usize| {
            let rows: String = (0..count).map(|at| format!("{at},value\n")).collect();
            read(format!("n,v\n{rows}").as_bytes(), b',', &Limits::default()).expect("a table")
        };
        let (short, long) = (rows(50), rows(60));
        assert_eq!(short.sections[..2], long.sections[..2]);
        assert_eq!(long.sections[2].headings, ["rows 42-61"]);
    }
}
