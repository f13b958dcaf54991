//! Files of strangers that lie where the program makes its own: none is opened, followed, changed
//! or removed.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use kapsa_memory::{FileSystem, Volume};

use crate::support::{Sandbox, bytes, fifo};

/// What a stranger may have put in a place.
#[derive(Clone, Copy, Debug)]
enum Stranger {
    File,
    ReadOnly,
    Folder,
    Link,
    DanglingLink,
    Pipe,
    Capsule,
}

const STRANGERS: [Stranger; 7] = [
    Stranger::File,
    Stranger::ReadOnly,
    Stranger::Folder,
    Stranger::Link,
    Stranger::DanglingLink,
    Stranger::Pipe,
    Stranger::Capsule,
];

const CONTENT: &[u8] = b"precious words\n";

impl Stranger {
    fn put(self, sandbox: &Sandbox, place: &Path) {
        match self {
            Stranger::File => fs::write(place, CONTENT).expect("a file"),
            Stranger::ReadOnly => {
                fs::write(place, CONTENT).expect("a file");
                fs::set_permissions(place, fs::Permissions::from_mode(0o444)).expect("read-only");
            }
            Stranger::Folder => {
                fs::create_dir(place).expect("a folder");
                fs::write(place.join("inside"), CONTENT).expect("a file");
            }
            Stranger::Link => symlink(sandbox.write("victim", CONTENT), place).expect("a link"),
            Stranger::DanglingLink => symlink(sandbox.path("nowhere"), place).expect("a link"),
            Stranger::Pipe => fifo(place),
            Stranger::Capsule => {
                let other = Sandbox::new();
                other.ok(&["put", "--text", "of somebody else"]);
                fs::copy(other.capsule(), place).expect("copied");
            }
        }
    }

    /// What can be seen of it and of what it leads to.
    fn look(self, sandbox: &Sandbox, place: &Path) -> (Option<PathBuf>, u32, Vec<u8>) {
        let found = place.symlink_metadata().unwrap_or_else(|e| panic!("{self:?} is gone: {e}"));
        let content = match self {
            Stranger::Folder => bytes(&place.join("inside")),
            Stranger::Link => bytes(&sandbox.path("victim")),
            Stranger::File | Stranger::ReadOnly | Stranger::Capsule => bytes(place),
            Stranger::DanglingLink => {
                assert!(!sandbox.path("nowhere").exists(), "the link was followed");
                Vec::new()
            }
            Stranger::Pipe => Vec::new(),
        };
        (fs::read_link(place).ok(), found.permissions().mode(), content)
    }
}

/// Every verb that makes files beside a capsule, in an order in which each can succeed.
fn calls() -> Vec<Vec<&'static str>> {
    [
        "put --text more",
        "checkpoint",
        "branch create idea",
        "branch switch idea",
        "branch switch main",
        "optimize",
        "compact",
        "clone copy.kapsa",
        "export --out part.kapsa",
        "export --out part.jsonl --format jsonl",
        "export --out notes --format markdown",
        "import part.kapsa",
        "salvage saved.kapsa",
        "gc",
        "doctor",
        "init --force",
    ]
    .iter()
    .map(|call| call.split(' ').collect())
    .collect()
}

/// The names that the program ever had, or has, for what it makes.
const BESIDE_A_CAPSULE: [&str; 7] = [
    "workspace.kapsa.tmp",
    "workspace.kapsa.lock",
    "workspace.kapsa.bak",
    "workspace.kapsa.branch",
    "workspace.kapsa.branch.new",
    "workspace.kapsa.salvage",
    "workspace.kapsa.clone",
];
const IN_THE_FOLDER: [&str; 8] = [
    "copy.kapsa.clone",
    "saved.kapsa.salvage",
    "copy.kapsa.tmp",
    "saved.kapsa.tmp",
    "part.kapsa.tmp",
    ".kapsa-part-0",
    ".kapsa-part-0123456789abcdef",
    ".kapsa-state-0",
];

#[test]
fn strangers_beside_a_capsule_stay_as_they_are() {
    for stranger in STRANGERS {
        let beside = BESIDE_A_CAPSULE.iter().map(|name| format!(".kapsa/{name}"));
        for name in beside.chain(IN_THE_FOLDER.map(str::to_string)) {
            let sandbox = Sandbox::new();
            sandbox.ok(&["put", "--text", "kept", "--uri", "note/kept"]);
            let place = sandbox.path(&name);
            fs::remove_file(&place).ok();
            stranger.put(&sandbox, &place);
            let before = stranger.look(&sandbox, &place);
            for call in calls() {
                let run = sandbox.run(&call);
                assert!(run.code.is_some(), "{name}, {stranger:?}, {call:?}: {run:?}");
                let after = stranger.look(&sandbox, &place);
                assert_eq!(after, before, "{name}, {stranger:?}, {call:?}: {run:?}");
            }
        }
    }
}

#[test]
fn a_lock_file_that_is_not_one_is_named_and_left() {
    for stranger in STRANGERS {
        let sandbox = Sandbox::empty();
        let place = sandbox.path("yarn.lock");
        stranger.put(&sandbox, &place);
        let before = stranger.look(&sandbox, &place);
        let error = sandbox.fails(&["create", "yarn"], 1, "foreign_lock");
        let message = error["message"].as_str().unwrap_or_default();
        assert!(message.contains("yarn.lock"), "{stranger:?}: {message}");
        assert!(error["hint"].is_string(), "{stranger:?}: {error}");
        assert_eq!(stranger.look(&sandbox, &place), before, "{stranger:?}");
        assert!(!sandbox.path("yarn").exists());
    }
}

#[test]
fn doctor_sees_what_is_in_the_place_of_a_lock_file() {
    for stranger in STRANGERS {
        let sandbox = Sandbox::new();
        let place = sandbox.path(".kapsa/workspace.kapsa.lock");
        fs::remove_file(&place).ok();
        stranger.put(&sandbox, &place);
        let run = sandbox.run(&["doctor", "--json"]);
        assert_eq!(run.code, Some(2), "{stranger:?}: {run:?}");
        assert!(run.out.contains("\"foreign_lock\""), "{stranger:?}: {run:?}");
    }
}

#[test]
fn a_capsule_named_as_a_lock_file_stays_readable() {
    let sandbox = Sandbox::empty();
    sandbox.ok(&["create", "z.lock"]);
    sandbox.ok(&["--capsule", "z.lock", "put", "--text", "kept"]);
    sandbox.fails(&["create", "z"], 1, "foreign_lock");
    let found = sandbox.json(&["--capsule", "z.lock", "find", "kept"]);
    assert_eq!(found["count"], 1, "{found}");
}

#[test]
fn a_file_in_the_making_is_not_opened_as_a_capsule() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["put", "--text", "kept"]);
    let making = FileSystem.temporary(&sandbox.capsule());
    fs::copy(sandbox.capsule(), &making).expect("copied");
    let name = making.to_str().expect("a plain path");
    for call in [&["stats"][..], &["find", "kept"], &["put", "--text", "x"], &["optimize"]] {
        let run = sandbox.run(&[&["--capsule", name], call].concat());
        assert_eq!(run.code, Some(1), "{call:?}: {run:?}");
    }
    assert_eq!(bytes(&making), bytes(&sandbox.capsule()));
}

#[test]
fn a_link_that_leads_nowhere_is_not_replaced() {
    let sandbox = Sandbox::empty();
    let place = sandbox.path("new.kapsa");
    symlink(sandbox.path("nowhere"), &place).expect("a link");
    for call in [&["create", "new.kapsa"][..], &["--capsule", "new.kapsa", "init"]] {
        sandbox.fails(call, 1, "not_a_capsule");
        assert!(place.is_symlink() && !sandbox.path("nowhere").exists());
    }
}

#[test]
fn a_folder_that_is_missing_is_named() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["put", "--text", "kept", "--uri", "note/kept"]);
    sandbox.write("file", "not a folder");
    for call in [
        &["create", "file/x.kapsa"][..],
        &["--capsule", "file/x.kapsa", "init"],
        &["clone", "no/dir/x.kapsa"],
        &["salvage", "no/dir/x.kapsa"],
        &["resolve-uri", "note/kept", "--out", "no/dir/x"],
    ] {
        let error = sandbox.fails(call, 1, "no_folder");
        assert!(error["message"].as_str().is_some_and(|text| text.contains("folder")), "{error}");
    }
}

/// A file that the user names for an answer is never the capsule, nor what lies beside it.
#[test]
fn answers_are_not_written_over_the_capsule() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["put", "--text", "kept", "--uri", "note/kept"]);
    sandbox.ok(&["branch", "create", "idea"]);
    let before = bytes(&sandbox.capsule());
    for out in [".kapsa/workspace.kapsa", ".kapsa/workspace.kapsa.lock"] {
        sandbox.fails(&["resolve-uri", "note/kept", "--out", out], 1, "not_writable");
        sandbox.fails(&["merge", "--from", "idea", "--plan", out], 1, "not_writable");
    }
    assert_eq!(bytes(&sandbox.capsule()), before);
}

#[test]
fn compaction_keeps_the_access_rights() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["put", "--text", "kept"]);
    for mode in [0o600, 0o640] {
        let rights = fs::Permissions::from_mode(mode);
        fs::set_permissions(sandbox.capsule(), rights).expect("set");
        sandbox.ok(&["compact"]);
        let found = fs::metadata(sandbox.capsule()).expect("there").permissions().mode();
        assert_eq!(found & 0o777, mode);
    }
}
