//! Source code, cut at its own items: functions, types, and the members of large ones.
//!
//! Where no grammar is known, or one cannot cope, the code is one section, which whoever stores it
//! cuts at blank lines.

use std::ops::ControlFlow;

use tree_sitter::{Node, ParseOptions, Parser};

use crate::charset;
use crate::error::ReadError;
use crate::format::Language;
use crate::limits::{Limits, expect_at_most};
use crate::text::{HEADING_CHARS_MAX, Place, Section, Text, clean, one_line};

/// An item longer than this is cut at its members, in bytes.
const ITEM_BYTES_MAX: usize = 2400;
/// Deepest member of a member that is cut.
const DEPTH_MAX: usize = 4;
/// What stands before the first item is called so: comments, imports.
const HEAD: &str = "head";
/// What stands between items.
const REST: &str = "rest";
/// Nodes that are items.
const ITEMS: [&str; 24] = [
    "abstract_class_declaration",
    "class_declaration",
    "class_definition",
    "decorated_definition",
    "enum_declaration",
    "enum_item",
    "export_statement",
    "function_declaration",
    "function_definition",
    "function_item",
    "function_signature_item",
    "generator_function_declaration",
    "impl_item",
    "interface_declaration",
    "internal_module",
    "macro_definition",
    "method_declaration",
    "method_definition",
    "mod_item",
    "struct_item",
    "trait_item",
    "type_alias_declaration",
    "type_declaration",
    "union_item",
];
/// Nodes that belong to the item after them.
const BEFORE_ITEMS: [&str; 6] = [
    "attribute_item",
    "block_comment",
    "comment",
    "decorator",
    "line_comment",
    "inner_attribute_item",
];

/// Reads a file of source code.
pub(crate) fn read(bytes: &[u8], language: Language, limits: &Limits) -> Result<Text, ReadError> {
    let source = charset::unicode(bytes)?;
    let sections = match items(&source, language, limits)? {
        Some(sections) => sections,
        None => whole(&source),
    };
    Ok(Text { sections, ..Text::default() })
}

fn whole(source: &str) -> Vec<Section> {
    let place = Place::Lines(1, source.lines().count().max(1));
    let text = clean(source);
    let is_empty = text.trim().is_empty();
    let section = Section { text, place, ..Section::default() };
    if is_empty { Vec::new() } else { vec![section] }
}

/// The items of a file; none where its language has no grammar or costs more than it may.
fn items(
    source: &str,
    language: Language,
    limits: &Limits,
) -> Result<Option<Vec<Section>>, ReadError> {
    let grammar = match language {
        Language::Go => tree_sitter_go::LANGUAGE,
        Language::JavaScript => tree_sitter_typescript::LANGUAGE_TSX,
        Language::Python => tree_sitter_python::LANGUAGE,
        Language::Rust => tree_sitter_rust::LANGUAGE,
        Language::TypeScript => tree_sitter_typescript::LANGUAGE_TYPESCRIPT,
        Language::Other => return Ok(None),
    };
    if source.len() > limits.code_bytes {
        return Ok(None);
    }
    let mut parser = Parser::new();
    if parser.set_language(&grammar.into()).is_err() {
        return Ok(None);
    }
    let mut looks = 0;
    let mut progress = |_: &_| {
        looks += 1;
        if looks > limits.code_steps { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let options = ParseOptions::new().progress_callback(&mut progress);
    let bytes = source.as_bytes();
    let mut input = |at: usize, _| bytes.get(at..).unwrap_or_default();
    let Some(tree) = parser.parse_with_options(&mut input, None, Some(options)) else {
        return Ok(None);
    };
    let breaks = source.match_indices('\n').map(|(at, _)| at).collect();
    let mut cut = Cut { source, breaks, limits, sections: Vec::new(), names: Vec::new() };
    cut.members(tree.root_node(), 0, source.len(), 0)?;
    Ok(Some(cut.sections))
}

/// A file that is being cut.
struct Cut<'a> {
    source: &'a str,
    /// Where its lines end.
    breaks: Vec<usize>,
    limits: &'a Limits,
    sections: Vec<Section>,
    /// The items that are open: the signature and the name of each.
    names: Vec<(String, String)>,
}

impl Cut<'_> {
    /// Adds the items among a node's children, and what stands between them, of the bytes from
    /// `start` to `end`.
    fn members(
        &mut self,
        node: Node<'_>,
        start: usize,
        end: usize,
        depth: usize,
    ) -> Result<(), ReadError> {
        let mut rest_from = start;
        let mut leading: Option<usize> = None;
        let mut last_end = start;
        let mut has_items = false;
        let mut cursor = node.walk();
        for child in node.children(&mut cursor) {
            let kind = child.kind();
            let child_end = child.end_byte().clamp(last_end, end);
            // What a blank line parts from it is about something else.
            leading = leading.filter(|_| !self.is_parted(child.start_byte()));
            if BEFORE_ITEMS.contains(&kind) {
                // A comment behind something on its line is about that.
                let is_behind = !self.begins_line(child.start_byte());
                leading = if is_behind { None } else { leading.or(Some(child.start_byte())) };
                last_end = child_end;
                continue;
            }
            if is_item(child) {
                let from = self.line_start(leading.unwrap_or(child.start_byte())).max(last_line(
                    self.source,
                    rest_from,
                    leading.unwrap_or(child.start_byte()),
                ));
                self.rest(rest_from, from, has_items)?;
                self.item(child, from, child_end, depth)?;
                (rest_from, has_items) = (child_end, true);
            }
            leading = None;
            last_end = child_end;
        }
        self.rest(rest_from, end, has_items)
    }

    /// Adds an item: whole where it is short, else its members.
    fn item(
        &mut self,
        node: Node<'_>,
        from: usize,
        end: usize,
        depth: usize,
    ) -> Result<(), ReadError> {
        let (signature, name) = self.signature(node);
        self.names.push((signature, name));
        let body = body_of(node)
            .filter(|body| end - from > ITEM_BYTES_MAX && depth < DEPTH_MAX && has_items(*body));
        match body {
            Some(body) => self.members(body, from, end, depth + 1)?,
            None => self.add(from, end, None)?,
        }
        self.names.pop();
        Ok(())
    }

    /// Adds what stands between items.
    fn rest(&mut self, from: usize, end: usize, has_items: bool) -> Result<(), ReadError> {
        let text = self.source.get(from..end).unwrap_or_default();
        // A closing bracket alone says nothing.
        if !text.contains(|c: char| c.is_alphanumeric()) {
            return Ok(());
        }
        self.add(from, end, Some(if has_items { REST } else { HEAD }))
    }

    fn add(&mut self, from: usize, end: usize, part: Option<&str>) -> Result<(), ReadError> {
        let text = self.source.get(from..end).unwrap_or_default();
        let start = from + (text.len() - text.trim_start_matches(['\n', '\r']).len());
        let text = self.source.get(start..end).unwrap_or_default().trim_end();
        if text.trim().is_empty() {
            return Ok(());
        }
        let first = self.line_of(start);
        let place = Place::Lines(first, first + text.matches('\n').count());
        let headings = self.names.iter().map(|(signature, _)| signature.clone()).collect();
        let names = self.names.iter().map(|(_, name)| name.as_str()).chain(part);
        let name = Some(names.collect::<Vec<_>>().join(" "));
        let text = clean(text);
        self.sections.push(Section { headings, name, text, place, ..Section::default() });
        expect_at_most(self.sections.len(), self.limits.sections, "items")
    }

    /// What an item is declared as, and what it is called.
    fn signature(&self, node: Node<'_>) -> (String, String) {
        let inner = inner(node);
        let from = node.start_byte().min(inner.start_byte());
        let end = body_of(node).map_or(node.end_byte(), |body| body.start_byte());
        let declared = self.source.get(from..end).unwrap_or_default();
        // As it stands on one line.
        let declared = one_line(declared, HEADING_CHARS_MAX);
        let declared = declared.replace("( ", "(").replace(", )", ")");
        let declared = declared.trim_end_matches(['{', ':', ' ', ';']).to_string();
        let text = |field| {
            let found = inner.child_by_field_name(field)?;
            Some(one_line(self.source.get(found.byte_range())?, HEADING_CHARS_MAX))
        };
        let name = match inner.kind() {
            "impl_item" => {
                let of = text("trait").map_or_else(String::new, |of| format!("{of} for "));
                Some(format!("impl {of}{}", text("type").unwrap_or_default()))
            }
            "method_declaration" => {
                let of = text("receiver").unwrap_or_default();
                Some(format!("{of} {}", text("name").unwrap_or_default()))
            }
            "type_declaration" => {
                let spec = inner.named_child(0).and_then(|spec| spec.child_by_field_name("name"));
                spec.and_then(|name| self.source.get(name.byte_range())).map(str::to_string)
            }
            _ => text("name"),
        };
        let name = name.unwrap_or_else(|| declared.clone());
        (declared, name)
    }

    /// Counted from 1.
    fn line_of(&self, at: usize) -> usize {
        self.breaks.partition_point(|found| *found < at) + 1
    }

    fn line_start(&self, at: usize) -> usize {
        let before = &self.source.as_bytes()[..at];
        before.iter().rposition(|byte| *byte == b'\n').map_or(0, |found| found + 1)
    }

    /// Whether a blank line stands before a place.
    fn is_parted(&self, at: usize) -> bool {
        let before = self.source.get(..at).unwrap_or_default();
        before[before.trim_end().len()..].matches('\n').count() > 1
    }

    fn begins_line(&self, at: usize) -> bool {
        let before = self.source.as_bytes().get(self.line_start(at)..at);
        before.is_some_and(|before| before.iter().all(u8::is_ascii_whitespace))
    }
}

/// Where an item begins that another one on the same line stands before.
fn last_line(source: &str, after: usize, start: usize) -> usize {
    let is_alone =
        source.as_bytes().get(after..start).is_some_and(|between| between.contains(&b'\n'));
    if is_alone || after == 0 { 0 } else { after }
}

/// The declaration in a decorated or exported one.
fn inner(node: Node<'_>) -> Node<'_> {
    let field = match node.kind() {
        "decorated_definition" => "definition",
        "export_statement" => "declaration",
        _ => return node,
    };
    node.child_by_field_name(field).unwrap_or(node)
}

fn body_of(node: Node<'_>) -> Option<Node<'_>> {
    inner(node).child_by_field_name("body")
}

fn is_item(node: Node<'_>) -> bool {
    match node.kind() {
        // Without a declaration it names what stands elsewhere.
        "export_statement" => node.child_by_field_name("declaration").is_some(),
        kind => ITEMS.contains(&kind),
    }
}

fn has_items(body: Node<'_>) -> bool {
    let mut cursor = body.walk();
    body.children(&mut cursor).any(is_item)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(source: &str, language: Language) -> Vec<(String, usize, usize)> {
        let text = read(source.as_bytes(), language, &Limits::default()).expect("code");
        text.sections
            .into_iter()
            .map(|section| {
                let Place::Lines(first, last) = section.place else { panic!("no lines") };
                (section.name.unwrap_or_default(), first, last)
            })
            .collect()
    }

    fn named(name: &str, first: usize, last: usize) -> (String, usize, usize) {
        (name.to_string(), first, last)
    }

    #[test]
    fn rust_is_cut_at_items() {
        let source = "//! A module.\n\n/// Of it.\nuse std::fmt;\n// Lamps follow.\n\n/// A lamp.\n#[derive(Debug)]\npub struct Lamp {\n    on: bool, // bright\n}\n\nimpl fmt::Display for Lamp {\n    fn fmt(&self) {}\n}\n\nconst A: u8 = 1; // one\n// About b.\nfn b() {}\n";
        assert_eq!(
            cut(source, Language::Rust),
            [
                named("head", 1, 5),
                named("Lamp", 7, 11),
                named("impl fmt::Display for Lamp", 13, 15),
                named("rest", 17, 17),
                named("b", 18, 19),
            ]
        );
    }

    #[test]
    fn a_large_item_is_cut_at_its_members() {
        let body = "        let x = 1;\n".repeat(200);
        let source = format!(
            "impl Lamp {{\n    const A: u8 = 1;\n\n    fn on(&self) {{\n{body}    }}\n\n    fn off() {{}}\n}}\n"
        );
        assert_eq!(
            cut(&source, Language::Rust),
            [
                named("impl Lamp head", 1, 2),
                named("impl Lamp on", 4, 205),
                named("impl Lamp off", 207, 207),
            ]
        );
        let text = read(source.as_bytes(), Language::Rust, &Limits::default()).expect("code");
        assert_eq!(text.sections[1].headings, ["impl Lamp", "fn on(&self)"]);
    }

    #[test]
    fn other_languages_are_cut_at_theirs() {
        let python = "import os\n\n\n@cache\ndef f(x: int) -> int:\n    return x\n\n\nclass A(B):\n    def g(self): ...\n";
        assert_eq!(
            cut(python, Language::Python),
            [named("head", 1, 1), named("f", 4, 6), named("A", 9, 10)]
        );
        let go = "package a\n\n// T is.\ntype T struct{}\n\nfunc (t *T) F() {}\n";
        assert_eq!(
            cut(go, Language::Go),
            [named("head", 1, 1), named("T", 3, 4), named("(t *T) F", 6, 6)]
        );
        let script =
            "import a from 'a';\nexport function f(x) { return <p>{x}</p>; }\nclass A {}\n";
        assert_eq!(
            cut(script, Language::JavaScript),
            [named("head", 1, 1), named("f", 2, 2), named("A", 3, 3)]
        );
        let typed = "export interface I { a: string }\nconst x = <T>(y: T): T => y;\n";
        assert_eq!(cut(typed, Language::TypeScript), [named("I", 1, 1), named("rest", 2, 2)]);
        assert_eq!(cut("a\n\nb\n", Language::Other), [named("", 1, 3)]);
    }

    #[test]
    fn no_byte_of_text_is_lost_where_code_is_broken() {
        for source in ["fn a( {{{ }\nstruct\n", "fn a() {} fn b() {}\n", "}}}}\nlet é = \"\n"] {
            let text = read(source.as_bytes(), Language::Rust, &Limits::default()).expect("code");
            let words =
                |text: &str| -> String { text.chars().filter(|c| c.is_alphanumeric()).collect() };
            let found: String = text.sections.iter().map(|s| words(&s.text)).collect();
            assert_eq!(found, words(source));
        }
        let deep = "(".repeat(100_000);
        assert!(read(deep.as_bytes(), Language::Rust, &Limits::default()).is_ok());
        let limits = Limits { code_steps: 0, ..Limits::default() };
        let long = "fn a() {}\n".repeat(10_000);
        assert_eq!(read(long.as_bytes(), Language::Rust, &limits).expect("code").sections.len(), 1);
    }
}
