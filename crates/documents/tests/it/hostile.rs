//! Bytes of strangers: cut, changed and blown up. Whatever is in a file, reading it ends, within
//! its limits, with a text or an error.

use std::io::Write;

use kapsa_documents::{Format, Language, Limits, ReadError, read};
use zip::write::SimpleFileOptions;

const SAMPLES: [(&str, &[u8]); 10] = [
    ("a.pdf", include_bytes!("samples/harbour.pdf")),
    ("b.pdf", include_bytes!("samples/columns.pdf")),
    ("c.pdf", include_bytes!("samples/locked.pdf")),
    ("a.docx", include_bytes!("samples/lamp.docx")),
    ("a.xlsx", include_bytes!("samples/berths.xlsx")),
    ("a.pptx", include_bytes!("samples/storm.pptx")),
    ("a.odt", include_bytes!("samples/tide.odt")),
    ("a.epub", include_bytes!("samples/sailors.epub")),
    ("a.eml", include_bytes!("samples/crane.eml")),
    ("a.mbox", include_bytes!("samples/box.mbox")),
];
/// Changed copies of each sample.
const CHANGED: usize = 60;

fn limits() -> Limits {
    Limits { text_bytes: 1 << 20, expanded_bytes: 8 << 20, ..Limits::default() }
}

/// Reads the bytes, and checks what comes out.
fn check(format: Format, bytes: &[u8]) {
    let limits = limits();
    if let Ok(text) = read(format, bytes, &limits) {
        assert!(!text.sections.is_empty());
        for section in &text.sections {
            assert!(!section.text.trim().is_empty());
            assert!(!section.text.contains(|c: char| c.is_control() && c != '\n' && c != '\t'));
        }
    }
}

#[test]
fn cut_and_changed_files_are_read_or_refused() {
    for (name, bytes) in SAMPLES {
        let format = Format::of(name, bytes).expect("a known format");
        for at in 0..CHANGED {
            check(format, &bytes[..bytes.len() * at / CHANGED]);
            let mut changed = bytes.to_vec();
            // Scattered without a source of chance: the same bytes at every run.
            for step in 0..8 {
                let place = (at * 7919 + step * 104_729) % changed.len();
                changed[place] = changed[place].wrapping_add((at * 31 + step * 17) as u8);
            }
            check(format, &changed);
        }
    }
}

#[test]
fn a_file_of_another_format_is_refused_or_read() {
    let formats = [
        Format::Pdf,
        Format::Office,
        Format::Html,
        Format::Mail,
        Format::Mailbox,
        Format::Table(b','),
        Format::Code(Language::Rust),
        Format::Code(Language::Python),
        Format::Code(Language::Go),
        Format::Code(Language::TypeScript),
        Format::Code(Language::JavaScript),
        Format::Code(Language::Other),
    ];
    for format in formats {
        for (_, bytes) in SAMPLES {
            check(format, bytes);
        }
        for bytes in [&b""[..], b"\0", b"\xff\xfe", b"\xff\xfe\0", b"\xef\xbb\xbf", &[b'('; 50_000]]
        {
            check(format, bytes);
        }
    }
}

fn archive(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, bytes) in entries {
        zip.start_file(*name, SimpleFileOptions::default()).expect("a file");
        zip.write_all(bytes).expect("memory");
    }
    zip.finish().expect("an archive").into_inner()
}

#[test]
fn an_archive_that_blows_up_meets_a_limit() {
    let bomb = archive(&[("word/document.xml", &vec![b' '; 64 << 20])]);
    assert!(bomb.len() < 1 << 20);
    let refused = read(Format::Office, &bomb, &Limits::default());
    assert!(matches!(refused, Err(ReadError::TooLarge { .. })), "{refused:?}");
    let nested = "<a>".repeat(100_000);
    let refused = read(Format::Office, &archive(&[("content.xml", nested.as_bytes())]), &limits());
    assert!(matches!(refused, Err(ReadError::TooLarge { .. })), "{refused:?}");
    let names: Vec<String> = (0..20_000).map(|at| format!("{at}")).collect();
    let many: Vec<(&str, &[u8])> = names.iter().map(|name| (name.as_str(), &b""[..])).collect();
    let refused = read(Format::Office, &archive(&many), &limits());
    assert!(matches!(refused, Err(ReadError::TooLarge { .. })), "{refused:?}");
}

fn refuses(entries: &[(&str, &[u8])]) {
    let refused = read(Format::Office, &archive(entries), &limits());
    assert!(matches!(refused, Err(ReadError::TooLarge { .. })), "{refused:?}");
}

#[test]
fn what_stands_for_much_is_cut_or_meets_a_limit() {
    // A space that stands for 512.
    let spaces = format!("<d><p>{}x</p></d>", "<s c='512'/>".repeat(4000));
    refuses(&[("content.xml", spaces.as_bytes())]);
    let row = |text: &str| {
        format!(
            "<table-row><table-cell number-columns-repeated='512'><p>{text}</p></table-cell>\
             </table-row>"
        )
    };
    // A row is as long as its cells may be, and each table counts.
    let long = format!("<d><table>{}</table></d>", row(&"a".repeat(1 << 20)));
    let wide = Limits { text_bytes: 4 << 20, ..limits() };
    let text = read(Format::Office, &archive(&[("content.xml", long.as_bytes())]), &wide);
    assert_eq!(text.expect("a text").sections[0].text.len(), 512 * 4003 - 3);
    let table = format!("<table name='t'>{}</table>", row(&"a".repeat(1400)));
    let tables = format!("<d><spreadsheet>{}</spreadsheet></d>", table.repeat(2));
    refuses(&[("content.xml", tables.as_bytes())]);
}

#[test]
fn headings_are_no_deeper_than_nine() {
    let rising: String = (1..2000)
        .map(|level| format!("<h outline-level='{level}'>{}</h><p>x</p>", "w".repeat(150)))
        .collect();
    let bytes = archive(&[("content.xml", format!("<d>{rising}</d>").as_bytes())]);
    let text = read(Format::Office, &bytes, &Limits::default()).expect("a text");
    assert_eq!(text.sections.len(), 1999);
    assert!(text.sections.iter().all(|section| section.headings.len() <= 9));
}

#[test]
fn names_are_looked_up_and_not_searched_for() {
    const COUNT: usize = 50_000;
    let relations: String = (0..COUNT)
        .map(|at| format!("<Relationship Id='r{at}' Target='slides/none{at}.xml'/>"))
        .collect();
    let relations = format!("<Relationships>{relations}</Relationships>");
    let last = COUNT - 1;
    let shown = |name: &str| {
        let ids = format!("<{name} name='n' id='r{last}'/>").repeat(COUNT);
        format!("<p>{ids}</p>")
    };
    let many = Limits { pages: COUNT, ..limits() };
    for (folder, main, name) in [("ppt", "presentation", "sldId"), ("xl", "workbook", "sheet")] {
        let bytes = archive(&[
            (&format!("{folder}/{main}.xml"), shown(name).as_bytes()),
            (&format!("{folder}/_rels/{main}.xml.rels"), relations.as_bytes()),
        ]);
        assert_eq!(read(Format::Office, &bytes, &many), Err(ReadError::NoText), "{main}");
    }
    // Attributes of one element, and elements in each other.
    let attributes: String = (0..200_000).map(|at| format!(" a{at}='x'")).collect();
    let many = "<b/>".repeat(200_000);
    let deep = format!("{}{many}<p>deep</p>{}", "<a>".repeat(900), "</a>".repeat(900));
    let xml = format!("<d><h{attributes}>title</h>{deep}</d>");
    let text = read(Format::Office, &archive(&[("content.xml", xml.as_bytes())]), &limits());
    assert_eq!(text.expect("a text").sections[0].text, "deep");
}

#[test]
fn entities_are_not_expanded_and_paths_not_followed() {
    let xml = "<!DOCTYPE d [<!ENTITY a 'boom'><!ENTITY b SYSTEM 'file:///etc/hostname'>]>
        <d><body><p><r><t>x&a;&b;y</t></r></p></body></d>";
    let text = read(Format::Office, &archive(&[("word/document.xml", xml.as_bytes())]), &limits());
    assert_eq!(text.expect("a document").sections[0].text, "xy");
    let rels =
        "<Relationships><Relationship Id='r' Target='../../../../etc/hostname'/></Relationships>";
    let shown = "<p><sldIdLst><sldId id='256' rid='r'/></sldIdLst></p>";
    let slides = archive(&[
        ("ppt/presentation.xml", shown.as_bytes()),
        ("ppt/_rels/presentation.xml.rels", rels.as_bytes()),
    ]);
    assert_eq!(read(Format::Office, &slides, &limits()), Err(ReadError::NoText));
}

/// A PDF of these objects, each with its number.
fn pdf(objects: &[String]) -> Vec<u8> {
    let mut bytes = b"%PDF-1.7\n".to_vec();
    let mut places = Vec::new();
    for (at, object) in objects.iter().enumerate() {
        places.push(bytes.len());
        bytes.extend(format!("{} 0 obj\n{object}\nendobj\n", at + 1).bytes());
    }
    let start = bytes.len();
    bytes.extend(format!("xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1).bytes());
    for place in places {
        bytes.extend(format!("{place:010} 00000 n \n").bytes());
    }
    let size = objects.len() + 1;
    bytes
        .extend(format!("trailer<</Root 1 0 R/Size {size}>>\nstartxref\n{start}\n%%EOF\n").bytes());
    bytes
}

fn page(content: &str, more: &[String]) -> Vec<u8> {
    let stream =
        |content: &str| format!("<</Length {}>>stream\n{content}\nendstream", content.len());
    let mut objects = vec![
        "<</Type/Catalog/Pages 2 0 R>>".to_string(),
        "<</Type/Pages/Kids[3 0 R]/Count 1>>".to_string(),
        "<</Type/Page/Parent 2 0 R/Contents 4 0 R/Resources 5 0 R>>".to_string(),
        stream(content),
        "<</Font<</F 6 0 R/G 7 0 R>>/XObject<</X 7 0 R>>>>".to_string(),
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>".to_string(),
    ];
    objects.extend(more.iter().cloned());
    pdf(&objects)
}

#[test]
fn a_pdf_that_draws_itself_ends() {
    let form = "<</Type/XObject/Subtype/Form/BBox[0 0 9 9]/Length 60>>stream\n/X Do /X Do /X Do /X Do BT /F 9 Tf (in) Tj ET\nendstream";
    let bytes = page("BT /F 9 Tf 1 0 0 1 5 5 Tm (out) Tj ET /X Do", &[form.to_string()]);
    check(Format::Pdf, &bytes);
    let loop_of_pages = pdf(&[
        "<</Type/Catalog/Pages 2 0 R>>".into(),
        "<</Type/Pages/Kids[2 0 R 2 0 R]/Count 2/Parent 2 0 R>>".into(),
    ]);
    check(Format::Pdf, &loop_of_pages);
    let numbers =
        "BT /F 1e38 Tf 1e38 0 0 1e38 1e38 -1e38 Tm [(a) 1e38 (b) -1e38 (c)] TJ 0 Tz (d) Tj ET";
    check(Format::Pdf, &page(numbers, &[]));
    check(Format::Pdf, &page(&"[".repeat(100_000), &[]));
    check(Format::Pdf, &page(&"<<".repeat(100_000), &[]));
    check(Format::Pdf, &page(&"q ".repeat(100_000), &[]));
}

#[test]
fn what_a_pdf_unpacks_for_nothing_counts() {
    // Packed twice, a form is shorter than what it draws by more than a million times.
    let mut blown = vec![b' '; 9 << 20];
    for _ in 0..2 {
        let mut stream = lopdf::Stream::new(lopdf::Dictionary::new(), blown);
        stream.compress().expect("it packs");
        blown = stream.content;
    }
    let digits: String = blown.iter().map(|byte| format!("{byte:02x}")).collect();
    let form = format!(
        "<</Type/XObject/Subtype/Form/Filter[/ASCIIHexDecode/FlateDecode/FlateDecode]/Length \
         {}>>stream\n{digits}\nendstream",
        digits.len()
    );
    let pages = |count: usize| {
        let kids = ["3 0 R ", "4 0 R "][..count].concat();
        let content = format!("BT /F 9 Tf (out) Tj ET {}", "/X Do ".repeat(3000));
        let page = "<</Type/Page/Parent 2 0 R/Contents 5 0 R/Resources 6 0 R>>".to_string();
        pdf(&[
            "<</Type/Catalog/Pages 2 0 R>>".to_string(),
            format!("<</Type/Pages/Kids[{kids}]/Count {count}>>"),
            page.clone(),
            page,
            format!("<</Length {}>>stream\n{content}\nendstream", content.len()),
            "<</Font<</F 7 0 R>>/XObject<</X 8 0 R>>>>".to_string(),
            "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>".to_string(),
            form.clone(),
        ])
    };
    let text = read(Format::Pdf, &pages(1), &limits()).expect("a text");
    assert_eq!(text.sections[0].text, "out");
    let refused = read(Format::Pdf, &pages(2), &limits());
    assert!(matches!(refused, Err(ReadError::TooLarge { .. })), "{refused:?}");
}

#[test]
fn what_a_font_does_not_say_is_not_guessed() {
    let shown = "BT /F 9 Tf (read) Tj /G 9 Tf <0102> Tj ET";
    let composite = "<</Type/Font/Subtype/Type0/BaseFont/A/Encoding/Identity-H/DescendantFonts[]>>";
    let bytes = page(shown, &[composite.to_string()]);
    let text = read(Format::Pdf, &bytes, &limits()).expect("a text");
    assert_eq!(text.sections[0].text, "read");
    assert!(text.unread[0].contains("1 piece of text"), "{:?}", text.unread);
}

#[test]
fn a_pdf_that_is_cut_off_is_damaged_and_not_scanned() {
    let whole = include_bytes!("samples/harbour.pdf");
    let kind = Format::of("a.pdf", whole).expect("a PDF");
    for end in (0..whole.len() - 8).step_by(97).filter(|&end| end > 16) {
        let read = read(kind, &whole[..end], &Limits::default());
        assert_ne!(read, Err(ReadError::NoText), "cut at {end}");
    }
    let empty = b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[]/Count 0>>endobj\nxref\n0 3\n0000000000 65535 f \n0000000009 00000 n \n0000000052 00000 n \ntrailer<</Size 3/Root 1 0 R>>\nstartxref\n97\n%%EOF\n";
    let read = read(kind, empty, &Limits::default());
    assert!(matches!(read, Err(ReadError::Broken(_))), "{read:?}");
}
