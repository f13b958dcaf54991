//! Reads `claims.sh`, which has the checks of claims in words. It runs nothing.

use std::collections::BTreeMap;

/// The checks of one page: shell text by claim.
#[derive(Debug, Default)]
pub(crate) struct Claims {
    /// What a comment behind a command claims; checked right after the command.
    pub(crate) comments: BTreeMap<String, String>,
    /// Sentences of the page; checked after its last command.
    pub(crate) sentences: BTreeMap<String, String>,
}

const TEXT: &str = include_str!("claims.sh");

/// The functions that checks may call: everything above the first page.
pub(crate) fn prelude() -> &'static str {
    TEXT.split("\n#= ").next().unwrap_or_default()
}

/// The checks of `page`: below `#= PAGE`, each below `#? COMMENT` or `#" SENTENCE`.
pub(crate) fn of(page: &str) -> Claims {
    let mut claims = Claims::default();
    let mut sections = TEXT.split("\n#= ");
    let section = sections.find_map(|section| section.strip_prefix(page)?.strip_prefix('\n'));
    let mut check: Option<&mut String> = None;
    for line in section.unwrap_or_default().lines() {
        if let Some(words) = line.strip_prefix("#? ") {
            check = Some(claims.comments.entry(words.to_string()).or_default());
        } else if let Some(words) = line.strip_prefix("#\" ") {
            check = Some(claims.sentences.entry(words.to_string()).or_default());
        } else if let Some(check) = check.as_deref_mut().filter(|_| !line.trim().is_empty()) {
            check.push_str(line);
            check.push('\n');
        }
    }
    let empty = claims.comments.iter().chain(&claims.sentences).find(|(_, check)| check.is_empty());
    assert!(empty.is_none(), "claims.sh, {page}: nothing checks {empty:?}");
    claims
}
