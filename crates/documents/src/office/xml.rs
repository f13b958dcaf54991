//! XML, element by element. Names lose their prefixes; entities that a document defines itself are
//! not expanded.

use std::collections::HashMap;

use quick_xml::Reader;
use quick_xml::XmlVersion;
use quick_xml::events::attributes::Attribute;
use quick_xml::events::{BytesStart, Event};

use crate::error::ReadError;

/// Deepest nesting of elements.
const DEPTH_MAX: usize = 1000;

/// What is read.
pub(super) enum Element<'a> {
    Start(Start<'a>),
    Text(&'a str),
    End(&'a str),
}

/// The beginning of an element.
pub(super) struct Start<'a> {
    pub(super) name: String,
    tag: &'a BytesStart<'a>,
}

impl Start<'_> {
    /// What the first attribute names, of all that are known by these names.
    pub(super) fn named<'k, T>(&self, known: &'k HashMap<String, T>) -> Option<&'k T> {
        self.attributes().find_map(|attribute| known.get(&*attribute.value))
    }

    /// The attributes, each at the cost of its bytes: to look for doubled ones takes the square of
    /// their number.
    fn attributes(&self) -> impl Iterator<Item = Attribute<'_>> {
        let mut attributes = self.tag.attributes();
        attributes.with_checks(false);
        attributes.flatten()
    }

    /// The value of an attribute, whatever its prefix.
    pub(super) fn get(&self, name: &str) -> Option<String> {
        let mut found =
            self.attributes().filter(|attribute| attribute.key.local_name().as_ref() == name);
        let value = found.next()?.normalized_value(XmlVersion::Implicit1_0).ok()?;
        Some(value.into_owned())
    }
}

/// What is done with each element and the names of those that are open, the innermost last.
pub(super) type Reading<'r> = dyn FnMut(Element<'_>, &[String]) -> Result<(), ReadError> + 'r;

/// Reads a part.
pub(super) fn read_elements(text: &str, read: &mut Reading<'_>) -> Result<(), ReadError> {
    let mut reader = Reader::from_str(text);
    let mut path: Vec<String> = Vec::new();
    loop {
        let event = reader.read_event().map_err(|error| ReadError::broken("damaged XML", error))?;
        match &event {
            Event::Start(tag) | Event::Empty(tag) => {
                let name = tag.local_name().as_ref().to_string();
                path.push(name.clone());
                if path.len() > DEPTH_MAX {
                    return Err(ReadError::TooLarge { limit: DEPTH_MAX, of: "nested elements" });
                }
                read(Element::Start(Start { name: name.clone(), tag }), &path)?;
                if matches!(event, Event::Empty(_)) {
                    read(Element::End(&name), &path)?;
                    path.pop();
                }
            }
            Event::End(_) => {
                if let Some(name) = path.last().cloned() {
                    read(Element::End(&name), &path)?;
                    path.pop();
                }
            }
            Event::Text(text) => {
                read(Element::Text(&text.xml_content(XmlVersion::Implicit1_0)), &path)?;
            }
            Event::CData(text) => {
                read(Element::Text(&text.xml_content(XmlVersion::Implicit1_0)), &path)?;
            }
            Event::GeneralRef(entity) => {
                let character = entity.resolve_char_ref().ok().flatten().map(String::from);
                let named = || quick_xml::escape::resolve_predefined_entity(entity).map(Into::into);
                if let Some(text) = character.or_else(named) {
                    read(Element::Text(&text), &path)?;
                }
            }
            Event::Eof => return Ok(()),
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => {}
        }
    }
}
