//! Word: paragraphs under the headings that styles make of some.

use std::collections::HashMap;

use super::Archive;
use super::xml::{Element, Start, read_elements};
use crate::error::ReadError;
use crate::html::CELL_GAP;
use crate::text::Draft;

pub(super) const DOCUMENT: &str = "word/document.xml";
/// Parts beside the document, and what they are called.
const BESIDE: [(&str, &str); 3] = [
    ("word/footnotes.xml", "Footnotes"),
    ("word/endnotes.xml", "Endnotes"),
    ("word/comments.xml", "Comments"),
];

pub(super) fn read(archive: &mut Archive<'_>, draft: &mut Draft<'_>) -> Result<(), ReadError> {
    archive.says("docProps/core.xml", draft)?;
    let levels = match archive.part("word/styles.xml")? {
        Some(styles) => levels(&styles)?,
        None => HashMap::new(),
    };
    let document = archive.expect_part(DOCUMENT)?;
    body(&document, &levels, draft)?;
    for (part, title) in BESIDE {
        if let Some(text) = archive.part(part)? {
            draft.heading(1, title)?;
            body(&text, &HashMap::new(), draft)?;
        }
    }
    Ok(())
}

/// The level of heading that each style makes, by the style's id; 0 is the title.
fn levels(styles: &str) -> Result<HashMap<String, usize>, ReadError> {
    let mut levels = HashMap::new();
    let mut style = None;
    read_elements(styles, &mut |element, _| {
        let Element::Start(start) = element else { return Ok(()) };
        match start.name.as_str() {
            "style" => style = start.get("styleId"),
            "name" => {
                if let (Some(id), Some(level)) = (&style, start.get("val").and_then(|n| level(&n)))
                {
                    levels.insert(id.clone(), level);
                }
            }
            "outlineLvl" => {
                let level = start.get("val").and_then(|level| level.parse::<usize>().ok());
                if let (Some(id), Some(level @ 0..9)) = (&style, level) {
                    levels.entry(id.clone()).or_insert(level + 1);
                }
            }
            _ => {}
        }
        Ok(())
    })?;
    Ok(levels)
}

/// The level of heading that a style of this name makes.
fn level(name: &str) -> Option<usize> {
    let name = name.to_lowercase();
    if name == "title" {
        return Some(0);
    }
    let level = name.strip_prefix("heading")?.trim().parse().ok()?;
    (1..=9).contains(&level).then_some(level)
}

/// What is open at a place of the document.
#[derive(Default)]
struct OpenParagraph {
    words: String,
    level: Option<usize>,
    is_item: bool,
    /// How many cells of tables are open: their paragraphs are part of a row.
    cells: usize,
    row: String,
    /// How many elements are open that are not read.
    hidden: usize,
}

fn body(
    text: &str,
    levels: &HashMap<String, usize>,
    draft: &mut Draft<'_>,
) -> Result<(), ReadError> {
    let mut open = OpenParagraph::default();
    read_elements(text, &mut |element, path| match element {
        // What an older program shows instead of what stands before it.
        Element::Start(start) if start.name == "Fallback" => {
            open.hidden += 1;
            Ok(())
        }
        Element::End("Fallback") => {
            open.hidden = open.hidden.saturating_sub(1);
            Ok(())
        }
        _ if open.hidden > 0 => Ok(()),
        Element::Start(start) => {
            start_of(&start, levels, &mut open);
            Ok(())
        }
        Element::Text(text) => {
            if path.last().is_some_and(|name| name == "t") {
                open.words.push_str(text);
            }
            Ok(())
        }
        Element::End(name) => end_of(name, &mut open, draft),
    })
}

fn start_of(start: &Start<'_>, levels: &HashMap<String, usize>, open: &mut OpenParagraph) {
    match start.name.as_str() {
        "pStyle" => {
            let style = start.get("val").unwrap_or_default();
            open.level = levels.get(&style).copied().or_else(|| level(&style));
        }
        "numPr" => open.is_item = true,
        "tab" if !open.words.is_empty() => open.words.push('\t'),
        "br" | "cr" => open.words.push('\n'),
        "noBreakHyphen" => open.words.push('-'),
        "tc" => {
            if open.cells == 0 && !open.row.is_empty() {
                open.row.push_str(CELL_GAP);
            }
            open.cells += 1;
        }
        _ => {}
    }
}

fn end_of(name: &str, open: &mut OpenParagraph, draft: &mut Draft<'_>) -> Result<(), ReadError> {
    match name {
        "p" => {
            let words = std::mem::take(&mut open.words);
            let (level, is_item) = (open.level.take(), std::mem::take(&mut open.is_item));
            if open.cells > 0 {
                if !open.row.is_empty() && !open.row.ends_with(CELL_GAP) {
                    open.row.push(' ');
                }
                open.row.push_str(words.trim());
                return Ok(());
            }
            match level {
                Some(0) => {
                    draft.title(&words);
                    draft.paragraph(&words)
                }
                Some(level) => draft.heading(level, &words),
                None if is_item => draft.line(&format!("- {}", words.trim())),
                None => draft.paragraph(&words),
            }
        }
        "tc" => {
            open.cells = open.cells.saturating_sub(1);
            Ok(())
        }
        "tr" if open.cells == 0 => draft.line(&std::mem::take(&mut open.row)),
        "tbl" if open.cells == 0 => Ok(()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::Limits;

    #[test]
    fn paragraphs_stand_under_headings_and_tables_are_rows() {
        let styles = "<w:styles><w:style w:styleId='Uberschrift1'><w:name w:val='heading 1'/></w:style></w:styles>";
        let document = "<w:document><w:body>
            <w:p><w:r><w:t>Before &amp; after</w:t></w:r></w:p>
            <w:p><w:pPr><w:pStyle w:val='Uberschrift1'/></w:pPr><w:r><w:t>Oil</w:t></w:r></w:p>
            <w:p><w:r><w:t xml:space='preserve'>Rape </w:t></w:r><w:r><w:delText>no</w:delText><w:t>oil</w:t></w:r></w:p>
            <w:tbl><w:tr><w:tc><w:p><w:r><w:t>a</w:t></w:r></w:p></w:tc><w:tc><w:p><w:r><w:t>b</w:t></w:r></w:p></w:tc></w:tr></w:tbl>
            </w:body></w:document>";
        let limits = Limits::default();
        let mut draft = Draft::new(&limits);
        body(document, &levels(styles).expect("styles"), &mut draft).expect("a document");
        let text = draft.finish().expect("few");
        let found: Vec<_> =
            text.sections.iter().map(|s| (s.headings.join("/"), s.text.as_str())).collect();
        assert_eq!(found, [("".into(), "Before & after"), ("Oil".into(), "Rape oil\na | b")]);
    }
}
