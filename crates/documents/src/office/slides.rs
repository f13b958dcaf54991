//! PowerPoint: a section for each slide, with its notes.

use std::rc::Rc;

use super::xml::{Element, read_elements};
use super::{Archive, relations};
use crate::error::ReadError;
use crate::html::CELL_GAP;
use crate::limits::expect_at_most;
use crate::text::{Draft, Place};

pub(super) const PRESENTATION: &str = "ppt/presentation.xml";

pub(super) fn read(archive: &mut Archive<'_>, draft: &mut Draft<'_>) -> Result<(), ReadError> {
    archive.says("docProps/core.xml", draft)?;
    let slides = order(archive)?;
    for (at, part) in slides.iter().enumerate() {
        let Some(text) = archive.part(part)? else { continue };
        let slide = shapes(&text)?;
        let place = Place::Slide(at + 1);
        draft.place(place)?;
        let heading = match &slide.title {
            title if title.trim().is_empty() => place.to_string(),
            title => title.clone(),
        };
        draft.heading(1, &heading)?;
        if !slide.title.trim().is_empty() {
            draft.paragraph(&slide.title)?;
        }
        slide.paragraphs.iter().try_for_each(|text| draft.line(text))?;
        let notes = relations(archive, part)?;
        let mut notes: Vec<_> = notes.values().filter(|it| it.contains("/notesSlide")).collect();
        notes.sort_unstable();
        for target in notes {
            let Some(text) = archive.part(target)? else { continue };
            let notes = shapes(&text)?;
            if !notes.paragraphs.is_empty() {
                draft.paragraph("Notes:")?;
            }
            notes.paragraphs.iter().try_for_each(|text| draft.line(text))?;
        }
    }
    Ok(())
}

/// The slides in the order in which they are shown.
fn order(archive: &mut Archive<'_>) -> Result<Vec<Rc<str>>, ReadError> {
    let pages = archive.limits.pages;
    let text = archive.expect_part(PRESENTATION)?;
    let known = relations(archive, PRESENTATION)?;
    let mut slides = Vec::new();
    read_elements(&text, &mut |element, _| {
        if let Element::Start(start) = element
            && start.name == "sldId"
        {
            // It has two attributes of the name `id`: a number, and the relation.
            slides.extend(start.named(&known).cloned());
        }
        expect_at_most(slides.len(), pages, "slides")
    })?;
    if slides.is_empty() {
        let found = archive.numbered("ppt/slides/slide", ".xml");
        slides = found.into_iter().map(|(_, name)| name.into()).collect();
    }
    expect_at_most(slides.len(), pages, "slides")?;
    Ok(slides)
}

/// What stands on a slide.
#[derive(Default)]
struct Slide {
    title: String,
    paragraphs: Vec<String>,
}

fn shapes(text: &str) -> Result<Slide, ReadError> {
    let mut slide = Slide::default();
    let (mut words, mut row, mut cells) = (String::new(), String::new(), 0_usize);
    let (mut is_title, mut is_number) = (false, false);
    read_elements(text, &mut |element, path| {
        match element {
            Element::Start(start) => match start.name.as_str() {
                "sp" => (is_title, is_number) = (false, false),
                "ph" => {
                    let kind = start.get("type").unwrap_or_default();
                    is_title = matches!(kind.as_str(), "title" | "ctrTitle");
                    is_number = matches!(kind.as_str(), "sldNum" | "dt" | "ftr" | "hdr");
                }
                "br" => words.push('\n'),
                "tc" => {
                    if !row.is_empty() {
                        row.push_str(CELL_GAP);
                    }
                    cells += 1;
                }
                _ => {}
            },
            Element::Text(text) => {
                if path.last().is_some_and(|name| name == "t") {
                    words.push_str(text);
                }
            }
            Element::End("p") => {
                let words = std::mem::take(&mut words);
                match words.trim() {
                    "" => {}
                    _ if is_number => {}
                    text if cells > 0 => row.push_str(text),
                    text if is_title && slide.title.is_empty() => slide.title = text.to_string(),
                    text => slide.paragraphs.push(text.to_string()),
                }
            }
            Element::End("tc") => cells = cells.saturating_sub(1),
            Element::End("tr") => slide.paragraphs.push(std::mem::take(&mut row)),
            Element::End(_) => {}
        }
        Ok(())
    })?;
    Ok(slide)
}
