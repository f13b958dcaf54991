//! Files as people have them: setup and undo leave each as it was.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use kapsa_setup::{Scope, Undone};

use crate::world::{PROGRAM, World, put};

/// Fewest files that these tests are about.
const FILES_MIN: usize = 40;

/// A file of the corpus: `corpus/CLIENT/WHAT/CASE`.
pub(crate) struct Case {
    pub(crate) client: String,
    pub(crate) what: String,
    path: PathBuf,
    pub(crate) bytes: Vec<u8>,
}

impl Case {
    fn name(&self) -> String {
        self.path.display().to_string()
    }

    /// A world that has the file, where the client has it.
    fn world(&self) -> (World, PathBuf) {
        let world = World::new();
        let mut file = world.file(&self.client, &self.what);
        if self.path.extension().is_some_and(|ending| ending == "jsonc") {
            file.set_extension("jsonc");
        }
        put(&file, &self.bytes);
        (world, file)
    }

    fn has_ours_already(&self) -> bool {
        ["already", "older", "doubled"].iter().any(|word| self.name().contains(word))
    }
}

pub(crate) fn cases() -> Vec<Case> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/corpus");
    let names = |folder: &Path| -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).expect("a folder of the corpus");
        let mut names: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
        names.sort();
        names
    };
    let last = |path: &Path| path.file_name().expect("a name").to_string_lossy().into_owned();
    let mut cases = Vec::new();
    for client in names(&corpus).into_iter().filter(|path| path.is_dir()) {
        for what in names(&client) {
            for path in names(&what) {
                let bytes = fs::read(&path).expect("a file of the corpus");
                cases.push(Case { client: last(&client), what: last(&what), path, bytes });
            }
        }
    }
    assert!(cases.len() >= FILES_MIN, "{} files", cases.len());
    cases
}

#[test]
fn undo_brings_every_file_back_byte_for_byte() {
    for case in cases() {
        let (mut world, file) = case.world();
        let before = world.files();
        world
            .set_up(&case.client, Scope::Global)
            .unwrap_or_else(|e| panic!("{}: {e}", case.name()));
        let ours = fs::read_to_string(&file).expect("the file");
        assert!(ours.contains("kapsa"), "{}: nothing was written", case.name());
        let plans = world.undo();
        if case.name().contains("already-set-up")
            && plans.iter().any(|p| p.target == file && p.how == Undone::OursRemoved)
        {
            // It was ours before: nothing else of it is gone.
            let left = fs::read_to_string(&file).expect("the file");
            assert!(!left.contains(PROGRAM) && !left.contains("kapsa:begin"), "{left}");
            continue;
        }
        assert_eq!(world.files(), before, "{}", case.name());
        assert!(!world.ledger_path().exists(), "{}: the ledger is left", case.name());
    }
}

#[test]
fn a_second_setup_changes_nothing_and_doubles_nothing() {
    for case in cases() {
        let (mut world, _) = case.world();
        world
            .set_up(&case.client, Scope::Global)
            .unwrap_or_else(|e| panic!("{}: {e}", case.name()));
        let (once, ledger) = (world.files(), world.ledger.clone());
        let plans = world.set_up(&case.client, Scope::Global).expect("a second setup");
        assert!(plans.iter().all(|plan| !plan.is_change()), "{}", case.name());
        assert_eq!(world.files(), once, "{}", case.name());
        assert_eq!(world.ledger, ledger, "{}", case.name());
    }
}

#[test]
fn what_a_person_adds_in_between_stays_and_only_ours_goes() {
    for case in cases() {
        let (mut world, file) = case.world();
        world
            .set_up(&case.client, Scope::Global)
            .unwrap_or_else(|e| panic!("{}: {e}", case.name()));
        let set_up = fs::read_to_string(&file).expect("the file");
        let original = String::from_utf8(case.bytes.clone()).expect("a text");
        fs::write(&file, with_a_line(&set_up, &case)).expect("an edit");
        world.undo();
        let left = fs::read_to_string(&file).expect("the file");
        assert!(left.contains("of a person"), "{}: {left}", case.name());
        let has_lines = original.trim_start_matches('\u{feff}').lines().count() > 2;
        let exact = case.what == "passage"
            || (case.path.extension().is_some_and(|ending| ending == "toml"))
            || has_lines;
        if exact && !case.has_ours_already() {
            assert_eq!(left, with_a_line(&original, &case), "{}", case.name());
        } else if !case.has_ours_already() {
            assert!(!left.contains("kapsa"), "{}: {left}", case.name());
        }
    }
}

/// The text with a line of a person at its beginning.
fn with_a_line(text: &str, case: &Case) -> String {
    let (bom, text) = match text.strip_prefix('\u{feff}') {
        Some(rest) => ("\u{feff}", rest),
        None => ("", text),
    };
    let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let ending = case.path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    match ending {
        _ if case.what == "passage" => format!("{bom}A line of a person.{newline}{text}"),
        "toml" => format!("{bom}added = \"of a person\"{newline}{text}"),
        _ => {
            let at = text.find('{').map_or(0, |at| at + 1);
            format!("{bom}{}{newline}  \"added\": \"of a person\",{}", &text[..at], &text[at..])
        }
    }
}

#[test]
fn without_the_ledger_the_backups_bring_every_file_back() {
    for case in cases() {
        let (mut world, file) = case.world();
        let before = world.files();
        world
            .set_up(&case.client, Scope::Global)
            .unwrap_or_else(|e| panic!("{}: {e}", case.name()));
        world.ledger = kapsa_setup::Ledger::default();
        world.undo();
        if case.has_ours_already() {
            let left = fs::read_to_string(&file).expect("the file");
            assert!(!left.contains(PROGRAM) && !left.contains("kapsa:begin"), "{left}");
        } else {
            assert_eq!(world.files(), before, "{}", case.name());
        }
        let again = world.undo();
        assert!(again.is_empty(), "{}: {again:?}", case.name());
    }
}

#[test]
fn without_the_ledger_what_a_person_added_stays() {
    for case in cases().iter().filter(|case| !case.has_ours_already()) {
        let (mut world, file) = case.world();
        world
            .set_up(&case.client, Scope::Global)
            .unwrap_or_else(|e| panic!("{}: {e}", case.name()));
        let set_up = fs::read_to_string(&file).expect("the file");
        fs::write(&file, with_a_line(&set_up, case)).expect("an edit");
        world.ledger = kapsa_setup::Ledger::default();
        world.undo();
        let left = fs::read_to_string(&file).expect("the file");
        assert!(left.contains("of a person"), "{}: {left}", case.name());
        assert!(!left.contains(PROGRAM) && !left.contains("kapsa:begin"), "{left}");
        let original = String::from_utf8(case.bytes.clone()).expect("a text");
        if original.trim_start_matches('\u{feff}').lines().count() > 2 {
            assert_eq!(left, with_a_line(&original, case), "{}", case.name());
        }
        let beside = world.files().into_iter().filter(|(path, _)| is_backup(path)).count();
        assert_eq!(beside, 0, "{}: a backup is left", case.name());
    }
}

fn is_backup(path: &Path) -> bool {
    path.to_string_lossy().contains("kapsa-backup")
}

#[test]
fn without_the_ledger_files_that_setup_made_go() {
    for client in &kapsa_setup::CLIENTS {
        let mut world = World::new();
        world.set_up(client.name, Scope::Global).expect("it is set up");
        world.ledger = kapsa_setup::Ledger::default();
        // Another version of this program was there.
        world.program.path = "/elsewhere/kapsa".to_string();
        world.undo();
        assert_eq!(world.files(), [], "{}", client.name);
    }
}

/// Edits of a person: none, an addition, and another layout of the whole file.
const EDITS: [fn(&str) -> String; 3] = [
    str::to_string,
    |text| text.replacen('{', "{\"added\": 1, ", 1),
    |text| text.replacen('{', "{\"added\": 1, ", 1).replace('\n', ""),
];

fn squeezed(text: &str) -> String {
    text.split_whitespace().collect()
}

#[test]
fn empty_containers_of_a_person_stay_and_those_of_setup_go() {
    // With the ledger, without it, and without backups. Where all are gone and nothing else is in
    // the file, it cannot be known from one that setup made; nor can containers.
    for (original, is_own) in
        [("{\n  \"mcpServers\": {}\n}\n", true), ("{\n  \"a\": 1\n}\n", false)]
    {
        for lost in 0..if is_own { 3 } else { 2 } {
            for edit in EDITS.iter().skip(lost / 2) {
                let mut world = World::new();
                let file = world.file("claude-code", "server");
                put(&file, original.as_bytes());
                world.set_up("claude-code", Scope::Global).expect("it is set up");
                let text = fs::read_to_string(&file).expect("the file");
                fs::write(&file, edit(&text)).expect("edited");
                if lost > 0 {
                    world.ledger = kapsa_setup::Ledger::default();
                }
                if lost > 1 {
                    let backups = world.files().into_iter().filter(|(path, _)| is_backup(path));
                    backups.for_each(|(path, _)| fs::remove_file(path).expect("a backup"));
                }
                world.undo();
                let left = fs::read_to_string(&file).expect("the file stays");
                assert_eq!(squeezed(&left), squeezed(&edit(original)), "{lost} lost");
            }
        }
    }
}

#[test]
fn a_container_that_became_a_persons_own_stays() {
    for edit in EDITS {
        let mut world = World::new();
        let file = world.file("claude-code", "server");
        put(&file, b"{}\n");
        world.set_up("claude-code", Scope::Global).expect("it is set up");
        put(&file, b"{\n  \"mcpServers\": {}\n}\n");
        world.set_up("claude-code", Scope::Global).expect("it is set up again");
        let text = fs::read_to_string(&file).expect("the file");
        fs::write(&file, edit(&text)).expect("edited");
        world.undo();
        let left = fs::read_to_string(&file).expect("the file");
        assert!(left.contains("mcpServers") && !left.contains("kapsa"), "{left}");
    }
}

#[test]
fn a_setup_after_the_ledger_was_lost_still_knows_the_original() {
    for case in cases().iter().filter(|case| !case.has_ours_already()) {
        let (mut world, _) = case.world();
        let before = world.files();
        world.set_up(&case.client, Scope::Global).expect("it is set up");
        world.ledger = kapsa_setup::Ledger::default();
        world.program.path = "/elsewhere/kapsa".to_string();
        world.set_up(&case.client, Scope::Global).expect("it is set up again");
        world.undo();
        let left: Vec<_> = world.files();
        // What was not there before the first setup was there before the second.
        let of_file = |files: &[(PathBuf, Vec<u8>)]| {
            files
                .iter()
                .filter(|(path, _)| before.iter().any(|(was, _)| was == path))
                .cloned()
                .collect::<Vec<_>>()
        };
        assert_eq!(of_file(&left), before, "{}", case.name());
        assert!(left.iter().all(|(path, _)| !is_backup(path)), "{}", case.name());
    }
}

#[test]
fn missing_files_are_made_and_go_with_their_folders() {
    for client in &kapsa_setup::CLIENTS {
        for scope in [Scope::Global, Scope::Project] {
            let mut world = World::new();
            let folders = || fs::read_dir(&world.places.home).expect("home").count();
            let before = folders();
            let plans = world.set_up(client.name, scope).expect("it is set up");
            assert!(plans.iter().all(|plan| plan.path.is_file()), "{}", client.name);
            assert_eq!(plans.is_empty(), scope == Scope::Project && !client.has_project_files());
            world.undo();
            assert_eq!(world.files(), [], "{}", client.name);
            assert_eq!(fs::read_dir(&world.places.home).expect("home").count(), before);
        }
    }
}

#[test]
fn a_link_stays_and_the_file_it_leads_to_is_edited() {
    for case in cases() {
        let (mut world, file) = case.world();
        let real = world.root.path().join("dotfiles/real");
        put(&real, &case.bytes);
        fs::remove_file(&file).expect("the file goes");
        symlink(&real, &file).expect("a link");
        world
            .set_up(&case.client, Scope::Global)
            .unwrap_or_else(|e| panic!("{}: {e}", case.name()));
        assert!(file.symlink_metadata().expect("the link").is_symlink(), "{}", case.name());
        assert!(fs::read_to_string(&real).expect("the file").contains("kapsa"));
        world.undo();
        assert!(file.symlink_metadata().expect("the link").is_symlink(), "{}", case.name());
        if !case.has_ours_already() {
            assert_eq!(fs::read(&real).expect("the file"), case.bytes, "{}", case.name());
        }
    }
}

#[test]
fn permissions_stay() {
    let mut world = World::new();
    let file = world.file("claude-code", "server");
    put(&file, b"{}\n");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).expect("permissions");
    let mode = |path: &Path| fs::metadata(path).expect("a file").permissions().mode() & 0o777;
    world.set_up("claude-code", Scope::Global).expect("it is set up");
    assert_eq!(mode(&file), 0o600);
    let backup = world.ledger.files.iter().find_map(|kept| kept.backup.clone()).expect("a backup");
    assert_eq!(mode(&backup), 0o600);
    world.undo();
    assert_eq!(mode(&file), 0o600);
}

#[test]
fn an_edit_between_two_setups_is_no_original_of_ours() {
    let mut world = World::new();
    let file = world.file("codex", "server");
    put(&file, b"model = \"a\"\n");
    world.set_up("codex", Scope::Global).expect("it is set up");
    let text = fs::read_to_string(&file).expect("the file");
    fs::write(&file, format!("added = 1\n{text}")).expect("an edit");
    world.program.path = "/elsewhere/kapsa".to_string();
    world.set_up("codex", Scope::Global).expect("it is set up again");
    assert!(fs::read_to_string(&file).expect("the file").contains("/elsewhere/kapsa"));
    world.undo();
    assert_eq!(fs::read_to_string(&file).expect("the file"), "added = 1\nmodel = \"a\"\n");
}

#[test]
fn where_a_person_changed_our_own_lines_the_rest_still_stays() {
    let mut changed = 0;
    for case in cases().iter().filter(|case| !case.has_ours_already()) {
        let (mut world, file) = case.world();
        world
            .set_up(&case.client, Scope::Global)
            .unwrap_or_else(|e| panic!("{}: {e}", case.name()));
        let set_up = fs::read_to_string(&file).expect("the file");
        let mut edited = set_up.clone();
        for (ours, theirs) in [
            ("\"args\": [\"mcp\"]", "\"args\": [\"mcp\", \"--json\"]"),
            ("\"mcp\"]", "\"mcp\", \"--json\"]"),
            ("\"timeout\": 10", "\"timeout\": 11"),
            ("args = [\"mcp\"]", "startup_timeout_sec = 5\nargs = [\"mcp\"] # theirs"),
            ("## Memory", "## Our memory"),
        ] {
            if edited == set_up {
                edited = edited.replace(ours, theirs);
            }
        }
        assert_ne!(edited, set_up, "{}", case.name());
        fs::write(&file, &edited).expect("an edit");
        world.undo();
        let left = fs::read_to_string(&file).unwrap_or_default();
        let original = String::from_utf8(case.bytes.clone()).expect("a text");
        let squeezed = |text: &str| text.replace([' ', '\t', '\r', '\n', ','], "");
        let emptied = ["", "{}"].contains(&squeezed(&original).as_str());
        assert!(
            squeezed(&left) == squeezed(&original) || (emptied && squeezed(&left) == "{}"),
            "{}: {left}",
            case.name()
        );
        changed += 1;
    }
    assert!(changed > FILES_MIN, "only {changed} files");
}
