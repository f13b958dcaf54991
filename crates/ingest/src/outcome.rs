//! Whether a call worked, read from what its tool returned. Knows no format: phrases of all
//! programs are in one place.

use crate::json::Object;
use crate::session::Outcome;

/// How results begin that say that the user, or a rule of theirs, did not allow the call.
const REFUSALS: [&str; 15] = [
    "The user doesn't want to proceed with this tool use",
    "The user doesn't want to take this action right now",
    "[Request interrupted by user for tool use]",
    "[Request interrupted by user]",
    "Permission to use ",
    "User rejected",
    "User declined",
    "User denied",
    "patch rejected by user",
    "exec command rejected by user",
    "command rejected by user",
    "rejected by user",
    "The user rejected permission",
    "The user chose to skip the tool call",
    "[Operation Cancelled] Reason: User",
];

/// Words before what the user typed into a refusal.
const REASON_HEADING: &str = "the user said:";
/// What a program adds after that.
const REASON_ENDS: [&str; 2] = ["\n\nNote: The user's next message", "<system-reminder>"];
/// What a program says in the user's place.
const PROGRAM_REASON: &str = "The user wants to clarify these questions";
/// Lines at the start of a result that may say how a command ended.
const STATUS_LINES: usize = 6;

/// Whether the result says that the call was not allowed.
pub(crate) fn is_refusal(text: &str) -> bool {
    let text = text.trim_start();
    let text = text.strip_prefix("Error:").unwrap_or(text).trim_start();
    REFUSALS.iter().any(|refusal| text.starts_with(refusal))
}

/// What the user typed when refusing.
pub(crate) fn refusal_reason(text: &str) -> Option<&str> {
    let (_, reason) = text.split_once(REASON_HEADING)?;
    let end = REASON_ENDS.iter().filter_map(|mark| reason.find(mark)).min();
    let reason = reason[..end.unwrap_or(reason.len())].trim();
    (!reason.is_empty() && !reason.starts_with(PROGRAM_REASON)).then_some(reason)
}

/// How a command ended, where its output says so in its first lines.
pub(crate) fn exit_code(text: &str) -> Option<i32> {
    text.lines().take(STATUS_LINES).find_map(|line| {
        let line = line.trim().trim_start_matches("Error: ");
        let code = ["Exit code: ", "Exit code ", "Exit Code: ", "Process exited with code "]
            .iter()
            .find_map(|start| line.strip_prefix(start))
            .or_else(|| line.strip_prefix("Command exited with code "))?;
        let code = code.split(|c: char| !c.is_ascii_digit() && c != '-').next()?;
        code.parse().ok() // A line that only looks like one.
    })
}

/// How a command ended.
pub(crate) fn of_exit(code: i64) -> Outcome {
    match code {
        0 => Outcome::Ok,
        // No command has a larger one.
        code => Outcome::Failed { exit: i32::try_from(code).ok() },
    }
}

/// How a call ended, of which nothing but its text is known.
pub(crate) fn of_text(text: &str) -> Outcome {
    if is_refusal(text) {
        return Outcome::Refused;
    }
    match exit_code(text) {
        Some(0) => Outcome::Ok,
        Some(code) => Outcome::Failed { exit: Some(code) },
        None => Outcome::Unknown,
    }
}

/// How a call ended that has a mark for errors.
pub(crate) fn of_mark(is_error: bool, text: &str) -> Outcome {
    match of_text(text) {
        Outcome::Unknown if is_error => Outcome::Failed { exit: trailing_exit(text) },
        Outcome::Unknown => Outcome::Ok,
        Outcome::Ok if is_error => Outcome::Failed { exit: None },
        known => known,
    }
}

/// A command's end, where its output says so in its last line.
fn trailing_exit(text: &str) -> Option<i32> {
    exit_code(text.trim_end().lines().next_back()?)
}

/// How a call ended by the word that its status is.
pub(crate) fn of_status(status: &str, text: &str) -> Outcome {
    match status {
        "success" | "completed" | "ok" | "done" | "succeeded" => of_mark(false, text),
        "error" | "failed" | "failure" => of_mark(true, text),
        "cancelled" | "canceled" | "rejected" | "declined" | "denied" => Outcome::Refused,
        _ => of_text(text),
    }
}

/// What a command's result holds that is JSON itself:
/// `{"output": …, "metadata": {"exit_code": …}}`.
pub(crate) fn unwrapped(text: &str) -> Option<(String, Outcome)> {
    if !text.starts_with('{') {
        return None;
    }
    let object = Object::parse(text)?;
    let output = object.text("output")?;
    let metadata = object.object("metadata");
    let code = metadata.number("exit_code").or_else(|| object.number("exit_code"));
    let outcome = match code {
        Some(code) => of_exit(code),
        None => of_text(&output),
    };
    Some((output.into_owned(), outcome))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_are_read() {
        let failed = |exit| Outcome::Failed { exit };
        assert_eq!(of_text("Exit code: 0\nWall time: 1 s\nOutput:\nx"), Outcome::Ok);
        assert_eq!(of_text("Chunk ID: a\nProcess exited with code 101\n"), failed(Some(101)));
        assert_eq!(of_text("plain"), Outcome::Unknown);
        assert_eq!(of_text("patch rejected by user"), Outcome::Refused);
        assert_eq!(of_mark(true, "Exit code 2\nno"), failed(Some(2)));
        assert_eq!(of_mark(true, "no\n\nCommand exited with code 7"), failed(Some(7)));
        assert_eq!(of_mark(true, "no such file"), failed(None));
        assert_eq!(of_mark(false, "fine"), Outcome::Ok);
        assert_eq!(of_status("cancelled", ""), Outcome::Refused);
    }

    #[test]
    fn results_may_be_json_themselves() {
        let (text, outcome) =
            unwrapped(r#"{"output":"no","metadata":{"exit_code":3}}"#).expect("it");
        assert_eq!((text.as_str(), outcome), ("no", Outcome::Failed { exit: Some(3) }));
        assert_eq!(unwrapped(r#"{"other":1}"#), None);
    }

    #[test]
    fn a_refusal_may_have_a_reason() {
        let start = "The user doesn't want to proceed with this tool use. ";
        let text = format!(
            "{start}To tell you, the user said:\nuse tabs\n\nNote: The user's next message may"
        );
        assert!(is_refusal(&text));
        assert_eq!(refusal_reason(&text), Some("use tabs"));
        assert_eq!(refusal_reason(start), None);
    }
}
