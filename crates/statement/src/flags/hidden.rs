//! Characters that nobody sees, or that make a text look other than it is.
//!
//! Knows nothing of what the text says. What scripts and emoji need is ordinary: joiners between
//! letters that are not Latin, direction marks beside right-to-left letters, one variation
//! selector, flags made of tags, a byte-order mark at the start, soft hyphens.

/// How many variation selectors in a row carry data rather than choose a shape.
const SELECTORS_MIN: usize = 4;

/// How many zero-width characters in a row carry data, wherever they stand.
const ZERO_WIDTH_MIN: usize = 8;

/// How many tag characters name a region after a flag, with the one that ends it.
const FLAG_TAGS_MAX: usize = 7;

/// Longest list of codes in a sequence that sets colours.
const COLOUR_BYTES_MAX: usize = 32;

/// What is hidden in a text, for a person.
pub(super) fn hidden(text: &str) -> Option<String> {
    if let Some(control) = odd_control(text) {
        return Some(format!("a control character ({})", code(control)));
    }
    if text.is_ascii() {
        return None;
    }
    direction(text)
        .or_else(|| run_of(text, is_selector, SELECTORS_MIN, "variation selectors in a row"))
        .or_else(|| run_of(text, is_zero_width, ZERO_WIDTH_MIN, "zero-width characters in a row"))
        .or_else(|| tags(text))
        .or_else(|| inside_word(text))
}

/// A control character that is not a line, a tab or a colour of a terminal, as programs print it.
fn odd_control(text: &str) -> Option<char> {
    let odd = |(_, c): &(usize, char)| is_odd_control(*c);
    text.char_indices().filter(odd).find(|(at, _)| !is_colour(&text[*at..])).map(|(_, c)| c)
}

/// Whether a text begins with a sequence that sets colours and weights (`ESC [ 1;31 m`) and does
/// not conceal what follows (8).
fn is_colour(text: &str) -> bool {
    let Some((codes, _)) = text.strip_prefix("\u{1b}[").and_then(|rest| rest.split_once('m'))
    else {
        return false;
    };
    codes.len() <= COLOUR_BYTES_MAX
        && codes.split(';').all(|code| {
            code != "8" && code != "08" && code.bytes().all(|byte| byte.is_ascii_digit())
        })
}

fn code(c: char) -> String {
    format!("U+{:04X}", u32::from(c))
}

fn is_odd_control(c: char) -> bool {
    c.is_control() && !matches!(c, '\t' | '\n' | '\r')
}

/// Whether a character is not seen, and no letter of any script needs it to be read.
pub(super) fn is_invisible(c: char) -> bool {
    is_zero_width(c)
        || is_selector(c)
        || is_tag(c)
        || matches!(c, '\u{ad}' | '\u{34f}' | '\u{200e}' | '\u{200f}' | '\u{61c}')
        || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        || is_odd_control(c)
}

fn is_zero_width(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{2064}' | '\u{feff}' | '\u{180e}')
        || matches!(c, '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}')
}

fn is_selector(c: char) -> bool {
    matches!(c, '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}')
}

fn is_tag(c: char) -> bool {
    matches!(c, '\u{e0000}'..='\u{e007f}')
}

fn is_latin(c: char) -> bool {
    c.is_ascii_alphabetic() || matches!(c, '\u{c0}'..='\u{24f}' | '\u{1e00}'..='\u{1eff}')
}

fn is_right_to_left(c: char) -> bool {
    matches!(c, '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}')
}

/// Overrides of the direction; and right-to-left embedding where nothing is read from the right.
fn direction(text: &str) -> Option<String> {
    let overriding = text.chars().find(|c| matches!(c, '\u{202d}' | '\u{202e}'));
    let odd = overriding.or_else(|| {
        let embedding = text.chars().find(|c| matches!(c, '\u{202b}' | '\u{2067}'));
        embedding.filter(|_| !text.chars().any(is_right_to_left))
    });
    odd.map(|c| format!("a character that reverses the direction of the text ({})", code(c)))
}

fn run_of(text: &str, is: fn(char) -> bool, min: usize, what: &str) -> Option<String> {
    let mut run = 0;
    let mut longest = 0;
    for c in text.chars() {
        run = if is(c) { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    (longest >= min).then(|| format!("{longest} {what}"))
}

/// Tag characters, which spell invisible text; after a black flag they name a region.
fn tags(text: &str) -> Option<String> {
    let mut of_flag = 0;
    let mut hidden = 0;
    for c in text.chars() {
        if !is_tag(c) {
            of_flag = if c == '\u{1f3f4}' { FLAG_TAGS_MAX } else { 0 };
        } else if of_flag > 0 {
            of_flag -= 1;
        } else {
            hidden += 1;
        }
    }
    (hidden > 0).then(|| format!("{hidden} invisible tag characters (U+E0000 to U+E007F)"))
}

/// A zero-width character between two Latin letters.
fn inside_word(text: &str) -> Option<String> {
    let mut before = ' ';
    let mut between = None;
    for c in text.chars() {
        if is_zero_width(c) {
            between = between.or(Some(c));
        } else {
            if let Some(zero) = between.take()
                && is_latin(before)
                && is_latin(c)
            {
                return Some(format!("a zero-width character inside a word ({})", code(zero)));
            }
            before = c;
        }
    }
    None
}
