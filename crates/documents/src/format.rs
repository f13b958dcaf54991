//! Which format a file is of: by its first bytes where they say it, else by its name.

/// A format whose text can be read. Markdown and plain texts are texts already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Portable Document Format.
    Pdf,
    /// An archive of XML: Word, PowerPoint, Excel, OpenDocument, EPUB.
    Office,
    /// A web page.
    Html,
    /// One e-mail message.
    Mail,
    /// A file of e-mail messages, one after another.
    Mailbox,
    /// Rows of fields, with what stands between two fields.
    Table(u8),
    /// Source code.
    Code(Language),
}

/// A language of source code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// Go.
    Go,
    /// JavaScript, with JSX.
    JavaScript,
    /// Python.
    Python,
    /// Rust.
    Rust,
    /// TypeScript without JSX.
    TypeScript,
    /// Any other, which is cut at blank lines.
    Other,
}

/// What names end in, and what that means.
const EXTENSIONS: [(&str, Format); 72] = [
    ("pdf", Format::Pdf),
    ("docx", Format::Office),
    ("docm", Format::Office),
    ("dotx", Format::Office),
    ("pptx", Format::Office),
    ("pptm", Format::Office),
    ("xlsx", Format::Office),
    ("xlsm", Format::Office),
    ("odt", Format::Office),
    ("ott", Format::Office),
    ("odp", Format::Office),
    ("ods", Format::Office),
    ("epub", Format::Office),
    ("html", Format::Html),
    ("htm", Format::Html),
    ("xhtml", Format::Html),
    ("eml", Format::Mail),
    ("mbox", Format::Mailbox),
    ("csv", Format::Table(b',')),
    ("tsv", Format::Table(b'\t')),
    ("rs", Format::Code(Language::Rust)),
    ("py", Format::Code(Language::Python)),
    ("pyi", Format::Code(Language::Python)),
    ("go", Format::Code(Language::Go)),
    ("js", Format::Code(Language::JavaScript)),
    ("mjs", Format::Code(Language::JavaScript)),
    ("cjs", Format::Code(Language::JavaScript)),
    ("jsx", Format::Code(Language::JavaScript)),
    ("tsx", Format::Code(Language::JavaScript)),
    ("ts", Format::Code(Language::TypeScript)),
    ("mts", Format::Code(Language::TypeScript)),
    ("cts", Format::Code(Language::TypeScript)),
    ("bash", Format::Code(Language::Other)),
    ("c", Format::Code(Language::Other)),
    ("cc", Format::Code(Language::Other)),
    ("clj", Format::Code(Language::Other)),
    ("cpp", Format::Code(Language::Other)),
    ("cs", Format::Code(Language::Other)),
    ("css", Format::Code(Language::Other)),
    ("cxx", Format::Code(Language::Other)),
    ("dart", Format::Code(Language::Other)),
    ("elm", Format::Code(Language::Other)),
    ("erl", Format::Code(Language::Other)),
    ("ex", Format::Code(Language::Other)),
    ("exs", Format::Code(Language::Other)),
    ("fish", Format::Code(Language::Other)),
    ("h", Format::Code(Language::Other)),
    ("hpp", Format::Code(Language::Other)),
    ("hs", Format::Code(Language::Other)),
    ("java", Format::Code(Language::Other)),
    ("jl", Format::Code(Language::Other)),
    ("kt", Format::Code(Language::Other)),
    ("kts", Format::Code(Language::Other)),
    ("lua", Format::Code(Language::Other)),
    ("m", Format::Code(Language::Other)),
    ("ml", Format::Code(Language::Other)),
    ("nim", Format::Code(Language::Other)),
    ("php", Format::Code(Language::Other)),
    ("pl", Format::Code(Language::Other)),
    ("proto", Format::Code(Language::Other)),
    ("ps1", Format::Code(Language::Other)),
    ("r", Format::Code(Language::Other)),
    ("rb", Format::Code(Language::Other)),
    ("scala", Format::Code(Language::Other)),
    ("scss", Format::Code(Language::Other)),
    ("sh", Format::Code(Language::Other)),
    ("sql", Format::Code(Language::Other)),
    ("swift", Format::Code(Language::Other)),
    ("tf", Format::Code(Language::Other)),
    ("vue", Format::Code(Language::Other)),
    ("zig", Format::Code(Language::Other)),
    ("zsh", Format::Code(Language::Other)),
];

/// How far into a file a PDF may begin, in bytes: readers look for the mark there.
pub(crate) const PDF_HEAD_BYTES: usize = 1024;
/// What an archive begins with.
pub(crate) const ARCHIVE_MARK: &[u8] = b"PK\x03\x04";

impl Format {
    /// The format of a file by its name and its first bytes; none for a text or what is unknown.
    #[must_use]
    pub fn of(name: &str, head: &[u8]) -> Option<Format> {
        let named = Format::named(name);
        let head = &head[..head.len().min(PDF_HEAD_BYTES)];
        if named.is_some() {
            return named;
        }
        let start = head.trim_ascii_start();
        let begins = |mark: &[u8]| {
            start.get(..mark.len()).is_some_and(|found| found.eq_ignore_ascii_case(mark))
        };
        if begins(b"%PDF-") {
            return Some(Format::Pdf);
        }
        if head.starts_with(ARCHIVE_MARK) {
            return Some(Format::Office);
        }
        (begins(b"<!doctype html") || begins(b"<html")).then_some(Format::Html)
    }

    /// The format that a name alone tells.
    #[must_use]
    pub fn named(name: &str) -> Option<Format> {
        let (stem, extension) = name.rsplit_once('.')?;
        if stem.is_empty() || stem.ends_with('/') {
            return None;
        }
        let extension = extension.to_ascii_lowercase();
        EXTENSIONS.iter().find(|(known, _)| *known == extension).map(|(_, format)| *format)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_or_the_first_bytes_tell_the_format() {
        for (name, head, want) in [
            ("a/b.PDF", &b""[..], Some(Format::Pdf)),
            ("a.tsv", b"", Some(Format::Table(b'\t'))),
            ("lib.rs", b"", Some(Format::Code(Language::Rust))),
            ("report", b"%PDF-1.7\n", Some(Format::Pdf)),
            ("report", b"PK\x03\x04...", Some(Format::Office)),
            ("page", b"\n <!DOCTYPE HTML><p>", Some(Format::Html)),
            ("notes.md", b"# A", None),
            (".rs", b"", None),
            ("README", b"<a>", None),
        ] {
            assert_eq!(Format::of(name, head), want, "{name}");
        }
    }
}
