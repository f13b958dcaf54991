//! Excel: the rows of each sheet, as they are shown but for the formats of numbers.

use std::collections::HashSet;

use jiff::civil::{Date, date};
use jiff::{Span, ToSpan};

use super::xml::{Element, read_elements};
use super::{Archive, relations};
use crate::error::ReadError;
use crate::limits::expect_at_most;
use crate::table::{CELL_CHARS_MAX, Table};
use crate::text::{Draft, HEADING_CHARS_MAX, Text, one_line};

pub(super) const WORKBOOK: &str = "xl/workbook.xml";
/// Most columns of a row that are kept.
const COLUMNS_MAX: usize = 512;
/// Formats of numbers that are dates or times without saying how.
const DATE_FORMATS: [std::ops::RangeInclusive<usize>; 4] = [14..=22, 27..=36, 45..=47, 50..=58];
/// The day before the first one, as most workbooks count: they take 1900 for a leap year.
const EPOCH: Date = date(1899, 12, 30);
/// Days from there to the last day that is shown, 9999-12-31.
const DAYS_MAX: f64 = 2_958_466.0;
const MINUTES_OF_DAY: f64 = 24.0 * 60.0;

pub(super) fn read(archive: &mut Archive<'_>) -> Result<Text, ReadError> {
    let limits = archive.limits;
    let mut draft = Draft::new(limits);
    archive.says("docProps/core.xml", &mut draft)?;
    let workbook = archive.expect_part(WORKBOOK)?;
    let known = relations(archive, WORKBOOK)?;
    let mut sheets = Vec::new();
    read_elements(&workbook, &mut |element, _| {
        if let Element::Start(start) = element
            && start.name == "sheet"
            && let Some(part) = start.named(&known)
        {
            sheets.push((start.get("name").unwrap_or_default(), part.clone()));
        }
        expect_at_most(sheets.len(), limits.pages, "sheets")
    })?;
    let strings = strings(archive)?;
    let dates = date_styles(archive)?;
    for (name, part) in sheets {
        let Some(text) = archive.part(&part)? else { continue };
        let mut table = Table::new(vec![one_line(&name, HEADING_CHARS_MAX)], limits);
        rows(&text, &strings, &dates, &mut table)?;
        for section in table.finish()? {
            draft.add(section)?;
        }
    }
    draft.finish()
}

/// The texts that cells name by number, cut as cells are: any number of cells may name one.
fn strings(archive: &mut Archive<'_>) -> Result<Vec<String>, ReadError> {
    let Some(text) = archive.part("xl/sharedStrings.xml")? else { return Ok(Vec::new()) };
    let limit = archive.limits.expanded_bytes;
    let (mut strings, mut open, mut bytes) = (Vec::<String>::new(), String::new(), 0);
    read_elements(&text, &mut |element, path| {
        match element {
            Element::Start(start) if start.name == "si" => open.clear(),
            Element::End("si") => {
                strings.push(one_line(&open, CELL_CHARS_MAX));
                bytes += size_of::<String>() + strings.last().map_or(0, String::len);
            }
            Element::Text(text) => {
                if let [.., outer, inner] = path
                    && inner == "t"
                    && outer != "rPh"
                {
                    open.push_str(text);
                }
            }
            _ => {}
        }
        expect_at_most(bytes, limit, "bytes of texts that cells share")
    })?;
    Ok(strings)
}

/// Whether each style of cells shows a number as a date.
fn date_styles(archive: &mut Archive<'_>) -> Result<Vec<bool>, ReadError> {
    let Some(text) = archive.part("xl/styles.xml")? else { return Ok(Vec::new()) };
    let (mut own, mut styles): (HashSet<usize>, Vec<bool>) = (HashSet::new(), Vec::new());
    read_elements(&text, &mut |element, path| {
        let Element::Start(start) = element else { return Ok(()) };
        let id = start.get("numFmtId").and_then(|id| id.parse::<usize>().ok());
        match (start.name.as_str(), id) {
            ("numFmt", Some(id)) if is_date(&start.get("formatCode").unwrap_or_default()) => {
                own.insert(id);
            }
            ("xf", id) if path.iter().rev().nth(1).is_some_and(|name| name == "cellXfs") => {
                let is_known = |id| DATE_FORMATS.iter().any(|range| range.contains(&id));
                styles.push(id.is_some_and(|id| is_known(id) || own.contains(&id)));
            }
            _ => {}
        }
        Ok(())
    })?;
    Ok(styles)
}

/// Whether a format shows a date or a time: it has a year, a day or an hour outside of quotes.
fn is_date(format: &str) -> bool {
    let (mut is_quoted, mut is_named) = (false, false);
    format.chars().any(|c| {
        match c {
            '"' => is_quoted = !is_quoted,
            '[' => is_named = true,
            ']' => is_named = false,
            _ => {}
        }
        !is_quoted && !is_named && matches!(c, 'y' | 'Y' | 'd' | 'D' | 'h' | 'H')
    })
}

fn rows(
    text: &str,
    strings: &[String],
    dates: &[bool],
    table: &mut Table<'_>,
) -> Result<(), ReadError> {
    let mut row: Vec<String> = Vec::new();
    let (mut kind, mut style, mut column) = (String::new(), None, 0);
    let mut value = String::new();
    read_elements(text, &mut |element, path| {
        match element {
            Element::Start(start) => match start.name.as_str() {
                "row" => row.clear(),
                "c" => {
                    value.clear();
                    kind = start.get("t").unwrap_or_default();
                    style = start.get("s").and_then(|style| style.parse::<usize>().ok());
                    column = start.get("r").map_or(row.len(), |cell| column_of(&cell));
                }
                _ => {}
            },
            Element::Text(text) => {
                if path.last().is_some_and(|name| name == "v" || name == "t") {
                    value.push_str(text);
                }
            }
            Element::End("c") if column < COLUMNS_MAX => {
                let is_date = style.and_then(|style| dates.get(style)).is_some_and(|is| *is);
                row.resize(row.len().max(column + 1), String::new());
                row[column] = shown(&kind, &value, is_date, strings);
            }
            Element::End("row") => table.row(row.iter().map(String::as_str))?,
            Element::End(_) => {}
        }
        Ok(())
    })
}

/// The column of a cell such as `AB12`, from 0.
fn column_of(cell: &str) -> usize {
    let letters = cell.bytes().take_while(u8::is_ascii_alphabetic).take(4);
    let number =
        letters.fold(0, |sum, byte| sum * 26 + usize::from(byte.to_ascii_uppercase() - b'A') + 1);
    number.saturating_sub(1)
}

fn shown(kind: &str, value: &str, is_date: bool, strings: &[String]) -> String {
    match kind {
        "s" => value.parse::<usize>().ok().and_then(|at| strings.get(at)).cloned(),
        "b" => Some(if value == "1" { "TRUE" } else { "FALSE" }.to_string()),
        "" | "n" if is_date => value.parse().ok().and_then(day),
        _ => None,
    }
    .unwrap_or_else(|| value.to_string())
}

/// The day that a number of days stands for, with the time where it is not midnight.
fn day(days: f64) -> Option<String> {
    if !(0.0..DAYS_MAX).contains(&days) {
        return None;
    }
    let minutes = (days * MINUTES_OF_DAY).round();
    let minutes: Span = (minutes as i64).minutes();
    let moment = EPOCH.at(0, 0, 0, 0).checked_add(minutes).ok()?;
    let is_midnight = (moment.hour(), moment.minute()) == (0, 0);
    let format = if is_midnight { "%Y-%m-%d" } else { "%Y-%m-%d %H:%M" };
    Some(moment.strftime(format).to_string())
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use crate::limits::Limits;

    #[test]
    fn cells_are_shown_as_people_see_them() {
        assert_eq!((column_of("A1"), column_of("Z9"), column_of("AB12")), (0, 25, 27));
        assert_eq!(day(45_000.0).as_deref(), Some("2023-03-15"));
        assert_eq!(day(45_000.5).as_deref(), Some("2023-03-15 12:00"));
        assert_eq!(day(-1.0), None);
        assert_eq!(day(f64::NAN), None);
        assert!(is_date("yyyy-mm-dd") && !is_date("0.00\" days\"") && !is_date("[Red]0"));
        assert_eq!(shown("s", "1", false, &["a".into(), "b".into()]), "b");
        assert_eq!(shown("s", "9", false, &[]), "9");
    }

    #[test]
    fn shared_texts_are_cut_and_counted() {
        let shared = |texts: &str, limits: &Limits| {
            let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
            zip.start_file("xl/sharedStrings.xml", zip::write::SimpleFileOptions::default())
                .expect("a file");
            zip.write_all(format!("<sst>{texts}</sst>").as_bytes()).expect("memory");
            let bytes = zip.finish().expect("an archive").into_inner();
            strings(&mut Archive::open(&bytes, limits).expect("an archive"))
        };
        let long = "<si><t>a</t></si><si/><si><t>".to_string()
            + &"b ".repeat(CELL_CHARS_MAX)
            + "</t><rPh><t>no</t></rPh></si>";
        let limits = Limits::default();
        let found = shared(&long, &limits).expect("few");
        assert_eq!((found.len(), found[0].as_str(), found[1].as_str()), (3, "a", ""));
        assert!(found[2].len() <= CELL_CHARS_MAX && !found[2].contains("no"));
        let few = Limits { expanded_bytes: 20_000, ..Limits::default() };
        let refused = shared(&"<si/>".repeat(1000), &few);
        assert!(matches!(refused, Err(ReadError::TooLarge { .. })), "{refused:?}");
    }
}
