//! The guard: what an agent may write, and every way around it that is known.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use kapsa_notes::{
    Log, NewMemory, Note, Primitive, Roots, RunFolder, RunMode, Stamp, Verdict, decide,
    denied_count, log_denied,
};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A repository with a memory, a run and a file that is neither's.
struct World {
    temporary: TempDir,
    run: PathBuf,
}

impl World {
    fn new() -> World {
        let temporary = tempfile::tempdir().expect("a folder");
        let root = temporary.path();
        for folder in ["memory/decisions", "memory/learnings", "memory/summaries", "src"] {
            fs::create_dir_all(root.join(folder)).expect("made");
        }
        fs::write(root.join("src/main.rs"), "fn main() {}").expect("written");
        fs::write(root.join("outside.md"), note()).expect("written");
        let run = RunFolder::create(&root.join("workspace"), RunMode::Sync, &stamp(), 1);
        World { run: run.expect("a run").path().to_path_buf(), temporary }
    }

    fn roots(&self) -> Roots {
        Roots { memory: self.path("memory"), run: self.run.clone() }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.temporary.path().join(path)
    }

    fn decide(&self, tool: &str, input: &Value) -> String {
        match decide(tool, input, &self.roots(), self.temporary.path()) {
            Verdict::Allow => "allow".to_owned(),
            Verdict::Deny(denial) => {
                denial.to_string().replace(&*self.temporary.path().to_string_lossy(), "T")
            }
        }
    }

    /// Writes a note to a path, absolute or below the repository.
    fn write(&self, path: &str) -> String {
        self.decide("Write", &json!({"file_path": path, "content": note()}))
    }

    fn write_content(&self, path: &str, content: &str) -> String {
        self.decide("Write", &json!({"file_path": path, "content": content}))
    }
}

fn stamp() -> Stamp {
    Stamp::from_micros(1_796_033_700_000_000).expect("a date")
}

fn note() -> String {
    let new = NewMemory { title: "Port", body: "5433", source: "run", ..NewMemory::default() };
    Note::memory(Primitive::Learning, &new, &stamp()).expect("a note").render()
}

fn shell(command: &str) -> String {
    World::new().decide("Bash", &json!({"command": command}))
}

#[test]
fn notes_of_the_memory_and_files_of_the_run_may_be_written() {
    let world = World::new();
    let absolute = world.path("memory/learnings/b.md");
    for path in ["memory/decisions/a.md", "./memory/learnings/a.md", &absolute.to_string_lossy()] {
        assert_eq!(world.write(path), "allow", "{path}");
    }
    for name in ["a.md", "a.json", "a.jsonl", "a.log", "a.txt", "A.JSON"] {
        let path = world.run.join(name);
        assert_eq!(world.write_content(&path.to_string_lossy(), "any text"), "allow", "{name}");
    }
}

#[test]
fn tools_that_only_read_are_free_and_others_are_refused() {
    let world = World::new();
    for tool in ["Read", "Grep", "Glob", "Task", "TodoWrite"] {
        assert_eq!(world.decide(tool, &json!({"file_path": "/etc/passwd"})), "allow");
    }
    for tool in ["mcp__files__write", "WebFetch", "KillShell", "write", "", "Write "] {
        let found = world.decide(tool, &json!({"file_path": "memory/decisions/a.md"}));
        assert_eq!(found, format!("tool_not_allowed:{tool}"));
    }
}

#[test]
fn a_write_without_a_path_is_refused() {
    let world = World::new();
    for input in [
        json!({}),
        json!(null),
        json!([]),
        json!({"file_path": ""}),
        json!({"file_path": "  "}),
        json!({"file_path": 1}),
        json!({"path": "memory/decisions/a.md"}),
    ] {
        for tool in ["Write", "Edit", "MultiEdit", "NotebookEdit"] {
            assert_eq!(world.decide(tool, &input), "missing_file_path_for_write", "{input}");
        }
    }
}

#[test]
fn a_path_elsewhere_is_refused_however_it_is_written() {
    let world = World::new();
    for (path, shown) in [
        ("outside.md", "T/outside.md"),
        ("src/main.rs", "T/src/main.rs"),
        ("/etc/x.md", "/etc/x.md"),
        ("memory/decisions/../../outside.md", "T/outside.md"),
        ("memory/../memory.md", "T/memory.md"),
        ("memoryX/decisions/a.md", "T/memoryX/decisions/a.md"),
        ("memory", "T/memory"),
        ("memory/decisions/../..", "T"),
        ("workspace/a.md", "T/workspace/a.md"),
        (
            "workspace/sync-20261130-101500-000002/a.md",
            "T/workspace/sync-20261130-101500-000002/a.md",
        ),
    ] {
        assert_eq!(world.write(path), format!("write_outside_allowed_roots:{shown}"), "{path}");
    }
}

#[test]
fn paths_that_some_program_takes_for_others_are_refused() {
    let world = World::new();
    let notes = world.path("memory/decisions");
    for odd in [
        "~/a.md",
        "~ana/memory/decisions/a.md",
        "memory/decisions/%2e%2e/%2E%2E/outside.md",
        "memory/decisions%2fa.md",
        "memory/decisions/%252e%252e/a.md",
        "memory/decisions/..\\..\\outside.md",
        // A full-width full stop and solidus, a one-dot leader, a two-dot leader.
        "memory/decisions/\u{ff0e}\u{ff0e}/a.md",
        "memory/decisions/..\u{ff0f}a.md",
        "memory/decisions/\u{2024}\u{2024}/a.md",
        "memory/decisions/\u{2025}/a.md",
        // Division and fraction slashes.
        "memory/decisions\u{2215}a.md",
        "memory/decisions\u{2044}a.md",
        // No width, overrides of the direction, tags, an odd space.
        "memory/decisions/a\u{200b}.md",
        "memory/decisions/a\u{202e}dm.md",
        "memory/decisions/a\u{e0041}.md",
        "memory/decisions/a\u{feff}.md",
        "memory/decisions/a\u{a0}.md",
        "memory/decisions/a\0.md",
        "memory/decisions/a\n.md",
        " memory/decisions/a.md",
        "memory/decisions/a.md ",
    ] {
        let found = world.write(odd);
        assert!(found.starts_with("write_outside_allowed_roots:"), "{odd:?}: {found}");
        assert!(!found.contains(char::is_control), "{found:?}");
    }
    let long = format!("{}/{}.md", notes.display(), "a".repeat(5000));
    assert!(world.write(&long).starts_with("write_outside_allowed_roots:"));
    // Other letters are no trick.
    assert_eq!(world.write("memory/decisions/über-日本.md"), "allow");
}

#[test]
fn links_are_followed_before_anything_is_decided() {
    let world = World::new();
    let root = world.temporary.path();
    symlink(root.join("outside.md"), root.join("memory/decisions/link.md")).expect("a link");
    symlink(root.join("src"), root.join("memory/decisions/folder")).expect("a link");
    symlink("../../not-there.md", root.join("memory/decisions/dangling.md")).expect("a link");
    symlink("loop.md", root.join("memory/decisions/loop.md")).expect("a link");
    symlink(root.join("memory"), root.join("memory-link")).expect("a link");
    assert_eq!(world.write("memory/decisions/link.md"), "write_outside_allowed_roots:T/outside.md");
    assert_eq!(
        world.write("memory/decisions/folder/a.md"),
        "write_outside_allowed_roots:T/src/a.md"
    );
    assert_eq!(
        world.write("memory/decisions/dangling.md"),
        "write_outside_allowed_roots:T/not-there.md"
    );
    let found = world.write("memory/decisions/loop.md");
    assert!(found.starts_with("write_outside_allowed_roots:"), "{found}");
    assert_eq!(world.write("memory-link/decisions/a.md"), "allow");
    // By its words the first leads to a note, for the system the second does.
    for path in ["memory/decisions/folder/../a.md", "src/../memory-link/../memory/decisions/a.md"] {
        let found = world.write(path);
        let is_same = path.starts_with("src");
        assert_eq!(found == "allow", is_same, "{path}: {found}");
    }
}

#[test]
fn a_memory_or_run_behind_a_link_is_the_one_that_it_leads_to() {
    let world = World::new();
    symlink(world.path("memory"), world.path("m")).expect("a link");
    let roots = Roots { memory: world.path("m"), run: world.run.clone() };
    let input = json!({"file_path": "memory/decisions/a.md", "content": note()});
    assert_eq!(decide("Write", &input, &roots, world.temporary.path()), Verdict::Allow);
}

#[test]
fn a_file_with_a_second_name_is_not_written() {
    let world = World::new();
    fs::hard_link(world.path("outside.md"), world.path("memory/decisions/a.md")).expect("linked");
    let found = world.write("memory/decisions/a.md");
    assert_eq!(found, "write_outside_allowed_roots:T/memory/decisions/a.md");
}

#[test]
fn the_run_folder_is_flat_and_holds_texts() {
    let world = World::new();
    let write = |name: &str| world.write(&world.run.join(name).to_string_lossy());
    assert_eq!(write("a.py"), "disallowed_file_extension:.py");
    assert_eq!(write("a"), "disallowed_file_extension:");
    assert_eq!(write(".json"), "disallowed_file_extension:");
    assert!(write("deeper/a.json").starts_with("write_outside_allowed_roots:"));
    let notebook = json!({"notebook_path": world.run.join("a.ipynb"), "new_source": "x"});
    assert_eq!(world.decide("NotebookEdit", &notebook), "disallowed_file_extension:.ipynb");
}

#[test]
fn the_memory_holds_notes_in_their_folders_only() {
    let world = World::new();
    for (path, expected) in [
        ("memory/decisions/a.txt", "memory_write_not_markdown"),
        ("memory/decisions/a", "memory_write_not_markdown"),
        ("memory/decisions/a.MD", "memory_write_not_markdown"),
        ("memory/a.md", "memory_write_outside_primitive_folder"),
        ("memory/other/a.md", "memory_write_outside_primitive_folder"),
        ("memory/archived/decisions/a.md", "memory_write_outside_primitive_folder"),
        ("memory/decisions/deeper/a.md", "memory_write_outside_primitive_folder"),
        ("memory/decisions/.a.md", "memory_write_outside_primitive_folder"),
        ("memory/summaries/a.md", "summary_write_reserved_for_pipeline"),
        ("memory/summaries/2026/a.md", "summary_write_reserved_for_pipeline"),
        ("memory/decisions/../summaries/a.md", "summary_write_reserved_for_pipeline"),
    ] {
        assert_eq!(world.write(path), expected, "{path}");
    }
}

#[test]
fn what_would_be_no_note_is_refused() {
    let world = World::new();
    let path = "memory/learnings/a.md";
    let missing = "memory_write_missing_frontmatter";
    let unparseable = "memory_write_unparseable_frontmatter";
    for (content, expected) in [
        ("", missing),
        ("# A heading", missing),
        ("---\n---\n", missing),
        ("---\ntitle: a\n---\n", missing),
        ("---\ntitle: a\n", unparseable),
        ("---\n- a\n---\n", unparseable),
        ("---\na: [\n---\n", unparseable),
        (&note().replace("confidence: 0.7", "confidence: 7"), unparseable),
        (&note().replace("kind: insight", "kind: rule"), unparseable),
        (&note().replace("source: run\n", ""), missing),
        (&note().replace("source: run", "source:"), missing),
    ] {
        assert_eq!(world.write_content(path, content), expected, "{content:?}");
    }
    assert_eq!(world.decide("Write", &json!({"file_path": path})), unparseable);
    let notebook = json!({"notebook_path": path, "new_source": note()});
    assert_eq!(world.decide("NotebookEdit", &notebook), unparseable);
    let bare = note().replace("confidence: 0.7\n", "").replace("tags: []\n", "");
    assert_eq!(world.write_content(path, &bare), "allow");
}

#[test]
fn an_edit_is_judged_by_what_it_leaves() {
    let world = World::new();
    let file = world.path("memory/learnings/a.md");
    fs::write(&file, note()).expect("written");
    let edit = |old: &str, new: &str| {
        let input = json!({"file_path": file, "old_string": old, "new_string": new});
        world.decide("Edit", &input)
    };
    assert_eq!(edit("5433", "5434"), "allow");
    assert_eq!(edit("source: run\n", ""), "memory_write_missing_frontmatter");
    assert_eq!(edit("---\nid", "id"), "memory_write_missing_frontmatter");
    assert_eq!(edit("title: Port", "title: [Port"), "memory_write_unparseable_frontmatter");
    // What the tool would make of these is not known.
    assert_eq!(edit("not there", "x"), "memory_write_unparseable_frontmatter");
    assert_eq!(edit("", "x"), "memory_write_unparseable_frontmatter");
    assert_eq!(edit("2026-11-30", "2026-12-01"), "memory_write_unparseable_frontmatter");
    let all = json!({"file_path": file, "old_string": "2026-11-30", "new_string": "2026-12-01",
        "replace_all": true});
    assert_eq!(world.decide("Edit", &all), "allow");
    let many =
        |edits: Value| world.decide("MultiEdit", &json!({"file_path": file, "edits": edits}));
    assert_eq!(many(json!([{"old_string": "5433", "new_string": "x"}])), "allow");
    let second = json!([{"old_string": "5433", "new_string": "x"},
        {"old_string": "---\nid", "new_string": "id"}]);
    assert_eq!(many(second), "memory_write_missing_frontmatter");
    assert_eq!(many(json!([])), "memory_write_unparseable_frontmatter");
    let new =
        json!({"file_path": "memory/learnings/new.md", "old_string": "", "new_string": note()});
    assert_eq!(world.decide("Edit", &new), "allow");
}

#[test]
fn what_is_denied_is_counted() {
    let world = World::new();
    let run = RunFolder::open(&world.run).expect("a run");
    assert_eq!(denied_count(&run), Ok(0));
    for tool in ["Write", "mcp\u{1b}[31m"] {
        let Verdict::Deny(denial) = decide(tool, &json!({}), &world.roots(), &world.run) else {
            panic!("{tool} is allowed")
        };
        log_denied(&world.run, tool, &denial, &stamp()).expect("logged");
    }
    assert_eq!(denied_count(&run), Ok(2));
    let text = fs::read_to_string(run.log_path(Log::Agent)).expect("a log");
    assert!(text.contains(r#""reason":"missing_file_path_for_write","tool":"Write""#), "{text}");
    assert!(!text.contains("31m") || !text.contains("u001b"), "{text}");
}

#[test]
fn commands_that_write_nothing_may_run() {
    for command in [
        "ls",
        "ls -la memory/decisions",
        "cat memory/decisions/a.md | head -n 20",
        "grep -rn 'a > b; rm $HOME `x`' memory",
        "grep -c \"port\" a.md && wc -l a.md || true",
        "cd memory; ls;",
        "echo \"it's\" 'a\"b'",
        "tail -n 3 a\\ b.md",
        "grep -e \"\\$x\" a",
    ] {
        assert_eq!(shell(command), "allow", "{command}");
    }
}

/// Checks commands with the reasons why they are refused.
fn refused(commands: &[(&str, &str)]) {
    for (command, why) in commands {
        assert_eq!(shell(command), format!("shell_write_denied:{why}"), "{command:?}");
    }
}

#[test]
fn programs_that_could_write_are_refused_by_name() {
    refused(&[
        ("mv a.md b.md", "program:mv"),
        ("cp a.md memory/decisions/b.md", "program:cp"),
        ("rm -rf memory", "program:rm"),
        ("tee memory/decisions/a.md", "program:tee"),
        ("cat a | tee b", "program:tee"),
        ("python -c 'open(\"a\",\"w\")'", "program:python"),
        ("python3 x.py", "program:python3"),
        ("sed -i s/a/b/ a.md", "program:sed"),
        ("git apply x.patch", "program:git"),
        ("git log", "program:git"),
        ("find . -delete", "program:find"),
        ("sort -o a.md b", "program:sort"),
        ("uniq a b", "program:uniq"),
        ("awk 1 a", "program:awk"),
        // The shell expands what stands between brackets.
        ("test -v 'a[$(touch x)]'", "program:test"),
        ("dd if=a of=b", "program:dd"),
        ("bash -c ls", "program:bash"),
        ("env ls", "program:env"),
        ("xargs rm", "program:xargs"),
        ("./ls", "program:./ls"),
        ("/bin/ls", "program:/bin/ls"),
        ("PATH=. ls", "program:PATH=."),
        ("exec ls", "program:exec"),
        ("ls && rm a", "program:rm"),
        ("ls || rm a", "program:rm"),
        ("ls; rm a", "program:rm"),
        ("\"rm\" a", "program:rm"),
        ("r'm' a", "program:rm"),
        ("\\rm a", "program:rm"),
        ("if true; then rm a; fi", "program:if"),
    ]);
}

#[test]
fn syntax_that_could_write_is_refused() {
    refused(&[
        ("echo x > a.md", "redirection"),
        ("echo x >> a.md", "redirection"),
        ("echo x>a.md", "redirection"),
        ("ls 2>/dev/null", "redirection"),
        ("cat <(rm a)", "redirection"),
        ("cat << EOF", "redirection"),
        ("echo $(rm a)", "substitution"),
        ("echo \"$(rm a)\"", "substitution"),
        ("echo `rm a`", "substitution"),
        ("echo \"`rm a`\"", "substitution"),
        ("echo $'\\x41'", "substitution"),
        ("$SHELL -c ls", "substitution"),
        ("(rm a)", "compound"),
        ("ls {a,b}", "compound"),
        ("! rm a", "compound"),
        ("ls *", "pattern"),
        ("cat ?.md", "pattern"),
        ("cat [a]", "pattern"),
        ("ls & rm a", "background"),
        ("ls |& cat", "background"),
        ("ls\nrm a", "several_lines"),
        ("ls 'a\nb'", "several_lines"),
        ("ls\rrm a", "several_lines"),
        ("ls \u{1b}[31m", "control_character"),
        ("ls # rm", "comment"),
        ("ls\u{a0}rm", "unquoted_character"),
        ("ｌｓ a", "unquoted_character"),
        ("ls 'a", "unreadable"),
        ("ls \"a", "unreadable"),
        ("ls \\", "unreadable"),
        ("ls ;; ls", "empty_command"),
        ("ls &&", "empty_command"),
        ("| ls", "empty_command"),
        (";", "empty_command"),
        ("", "no_command"),
        ("  ", "no_command"),
    ]);
    let world = World::new();
    for input in [json!({}), json!(null), json!({"command": ["ls"]})] {
        assert_eq!(world.decide("Bash", &input), "shell_write_denied:no_command");
    }
    assert_eq!(shell(&"ls ".repeat(10_000)), "shell_write_denied:too_long");
}
