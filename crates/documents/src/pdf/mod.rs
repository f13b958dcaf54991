//! PDF: the text of each page, put together from where its pieces stand.

mod fonts;
mod layout;
mod matrix;
mod page;
mod unpack;

use lopdf::{Dictionary, Document, LoadOptions, Object, decode_text_string};

use crate::error::ReadError;
use crate::format::PDF_HEAD_BYTES;
use crate::limits::{Limits, expect_at_most};
use crate::text::{Draft, Place, Section, Text};

use self::fonts::Fonts;
use self::page::Pages;
use self::unpack::Budget;

const MARK: &[u8] = b"%PDF-";
/// What stands at the end of a whole file, and how many bytes may follow where it begins.
const END: &[u8] = b"%%EOF";
const END_BYTES: usize = 1024;
/// Name of the streams that hold other objects: all of them are unpacked when a file is opened.
const OBJECT_STREAM: &[u8] = b"ObjStm";
/// What a stream of objects may always unpack to, in bytes.
const OBJECT_STREAM_BYTES_MIN: usize = 64 << 10;
/// Pages without text that a note names.
const PAGES_NAMED_MAX: usize = 10;

/// Reads a document.
pub(crate) fn read(bytes: &[u8], limits: &Limits) -> Result<Text, ReadError> {
    let head = &bytes[..bytes.len().min(PDF_HEAD_BYTES)];
    if !head.windows(MARK.len()).any(|window| window == MARK) {
        return Err(ReadError::Broken("not a PDF".into()));
    }
    let document = open(bytes, limits)?;
    let mut draft = Draft::new(limits);
    describe(&document, &mut draft);
    let budget = || Budget::new(limits.expanded_from(bytes.len()));
    let mut fonts = Fonts::new(&document, budget());
    let mut pages = Pages::new(&document, budget());
    let (mut empty, mut count, mut failed) = (Vec::new(), 0, None);
    for (at, page) in document.page_iter().enumerate() {
        expect_at_most(at + 1, limits.pages, "pages")?;
        let number = at + 1;
        count = number;
        let text = match pages.read(page, &mut fonts) {
            Ok(text) => text,
            Err(error @ ReadError::TooLarge { .. }) => return Err(error),
            Err(error) => {
                let why = format!("page {number}: {error}");
                draft.unread(why.clone());
                failed = failed.or(Some(why));
                continue;
            }
        };
        if text.trim().is_empty() {
            empty.push(number);
            continue;
        }
        let place = Place::Page(number);
        draft.place(place)?;
        draft.heading(1, &place.to_string())?;
        draft.paragraph(&text)?;
    }
    if fonts.unreadable > 0 {
        let (count, pieces) =
            (fonts.unreadable, if fonts.unreadable == 1 { "piece" } else { "pieces" });
        draft.unread(format!("{count} {pieces} of text in fonts that do not say what they show"));
    }
    note_empty(&empty, &mut draft);
    if is_cut(bytes) {
        draft.unread("its end is missing, and what stood there".to_string());
    }
    let mut text = draft.finish()?;
    if text.sections.is_empty() {
        let damage = match count {
            _ if is_cut(bytes) => Some("its end is missing".to_string()),
            0 => Some("it has no page".to_string()),
            _ => failed,
        };
        damage.map_or(Ok(()), |why| Err(ReadError::broken("a damaged PDF", why)))?;
    }
    text.sections.iter_mut().for_each(name);
    Ok(text)
}

/// Whether a file ends before its end is said: then what is missing says nothing of its pages.
fn is_cut(bytes: &[u8]) -> bool {
    let tail = &bytes[bytes.len().saturating_sub(END_BYTES)..];
    !tail.windows(END.len()).any(|window| window == END)
}

/// A page stays what it is called, whatever the document is called.
fn name(section: &mut Section) {
    section.name = Some(section.place.to_string());
}

fn open(bytes: &[u8], limits: &Limits) -> Result<Document, ReadError> {
    let streams = bytes.windows(OBJECT_STREAM.len()).filter(|window| *window == OBJECT_STREAM);
    let share = limits.expanded_from(bytes.len()) / streams.count().max(1);
    let options = LoadOptions {
        max_decompressed_size: Some(share.max(OBJECT_STREAM_BYTES_MIN)),
        ..LoadOptions::default()
    };
    let document =
        Document::load_mem_with_options(bytes, options).map_err(|error| match error {
            lopdf::Error::InvalidPassword | lopdf::Error::Decryption(_) => ReadError::Protected,
            error => ReadError::broken("a damaged PDF", error),
        })?;
    if document.is_encrypted() && !document.was_encrypted() {
        return Err(ReadError::Protected);
    }
    Ok(document)
}

/// Keeps what the document says of itself.
fn describe(document: &Document, draft: &mut Draft<'_>) {
    let info = document.trailer.get(b"Info").ok();
    let info = info.and_then(|info| resolve(document, info).as_dict().ok());
    let Some(info) = info else { return };
    let value = |key: &[u8]| text_of(document, info, key).unwrap_or_default();
    draft.title(&value(b"Title"));
    for (name, key) in
        [("author", &b"Author"[..]), ("subject", b"Subject"), ("keywords", b"Keywords")]
    {
        draft.says(name, &value(key));
    }
    draft.says("date", &date(&value(b"CreationDate")));
}

fn text_of(document: &Document, info: &Dictionary, key: &[u8]) -> Option<String> {
    decode_text_string(resolve(document, info.get(key).ok()?)).ok()
}

/// A date such as `D:20260303100000+01'00'` as its day.
fn date(text: &str) -> String {
    let digits: String =
        text.trim_start_matches("D:").chars().take_while(char::is_ascii_digit).collect();
    match digits.len() {
        8.. => format!("{}-{}-{}", &digits[..4], &digits[4..6], &digits[6..8]),
        _ => String::new(),
    }
}

/// What an object is, however often it only names another one.
fn resolve<'a>(document: &'a Document, object: &'a Object) -> &'a Object {
    document.dereference(object).map_or(&Object::Null, |(_, object)| object)
}

fn note_empty(pages: &[usize], draft: &mut Draft<'_>) {
    if pages.is_empty() {
        return;
    }
    let named: Vec<String> = pages.iter().take(PAGES_NAMED_MAX).map(ToString::to_string).collect();
    let more = if pages.len() > PAGES_NAMED_MAX { " and others" } else { "" };
    let pages = if pages.len() == 1 { "page" } else { "pages" };
    draft.unread(format!("{pages} {}{more} without text", named.join(", ")));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_pdf_is_refused() {
        let limits = Limits::default();
        for bytes in [&b""[..], b"%PDF", b"%PDF-1.7\n", b"%PDF-1.7\ntrailer<</Root 1 0 R>>"] {
            assert!(read(bytes, &limits).is_err(), "{bytes:?}");
        }
        assert_eq!(date("D:20260303100000+01'00'"), "2026-03-03");
        assert_eq!(date("yesterday"), "");
    }
}
