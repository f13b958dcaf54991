//! JSON that is written at once but for its end, so that an object can get one more field when all
//! else about it is known. Knows nothing of what the JSON says, except for warnings.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::Formatter;

use crate::escape::SafeJson;
use crate::wire::WarningOut;

/// What is left to be written of a value.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// A newline.
    Whole,
    /// Of an object: the brace, and a newline.
    Object { is_empty: bool },
}

/// Writes a value but for its end.
pub(crate) fn write(writer: &mut impl Write, value: &impl Serialize) -> io::Result<End> {
    let mut end = End::Whole;
    let formatter = Unclosed { depth: 0, end: &mut end };
    value.serialize(&mut Serializer::with_formatter(writer, formatter)).map_err(io::Error::from)?;
    Ok(end)
}

impl End {
    /// Whether warnings can be part of the value.
    pub(crate) fn takes_fields(&self) -> bool {
        matches!(self, End::Object { .. })
    }

    /// Writes the end; of an object with these warnings.
    pub(crate) fn write(self, writer: &mut impl Write, warnings: &[WarningOut]) -> io::Result<()> {
        let End::Object { is_empty } = self else { return writer.write_all(b"\n") };
        if !warnings.is_empty() {
            let comma = if is_empty { "" } else { "," };
            write!(writer, "{comma}\"warnings\":")?;
            warnings.serialize(&mut Serializer::with_formatter(&mut *writer, SafeJson))?;
        }
        writer.write_all(b"}\n")
    }
}

/// Leaves out the brace that ends the outermost object.
struct Unclosed<'a> {
    depth: usize,
    end: &'a mut End,
}

impl Formatter for Unclosed<'_> {
    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        if self.depth == 0 {
            *self.end = End::Object { is_empty: true };
        }
        self.depth += 1;
        SafeJson.begin_object(writer)
    }

    fn begin_object_key<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        if self.depth == 1 && self.end.takes_fields() {
            *self.end = End::Object { is_empty: false };
        }
        SafeJson.begin_object_key(writer, first)
    }

    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.depth -= 1;
        if self.depth == 0 { Ok(()) } else { SafeJson.end_object(writer) }
    }

    fn begin_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.depth += 1;
        SafeJson.begin_array(writer)
    }

    fn end_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.depth -= 1;
        SafeJson.end_array(writer)
    }

    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        SafeJson.write_string_fragment(writer, fragment)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn written(value: &Value, warnings: &[WarningOut]) -> String {
        let mut out = Vec::new();
        let end = write(&mut out, value).expect("memory");
        end.write(&mut out, warnings).expect("memory");
        String::from_utf8(out).expect("UTF-8")
    }

    #[test]
    fn an_object_gets_its_warnings_and_other_values_stay() {
        let warnings = [WarningOut { code: "a", message: "b\u{1b}".to_string() }];
        let shown = r#""warnings":[{"code":"a","message":"b\u001b"}]"#;
        for (value, with) in [
            (json!({}), format!("{{{shown}}}\n")),
            (json!({"x": {}}), format!("{{\"x\":{{}},{shown}}}\n")),
            (json!({"x": [{"y": 1}]}), format!("{{\"x\":[{{\"y\":1}}],{shown}}}\n")),
            (json!([{"x": 1}, {}]), "[{\"x\":1},{}]\n".to_string()),
            (json!("text"), "\"text\"\n".to_string()),
        ] {
            assert_eq!(written(&value, &[]), format!("{value}\n"));
            assert_eq!(written(&value, &warnings), with);
        }
    }
}
