//! Bytes as text.

use std::borrow::Cow;

use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};

use crate::error::ReadError;

/// How far into a page the name of its charset is looked for, in bytes, as browsers do.
const CHARSET_HEAD_BYTES: usize = 1024;

/// The text of bytes that are UTF-8, or that begin with the mark of another Unicode encoding.
pub(crate) fn unicode(bytes: &[u8]) -> Result<Cow<'_, str>, ReadError> {
    if let Some((encoding, mark)) = Encoding::for_bom(bytes) {
        let (text, is_lossy) = encoding.decode_without_bom_handling(&bytes[mark..]);
        if is_lossy {
            return Err(ReadError::Broken(format!("not {} text", encoding.name())));
        }
        return Ok(text);
    }
    if let Some(at) = bytes.iter().position(|&byte| byte == 0) {
        return Err(ReadError::Broken(format!("not text: byte {at} is zero")));
    }
    std::str::from_utf8(bytes).map(Cow::Borrowed).map_err(|error| {
        ReadError::Broken(format!("not UTF-8 text: invalid byte at {}", error.valid_up_to()))
    })
}

/// The text of a web page: by its mark, as UTF-8, by the charset that it names, else as browsers
/// take it.
pub(crate) fn page(bytes: &[u8]) -> Cow<'_, str> {
    let named = || {
        let head = &bytes[..bytes.len().min(CHARSET_HEAD_BYTES)];
        let head = String::from_utf8_lossy(head).to_ascii_lowercase();
        let after = &head[head.find("charset")? + "charset".len()..];
        let after = after.trim_start().strip_prefix('=')?.trim_start_matches([' ', '"', '\'']);
        let end = after.find(|c: char| !c.is_ascii_alphanumeric() && !"-_:".contains(c));
        Encoding::for_label(&after.as_bytes()[..end.unwrap_or(after.len())])
    };
    let is_utf8 = || std::str::from_utf8(bytes).is_ok();
    let encoding = match Encoding::for_bom(bytes) {
        Some((encoding, _)) => encoding,
        None if is_utf8() => UTF_8,
        None => named().filter(|encoding| *encoding != UTF_8).unwrap_or(WINDOWS_1252),
    };
    encoding.decode(bytes).0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_unicode_and_pages_may_be_older() {
        assert_eq!(unicode(b"\xff\xfea\0b\0").expect("UTF-16"), "ab");
        assert_eq!(unicode("\u{feff}é".as_bytes()).expect("UTF-8"), "é");
        assert!(unicode(b"caf\xe9").is_err() && unicode(b"a\0b").is_err());
        assert_eq!(page(b"caf\xe9"), "café");
        assert_eq!(page(b"<meta charset='iso-8859-2'>\xe8"), "<meta charset='iso-8859-2'>č");
        assert_eq!(page("<meta charset=latin1>é".as_bytes()), "<meta charset=latin1>é");
    }
}
