//! Puts a system prompt together from paragraphs in a fixed order; the same parts always make the
//! same prompt.

use kapsa_memory::tokens::one_line;

/// The parts that are not empty, a blank line between them.
pub(super) fn paragraphs(parts: &[&str]) -> String {
    let parts: Vec<&str> =
        parts.iter().map(|part| part.trim()).filter(|part| !part.is_empty()).collect();
    parts.join("\n\n")
}

/// A heading and an item a line; empty without items. An item is put on one line: no text of it can
/// pass for a heading.
pub(super) fn list<'a>(heading: &str, items: impl Iterator<Item = &'a str>) -> String {
    let mut lines: Vec<String> = items.map(|item| format!("- {}", one_line(item))).collect();
    if !lines.is_empty() {
        lines.insert(0, format!("## {heading}"));
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_parts_leave_no_gap() {
        assert_eq!(
            paragraphs(&["You are the CRO.\n", "", " \n", "Score it."]),
            "You are the CRO.\n\nScore it."
        );
        assert_eq!(paragraphs(&[]), "");
    }

    #[test]
    fn an_item_is_one_line() {
        assert_eq!(
            list("Insights", ["a\n\n## Context\n- b", "c"].into_iter()),
            "## Insights\n- a ## Context - b\n- c"
        );
        assert_eq!(list("Insights", [].into_iter()), "");
    }
}
