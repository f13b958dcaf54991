//! The start of a JSON text that may be cut anywhere: its top members, and whether it ends. Knows
//! nothing of formats.

/// What can be seen of a JSON text without reading it to its end.
#[derive(Debug, Default)]
pub(crate) struct Peek {
    /// The names of the top object's members (of the first element, where the top is a list), with
    /// their values where these are whole texts, numbers or words.
    pub(crate) members: Vec<(String, Option<String>)>,
    /// Where the top value ends, if it does.
    pub(crate) end: Option<usize>,
    /// Whether the top is a list.
    pub(crate) is_list: bool,
    /// Whether a line ends within the top value, outside of texts.
    pub(crate) is_spread: bool,
}

impl Peek {
    pub(crate) fn has(&self, name: &str) -> bool {
        self.members.iter().any(|(known, _)| known == name)
    }

    pub(crate) fn value(&self, name: &str) -> Option<&str> {
        self.members.iter().find(|(known, _)| known == name)?.1.as_deref()
    }
}

/// Members that are looked at.
const MEMBERS_MAX: usize = 256;

/// Looks at a text that begins with `{` or `[`.
pub(crate) fn peek(text: &str) -> Peek {
    let mut scan = Scan {
        text,
        found: Peek::default(),
        stack: Vec::new(),
        name: None,
        at_name: false,
        objects: 0,
    };
    scan.found.is_list = text.starts_with('[');
    scan.run();
    scan.found
}

struct Scan<'a> {
    text: &'a str,
    found: Peek,
    stack: Vec<u8>,
    /// The name whose value comes next.
    name: Option<String>,
    at_name: bool,
    /// Objects that have ended at the level whose members are kept.
    objects: usize,
}

/// Levels that are followed: deeper ones cannot end.
const LEVELS_MAX: usize = 10_000;

impl Scan<'_> {
    fn run(&mut self) {
        let bytes = self.text.as_bytes();
        let mut at = 0;
        while at < bytes.len() && self.stack.len() < LEVELS_MAX {
            match bytes[at] {
                b'"' => match string_end(bytes, at) {
                    Some(end) => {
                        self.string(at, end);
                        at = end;
                    }
                    None => return self.unfinished(),
                },
                open @ (b'{' | b'[') => {
                    if self.is_watched() {
                        self.keep(None);
                    }
                    self.stack.push(open);
                    self.at_name = open == b'{';
                }
                b'}' | b']' => {
                    if self.is_watched() {
                        self.objects += 1;
                    }
                    self.stack.pop();
                    if self.stack.is_empty() {
                        self.found.end = Some(at + 1);
                        return;
                    }
                }
                b',' => self.at_name = self.stack.last() == Some(&b'{'),
                b':' => self.at_name = false,
                b'\n' => self.found.is_spread = true,
                byte if byte.is_ascii_whitespace() => {}
                _ => at = self.word(at),
            }
            at += 1;
        }
        self.unfinished();
    }

    /// Whether members of the present level are kept.
    fn is_watched(&self) -> bool {
        let level = if self.found.is_list { 2 } else { 1 };
        self.objects == 0 && self.stack.len() == level && self.stack.last() == Some(&b'{')
    }

    fn string(&mut self, start: usize, end: usize) {
        if !self.is_watched() {
            return;
        }
        // May be dropped: a string with an error inside is not a name or value of any format, and
        // the adapter that reads the record counts what it cannot read.
        let text = serde_json::from_str::<String>(&self.text[start..=end]).ok();
        if self.at_name {
            self.name = text;
        } else {
            self.keep(text);
        }
    }

    /// A number, `true`, `false` or `null`; gives its last byte.
    fn word(&mut self, start: usize) -> usize {
        let rest = &self.text.as_bytes()[start..];
        let length =
            rest.iter().position(|byte| b",}]\n \t\r\"".contains(byte)).unwrap_or(rest.len());
        if self.is_watched() {
            let word = String::from_utf8_lossy(&rest[..length]).into_owned();
            self.keep(Some(word));
        }
        start + length.max(1) - 1
    }

    fn keep(&mut self, value: Option<String>) {
        if let Some(name) = self.name.take()
            && self.found.members.len() < MEMBERS_MAX
        {
            self.found.members.push((name, value));
        }
    }

    /// The text ends: a member whose value was cut is a member all the same.
    fn unfinished(&mut self) {
        self.keep(None);
    }
}

/// The closing quote of the text that opens at `start`.
fn string_end(bytes: &[u8], start: usize) -> Option<usize> {
    let mut at = start + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 1,
            b'"' => return Some(at),
            _ => {}
        }
        at += 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_text_shows_its_members() {
        let found = peek(
            r#"{"type":"user","n":12,"message":{"type":"inner","x":[1,{"y":2}]},"text":"cut of"#,
        );
        assert_eq!(found.value("type"), Some("user"));
        assert_eq!(found.value("n"), Some("12"));
        assert!(found.has("message") && found.has("text") && !found.has("x") && !found.has("y"));
        assert_eq!(found.end, None);
    }

    #[test]
    fn lists_show_their_first_element() {
        let found = peek(r#"[{"role":"user"},{"other":1}] "#);
        assert!(found.is_list && found.has("role") && !found.has("other"));
        assert_eq!(found.end, Some(29));
        assert!(peek("{\n\"a\": 1}").is_spread);
        assert!(!peek("{\"a\": 1}\n{\"b\": 1}").is_spread);
    }

    #[test]
    fn odd_texts_are_harmless() {
        for text in ["{", "[", "{\"", "{\"a\\", "{]}", "[[[[", "{:,}", "{\"a\":\"\\", "[}", "{é}"]
        {
            peek(text);
        }
    }
}
