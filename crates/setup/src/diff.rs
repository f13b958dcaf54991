//! Shows an edit as a unified diff. Texts only.

use similar::TextDiff;

/// Lines around a change that are shown.
const CONTEXT_LINES: usize = 3;

/// The unified diff of a file; none of a side means that there is no file then.
#[must_use]
pub fn unified(path: &str, before: Option<&str>, after: Option<&str>) -> String {
    let name = |text: Option<&str>| if text.is_some() { path } else { "/dev/null" };
    TextDiff::from_lines(before.unwrap_or_default(), after.unwrap_or_default())
        .unified_diff()
        .context_radius(CONTEXT_LINES)
        .header(name(before), name(after))
        .to_string()
}
