//! Integers in JSON that no number of 64 bits holds: a parser would make floats of them without a
//! word, and another number would be remembered than was given.

/// Digits of the longest integer that certainly fits.
const DIGITS_SAFE: usize = 18;

/// An integer in a JSON text that 64 bits do not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WideInteger {
    /// The names of the fields that lead to it, with points between them; empty at the top.
    pub field: String,
    /// Where in the text it begins, in bytes.
    pub offset: usize,
}

/// The first integer of a JSON text that 64 bits, signed or not, do not hold. A number with a
/// fraction or an exponent is not an integer.
#[must_use]
pub fn wide_integer(json: &[u8]) -> Option<WideInteger> {
    if !has_long_number(json) {
        return None;
    }
    let mut names: Vec<&[u8]> = Vec::new();
    let (mut last, mut at): (&[u8], usize) = (b"", 0);
    while at < json.len() {
        let rest = &json[at..];
        let length = match rest[0] {
            b'"' => {
                let length = string_len(rest);
                let is_name = rest[length..].trim_ascii_start().first() == Some(&b':');
                last = if is_name { &rest[1..length - 1] } else { b"" };
                length
            }
            b'{' | b'[' => {
                names.push(last);
                last = b"";
                1
            }
            b'}' | b']' => {
                names.pop();
                1
            }
            b'-' | b'0'..=b'9' => {
                let length = number_len(rest);
                if is_wide(&rest[..length]) {
                    names.push(last);
                    return Some(WideInteger { field: path(&names), offset: at });
                }
                length
            }
            _ => 1,
        };
        at += length;
    }
    None
}

/// Whether there are more digits in a row than fit for certain, perhaps in a string.
fn has_long_number(json: &[u8]) -> bool {
    let mut digits = 0;
    json.iter().any(|byte| {
        digits = if byte.is_ascii_digit() { digits + 1 } else { 0 };
        digits > DIGITS_SAFE
    })
}

/// Length of the string that `json` begins with, its quotes included.
fn string_len(json: &[u8]) -> usize {
    let mut escaped = false;
    let end = json.iter().skip(1).position(|&byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    });
    end.map_or(json.len(), |end| end + 2)
}

fn number_len(json: &[u8]) -> usize {
    let is_part = |byte: &u8| byte.is_ascii_digit() || b"+-.eE".contains(byte);
    json.iter().position(|byte| !is_part(byte)).unwrap_or(json.len())
}

fn is_wide(number: &[u8]) -> bool {
    let text = std::str::from_utf8(number).unwrap_or_default();
    let is_integer = !text.contains(['.', 'e', 'E']);
    is_integer && text.parse::<i64>().is_err() && text.parse::<u64>().is_err()
}

fn path(names: &[&[u8]]) -> String {
    let names = names.iter().filter(|name| !name.is_empty());
    names.map(|name| String::from_utf8_lossy(name)).collect::<Vec<_>>().join(".")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_parser_would_change_is_found() {
        for same in [
            r#"{"a":18446744073709551615,"b":-9223372036854775808}"#,
            r#"{"a":"123456789012345678901234567890","b":"\\\"123456789012345678901\""}"#,
            r#"{"a":1e30,"b":123456789012345678901.5,"c":[0,-0,1]}"#,
            "",
            "\"123456789012345678901",
        ] {
            assert_eq!(wide_integer(same.as_bytes()), None, "{same}");
        }
        for (wide, field, offset) in [
            (r#"{"a":18446744073709551616}"#, "a", 5),
            (r#"{"a":1,"b":{"c":[1,{"d":-9223372036854775809}]}}"#, "b.c.d", 24),
            (r#"{"a":"x","b":[123456789012345678901]}"#, "b", 14),
            (r#"{"b":["x",123456789012345678901]}"#, "b", 10),
            ("123456789012345678901", "", 0),
        ] {
            let found = wide_integer(wide.as_bytes()).expect(wide);
            assert_eq!((found.field.as_str(), found.offset), (field, offset), "{wide}");
        }
    }
}
