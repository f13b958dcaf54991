//! Lets a person edit a text, in the editor that VISUAL or EDITOR names, on a temporary file that
//! only they can read.

use std::env;
use std::io::{self, Write};
use std::process::Command;

use crate::error::{CliError, Result};

/// The editor where none is named, as POSIX has it.
const EDITOR_DEFAULT: &str = "vi";
/// Largest text that is taken back, in bytes.
const TEXT_BYTES_MAX: u64 = 64 << 20;

/// Opens a text in the editor. Returns what was saved, without the newline that editors put at the
/// end.
pub(crate) fn edit(text: &str) -> Result<String> {
    let failed = |error: io::Error| CliError::io("edit a temporary file", &error);
    let mut file =
        tempfile::Builder::new().prefix("kapsa-").suffix(".txt").tempfile().map_err(failed)?;
    file.write_all(text.as_bytes()).and_then(|()| file.flush()).map_err(failed)?;
    let words = named(|name| env::var(name).ok())?;
    let status = Command::new(&words[0]).args(&words[1..]).arg(file.path()).status();
    let status =
        status.map_err(|error| CliError::io(&format!("start the editor {}", words[0]), &error))?;
    if !status.success() {
        return Err(CliError::user(
            "editor_failed",
            format!("the editor {} ended with {status}", words[0]),
        ));
    }
    let size = std::fs::metadata(file.path()).map_err(failed)?.len();
    if size > TEXT_BYTES_MAX {
        return Err(CliError::user("too_large", "the text is larger than 64 MiB"));
    }
    // Many editors save to a new file and rename it: read by path.
    let bytes = std::fs::read(file.path()).map_err(failed)?;
    let saved = String::from_utf8(bytes)
        .map_err(|_| CliError::user("invalid_utf8", "the text is not UTF-8"))?;
    Ok(saved.trim_end_matches(['\n', '\r']).to_string())
}

/// The editor and its arguments.
fn named(variable: impl Fn(&str) -> Option<String>) -> Result<Vec<String>> {
    let set = ["VISUAL", "EDITOR"]
        .into_iter()
        .find_map(|name| variable(name).filter(|value| !value.trim().is_empty()));
    let line = set.unwrap_or_else(|| EDITOR_DEFAULT.to_string());
    shlex::split(&line).filter(|words| !words.is_empty()).ok_or_else(|| {
        CliError::usage(format!("`{line}` does not name an editor"))
            .hint("set VISUAL or EDITOR to a command")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn visual_comes_before_editor() {
        let with = |pairs: &[(&str, &str)]| {
            let pairs: Vec<_> = pairs
                .iter()
                .map(|(name, value)| ((*name).to_string(), (*value).to_string()))
                .collect();
            named(move |name| {
                pairs.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
            })
            .ok()
        };
        let words = |line: &str| Some(line.split(' ').map(str::to_string).collect::<Vec<_>>());
        assert_eq!(with(&[("EDITOR", "nano"), ("VISUAL", "code --wait")]), words("code --wait"));
        assert_eq!(with(&[("EDITOR", "nano"), ("VISUAL", " ")]), words("nano"));
        assert_eq!(with(&[]), words("vi"));
        assert_eq!(with(&[("EDITOR", "'open")]), None);
    }
}
