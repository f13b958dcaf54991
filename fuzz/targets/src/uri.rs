//! Target: a parsed URI is the same when it is printed and parsed again.

use kapsa_memory::Uri;
use kapsa_memory::uri::{SCHEME, SLUG_CHARS_MAX, URI_BYTES_MAX, is_invisible, slug};

/// Reads the bytes as a URI, canonical or short, and as the text that a path segment is made of.
pub fn uri(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    match Uri::parse(&text) {
        Ok(uri) => check(&uri),
        Err(error) => assert!(!error.to_string().is_empty(), "a refusal has a reason"),
    }
    let segment = slug(&text);
    assert!(
        segment.chars().count() <= SLUG_CHARS_MAX,
        "a slug of {} characters",
        segment.chars().count()
    );
    assert_eq!(slug(&segment), segment, "a slug is its own slug");
    check(&Uri::from_segments([segment.as_str()]));
    let made = Uri::parse(&segment).expect("a slug is a valid path");
    assert_eq!(made, Uri::from_segments([segment.as_str()]));
}

fn check(uri: &Uri) {
    let text = uri.as_str();
    assert!(text.starts_with(SCHEME) && text.len() <= URI_BYTES_MAX, "{text:?}");
    assert!(
        !text.chars().any(|c| c.is_control() || c.is_whitespace() || is_invisible(c) || c == '\\'),
        "{text:?}"
    );
    assert!(
        text[SCHEME.len()..].split('/').all(|part| !matches!(part, "" | "." | "..")),
        "{text:?}"
    );
    for printed in [uri.to_string(), uri.short().to_string()] {
        let again = Uri::parse(&printed).expect("what was printed can be read");
        assert_eq!(again, *uri, "{printed:?}");
        assert_eq!(again.hash(), uri.hash());
    }
}
