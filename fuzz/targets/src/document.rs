//! Target: any bytes as a document of any format give a text in sections or an error, the same ones
//! again, and passages that can be put.

use kapsa_documents::{Format, Language, Limits, Text, read};
use kapsa_memory::document::{DocumentPart, cut_parts};

/// Formats, as [`document`] chooses them.
const FORMATS: [Format; 12] = [
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

/// Documents: each with the place of its format.
pub(crate) const DOCUMENTS: [(u8, &[u8]); 15] = [
    (0, include_bytes!("../../../crates/documents/tests/it/samples/harbour.pdf")),
    (0, include_bytes!("../../../crates/documents/tests/it/samples/columns.pdf")),
    (0, b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 1 0 R/Kids[1 0 R]>>endobj trailer<</Root 1 0 R>>"),
    (1, include_bytes!("../../../crates/documents/tests/it/samples/tide.odt")),
    (1, include_bytes!("../../../crates/documents/tests/it/samples/berths.xlsx")),
    (1, include_bytes!("../../../crates/documents/tests/it/samples/sailors.epub")),
    (2, b"<title>a</title><h1>b<p>c<table><tr><td>d<td>e</table><pre>f\n</pre><script><ul><li>g"),
    (3, include_bytes!("../../../crates/documents/tests/it/samples/crane.eml")),
    (4, include_bytes!("../../../crates/documents/tests/it/samples/box.mbox")),
    (5, b"name;city\n\"An\"\"n\";\"Os\nlo\"\nBob\n"),
    (6, b"//! a\nuse b;\n/// c\n#[d]\nimpl E for F<'_> {\n    fn g(&self) {}\n}\nmacro_rules! h { () => {} }\n"),
    (7, b"import a\n@b\nclass C(D):\n    \"\"\"e\"\"\"\n    async def f(self): return f'{g}'\n"),
    (8, b"package a\nimport \"b\"\ntype C[T any] struct{ d T }\nfunc (c *C[T]) E() {}\n"),
    (9, b"export default class A<T> extends B { private c?: T; }\nnamespace D { export const e = 1 }\n"),
    (10, b"export const A = () => <p>{`b${c}`}</p>;\nfunction* d() {}\n"),
];

/// Reads the bytes, but for the first, as a document of the format that the first one names.
pub fn document(data: &[u8]) {
    let Some((&first, bytes)) = data.split_first() else { return };
    let format = FORMATS[usize::from(first) % FORMATS.len()];
    let limits = Limits { expanded_bytes: 8 << 20, text_bytes: 1 << 20, ..Limits::default() };
    let found = read(format, bytes, &limits);
    if let Ok(text) = &found {
        check(text);
    }
    assert_eq!(found, read(format, bytes, &limits), "the same bytes give the same text");
}

fn check(text: &Text) {
    assert!(!text.sections.is_empty());
    let part = |section: &kapsa_documents::Section| DocumentPart {
        headings: section.headings.clone(),
        name: section.name.clone(),
        text: section.text.clone(),
        ..DocumentPart::default()
    };
    let parts: Vec<DocumentPart> = text.sections.iter().map(part).collect();
    for section in &text.sections {
        assert!(!section.text.trim().is_empty(), "{section:?}");
        let is_text = |c: char| !c.is_control() || matches!(c, '\n' | '\t');
        assert!(section.text.chars().all(is_text), "{section:?}");
    }
    let Ok(passages) = cut_parts("a/b", text.title.as_deref(), &parts) else { return };
    for passage in passages {
        let checked = passage.check();
        assert!(checked.is_ok(), "{checked:?}: {passage:?}");
    }
}
