//! Texts that may go to files which people open: nothing in them acts on a terminal or hides. Knows
//! nothing of sessions.

use std::borrow::Cow;

/// What stands for a character that is not shown as itself.
const STANDS_IN: char = '\u{fffd}';

/// What some line ends begin with; left out.
const RETURN: char = '\r';

/// A text in which control characters, but for line ends and tabs, and those that turn or hide text
/// are replaced.
#[must_use]
pub fn legible(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_odd) {
        return Cow::Borrowed(text);
    }
    let shown = text.chars().filter(|c| *c != RETURN);
    Cow::Owned(shown.map(|c| if is_odd(c) { STANDS_IN } else { c }).collect())
}

fn is_odd(c: char) -> bool {
    // Marks of direction, the joiners and spaces that nobody sees, and tags.
    let is_hidden = matches!(
        c,
        '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}'
            | '\u{feff}' | '\u{e0000}'..='\u{e007f}'
    );
    is_hidden || c.is_control() && c != '\n' && c != '\t'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_acts_on_a_terminal_or_hides() {
        assert_eq!(
            legible("a\tb\nc \u{1f469}\u{200d}\u{1f4bb}"),
            "a\tb\nc \u{1f469}\u{200d}\u{1f4bb}"
        );
        let acts = "\u{1b}]0;x\u{7}\u{9b}31m\u{7f}\u{202e}y\r";
        assert_eq!(legible(acts), "\u{fffd}]0;x\u{fffd}\u{fffd}31m\u{fffd}\u{fffd}y");
    }
}
