//! E-mail: one message, or a file of them. Attachments are named and not read.

use mail_parser::mailbox::mbox::MessageIterator;
use mail_parser::{Address, Message, MessageParser, MimeHeaders, PartType};

use crate::error::ReadError;
use crate::html;
use crate::limits::{Limits, expect_at_most};
use crate::text::{Draft, HEADING_CHARS_MAX, Section, Text, clean, one_line};

/// Longest list of addresses that is kept, in characters.
const ADDRESSES_CHARS_MAX: usize = 500;
/// How a message without a subject is called.
const NO_SUBJECT: &str = "(no subject)";
/// Deepest message within a message.
const DEPTH_MAX: usize = 4;

/// Reads one message.
pub(crate) fn read(bytes: &[u8], limits: &Limits) -> Result<Text, ReadError> {
    let message = parse(bytes)?;
    let mut sections = Vec::new();
    add(&message, limits, 0, &mut sections)?;
    let title = sections.first().and_then(|section| section.headings.first().cloned());
    let metadata = sections.first().map(|section| section.metadata.clone()).unwrap_or_default();
    collect(sections, limits, title, metadata, Vec::new())
}

/// Reads a file of messages.
pub(crate) fn read_box(bytes: &[u8], limits: &Limits) -> Result<Text, ReadError> {
    let mut sections = Vec::new();
    let mut unread = Vec::new();
    for (at, found) in MessageIterator::new(bytes).enumerate() {
        expect_at_most(at + 1, limits.pages, "messages")?;
        let message = found.map_err(|_| ReadError::Broken("not a file of messages".into()))?;
        match parse(message.contents()) {
            Ok(message) => add(&message, limits, 0, &mut sections)?,
            Err(error) => unread.push(format!("message {}: {error}", at + 1)),
        }
    }
    if sections.is_empty() && unread.is_empty() {
        return Err(ReadError::Broken("not a file of messages: no line begins with From".into()));
    }
    collect(sections, limits, None, Vec::new(), unread)
}

fn collect(
    sections: Vec<Section>,
    limits: &Limits,
    title: Option<String>,
    metadata: Vec<(&'static str, String)>,
    unread: Vec<String>,
) -> Result<Text, ReadError> {
    let bytes = sections.iter().map(|section| section.text.len()).sum();
    expect_at_most(bytes, limits.text_bytes, "bytes of text")?;
    Ok(Text { title, metadata, sections, unread })
}

fn parse(bytes: &[u8]) -> Result<Message<'_>, ReadError> {
    let message = MessageParser::default().parse(bytes);
    message
        .filter(|message| {
            let is_known = |name: &str| message.header(name).is_some();
            is_known("From") || is_known("Subject") || is_known("Date") || is_known("To")
        })
        .ok_or_else(|| ReadError::Broken("not a message: no From, To, Subject or Date".into()))
}

/// Adds a message, and the messages in it.
fn add(
    message: &Message<'_>,
    limits: &Limits,
    depth: usize,
    sections: &mut Vec<Section>,
) -> Result<(), ReadError> {
    expect_at_most(sections.len() + 1, limits.sections, "sections")?;
    let subject = one_line(message.subject().unwrap_or_default(), HEADING_CHARS_MAX);
    let heading = if subject.is_empty() { NO_SUBJECT.to_string() } else { subject.clone() };
    let date = message.date().filter(|date| date.is_valid());
    let mut metadata: Vec<(&'static str, String)> = Vec::new();
    let mut says = |name, value: String| {
        if !value.is_empty() {
            metadata.push((name, value));
        }
    };
    says("from", addresses(message.from()));
    says("to", addresses(message.to()));
    says("cc", addresses(message.cc()));
    says("date", date.map(ToString::to_string).unwrap_or_default());
    says("subject", subject);
    says("message_id", one_line(message.message_id().unwrap_or_default(), HEADING_CHARS_MAX));
    says("attachments", attachments(message));
    let mut text = String::new();
    for (name, label) in [
        ("from", "From"),
        ("to", "To"),
        ("cc", "Cc"),
        ("date", "Date"),
        ("attachments", "Attached"),
    ] {
        if let Some((_, value)) = metadata.iter().find(|(known, _)| *known == name) {
            text.push_str(&format!("{label}: {value}\n"));
        }
    }
    let body = body(message, limits)?;
    text = format!("{text}\n{body}").trim().to_string();
    let time = date.map(mail_parser::DateTime::to_timestamp);
    if !text.is_empty() {
        sections.push(Section {
            headings: vec![heading],
            text,
            metadata,
            time,
            ..Section::default()
        });
    }
    for part in &message.parts {
        if let PartType::Message(inner) = &part.body
            && depth < DEPTH_MAX
        {
            add(inner, limits, depth + 1, sections)?;
        }
    }
    Ok(())
}

/// The text of a message: the plain one where there is one, else what its page says.
fn body(message: &Message<'_>, limits: &Limits) -> Result<String, ReadError> {
    let mut text = String::new();
    for part in message.text_bodies() {
        let body = match &part.body {
            PartType::Text(body) => clean(body),
            PartType::Html(page) => page_text(page, limits)?,
            _ => continue,
        };
        if !text.is_empty() {
            text.push_str("\n\n");
        }
        text.push_str(body.trim());
        expect_at_most(text.len(), limits.text_bytes, "bytes of text")?;
    }
    Ok(text)
}

fn page_text(page: &str, limits: &Limits) -> Result<String, ReadError> {
    let mut draft = Draft::new(limits);
    html::read_into(page, &mut draft, false)?;
    let text = draft.finish()?;
    Ok(text.sections.into_iter().map(|section| section.text).collect::<Vec<_>>().join("\n\n"))
}

fn addresses(address: Option<&Address<'_>>) -> String {
    let Some(address) = address else { return String::new() };
    let shown: Vec<String> = address
        .iter()
        .map(|one| match (one.name(), one.address()) {
            (Some(name), Some(address)) => format!("{name} <{address}>"),
            (name, address) => name.or(address).unwrap_or_default().to_string(),
        })
        .take(ADDRESSES_CHARS_MAX)
        .collect();
    one_line(&shown.join(", "), ADDRESSES_CHARS_MAX)
}

fn attachments(message: &Message<'_>) -> String {
    let names: Vec<&str> = message
        .attachments()
        .filter(|part| !matches!(part.body, PartType::Message(_)))
        .map(|part| part.attachment_name().unwrap_or("(no name)"))
        .take(ADDRESSES_CHARS_MAX)
        .collect();
    one_line(&names.join(", "), ADDRESSES_CHARS_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: &str = "From: Ann <ann@example.org>\r\nTo: bob@example.org\r\n\
        Date: Tue, 3 Mar 2026 10:00:00 +0100\r\nSubject: =?utf-8?q?Caf=C3=A9?=\r\n\
        Content-Type: text/plain; charset=iso-8859-1\r\nContent-Transfer-Encoding: 8bit\r\n\r\n";

    #[test]
    fn a_message_says_who_wrote_what_and_when() {
        let mut bytes = PLAIN.as_bytes().to_vec();
        bytes.extend(b"The crane is gr\xfcn.\r\n");
        let text = read(&bytes, &Limits::default()).expect("a message");
        assert_eq!(text.title.as_deref(), Some("Café"));
        let section = &text.sections[0];
        assert!(section.text.starts_with("From: Ann <ann@example.org>\nTo: bob@example.org\n"));
        assert!(section.text.ends_with("\n\nThe crane is grün."), "{}", section.text);
        assert_eq!(section.time, Some(1_772_528_400));
        assert!(section.metadata.contains(&("subject", "Café".to_string())));
    }

    #[test]
    fn a_box_is_read_message_by_message() {
        let bytes = b"From a@b Tue Mar  3 10:00:00 2026\nFrom: a@b\nSubject: one\n\nfirst\n\n\
            From a@b Tue Mar  3 10:00:00 2026\nFrom: a@b\nSubject: two\n\n<p>no</p> second\n";
        let text = read_box(bytes, &Limits::default()).expect("a box");
        let headings: Vec<_> = text.sections.iter().map(|s| s.headings[0].as_str()).collect();
        assert_eq!(headings, ["one", "two"]);
        assert!(read_box(b"no box", &Limits::default()).is_err());
        assert!(read(b"just words", &Limits::default()).is_err());
    }
}
