//! Files as common programs write them: fpdf2, reportlab, python-docx, python-pptx, openpyxl,
//! odfpy, ebooklib and the mail modules of Python made these, from sentences of our own.

use kapsa_documents::{Format, Limits, Place, ReadError, Section, Text, read};

/// The bytes of a sample and the format that its name says.
macro_rules! sample {
    ($name:literal) => {
        found($name, include_bytes!(concat!("samples/", $name)))
    };
}

fn found(name: &str, bytes: &[u8]) -> Result<Text, ReadError> {
    read(Format::of(name, bytes).expect("a known format"), bytes, &Limits::default())
}

fn text_of(result: Result<Text, ReadError>) -> Text {
    result.unwrap_or_else(|error| panic!("{error}"))
}

fn headings(text: &Text) -> Vec<String> {
    text.sections.iter().map(|section| section.headings.join(" › ")).collect()
}

fn texts(text: &Text) -> Vec<&str> {
    text.sections.iter().map(|section| section.text.as_str()).collect()
}

fn says(metadata: &[(&'static str, String)], name: &str) -> String {
    let value = metadata.iter().find(|(known, _)| *known == name);
    value.map(|(_, value)| value.clone()).unwrap_or_default()
}

#[test]
fn a_pdf_is_read_page_by_page() {
    let text = text_of(sample!("harbour.pdf"));
    assert_eq!(text.title.as_deref(), Some("Harbour plan"));
    assert_eq!(says(&text.metadata, "author"), "Ann Lee");
    assert_eq!(says(&text.metadata, "date"), "2026-03-03");
    assert_eq!(headings(&text), ["page 1", "page 2"]);
    assert_eq!(text.sections[1].place, Place::Page(2));
    let first = &text.sections[0].text;
    assert!(first.starts_with("The north crane lifts forty tonnes."), "{first}");
    assert!(first.contains("the electrician signed"), "{first}");
    assert_eq!(text.sections[1].text, "Ferries leave at nine. Café opens at eight.");
    assert_eq!(text.unread, ["page 3 without text"]);
}

#[test]
fn columns_margins_and_forms_of_a_pdf_are_kept_apart() {
    let text = text_of(sample!("columns.pdf"));
    let page = &text.sections[0].text;
    for whole in [
        "Left one tells of\nlighthouses.",
        "Right one tells of\nbuoys.",
        "Turned margin note",
        "Stamped in a form",
    ] {
        assert!(page.contains(whole), "{whole}: {page}");
    }
}

#[test]
fn a_pdf_with_a_password_says_so() {
    assert_eq!(sample!("locked.pdf"), Err(ReadError::Protected));
}

#[test]
fn a_word_document_has_headings_lists_and_tables() {
    let text = text_of(sample!("lamp.docx"));
    assert_eq!(text.title.as_deref(), Some("Lamp manual"));
    assert_eq!(says(&text.metadata, "author"), "Bob Ray");
    assert_eq!(headings(&text), ["", "Oil", "Oil › Wick"]);
    assert_eq!(text.sections[0].text, "Lamp manual\n\nKeep it dry.");
    let oil = &text.sections[1].text;
    assert!(oil.starts_with("Use rape oil, two litres."), "{oil}");
    assert!(oil.contains("first item") && oil.ends_with("part | price\nwick | 3"), "{oil}");
}

#[test]
fn a_workbook_has_rows_under_the_names_of_its_sheets() {
    let text = text_of(sample!("berths.xlsx"));
    assert_eq!(headings(&text), ["Berths › rows 2-3", "Fees › rows 2-2"]);
    assert_eq!(
        texts(&text),
        [
            "berth: A1 | ship: Gull | since: 2026-03-03\nberth: A2 | ship: Tern | since: 2026-03-04 12:30",
            "class: small | euro: 12.5"
        ]
    );
    assert_eq!(text.sections[0].name.as_deref(), Some("Berths rows 2-3"));
}

#[test]
fn slides_have_titles_and_notes() {
    let text = text_of(sample!("storm.pptx"));
    assert_eq!(headings(&text), ["Storm season", "slide 2"]);
    assert_eq!(text.sections[0].place, Place::Slide(1));
    let first = &text.sections[0].text;
    assert!(first.contains("Moor with two lines\nCheck fenders"), "{first}");
    assert!(first.contains("Mention the 2019 storm."), "{first}");
    assert_eq!(text.sections[1].text, "Only a text box");
}

#[test]
fn open_documents_are_read_too() {
    let text = text_of(sample!("tide.odt"));
    assert_eq!(text.title.as_deref(), Some("Tide notes"));
    assert_eq!(headings(&text), ["Spring tide", "Spring tide › Neap"]);
    assert_eq!(texts(&text), ["Water rises four metres.", "It rises two."]);
    let text = text_of(sample!("depths.ods"));
    assert_eq!(texts(&text), ["place: pier | metres: 7\nplace: bay | metres: 12"]);
}

#[test]
fn a_book_is_read_in_its_order() {
    let text = text_of(sample!("sailors.epub"));
    assert_eq!(text.title.as_deref(), Some("Sailors"));
    assert_eq!(says(&text.metadata, "author"), "Cy Dow");
    assert_eq!(headings(&text), ["Departure"]);
    assert_eq!(texts(&text), ["They left at dawn."]);
}

#[test]
fn mail_says_who_wrote_to_whom_and_what_is_attached() {
    let text = text_of(sample!("crane.eml"));
    assert_eq!(text.title.as_deref(), Some("Crane inspection – Thursday"));
    let [Section { text, metadata, time, .. }] = &text.sections[..] else { panic!("one section") };
    assert!(text.contains("Bring the grün folder.") && !text.contains("twin"), "{text}");
    assert_eq!(says(metadata, "from"), "Ann Lee <ann@example.org>");
    assert_eq!(says(metadata, "attachments"), "crane.bin");
    assert_eq!(*time, Some(1_772_528_400));
    let text = text_of(sample!("box.mbox"));
    assert_eq!(headings(&text), ["Oars", "Ropes"]);
    assert!(text.sections[1].text.ends_with("Ropes hang by the door.\nFrom there go left."));
}
