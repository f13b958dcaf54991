//! Why a text should be read by a person before it is believed: it gives orders to whoever reads
//! it, it pretends to be part of a prompt, it hides something, it holds a secret, it is too much.
//!
//! Knows nothing of who wrote the text and of what happens to it: the caller decides that. A flag
//! is a reason to look, not a verdict. What the rules look for is in `tables/flags.txt`; secrets
//! are found by `kapsa-redact`.

mod fold;
mod hidden;
mod order;
mod rules;
mod stuffed;
#[cfg(test)]
mod tests;

/// The length of a text, in bytes, above which it is flagged as [`FlagKind::Oversize`].
pub const OVERSIZE_BYTES: usize = 64 * 1024;

/// How much of a text is examined, in bytes: a longer one is flagged whatever follows.
pub const EXAMINED_BYTES_MAX: usize = 2 * OVERSIZE_BYTES;

/// The length of a reason in characters.
pub const REASON_CHARS_MAX: usize = 120;

/// Why a text should be read by a person before it is believed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flag {
    /// What kind of reason it is.
    pub kind: FlagKind,
    /// What was seen, for a person: never the secret itself, no control characters, at most
    /// [`REASON_CHARS_MAX`] characters.
    pub reason: String,
}

/// The kinds of reasons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FlagKind {
    /// An order to whoever reads the text, such as to ignore its earlier instructions.
    Instruction,
    /// The syntax of a call of a tool, which a model or its program could execute.
    ToolCall,
    /// Markers that separate the parts of a prompt.
    PromptMarkup,
    /// Characters that nobody sees, or that show another text than the one that is there.
    HiddenCharacters,
    /// A password, a key or a token.
    Secret,
    /// More than [`OVERSIZE_BYTES`].
    Oversize,
    /// The same few words or the same sentence over and over.
    Stuffed,
}

impl FlagKind {
    /// All of them, ascending.
    pub const ALL: [FlagKind; 7] = [
        FlagKind::Instruction,
        FlagKind::ToolCall,
        FlagKind::PromptMarkup,
        FlagKind::HiddenCharacters,
        FlagKind::Secret,
        FlagKind::Oversize,
        FlagKind::Stuffed,
    ];

    /// Its name, in snake case.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            FlagKind::Instruction => "instruction",
            FlagKind::ToolCall => "tool_call",
            FlagKind::PromptMarkup => "prompt_markup",
            FlagKind::HiddenCharacters => "hidden_characters",
            FlagKind::Secret => "secret",
            FlagKind::Oversize => "oversize",
            FlagKind::Stuffed => "stuffed",
        }
    }

    /// The kind of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<FlagKind> {
        FlagKind::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// Why a text should be read by a person: at most one flag of each kind, ascending by kind.
#[must_use]
pub fn flags(text: &str) -> Vec<Flag> {
    let examined = beginning(text, EXAMINED_BYTES_MAX);
    let folded = fold::fold(examined);
    let is_mentioned = kapsa_redact::may_have_secrets(&folded.text);
    let mut secrets = if is_mentioned { kapsa_redact::secrets(examined) } else { Vec::new() };
    if is_mentioned
        && secrets.is_empty()
        && let Some(visible) = &folded.visible
    {
        secrets = kapsa_redact::secrets(visible);
    }
    let mut flags: Vec<Flag> = Vec::new();
    for seen in rules::seen(&folded.text) {
        // What surrounds a secret is not shown: it may be a part of it.
        let shown = if secrets.is_empty() { seen.shown() } else { seen.rule.reason.to_string() };
        flags.push(Flag { kind: seen.rule.kind, reason: shown });
    }
    let mut add = |kind, reason: Option<String>| {
        flags.extend(reason.map(|reason| Flag { kind, reason }));
    };
    add(FlagKind::HiddenCharacters, hidden::hidden(examined));
    add(FlagKind::Secret, kapsa_redact::secrets_described(&secrets));
    add(FlagKind::Oversize, oversize(text));
    add(FlagKind::Stuffed, stuffed::stuffed(&folded.text));
    for flag in &mut flags {
        flag.reason = shortened(&flag.reason);
    }
    flags.sort_by_key(|flag| flag.kind);
    flags.dedup_by_key(|flag| flag.kind);
    flags
}

fn oversize(text: &str) -> Option<String> {
    (text.len() > OVERSIZE_BYTES)
        .then(|| format!("{} bytes of text, more than {} KiB", text.len(), OVERSIZE_BYTES / 1024))
}

/// As much of a text as fits into so many bytes.
fn beginning(text: &str, bytes_max: usize) -> &str {
    let mut end = text.len().min(bytes_max);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// A reason within its limit, without control characters.
fn shortened(reason: &str) -> String {
    let shown = reason.chars().map(|c| if c.is_control() { ' ' } else { c });
    if reason.chars().count() <= REASON_CHARS_MAX {
        return shown.collect();
    }
    shown.take(REASON_CHARS_MAX - 1).chain(['…']).collect()
}
