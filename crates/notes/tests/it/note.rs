//! Notes: what is read is written back byte by byte, and every text comes back as the same text.

use kapsa_notes::{
    FRONT_BYTES_MAX, Front, KeyFault, NOTE_BYTES_MAX, NewMemory, NewSummary, Note, NoteError,
    Primitive, Revision, Stamp,
};
use serde_json::json;

const CREATED: i64 = 1_796_033_700_000_000;
const LATER: i64 = CREATED + 3_600_000_000;

fn stamp(micros: i64) -> Stamp {
    Stamp::from_micros(micros).expect("a date")
}

/// A note with comments, odd spacing and keys of a person's own.
const BY_A_PERSON: &str = "\
---
# who reads this: ops
id: use-port-5433
title:   Use port 5433   # agreed
created: 2026-11-01T00:00:00Z
updated: '2026-11-01T00:00:00Z'

source: sync-20261101-000000-aaaaaa
confidence: 0.70
tags: [ports,   staging]
# mine
owner:
- ana
-  ben
links: { wiki: \"x\",  n: 0x10 }
---

Staging listens on 5433.

---
Not the end.
";

#[test]
fn a_note_that_nobody_changed_keeps_every_byte() {
    let crlf = BY_A_PERSON.replace('\n', "\r\n");
    let bom = format!("\u{feff}{BY_A_PERSON}");
    for text in [
        BY_A_PERSON,
        &crlf,
        &bom,
        "---\n---\n",
        "---\n---",
        "---\n# only a comment\n---\nbody",
        "--- \nid: a\n---\t\n\n\nbody \n\n",
        "---\n{id: a, title: b}\n---\nbody",
        "---\na: &x 1\nb: *x\n---\n",
        "---\ntext: |+\n  kept\n\n\n---\n",
    ] {
        let note = Note::parse(text).expect(text);
        assert_eq!(note.render(), text);
    }
}

#[test]
fn a_revision_changes_its_own_lines_only() {
    let mut note = Note::parse(BY_A_PERSON).expect("a note");
    let revision =
        Revision { title: Some("Use port 5434"), confidence: Some(0.7), ..Revision::default() };
    note.revise(&revision, &stamp(LATER)).expect("a revision");
    let expected = BY_A_PERSON
        .replace("title:   Use port 5433   # agreed", "title: Use port 5434")
        .replace("updated: '2026-11-01T00:00:00Z'", "updated: \"2026-11-30T11:15:00Z\"");
    assert_eq!(note.render(), expected);
}

#[test]
fn a_revision_keeps_windows_lines_and_the_mark_before_them() {
    let mut note = Note::parse("\u{feff}---\r\nid: a\r\ntitle: b\r\n---\r\n\r\nold\r\nlines\r\n")
        .expect("a note");
    let same = Revision { body: Some("old\nlines"), ..Revision::default() };
    note.revise(&same, &stamp(LATER)).expect("a revision");
    assert_eq!(note.body, "\r\nold\r\nlines\r\n");
    let revision = Revision { body: Some("new\nlines"), ..Revision::default() };
    note.revise(&revision, &stamp(LATER)).expect("a revision");
    assert_eq!(
        note.render(),
        "\u{feff}---\r\nid: a\r\ntitle: b\r\nupdated: \"2026-11-30T11:15:00Z\"\r\n---\r\n\r\nnew\r\nlines\r\n"
    );
}

#[test]
fn a_body_behind_frontmatter_that_ends_the_file_begins_a_line() {
    let mut note = Note::parse("---\nid: a\n---").expect("a note");
    note.body = "text".to_owned();
    assert_eq!(note.render(), "---\nid: a\n---\ntext");
}

#[test]
fn entries_that_hang_together_are_written_anew_with_the_same_values() {
    let mut note =
        Note::parse("---\nbase: &b [1, 2]\ncopy: *b\ntitle: old\n---\n").expect("a note");
    note.front.set("title", "new").expect("set");
    assert_eq!(note.render(), "---\nbase:\n- 1\n- 2\ncopy:\n- 1\n- 2\ntitle: new\n---\n");
    let mut flow = Note::parse("---\n{title: old, n: 1}\n---\n").expect("a note");
    flow.front.remove("n").expect("removed");
    assert_eq!(flow.render(), "---\ntitle: old\n---\n");
}

/// A mark of the end behind a lone return, which YAML takes for a line's end, hid a key that came
/// after it.
#[test]
fn a_key_behind_a_hidden_end_is_not_lost() {
    let mut note = Note::parse("---\nid: a\ntitle: b\r...\n---\n").expect("a note");
    note.front.set("updated", "now").expect("set");
    let read = Note::parse(&note.render()).expect("a note");
    assert_eq!(read.front.text("updated").as_deref(), Some("now"));
    assert_eq!(read.front.text("title").as_deref(), Some("b"));
}

#[test]
fn frontmatter_that_is_none_is_named_and_nothing_is_dropped() {
    use NoteError::{NoFrontmatter, UnclosedFrontmatter};
    for (text, expected) in [
        ("", NoFrontmatter),
        ("# A heading\n", NoFrontmatter),
        ("\n---\nid: a\n---\n", NoFrontmatter),
        (" ---\nid: a\n---\n", NoFrontmatter),
        ("----\nid: a\n----\n", NoFrontmatter),
        ("---\nid: a\n", UnclosedFrontmatter),
        ("---\nid: a\n ---\nbody\n", UnclosedFrontmatter),
        ("---", UnclosedFrontmatter),
    ] {
        assert_eq!(Note::parse(text), Err(expected), "{text:?}");
    }
}

#[test]
fn yaml_that_is_no_mapping_or_beyond_limits_is_refused_with_a_reason_on_one_line() {
    let deep = format!("a: {}{}", "[".repeat(40), "]".repeat(40));
    let many = format!("a: [{}]", "1,".repeat(5000));
    let bomb = "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\n\
                c: &c [*b,*b,*b,*b,*b,*b,*b,*b]\nd: [*c,*c,*c,*c,*c,*c,*c,*c]";
    let long = format!("a: {}", "x".repeat(FRONT_BYTES_MAX));
    for yaml in [
        "- a\n- b",
        "just text",
        "a: 1\na: 2",
        "a: [1",
        "a: \"x",
        "a: b: c",
        "\u{1b}[31m: x",
        &deep,
        &many,
        bomb,
        &long,
    ] {
        let error = Note::parse(&format!("---\n{yaml}\n---\n")).expect_err(yaml);
        let NoteError::Frontmatter { reason } = error else { panic!("{error}") };
        assert!(!reason.is_empty() && !reason.contains(char::is_control), "{reason:?}");
    }
    let large = vec![b'a'; NOTE_BYTES_MAX + 1];
    assert!(matches!(Note::from_bytes(&large), Err(NoteError::TooLarge { .. })));
    assert_eq!(Note::from_bytes(b"---\n\xff"), Err(NoteError::NotText { at: 4 }));
}

/// Texts that some reader of YAML takes for something else if they are not quoted.
const HARD: [&str; 48] = [
    "no",
    "NO",
    "yes",
    "On",
    "off",
    "y",
    "N",
    "true",
    "FALSE",
    "null",
    "Null",
    "~",
    "",
    " ",
    " a",
    "a ",
    "2026-11-30",
    "2026-11-30T10:15:00Z",
    "2026-11-30 10:15:00",
    "1e3",
    "1E3",
    ".5",
    "1_000",
    "0x1F",
    "0o17",
    "017",
    "1:30",
    "190:20:30",
    ".inf",
    "-.INF",
    ".NaN",
    "+1",
    "=",
    "<<",
    "- a",
    "a: b",
    "a #b",
    "#a",
    "*a",
    "&a",
    "!a",
    "%a",
    "@a",
    "`a",
    "two\nlines\n\n",
    "tab\there",
    "\u{85}\u{2028}\u{feff}\u{0}\u{1b}[31m",
    "🎉 \"quoted\" 'both' \\ back",
];

#[test]
fn every_text_comes_back_as_the_same_text() {
    for text in HARD {
        let mut front = Front::default();
        front.set("title", text).expect(text);
        front.set("tags", vec![text, "x"]).expect(text);
        let yaml = front.render();
        assert_eq!(yaml.lines().filter(|line| line.starts_with("title:")).count(), 1, "{yaml}");
        let read = Front::parse(&yaml).expect(&yaml);
        assert_eq!(read.text("title").as_deref(), Some(text), "{yaml}");
        assert_eq!(read.get("tags"), Some(&json!([text, "x"])), "{yaml}");
        let note = Note::new(front, "body".to_owned()).render();
        assert_eq!(Note::parse(&note).expect(&note).body, "body");
    }
}

/// What YAML 1.1 reads as truth values, times and numbers is in quotes.
#[test]
fn texts_that_look_like_other_values_are_quoted() {
    for text in ["no", "NO", "yes", "On", "null", "2026-11-30", "1e3", "0x1F", "1:30", "1_000", "~"]
    {
        let mut front = Front::default();
        front.set("title", text).expect(text);
        let yaml = front.render();
        let value = yaml.trim_end().strip_prefix("title: ").expect("a title");
        assert!(value.starts_with(['"', '\'']) && value.ends_with(['"', '\'']), "{yaml}");
    }
}

#[test]
fn values_without_quotes_are_read_as_they_were_written() {
    let front =
        Front::parse("a: no\nb: 1e3\nc: 2026-11-30\nd: 0.70\ne:\nf: [x]\ng: true\nh: x, y,\n")
            .expect("yaml");
    let text = |key: &str| front.text(key);
    assert_eq!(text("a").as_deref(), Some("no"));
    assert_eq!(text("b").as_deref(), Some("1e3"));
    assert_eq!(text("c").as_deref(), Some("2026-11-30"));
    assert_eq!(text("d").as_deref(), Some("0.70"));
    assert_eq!((text("e"), text("f"), text("z")), (None, None, None));
    assert_eq!(text("g").as_deref(), Some("true"));
    assert_eq!(front.number("d"), Some(0.7));
    assert_eq!(front.list("f"), ["x"]);
    assert_eq!(front.list("h"), ["x", "y"]);
    assert_eq!(front.keys().collect::<String>(), "abcdefgh");
}

#[test]
fn a_learning_has_its_keys_and_defaults() {
    let tags = ["staging".to_owned(), "no".to_owned()];
    let new = NewMemory {
        title: "Staging: port",
        body: "It listens on 5433.\n",
        source: "sync-20261130-101500-abcdef",
        tags: &tags,
        ..NewMemory::default()
    };
    let note = Note::memory(Primitive::Learning, &new, &stamp(CREATED)).expect("a note");
    assert_eq!(
        note.render(),
        "---\nid: staging-port\ntitle: \"Staging: port\"\ncreated: \"2026-11-30T10:15:00Z\"\n\
         updated: \"2026-11-30T10:15:00Z\"\nsource: sync-20261130-101500-abcdef\nconfidence: 0.7\n\
         tags:\n- staging\n- \"no\"\nkind: insight\n---\n\nIt listens on 5433.\n"
    );
    assert_eq!(note.faults(Primitive::Learning), []);
    let decision = Note::memory(Primitive::Decision, &new, &stamp(CREATED)).expect("a note");
    assert_eq!(decision.front.get("kind"), None);
    for odd in [f64::NAN, -0.1, 1.5] {
        let new = NewMemory { confidence: Some(odd), ..new.clone() };
        assert!(Note::memory(Primitive::Decision, &new, &stamp(CREATED)).is_err(), "{odd}");
    }
    let odd_kind = NewMemory { kind: Some("rule"), ..new };
    assert!(Note::memory(Primitive::Learning, &odd_kind, &stamp(CREATED)).is_err());
}

#[test]
fn a_summary_has_its_keys() {
    let related = ["staging-port".to_owned()];
    let new = NewSummary {
        title: "Moved staging",
        description: "It moved to another port.",
        body: "## What happened\n\nIt moved.",
        coding_agent: "codex",
        raw_trace_path: "traces/a.jsonl",
        run_id: "sync-20261130-101500-abcdef",
        related: &related,
        ..NewSummary::default()
    };
    let note = Note::summary(&new, &stamp(CREATED)).expect("a note");
    let keys: Vec<&str> = note.front.keys().collect();
    assert_eq!(keys[..12], *Primitive::Summary.required_keys());
    assert_eq!(note.faults(Primitive::Summary), []);
    assert_eq!(note.front.text("date").as_deref(), Some("2026-11-30"));
    assert_eq!(note.front.text("time").as_deref(), Some("10:15:00"));
}

#[test]
fn missing_and_odd_keys_are_named() {
    let note = Note::parse(
        "---\nid: a\ntitle: ' '\ncreated: x\nupdated: [x]\nconfidence: 2\ntags: 1\nkind: rule\n---\n",
    )
    .expect("a note");
    let faults = note.faults(Primitive::Learning);
    let keys: Vec<&str> = faults
        .iter()
        .map(|fault| match fault {
            KeyFault::Missing { key } | KeyFault::Odd { key, .. } => *key,
        })
        .collect();
    assert_eq!(keys, ["title", "source", "updated", "confidence", "tags", "kind"]);
    assert_eq!(faults[0].to_string(), "`title` is missing");
    assert_eq!(faults[3].to_string(), "`confidence` must be a number from 0 to 1");
}
