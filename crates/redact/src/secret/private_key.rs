//! Where a private key ends that begins with its header: `-----BEGIN PRIVATE KEY-----`.
//!
//! Knows nothing of what keys mean. A key may lack its end, when a text was cut.

/// The length of a private key in bytes.
const KEY_BYTES_MAX: usize = 8 * 1024;

/// The length of a line of a key in bytes, from which one without an end is taken for a key.
const LINE_BYTES_MIN: usize = 16;

/// How the last line of a key begins.
const END: &[u8] = b"-----END ";

/// Where the key ends whose header ends at `from`; nothing if no key follows.
pub(super) fn end(text: &[u8], from: usize) -> Option<usize> {
    let body = &text[from..text.len().min(from + KEY_BYTES_MAX)];
    let open = from + lines_end(body);
    let Some(at) = body.windows(END.len()).position(|part| part == END) else {
        return (open > from).then_some(open);
    };
    let name = from + at + END.len();
    let dashes = text[name..].windows(5).take(64).position(|part| part == b"-----");
    let end = dashes.map_or(name, |dashes| name + dashes + 5);
    (at >= LINE_BYTES_MIN).then_some(end)
}

/// Where the last of the lines ends that hold nothing but the letters of a key; line ends may be
/// written as `\n`.
fn lines_end(body: &[u8]) -> usize {
    let mut end = 0;
    let mut at = 0;
    loop {
        let rest = &body[at..];
        let gap = rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        let escaped = rest.starts_with(b"\\n") || rest.starts_with(b"\\r");
        if gap > 0 || escaped {
            at += gap.max(if escaped { 2 } else { 0 });
            continue;
        }
        let is_letter = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/=".contains(byte);
        let line = rest.iter().take_while(|byte| is_letter(byte)).count();
        if line < LINE_BYTES_MIN {
            return end;
        }
        at += line;
        end = at;
    }
}
