//! Target: a note of any bytes is written as it was read, a change leaves all other keys alone, and
//! the guard answers whatever it is asked.

use std::path::Path;

use kapsa_notes::{FRONT_BYTES_MAX, Note, Primitive, Roots, decide};
use serde_json::json;

/// What runs begin with.
pub(crate) const NOTES: [&str; 6] = [
    "---\nid: a\ntitle: no\ntags: [x, y]\n---\n\nbody\n",
    "\u{feff}---\r\nid: a\r\n# mine\r\ntitle: |+\r\n  two\r\n\r\n---\r\nbody",
    "---\na: &x {b: 1}\nc: *x\n---\n",
    "---\n{id: a, 'b c': [1, 2.5, null, true]}\n---",
    "---\n? a\n: - b\n- c\n---\n---\n",
    "ls 'a b' | cat \"c\\\"d\" && echo; test -f x || wc",
];

/// Reads the bytes as a note, and as a command and a path for the guard.
pub fn note(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let roots = Roots { memory: "/missing/memory".into(), run: "/missing/run".into() };
    let ask = |tool: &str, input| decide(tool, &input, &roots, Path::new("/missing"));
    ask("Bash", json!({"command": text}));
    ask("Write", json!({"file_path": text, "content": text}));
    ask("Write", json!({"file_path": "memory/decisions/a.md", "content": text}));
    let Ok(note) = Note::from_bytes(data) else {
        return;
    };
    assert_eq!(note.render().as_bytes(), data);
    let keys = note.front.keys().count();
    assert!(keys > 0 || !note.faults(Primitive::Learning).is_empty());
    let mut changed = note.clone();
    let was_set = changed.front.set("updated", text.chars().take(100).collect::<String>());
    if was_set.is_err() || changed.front.render().len() > FRONT_BYTES_MAX {
        return;
    }
    let read = Note::parse(&changed.render()).expect("what was written can be read");
    assert_eq!(read.body, changed.body);
    for key in changed.front.keys() {
        assert_eq!(read.front.get(key), changed.front.get(key), "{key}");
    }
    for key in note.front.keys().filter(|key| *key != "updated") {
        assert_eq!(read.front.get(key), note.front.get(key), "{key}");
    }
}
