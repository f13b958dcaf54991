//! What verbs print, kept in the repository: the fields, and the values that are the same on every
//! machine. A change of an answer is a change of a file there.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

/// Set to write the answers instead of comparing them.
const WRITE: &str = "KAPSA_WRITE_GOLDEN";
/// Fields whose values depend on nothing but the call.
const STABLE: [&str; 14] = [
    "change", "code", "count", "format", "found", "kind", "label", "level", "mode", "more",
    "status", "text", "title", "type",
];
/// What the names of others end with.
const STABLE_ENDINGS: [&str; 2] = ["_count", "_version"];
/// Verbs that answer with what they find on a machine.
const OF_THE_MACHINE: [&str; 6] =
    ["completions", "doctor", "model", "setup", "connect", "maintain"];

/// The answers of each verb, in the order of the calls.
#[derive(Default)]
pub(crate) struct Golden(BTreeMap<String, Vec<Value>>);

impl Golden {
    /// Adds the answer to a call in `folder`.
    pub(crate) fn add(&mut self, folder: &Path, verb: &str, args: &[&str], answer: &Value) {
        let of_the_machine =
            verb.split(' ').next().is_some_and(|first| OF_THE_MACHINE.contains(&first));
        let answer = shape("", answer, !of_the_machine);
        let folder = folder.display().to_string();
        let args: Vec<String> =
            args.iter().map(|arg| without_ids(&arg.replace(&folder, "FOLDER"))).collect();
        self.0.entry(verb.to_string()).or_default().push(json!({"args": args, "answer": answer}));
    }

    /// Compares everything with what is in the repository, or writes it there.
    pub(crate) fn check(&self) {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
        let is_written = std::env::var_os(WRITE).is_some();
        if is_written {
            std::fs::remove_dir_all(&folder).ok();
            std::fs::create_dir_all(&folder).expect("a folder");
        }
        for (verb, answers) in &self.0 {
            let path = file(&folder, verb);
            let now: String = answers.iter().map(|answer| format!("{answer}\n")).collect();
            if is_written {
                std::fs::write(&path, &now).expect("it can be written");
            }
            let kept = std::fs::read_to_string(&path).unwrap_or_default();
            for (kept, now) in kept.lines().zip(now.lines()) {
                assert_eq!(kept, now, "{verb} prints something else: {WRITE}=1 keeps it");
            }
            assert!(kept == now, "{verb} is called more or less often: {WRITE}=1 keeps it");
        }
        let kept = std::fs::read_dir(&folder).expect("there").count();
        assert_eq!(kept, self.0.len(), "a file in {} is of no verb", folder.display());
    }
}

fn file(folder: &Path, verb: &str) -> PathBuf {
    folder.join(format!("{}.jsonl", verb.replace(' ', "-")))
}

/// A value with what differs from machine to machine as its type.
fn shape(field: &str, value: &Value, keeps: bool) -> Value {
    let is_stable = keeps
        && (STABLE.contains(&field) || STABLE_ENDINGS.iter().any(|ending| field.ends_with(ending)));
    match value {
        Value::Object(all) => {
            let all: Map<String, Value> =
                all.iter().map(|(name, one)| (name.clone(), shape(name, one, keeps))).collect();
            all.into()
        }
        Value::Array(all) if keeps => all.iter().map(|one| shape(field, one, keeps)).collect(),
        Value::Array(all) => all.first().map(|one| shape(field, one, keeps)).into_iter().collect(),
        Value::String(text) if is_stable => without_ids(text).into(),
        _ if is_stable => value.clone(),
        Value::String(_) => "<text>".into(),
        Value::Number(_) => "<number>".into(),
        Value::Bool(_) => "<bool>".into(),
        Value::Null => Value::Null,
    }
}

/// A text without ids, hashes and times, which are drawn anew.
fn without_ids(text: &str) -> String {
    let is_word = |c: char| c.is_ascii_alphanumeric();
    let mut out = String::new();
    let mut rest = text;
    while !rest.is_empty() {
        let word = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        let (first, after) = rest.split_at(word);
        let is_drawn = first.len() >= 12 && first.contains(|c: char| c.is_ascii_digit());
        out.push_str(if is_drawn { "<id>" } else { first });
        let gap = after.find(is_word).unwrap_or(after.len());
        out.push_str(&after[..gap]);
        rest = &after[gap..];
    }
    out
}
