//! `memory-tool`: the documented answers, what is refused, and that no edit is lost. A random
//! program is compared with a plain map of files.

use std::collections::BTreeMap;
use std::thread;

use serde_json::{Value, json};

use crate::support::{Run, Sandbox, output};

type Files = BTreeMap<String, String>;

/// Carries out commands in one call. Returns the answers, and whether they are errors.
fn call_as(sandbox: &Sandbox, principal: Option<&str>, commands: &[Value]) -> Vec<(String, bool)> {
    let input: String = commands.iter().map(|command| format!("{command}\n")).collect();
    let mut command = sandbox.command();
    command.arg("memory-tool");
    if let Some(principal) = principal {
        command.env("KAPSA_PRINCIPAL", principal);
    }
    let run: Run = output(command, input.as_bytes()).into();
    assert_eq!(run.code, Some(0), "{run:?}");
    let answers = run.out.lines().map(|line| {
        let answer: Value = serde_json::from_str(line).expect("JSON");
        assert_eq!(answer.as_object().map(serde_json::Map::len), Some(2), "{answer}");
        let content = answer["content"].as_str().expect("a text").to_string();
        (content, answer["is_error"].as_bool().expect("a truth"))
    });
    let answers: Vec<_> = answers.collect();
    assert_eq!(answers.len(), commands.len(), "{run:?}");
    answers
}

fn call(sandbox: &Sandbox, commands: &[Value]) -> Vec<(String, bool)> {
    call_as(sandbox, None, commands)
}

fn create(path: &str, text: &str) -> Value {
    json!({"command": "create", "path": path, "file_text": text})
}

fn view(path: &str) -> Value {
    json!({"command": "view", "path": path})
}

/// The files that are there, by what is stored.
fn stored(sandbox: &Sandbox) -> Files {
    let all = sandbox.json(&["timeline", "--kind", "memory_file", "--limit", "1000"]);
    let records = all["records"].as_array().expect("a list").iter();
    records
        .map(|record| {
            let is_empty = record["metadata"]["is_empty"] == true;
            let text = if is_empty { "" } else { record["text"].as_str().expect("a text") };
            (record["title"].as_str().expect("a path").to_string(), text.to_string())
        })
        .collect()
}

fn files(files: &[(&str, &str)]) -> Files {
    files.iter().map(|(path, text)| ((*path).to_string(), (*text).to_string())).collect()
}

/// What the commands of a row leave behind.
enum After {
    /// What was there.
    Same,
    Files(Vec<(&'static str, &'static str)>),
}
use After::{Files as Holds, Same};

/// A command, its answer, whether that is an error, and what is there afterwards.
type Row = (Value, &'static str, bool, After);

/// What is there before each row.
const BEFORE: [(&str, &str); 3] =
    [(A, "one\ntwo\none\n"), ("/memories/d/b.md", "b"), ("/memories/d/e/c.md", "c")];
const A: &str = "/memories/a.md";

fn views() -> Vec<Row> {
    let ranged = |range: Value| json!({"command": "view", "path": A, "view_range": range});
    vec![
        (
            view("/memories"),
            "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items and node_modules:\n24K\t/memories\n4.0K\t/memories/a.md\n16K\t/memories/d\n4.0K\t/memories/d/b.md\n8.0K\t/memories/d/e",
            false,
            Same,
        ),
        (
            view("/memories/"),
            "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items and node_modules:\n24K\t/memories\n4.0K\t/memories/a.md\n16K\t/memories/d\n4.0K\t/memories/d/b.md\n8.0K\t/memories/d/e",
            false,
            Same,
        ),
        (
            view("/memories/d"),
            "Here're the files and directories up to 2 levels deep in /memories/d, excluding hidden items and node_modules:\n16K\t/memories/d\n4.0K\t/memories/d/b.md\n8.0K\t/memories/d/e\n4.0K\t/memories/d/e/c.md",
            false,
            Same,
        ),
        (
            view(A),
            "Here's the content of /memories/a.md with line numbers:\n     1\tone\n     2\ttwo\n     3\tone",
            false,
            Same,
        ),
        (
            ranged(json!([2, 3])),
            "Here's the content of /memories/a.md with line numbers:\n     2\ttwo\n     3\tone",
            false,
            Same,
        ),
        (
            ranged(json!([3, -1])),
            "Here's the content of /memories/a.md with line numbers:\n     3\tone",
            false,
            Same,
        ),
        (
            ranged(Value::Null),
            "Here's the content of /memories/a.md with line numbers:\n     1\tone\n     2\ttwo\n     3\tone",
            false,
            Same,
        ),
        (
            ranged(json!([0, 1])),
            "Error: Invalid `view_range` parameter: [0, 1]. It should begin within the range of lines of the file: [1, 3]",
            true,
            Same,
        ),
        (
            view("/memories/x"),
            "The path /memories/x does not exist. Please provide a valid path.",
            true,
            Same,
        ),
        (view("/memoriesX"), "Path must start with /memories, got: /memoriesX", true, Same),
        (
            view("/memories/../etc"),
            "Path /memories/../etc would escape /memories directory",
            true,
            Same,
        ),
    ]
}

fn creations() -> Vec<Row> {
    let [a, b, c] = BEFORE;
    vec![
        (
            create("/memories/n/new.md", "new"),
            "File created successfully at: /memories/n/new.md",
            false,
            Holds(vec![a, b, c, ("/memories/n/new.md", "new")]),
        ),
        (
            create("/memories/empty", ""),
            "File created successfully at: /memories/empty",
            false,
            Holds(vec![a, b, c, ("/memories/empty", "")]),
        ),
        (create(A, "x"), "Error: File /memories/a.md already exists", true, Same),
        (create("/memories/d", "x"), "Error: File /memories/d already exists", true, Same),
        (create("/memories", "x"), "Error: File /memories already exists", true, Same),
        (
            create("/memories/a.md/b", "x"),
            "Error: /memories/a.md is a file, not a directory",
            true,
            Same,
        ),
        (
            create("/memories/%2e%2E%2Fx", "x"),
            "Path /memories/%2e%2E%2Fx would escape /memories directory",
            true,
            Same,
        ),
        (
            create("/memories/%252e%252e/x", "x"),
            "Path /memories/%252e%252e/x would escape /memories directory",
            true,
            Same,
        ),
        (
            json!({"command": "undo", "path": A}),
            "Error: Invalid command: unknown variant `undo`, expected one of `view`, `create`, `str_replace`, `insert`, `delete`, `rename`",
            true,
            Same,
        ),
        (
            json!({"command": "create", "path": A}),
            "Error: Invalid command: missing field `file_text`",
            true,
            Same,
        ),
    ]
}

fn edits() -> Vec<Row> {
    let replace = |path: &str, old: &str, new: &str| json!({"command": "str_replace", "path": path, "old_str": old, "new_str": new});
    let insert = |path: &str, line: i64, text: &str| json!({"command": "insert", "path": path, "insert_line": line, "insert_text": text});
    let [a, b, c] = BEFORE;
    vec![
        (
            replace(A, "two", "2"),
            "The memory file has been edited.\n     1\tone\n     2\t2\n     3\tone",
            false,
            Holds(vec![(A, "one\n2\none\n"), b, c]),
        ),
        (
            replace("/memories/d/b.md", "b", ""),
            "The memory file has been edited.\n",
            false,
            Holds(vec![a, ("/memories/d/b.md", ""), c]),
        ),
        (
            replace("/memories/x", "a", "b"),
            "Error: The path /memories/x does not exist. Please provide a valid path.",
            true,
            Same,
        ),
        (
            replace("/memories/d", "a", "b"),
            "Error: The path /memories/d does not exist. Please provide a valid path.",
            true,
            Same,
        ),
        (
            replace(A, "three", "3"),
            "No replacement was performed, old_str `three` did not appear verbatim in /memories/a.md.",
            true,
            Same,
        ),
        (
            replace(A, "one", "1"),
            "No replacement was performed. Multiple occurrences of old_str `one` in lines: 1, 3. Please ensure it is unique",
            true,
            Same,
        ),
        (
            replace(A, "", "1"),
            "No replacement was performed, old_str `` did not appear verbatim in /memories/a.md.",
            true,
            Same,
        ),
        (
            insert(A, 0, "zero"),
            "The file /memories/a.md has been edited.",
            false,
            Holds(vec![(A, "zero\none\ntwo\none\n"), b, c]),
        ),
        (
            insert(A, 3, "end\n"),
            "The file /memories/a.md has been edited.",
            false,
            Holds(vec![(A, "one\ntwo\none\nend\n"), b, c]),
        ),
        (
            insert(A, 4, "x"),
            "Error: Invalid `insert_line` parameter: 4. It should be within the range of lines of the file: [0, 3]",
            true,
            Same,
        ),
        (
            insert(A, -1, "x"),
            "Error: Invalid `insert_line` parameter: -1. It should be within the range of lines of the file: [0, 3]",
            true,
            Same,
        ),
        (insert("/memories/x", 0, "x"), "Error: The path /memories/x does not exist", true, Same),
        (insert("/memories/d", 0, "x"), "Error: The path /memories/d does not exist", true, Same),
    ]
}

fn moves() -> Vec<Row> {
    let delete = |path: &str| json!({"command": "delete", "path": path});
    let rename =
        |old: &str, new: &str| json!({"command": "rename", "old_path": old, "new_path": new});
    let [a, b, c] = BEFORE;
    vec![
        (delete(A), "Successfully deleted /memories/a.md", false, Holds(vec![b, c])),
        (delete("/memories/d"), "Successfully deleted /memories/d", false, Holds(vec![a])),
        (delete("/memories/x"), "Error: The path /memories/x does not exist", true, Same),
        (delete("/memories"), "Error: Cannot delete the /memories directory itself", true, Same),
        (
            rename(A, "/memories/d/a.md"),
            "Successfully renamed /memories/a.md to /memories/d/a.md",
            false,
            Holds(vec![("/memories/d/a.md", a.1), b, c]),
        ),
        (
            rename("/memories/d", "/memories/f/g"),
            "Successfully renamed /memories/d to /memories/f/g",
            false,
            Holds(vec![a, ("/memories/f/g/b.md", "b"), ("/memories/f/g/e/c.md", "c")]),
        ),
        (
            rename("/memories/x", "/memories/y"),
            "Error: The path /memories/x does not exist",
            true,
            Same,
        ),
        (
            rename(A, "/memories/d/b.md"),
            "Error: The destination /memories/d/b.md already exists",
            true,
            Same,
        ),
        (rename(A, "/memories/d"), "Error: The destination /memories/d already exists", true, Same),
        (rename(A, A), "Error: The destination /memories/a.md already exists", true, Same),
        (
            rename("/memories/d", "/memories/d/e/f"),
            "Error: Cannot rename /memories/d to /memories/d/e/f, which is in it",
            true,
            Same,
        ),
        (
            rename("/memories", "/memories/x"),
            "Error: Cannot rename the /memories directory itself",
            true,
            Same,
        ),
        (rename(A, "/memories"), "Error: The destination /memories already exists", true, Same),
        (rename(A, "/etc/x"), "Path must start with /memories, got: /etc/x", true, Same),
        (
            delete("/memories/./a.md"),
            "Path /memories/./a.md would escape /memories directory",
            true,
            Same,
        ),
    ]
}

#[test]
fn every_command_is_answered_in_the_documented_words() {
    let rows = [views(), creations(), edits(), moves()];
    for (command, expected, is_error, after) in rows.into_iter().flatten() {
        let sandbox = Sandbox::new();
        let mut commands: Vec<Value> =
            BEFORE.iter().map(|(path, text)| create(path, text)).collect();
        commands.push(command.clone());
        let answers = call(&sandbox, &commands);
        let (content, was_error) = answers.last().expect("an answer");
        assert_eq!((content.as_str(), *was_error), (expected, is_error), "{command}");
        let wanted = match after {
            Same => files(&BEFORE),
            Holds(after) => files(&after),
        };
        assert_eq!(stored(&sandbox), wanted, "{command}");
    }
}

/// A plain map of files, in which the commands do what is documented.
#[derive(Default)]
struct Model {
    files: Files,
    /// What each file held after each change; none after it was deleted.
    revisions: BTreeMap<String, Vec<Option<String>>>,
}

impl Model {
    fn set(&mut self, path: &str, text: Option<String>) {
        self.revisions.entry(path.to_string()).or_default().push(text.clone());
        match text {
            Some(text) => drop(self.files.insert(path.to_string(), text)),
            None => drop(self.files.remove(path)),
        }
    }

    fn below(&self, path: &str) -> Vec<String> {
        let prefix = format!("{path}/");
        self.files.keys().filter(|file| file.starts_with(&prefix)).cloned().collect()
    }

    fn is_there(&self, path: &str) -> bool {
        path == "/memories" || self.files.contains_key(path) || !self.below(path).is_empty()
    }

    /// The first file in which a path would be.
    fn file_above(&self, path: &str) -> bool {
        let ends = path.match_indices('/').map(|(at, _)| &path[..at]);
        ends.into_iter().any(|above| self.files.contains_key(above))
    }

    /// Whether a command does something; does it.
    fn does(&mut self, command: &Value) -> bool {
        let text = |name: &str| command[name].as_str().unwrap_or_default();
        let path = text("path");
        match text("command") {
            "view" => self.is_there(path),
            "create" => {
                let is_free = !self.is_there(path) && !self.file_above(path);
                if is_free {
                    self.set(path, Some(text("file_text").to_string()));
                }
                is_free
            }
            "str_replace" => {
                let Some(there) = self.files.get(path).cloned() else { return false };
                let (old, new) = (text("old_str"), text("new_str"));
                let is_once = there.matches(old).count() == 1;
                if is_once {
                    self.set(path, Some(there.replacen(old, new, 1)));
                }
                is_once
            }
            "insert" => {
                let Some(there) = self.files.get(path).cloned() else { return false };
                let line = command["insert_line"].as_u64().expect("a number") as usize;
                let mut lines: Vec<&str> = there.lines().collect();
                if line > lines.len() {
                    return false;
                }
                lines.insert(line, text("insert_text"));
                self.set(path, Some(lines.join("\n") + "\n"));
                true
            }
            "delete" => {
                let gone = if self.files.contains_key(path) {
                    vec![path.to_string()]
                } else {
                    self.below(path)
                };
                gone.iter().for_each(|file| self.set(file, None));
                !gone.is_empty()
            }
            "rename" => {
                let (old, new) = (text("old_path"), text("new_path"));
                let moved = if self.files.contains_key(old) {
                    vec![old.to_string()]
                } else {
                    self.below(old)
                };
                let is_within = new.starts_with(&format!("{old}/"));
                if moved.is_empty() || self.is_there(new) || is_within || self.file_above(new) {
                    return false;
                }
                for file in moved {
                    let content = self.files.get(&file).cloned();
                    self.set(&format!("{new}{}", &file[old.len()..]), content);
                    self.set(&file, None);
                }
                true
            }
            other => panic!("{other}"),
        }
    }
}

/// Numbers that look random, the same for the same seed.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, count: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % count as u64) as usize
    }

    fn path(&mut self) -> String {
        const NAMES: [&str; 4] = ["a", "b c", "artifact", "%d"];
        let parts: Vec<&str> = (0..1 + self.below(3)).map(|_| NAMES[self.below(4)]).collect();
        format!("/memories/{}", parts.join("/"))
    }

    fn command(&mut self) -> Value {
        const TEXTS: [&str; 5] = ["", "x\n", "x\ny\n", "y\nz\nx\n", "ž\n\nx\n"];
        let path = self.path();
        match self.below(10) {
            0..3 => create(&path, TEXTS[self.below(5)]),
            3 | 4 => {
                let (old, new) = (["x", "y", "z"][self.below(3)], ["", "x", "q\nq"][self.below(3)]);
                json!({"command": "str_replace", "path": path, "old_str": old, "new_str": new})
            }
            5 | 6 => {
                let line = self.below(4);
                let text = "new";
                json!({"command": "insert", "path": path, "insert_line": line, "insert_text": text})
            }
            7 => json!({"command": "delete", "path": path}),
            8 => {
                let new = self.path();
                json!({"command": "rename", "old_path": path, "new_path": new})
            }
            _ => view(&path),
        }
    }
}

#[test]
fn a_random_program_leaves_what_a_map_of_files_would_hold_with_its_history() {
    for seed in [1_u64, 2, 3, 4] {
        let sandbox = Sandbox::new();
        let mut numbers = Numbers(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let commands: Vec<Value> = (0..150).map(|_| numbers.command()).collect();
        let mut model = Model::default();
        let done = call(&sandbox, &commands);
        for (command, (content, is_error)) in commands.iter().zip(done) {
            let does = model.does(command);
            assert_eq!(!is_error, does, "seed {seed}: {command}: {content}");
        }
        assert_eq!(stored(&sandbox), model.files, "seed {seed}");
        assert!(model.revisions.len() > 10, "{}", model.revisions.len());
        for (path, revisions) in &model.revisions {
            let name = path["/memories/".len()..].replace('%', "%25").replace(' ', "%20");
            let history = sandbox.json(&["history", &format!("memories/_/files/{name}")]);
            let kept = history["records"].as_array().expect("a list").iter().map(|record| {
                let text = record["text"].as_str().filter(|_| record["tombstone"] != true);
                let is_empty = record["metadata"]["is_empty"] == true;
                text.map(|text| if is_empty { String::new() } else { text.to_string() })
            });
            assert_eq!(&kept.collect::<Vec<_>>(), revisions, "seed {seed}: {path}");
        }
        sandbox.ok(&["verify"]);
    }
}

#[test]
fn many_processes_that_edit_one_file_lose_no_edit() {
    const PROCESSES: usize = 8;
    const EDITS: usize = 5;
    let sandbox = Sandbox::new();
    call(&sandbox, &[create("/memories/log.md", "begin\n")]);
    thread::scope(|scope| {
        for process in 0..PROCESSES {
            let sandbox = &sandbox;
            scope.spawn(move || {
                for edit in 0..EDITS {
                    let line = format!("process {process} edit {edit}");
                    let insert = json!({"command": "insert", "path": "/memories/log.md", "insert_line": 1, "insert_text": line});
                    let answers = call(sandbox, &[insert]);
                    assert!(!answers[0].1, "{answers:?}");
                }
            });
        }
    });
    let text = stored(&sandbox)["/memories/log.md"].clone();
    let mut lines: Vec<&str> = text.lines().skip(1).collect();
    lines.sort_unstable();
    lines.dedup();
    assert_eq!((text.lines().next(), lines.len()), (Some("begin"), PROCESSES * EDITS), "{text}");
    let history = sandbox.json(&["history", "memories/_/files/log.md"]);
    assert_eq!(history["records"].as_array().map(Vec::len), Some(PROCESSES * EDITS + 1));
}

#[test]
fn files_have_a_past_are_found_and_are_each_agents_own() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["clearance", "set", "ann", "kitchen=internal"]);
    sandbox.ok(&["clearance", "set", "ben", "bank=internal"]);
    let path = "/memories/todo.md";
    call(&sandbox, &[create(path, "The harbour opens at six\n")]);
    let of_ann = call_as(&sandbox, Some("ann"), &[create(path, "Order flour\n"), view(path)]);
    assert!(!of_ann[0].1 && of_ann[1].0.contains("Order flour"), "{of_ann:?}");
    let of_ben = call_as(&sandbox, Some("ben"), &[view("/memories"), view(path)]);
    assert!(of_ben[0].0.ends_with(":\n4.0K\t/memories") && of_ben[1].1, "{of_ben:?}");
    assert!(
        call_as(&sandbox, Some("ben"), &[create(path, "Count coins\n")])[0]
            .0
            .starts_with("File created")
    );
    // Nobody writes as somebody else, by whatever way.
    let mut command = sandbox.command();
    command.env("KAPSA_PRINCIPAL", "ben").args(["memory-tool", "--agent", "ann"]);
    let run: Run = output(command, view(path).to_string().as_bytes()).into();
    assert!(
        run.code == Some(1) && run.out.is_empty() && run.err.contains("another agent"),
        "{run:?}"
    );
    for uri in ["memories/ann/files/todo.md", "memories/_/files/x.md"] {
        let put = ["put", "--uri", uri, "--text", "x", "--domain", "bank", "--as", "ben"];
        assert!(sandbox.run(&put).err.contains("another agent"), "{uri}");
    }
    sandbox.ok(&["checkpoint", "--label", "before"]);
    let edit =
        json!({"command": "str_replace", "path": path, "old_str": "six", "new_str": "seven"});
    call(&sandbox, &[edit]);
    let uri = "memories/_/files/todo.md";
    assert!(sandbox.ok(&["find", "when does the harbour open"]).contains("seven"));
    assert!(sandbox.ok(&["get", uri, "--as-of", "before"]).contains("six"));
    let mut past = sandbox.command();
    past.args(["memory-tool", "--as-of", "before"]);
    let input = format!("{}\n{}\n", view(path), create("/memories/new", "x"));
    let run: Run = output(past, input.as_bytes()).into();
    let lines: Vec<&str> = run.out.lines().collect();
    assert!(lines[0].contains("at six") && lines[1].contains("past state"), "{run:?}");
    let moved = json!({"command": "rename", "old_path": path, "new_path": "/memories/done.md"});
    call(&sandbox, &[moved]);
    let record = sandbox.json(&["get", "memories/_/files/done.md"]);
    assert_eq!(record["metadata"]["source"], uri, "{record}");
}

#[test]
fn an_agents_files_are_in_its_file_system() {
    let sandbox = Sandbox::new();
    let fs = |args: &[&str]| {
        let args = [&["fs"][..], args, &["--agent", "ann"]].concat();
        sandbox.run(&args)
    };
    assert!(!fs(&["ls", "/"]).out.contains("memories"), "there are none yet");
    let create = create("/memories/to do/a.md", "Order flour\n");
    let mut command = sandbox.command();
    command.args(["memory-tool", "--agent", "ann"]);
    let run: Run = output(command, create.to_string().as_bytes()).into();
    assert!(run.out.contains("successfully"), "{run:?}");
    let written = fs(&["write", "/memories/to%20do/b.md", "Order", "salt"]);
    assert!(written.out.contains("added"), "{written:?}");
    assert!(fs(&["write", "/memories/to do/b.md", "Order sugar"]).out.contains("revised"));
    assert!(fs(&["ls", "/"]).out.contains("memories/"));
    let tree = fs(&["tree", "/", "--depth", "3"]).out;
    assert!(tree.contains("to%20do/") && tree.contains("a.md"), "{tree}");
    assert!(fs(&["ls", "/memories/to do"]).out.contains("Order sugar"));
    assert_eq!(fs(&["cat", "/memories/to do/a.md"]).out, "Order flour\n");
    assert!(fs(&["search", "sugar"]).out.contains("/memories/to%20do/b.md"));
    assert!(fs(&["cat", "/memories/to do"]).err.contains("folder"));
    assert!(fs(&["cat", "/memories/none"]).err.contains("no file"));
    assert!(fs(&["ls", "/memories/none"]).err.contains("no folder"));
    for refused in ["/memories", "/memories/to do", "/memories/to do/a.md/x", "/memories/../x"] {
        let run = fs(&["write", refused, "x"]);
        assert_eq!((run.code, run.out.as_str()), (Some(1), ""), "{refused}: {run:?}");
    }
    // Of another agent there is nothing.
    assert!(!sandbox.ok(&["fs", "ls", "/", "--agent", "ben"]).contains("memories"));
    let history = sandbox.json(&["history", "memories/ann/files/to%20do/b.md"]);
    assert_eq!(history["records"].as_array().map(Vec::len), Some(2));
}

#[test]
fn an_answer_comes_before_the_next_command_and_what_is_no_command_is_told() {
    use std::io::{BufRead, BufReader, Write};
    use std::process::Stdio;
    let sandbox = Sandbox::new();
    let mut command = sandbox.command();
    command.arg("memory-tool").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("the binary starts");
    let mut pipe = child.stdin.take().expect("a pipe");
    let mut answers = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    // Over several lines, and without a line break at its end.
    for text in [
        "{\"command\":\"create\",\n\"path\":\"/memories/a\",\n\"file_text\":\"x\"}",
        "{\"command\":\"view\",\"path\":\"/memories/a\"}",
    ] {
        pipe.write_all(text.as_bytes()).expect("it reads");
        let answer = answers.next().expect("an answer").expect("text");
        assert!(answer.ends_with("\"is_error\":false}"), "{answer}");
    }
    drop(pipe);
    assert!(child.wait().expect("it ends").success());
    let run = sandbox.run_with(&["memory-tool"], b"");
    assert_eq!((run.code, run.out.as_str()), (Some(0), ""), "{run:?}");
    // What is broken has its answer, and so has what follows.
    let long = format!("{{\"command\":\"{}\"}}", "x".repeat(9 << 20));
    let broken = [
        &b"x"[..],
        b"{\"command\":\"view\"",
        b"{\"a\":\"\xff\"}",
        b"{\"command\":}",
        b"\"\\ud800\"",
        long.as_bytes(),
    ];
    for line in broken {
        let view = &b"\n{\"command\":\"view\",\"path\":\"/memories\"}\n"[..];
        for (input, errors) in
            [(line.to_vec(), &[true][..]), ([line, view].concat(), &[true, false])]
        {
            // An object that is not closed takes the next line with it.
            let errors = if line.ends_with(b"view\"") { &errors[..1] } else { errors };
            let run = sandbox.run_with(&["memory-tool"], &input);
            let found: Vec<bool> =
                run.out.lines().map(|line| line.contains("\"is_error\":true")).collect();
            assert_eq!((run.code, found.as_slice()), (Some(1), errors), "{run:?}");
        }
    }
    let run = sandbox
        .run_with(&["memory-tool"], b"[1]\n\"x\"\n{\"command\":\"view\",\"path\":\"/memories\"}\n");
    let errors: Vec<bool> =
        run.out.lines().map(|line| line.contains("\"is_error\":true")).collect();
    assert_eq!(errors, [true, true, false], "{run:?}");
    let long = json!({"command": "create", "path": "/memories/long", "file_text": "x".repeat((1 << 20) + 1)});
    let lines = create("/memories/lines", &"\n".repeat(1_000_000));
    let most = create("/memories/most", &"x".repeat(1 << 20));
    let answers = call(&sandbox, &[long, lines, most.clone()]);
    assert_eq!(answers[0].0, "File /memories/long exceeds maximum size of 1,048,576 bytes.");
    assert_eq!(answers[1].0, "File /memories/lines exceeds maximum line limit of 999,999 lines.");
    // What a model brings in such amounts is looked at before it counts.
    assert!(answers.iter().all(|(_, is_error)| *is_error));
    assert!(answers[2].0.contains("more than 64 KiB"), "{}", answers[2].0);
    let run = sandbox.run_with(&["--trust", "owner", "memory-tool"], most.to_string().as_bytes());
    assert!(run.out.contains("\"is_error\":false"), "{run:?}");
}

#[test]
fn what_a_model_writes_is_trusted_as_a_models_and_reviewed_where_the_owner_asks_for_it() {
    let sandbox = Sandbox::new();
    let done = call(&sandbox, &[create("/memories/a.md", "Tea at four.")]);
    assert!(!done[0].1, "{done:?}");
    let record = &sandbox.json(&["timeline", "--kind", "memory_file"])["records"][0];
    assert_eq!(record["trust"], "model", "{record}");
    sandbox.ok(&["review", "rule", "review", "--of-trust", "model"]);
    let edit = json!({"command": "str_replace", "path": "/memories/a.md", "old_str": "four", "new_str": "five"});
    let held =
        call(&sandbox, &[create("/memories/b.md", "Cake at six."), edit, view("/memories/a.md")]);
    for (answer, is_error) in &held[..2] {
        assert!(
            *is_error && answer.contains("the owner of the memory reviews it first"),
            "{answer}"
        );
    }
    assert!(held[2].0.contains("Tea at four."), "{held:?}");
    assert_eq!(stored(&sandbox), files(&[("/memories/a.md", "Tea at four.")]));
    let waiting = sandbox.ok(&["review", "list"]);
    assert!(waiting.contains("files/b.md") && waiting.contains("files/a.md"), "{waiting}");
    sandbox.ok(&["review", "accept", "4"]);
    assert_eq!(stored(&sandbox), files(&[("/memories/a.md", "Tea at five.")]));
}
