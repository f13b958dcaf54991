//! Tools that would write into a capsule or its folder. Knows nothing of what is in them.
//!
//! It keeps an agent from damaging its memory by mistake; a program that hides what it does is
//! stopped by permissions of files, not by this.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::super::paths;
use super::{Denial, Verdict, WRITERS, printable};

/// The folder of a memory; what else is named after it belongs to it.
const FOLDER: &str = ".kapsa";
/// What the names of a capsule and of the files beside it hold.
const ENDING: &str = ".kapsa";
/// The program that may write there.
const OWN_PROGRAM: &str = "kapsa";
/// The tool of Codex that changes files by a patch, and its lines that name them.
const PATCHER: &str = "apply_patch";
const PATCHED: [&str; 4] =
    ["*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "];
/// Tools that run commands of a shell.
const SHELLS: [&str; 5] = ["Bash", "shell", "exec_command", "local_shell", "container.exec"];
/// Where the input of a tool holds a command or a patch.
const TEXTS: [&str; 4] = ["command", "cmd", "input", "patch"];
/// Programs that write what any of their arguments names.
const WRITING: [&str; 14] = [
    "rm", "rmdir", "unlink", "mv", "tee", "truncate", "touch", "chmod", "chown", "shred", "dd",
    "sqlite3", "mkdir", "patch",
];
/// Programs that write what their last argument names.
const WRITING_LAST: [&str; 4] = ["cp", "ln", "install", "rsync"];
/// Programs that write what they are given with one of these options.
const WRITING_WITH: [(&str, &str); 2] = [("sed", "-i"), ("perl", "-i")];
/// Programs before which nothing changes what the next word is.
const WRAPPERS: [&str; 6] = ["sudo", "command", "env", "nohup", "time", "exec"];

/// Decides about one use of a tool, of which `cwd` is where it works: denied is what would write
/// into a folder `.kapsa` or a file that is named like a capsule or like what is beside one.
/// Everything else is allowed, whatever the tool.
#[must_use]
pub fn decide_reserved(tool_name: &str, tool_input: &Value, cwd: &Path) -> Verdict {
    let text = |key: &str| tool_input.get(key).and_then(Value::as_str);
    let named: Vec<String> = match WRITERS.iter().find(|(name, _)| *name == tool_name) {
        Some((_, key)) => text(key).into_iter().map(str::to_owned).collect(),
        None if tool_name == PATCHER => patched(tool_input),
        None if SHELLS.contains(&tool_name) => written_by(&command(tool_input)),
        None => Vec::new(),
    };
    match named.into_iter().find(|path| is_reserved(&cwd.join(path))) {
        Some(path) => Verdict::Deny(Denial::CapsuleReserved(printable(&path))),
        None => Verdict::Allow,
    }
}

/// Whether a path is, or leads to, what is a memory's own.
fn is_reserved(path: &Path) -> bool {
    let is_own = |path: &Path| {
        path.components().any(|part| {
            let name = part.as_os_str().to_string_lossy().to_ascii_lowercase();
            name == FOLDER || name.ends_with(ENDING) || name.contains(&format!("{ENDING}."))
        })
    };
    // May be dropped: a path that cannot be walked leads nowhere but to what it is called.
    let resolved = paths::resolve(path).unwrap_or_else(|_| PathBuf::from(path));
    is_own(&paths::by_words(path)) || is_own(&resolved)
}

fn patched(input: &Value) -> Vec<String> {
    let lines = command(input);
    let named = lines.lines().filter_map(|line| {
        PATCHED.iter().find_map(|begin| line.trim_start().strip_prefix(begin)).map(str::trim)
    });
    named.map(str::to_owned).collect()
}

/// The text that a tool is given: one, or words.
fn command(input: &Value) -> String {
    let found = TEXTS.iter().find_map(|key| input.get(key));
    match found {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(words)) => {
            let words = words.iter().filter_map(Value::as_str);
            // `bash -lc TEXT` is a text.
            let words: Vec<&str> = words.collect();
            match words[..] {
                [_, flag, text] if flag.starts_with('-') && flag.ends_with('c') => text.to_owned(),
                _ => words.join(" "),
            }
        }
        _ => input.as_str().unwrap_or_default().to_owned(),
    }
}

/// What a command of a shell surely writes.
fn written_by(command: &str) -> Vec<String> {
    if !command.to_ascii_lowercase().contains(ENDING) {
        return Vec::new();
    }
    let mut written = Vec::new();
    for simple in simple_commands(command) {
        written.extend(simple.written);
        let mut words = simple.words.into_iter().skip_while(|word| {
            WRAPPERS.contains(&word.as_str()) || word.contains('=') || word.starts_with('-')
        });
        let program = words.next().unwrap_or_default();
        let program = program.rsplit('/').next().unwrap_or_default();
        let arguments: Vec<String> = words.collect();
        if program == OWN_PROGRAM {
            continue;
        }
        let with = WRITING_WITH.iter().find(|(name, _)| *name == program);
        if WRITING.contains(&program)
            || with.is_some_and(|(_, flag)| arguments.iter().any(|word| word.starts_with(flag)))
        {
            let plain = arguments.into_iter().map(|word| match word.split_once('=') {
                Some(("of", path)) => path.to_owned(),
                _ => word,
            });
            written.extend(plain);
        } else if WRITING_LAST.contains(&program) {
            written.extend(arguments.into_iter().next_back());
        }
    }
    written
}

/// One command of a text, and the files that its output goes to.
#[derive(Debug, Default)]
struct Simple {
    words: Vec<String>,
    written: Vec<String>,
}

/// The commands of a text, as far as they can be told without running it.
fn simple_commands(text: &str) -> Vec<Simple> {
    let mut all = vec![Simple::default()];
    let (mut word, mut quote, mut is_target) = (String::new(), None, false);
    let mut chars = text.chars().peekable();
    loop {
        let c = chars.next();
        let is_word = match (quote, c) {
            (_, None) => false,
            (Some(open), Some(c)) if c == open => {
                quote = None;
                continue;
            }
            (Some(_), Some(_)) => true,
            (None, Some('\'' | '"')) => {
                quote = c;
                continue;
            }
            (None, Some(c)) => {
                !c.is_whitespace() && !matches!(c, '|' | '&' | ';' | '>' | '<' | '(' | ')')
            }
        };
        if is_word {
            let escaped = if c == Some('\\') && quote != Some('\'') { chars.next() } else { None };
            word.extend(escaped.or(c));
            continue;
        }
        if !word.is_empty() {
            let last = all.last_mut().expect("there is always one");
            let word = std::mem::take(&mut word);
            if is_target {
                last.written.push(word)
            } else {
                last.words.push(word)
            }
            is_target = false;
        }
        match c {
            None => return all,
            Some('>') => {
                is_target = true;
                // `>|`, and `>&` before a number or a file.
                chars.next_if(|next| matches!(next, '|' | '&'));
            }
            Some('<') => is_target = false,
            Some('|' | '&' | ';' | '(' | ')' | '\n') => all.push(Simple::default()),
            Some(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn decided(tool: &str, input: Value) -> Option<String> {
        match decide_reserved(tool, &input, Path::new("/srv/shop")) {
            Verdict::Allow => None,
            Verdict::Deny(denial) => Some(denial.to_string()),
        }
    }

    #[test]
    fn files_of_a_memory_are_reserved_whatever_writes_them() {
        for path in [
            ".kapsa/workspace.kapsa",
            "./a/../.kapsa/x",
            "/elsewhere/team.kapsa",
            "team.kapsa.branch",
            ".KAPSA/note.md",
        ] {
            for (tool, key) in WRITERS {
                let denied = decided(tool, json!({key: path}));
                assert_eq!(denied, Some(format!("capsule_write_reserved:{path}")), "{tool}");
            }
            let patch =
                format!("*** Begin Patch\n*** Update File: {path}\n@@\n-a\n+b\n*** End Patch");
            assert!(decided(PATCHER, json!({"command": patch})).is_some(), "{path}");
            for command in [
                format!("rm -rf {path}"),
                format!("echo x >{path}"),
                format!("echo x >> '{path}'"),
                format!("true && sudo mv {path} /tmp/x"),
                format!("cp other \"{path}\""),
                format!("cat x | tee {path}"),
                format!("dd if=/dev/zero of={path}"),
                format!("sed -i s/a/b/ {path}"),
            ] {
                assert!(decided("Bash", json!({"command": command})).is_some(), "{command}");
            }
            let words = json!({"command": ["bash", "-lc", format!("rm {path}")]});
            assert!(decided("shell", words).is_some(), "{path}");
        }
    }

    #[test]
    fn everything_else_is_allowed() {
        for path in ["kapsa.toml", "src/kapsa/mod.rs", "docs/.kapsarc", "crates/kapsa.rs"] {
            assert_eq!(decided("Write", json!({"file_path": path})), None, "{path}");
        }
        for command in [
            "kapsa --capsule team.kapsa put --text 'x > y'",
            "kapsa clone team.kapsa",
            "cat .kapsa/workspace.kapsa | wc -c > size",
            "cp team.kapsa /backup/",
            "ls -l .kapsa; rm -rf target",
            "echo '.kapsa > x.kapsa'",
            "git status",
        ] {
            assert_eq!(decided("Bash", json!({"command": command})), None, "{command}");
        }
        for (tool, input) in [
            ("Read", json!({"file_path": ".kapsa/workspace.kapsa"})),
            ("Write", json!({})),
            ("mcp__x__y", json!({"path": ".kapsa/x"})),
            ("Bash", json!({"command": 1})),
            ("", Value::Null),
        ] {
            assert_eq!(decided(tool, input), None, "{tool}");
        }
    }

    #[test]
    fn a_link_into_a_memory_is_followed() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(folder.path().join(FOLDER)).expect("made");
        std::os::unix::fs::symlink(folder.path().join(FOLDER), folder.path().join("plain"))
            .expect("linked");
        let input = json!({"file_path": "plain/workspace"});
        assert!(matches!(decide_reserved("Write", &input, folder.path()), Verdict::Deny(_)));
    }
}
