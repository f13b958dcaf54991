//! Archives of XML: what kind of document one is, and its parts within limits.

mod epub;
mod open_document;
mod sheets;
mod slides;
mod word;
mod xml;

use std::collections::HashMap;
use std::io::{Cursor, Read};
use std::rc::Rc;

use zip::ZipArchive;
use zip::result::ZipError;

use crate::charset;
use crate::error::ReadError;
use crate::limits::{Limits, expect_at_most};
use crate::text::{Draft, Text};

use self::xml::{Element, read_elements};

/// What a file of Microsoft Office begins with that is older than 2007 or has a password.
const COMPOUND_MARK: &[u8] = b"\xd0\xcf\x11\xe0";

/// Reads whatever the archive holds.
pub(crate) fn read(bytes: &[u8], limits: &Limits) -> Result<Text, ReadError> {
    if bytes.starts_with(COMPOUND_MARK) {
        let reason = "it is of an Office before 2007, or a password protects it";
        return Err(ReadError::Broken(reason.into()));
    }
    let mut archive = Archive::open(bytes, limits)?;
    for (mark, read) in KINDS {
        if archive.has(mark) {
            let mut draft = Draft::new(limits);
            return read(&mut archive, &mut draft).and_then(|()| draft.finish());
        }
    }
    if archive.has(sheets::WORKBOOK) {
        return sheets::read(&mut archive);
    }
    Err(ReadError::Broken("an archive of no known kind of document".into()))
}

type ReadKind = for<'b> fn(&mut Archive<'b>, &mut Draft<'_>) -> Result<(), ReadError>;

/// The file that only one kind of document has, and how that is read.
const KINDS: [(&str, ReadKind); 4] = [
    (word::DOCUMENT, word::read),
    (slides::PRESENTATION, slides::read),
    (epub::CONTAINER, epub::read),
    (open_document::CONTENT, open_document::read),
];

/// An archive whose parts are read within limits.
pub(crate) struct Archive<'a> {
    zip: ZipArchive<Cursor<&'a [u8]>>,
    limits: &'a Limits,
    /// Bytes that parts may still expand to.
    left: usize,
}

impl<'a> Archive<'a> {
    fn open(bytes: &'a [u8], limits: &'a Limits) -> Result<Self, ReadError> {
        let zip = ZipArchive::new(Cursor::new(bytes))
            .map_err(|error| ReadError::broken("not an archive", error))?;
        expect_at_most(zip.len(), limits.entries, "files in the archive")?;
        Ok(Archive { zip, limits, left: limits.expanded_from(bytes.len()) })
    }

    fn has(&self, name: &str) -> bool {
        self.zip.index_for_name(name).is_some()
    }

    /// The names of the parts that begin and end so, by the number between.
    fn numbered(&self, prefix: &str, suffix: &str) -> Vec<(usize, String)> {
        let number = |name: &str| name.strip_prefix(prefix)?.strip_suffix(suffix)?.parse().ok();
        let names = self.zip.file_names().filter_map(Result::ok);
        let mut found: Vec<(usize, String)> =
            names.filter_map(|name| Some((number(&name)?, name.into_owned()))).collect();
        found.sort_unstable();
        found
    }

    /// The text of a part; none where it is missing.
    fn part(&mut self, name: &str) -> Result<Option<String>, ReadError> {
        let file = match self.zip.by_name(name) {
            Ok(file) => file,
            Err(ZipError::FileNotFound) => return Ok(None),
            Err(ZipError::UnsupportedArchive(reason)) if reason.contains("assword") => {
                return Err(ReadError::Protected);
            }
            Err(error) => return Err(ReadError::broken(name, error)),
        };
        let mut bytes = Vec::new();
        file.take(self.left as u64 + 1)
            .read_to_end(&mut bytes)
            .map_err(|error| ReadError::broken(name, error))?;
        expect_at_most(bytes.len(), self.left, "bytes that the archive expands to")?;
        self.left -= bytes.len();
        charset::unicode(&bytes).map(|text| Some(text.into_owned()))
    }

    /// The text of a part that must be there.
    fn expect_part(&mut self, name: &str) -> Result<String, ReadError> {
        self.part(name)?.ok_or_else(|| ReadError::Broken(format!("{name} is missing")))
    }

    /// What a document says of itself, from a part of Dublin Core elements.
    fn says(&mut self, part: &str, draft: &mut Draft<'_>) -> Result<(), ReadError> {
        let Some(text) = self.part(part)? else { return Ok(()) };
        read_elements(&text, &mut |element, path| {
            let Element::Text(value) = element else { return Ok(()) };
            match path.last().map(String::as_str) {
                Some("title") => draft.title(value),
                Some("creator" | "initial-creator") => draft.says("author", value),
                Some("subject") => draft.says("subject", value),
                Some("keywords" | "keyword") => draft.says("keywords", value),
                Some("description") => draft.says("description", value),
                Some("modified" | "date") => draft.says("date", value),
                _ => {}
            }
            Ok(())
        })
    }
}

/// The part that a relation of a part leads to, from the folder of that part.
fn target_of(folder: &str, target: &str) -> String {
    let mut parts: Vec<&str> = match target.starts_with('/') {
        true => Vec::new(),
        false => folder.split('/').filter(|part| !part.is_empty()).collect(),
    };
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// The parts that relations of a part lead to, by their ids. However often one is named, it is kept
/// once.
type Relations = HashMap<String, Rc<str>>;

/// The relations of a part; of two with one id, the first.
fn relations(archive: &mut Archive<'_>, part: &str) -> Result<Relations, ReadError> {
    let (folder, name) = part.rsplit_once('/').unwrap_or(("", part));
    let Some(text) = archive.part(&format!("{folder}/_rels/{name}.rels"))? else {
        return Ok(Relations::new());
    };
    let mut found = Relations::new();
    read_elements(&text, &mut |element, _| {
        if let Element::Start(start) = element
            && start.name == "Relationship"
            && let (Some(id), Some(target)) = (start.get("Id"), start.get("Target"))
        {
            found.entry(id).or_insert_with(|| target_of(folder, &target).into());
        }
        Ok(())
    })?;
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relations_lead_to_parts() {
        assert_eq!(target_of("ppt", "slides/slide1.xml"), "ppt/slides/slide1.xml");
        assert_eq!(target_of("ppt/slides", "../media/a.png"), "ppt/media/a.png");
        assert_eq!(target_of("xl", "/xl/worksheets/a.xml"), "xl/worksheets/a.xml");
        assert_eq!(target_of("", "../../../etc/passwd"), "etc/passwd");
    }

    #[test]
    fn what_is_no_document_is_refused() {
        let limits = Limits::default();
        for bytes in [&b"PK\x03\x04"[..], b"\xd0\xcf\x11\xe0\xa1", b""] {
            assert!(matches!(read(bytes, &limits), Err(ReadError::Broken(_))), "{bytes:?}");
        }
    }
}
