//! Sources of every product, in the shapes that it writes.

use std::fs;
use std::path::Path;

use kapsa_importers::{Product, Source};
use kapsa_memory::{NewRecord, Trust};
use rusqlite::Connection;
use serde_json::{Value, json};
use tempfile::TempDir;

fn read(product: &str, path: &Path) -> Source {
    Product::named(product).expect("it is known").read(path).expect("it is read")
}

fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, text).expect("written");
    }
    folder
}

fn named<'a>(source: &'a Source, uri: &str) -> &'a NewRecord {
    let of = |record: &NewRecord| record.uri.as_ref().expect("a name").short().to_string();
    let all: Vec<String> = source.items.iter().map(|item| of(&item.record)).collect();
    let found = source.items.iter().find(|item| of(&item.record) == uri);
    &found.unwrap_or_else(|| panic!("{uri} is not among {all:?}")).record
}

fn origin(record: &NewRecord) -> &Value {
    &record.metadata["imported_from"]
}

#[test]
fn server_memory_gives_entities_and_relations_and_names_broken_lines() {
    let lines = [
        r#"{"type":"entity","name":"Ada","entityType":"person","observations":["likes tea","works at Acme"]}"#,
        r#"{"type":"entity","entityType":"person","observations":["has no name"]}"#,
        r#"{"type":"entity","name":"Acme","observations":null}"#,
        r#"{"type":"relation","from":"Ada","to":"Acme","relationType":"works_at"}"#,
        r#"{"from":"Acme","to":"Ada"}"#,
        r#"{"type":"entity","name":"cut"#,
        "",
        "\u{feff}[]",
    ];
    let folder = folder(&[("memory.jsonl", &lines.join("\n"))]);
    let source = read("server-memory", folder.path());
    assert_eq!((source.items.len(), source.skipped.len(), source.count()), (4, 3, 7));
    let places: Vec<&str> = source
        .skipped
        .iter()
        .map(|skipped| skipped.place.rsplit(':').next().expect("a line"))
        .collect();
    assert_eq!(places, ["2", "6", "8"], "{:?}", source.skipped);
    let all: Vec<(&str, &str, &str)> = source
        .items
        .iter()
        .map(|item| {
            (item.record.title.as_str(), item.record.text.as_str(), item.record.entity.as_str())
        })
        .collect();
    assert_eq!(
        all,
        [
            ("Ada (person)", "likes tea\nworks at Acme", "Ada"),
            ("Acme", "Acme", "Acme"),
            ("", "Ada works at Acme", "Ada"),
            ("", "Acme is related to Ada", "Acme"),
        ]
    );
    let ada = &source.items[0].record;
    assert_eq!(ada.trust, Some(Trust::Import));
    assert_eq!(origin(ada), &json!({"product": "server-memory", "what": "entity", "id": "Ada"}));
    assert_eq!(ada.metadata["observations"], json!(["likes tea", "works at Acme"]));
}

#[test]
fn the_history_of_mem0_leaves_what_is_remembered_now() {
    let folder = folder(&[]);
    let path = folder.path().join("history.db");
    let database = Connection::open(&path).expect("made");
    database
        .execute_batch(
            "CREATE TABLE history (id TEXT PRIMARY KEY, memory_id TEXT, old_memory TEXT, new_memory TEXT,
                 event TEXT, created_at DATETIME, updated_at DATETIME, is_deleted INTEGER, actor_id TEXT, role TEXT);
             INSERT INTO history VALUES
                 ('1','m1',NULL,'likes tea','ADD','2025-01-01T00:00:00-08:00',NULL,0,'ada','user'),
                 ('2','m1','likes tea','likes coffee','UPDATE','2025-01-01T00:00:00-08:00','2025-02-01 00:00:00',0,NULL,NULL),
                 ('3','m2',NULL,'is in Rome','ADD',NULL,NULL,0,NULL,NULL),
                 ('4','m2','is in Rome',NULL,'DELETE',NULL,NULL,1,NULL,NULL),
                 ('5','m3',NULL,NULL,'ADD',NULL,NULL,0,NULL,NULL);",
        )
        .expect("filled");
    drop(database);
    let source = read("mem0", folder.path());
    assert_eq!((source.items.len(), source.skipped.len()), (1, 1), "{source:?}");
    assert_eq!(source.left, [("deleted memories", 1)]);
    let memory = named(&source, "mem0/memory/m1");
    assert_eq!(
        (memory.text.as_str(), memory.created_at),
        ("likes coffee", Some(1_738_368_000_000_000))
    );
    // As an older version wrote it, without some of the columns.
    let old = folder.path().join("old.db");
    let database = Connection::open(&old).expect("made");
    database
        .execute_batch(
            "CREATE TABLE history (id TEXT, memory_id TEXT, new_memory TEXT, event TEXT);
             INSERT INTO history VALUES ('1','m1','likes tea','ADD');",
        )
        .expect("filled");
    drop(database);
    assert_eq!(named(&read("mem0", &old), "mem0/memory/m1").created_at, None);
}

#[test]
fn lists_of_mem0_are_read_in_every_form() {
    let memory = json!({"id": "m1", "memory": "likes tea", "user_id": "ada",
        "categories": ["food", null], "metadata": {"mood": "calm"}, "created_at": "2025-01-01T00:00:00Z", "updated_at": null, "hash": "x"});
    let payload = json!({"id": "m2", "payload": {"data": "likes walks", "user_id": "ada", "created_at": 1_735_689_600}});
    let nothing = json!({"id": "m3", "memory": null});
    for text in [
        json!({"results": [memory, payload, nothing]}).to_string(),
        json!([memory, payload, nothing]).to_string(),
    ] {
        let folder = folder(&[("memories.json", &text)]);
        let source = read("mem0", folder.path());
        assert_eq!((source.items.len(), source.skipped.len()), (2, 1));
        let first = named(&source, "mem0/memory/m1");
        assert_eq!((first.text.as_str(), first.entity.as_str()), ("likes tea", "ada"));
        assert!(first.tags.contains_key("food") && first.metadata["mood"] == "calm");
        let second = named(&source, "mem0/memory/m2");
        assert_eq!((second.text.as_str(), second.created_at), ("likes walks", first.created_at));
    }
}

#[test]
fn notes_of_basic_memory_keep_their_frontmatter_once() {
    let note = "---\ntitle: Coffee\ntype: note\npermalink: drinks/coffee\ntags:\n- drink\n- '#hot'\ncreated: 2025-01-01\n---\n\n# Coffee\n\n- [method] Pour over is best #brew (tried)\n- [ ] buy beans\n- relates_to [[Tea]]\n- [[Water]]\n";
    let folder = folder(&[
        ("drinks/coffee.md", note),
        ("plain.md", "Just a text.\n"),
        ("empty.md", "---\ntitle: Empty\n---\n"),
        ("odd.md", "---\nnot: [closed\n---\nbody\n"),
        (".git/x.md", "no"),
        ("image.png", "no"),
    ]);
    fs::write(folder.path().join("latin.md"), b"caf\xe9").expect("written");
    let source = read("basic-memory", folder.path());
    assert_eq!((source.items.len(), source.skipped.len()), (4, 1), "{source:?}");
    let coffee =
        &source.items.iter().find(|item| item.record.title == "Coffee").expect("it").record;
    assert_eq!(origin(coffee)["id"], "drinks/coffee");
    assert!(coffee.text.starts_with("# Coffee") && !coffee.text.contains("permalink"));
    assert_eq!(coffee.metadata["frontmatter"]["permalink"], "drinks/coffee");
    assert_eq!(
        coffee.metadata["observations"],
        json!([{"category": "method", "content": "Pour over is best #brew (tried)"}])
    );
    assert_eq!(
        coffee.metadata["relations"],
        json!([{"type": "relates_to", "to": "Tea"}, {"type": "relates_to", "to": "Water"}])
    );
    assert_eq!(coffee.tags.keys().collect::<Vec<_>>(), ["drink", "hot"]);
    assert_eq!(named(&source, "basic-memory/note/plain").title, "plain");
    let odd = &source.items.iter().find(|item| item.record.title == "odd").expect("it").record;
    assert!(odd.text.contains("not: [closed"), "nothing of it is lost");
}

#[test]
fn vaults_and_the_memory_of_programs_are_notes_too() {
    let folder = folder(&[
        ("MEMORY.md", "# Memory\n\n- [Build](build.md): how to build\n"),
        ("build.md", "---\nname: Build\ndescription: how\n---\nRun make.\n"),
        (".obsidian/app.md", "no"),
        ("Ideas.md", "See [[Build|the build]] and [[Ideas#one]].\n"),
    ]);
    for product in ["claude-code", "codex", "obsidian"] {
        let source = read(product, folder.path());
        assert_eq!((source.items.len(), source.skipped.len()), (3, 0), "{product}");
        assert_eq!(named(&source, &format!("{product}/note/build")).title, "Build");
    }
    let source = read("obsidian", folder.path());
    let ideas = &source.items.iter().find(|item| item.record.title == "Ideas").expect("it").record;
    assert_eq!(ideas.metadata["links"], json!(["Build", "Ideas"]));
    let one = read("claude-code", &folder.path().join("build.md"));
    assert_eq!(one.items.len(), 1);
}

#[test]
fn issues_of_beads_are_to_be_done() {
    let lines = [
        json!({"id": "bd-1", "title": "Fix the lock", "description": "It hangs.", "design": "Use flock.", "notes": "",
            "status": "open", "priority": 1, "issue_type": "bug", "labels": ["core"], "assignee": "ada",
            "comments": [{"author": "bob", "text": "Seen too."}],
            "dependencies": [{"issue_id": "bd-1", "depends_on_id": "bd-2", "type": "blocks"}],
            "created_at": "2025-01-01T00:00:00Z", "updated_at": "2025-01-02T00:00:00Z"})
        .to_string(),
        json!({"id": "bd-2", "title": "Title alone"}).to_string(),
        json!({"title": "no id"}).to_string(),
    ];
    let folder = folder(&[(".beads/issues.jsonl", &lines.join("\n"))]);
    let source = read("beads", folder.path());
    assert_eq!((source.items.len(), source.skipped.len()), (2, 1));
    let issue = named(&source, "beads/issue/bd-1");
    assert_eq!(issue.text, "It hangs.\n\nDesign: Use flock.\n\nbob: Seen too.");
    assert_eq!((issue.kind.as_str(), issue.tags["status"].as_str()), ("todo", "open"));
    assert_eq!(issue.metadata["dependencies"][0]["depends_on_id"], "bd-2");
    assert_eq!(issue.created_at, Some(1_735_776_000_000_000));
    assert_eq!(named(&source, "beads/issue/bd-2").text, "Title alone");
}

#[test]
fn agent_files_of_letta_give_their_blocks_once() {
    let block = json!({"id": "block-1", "label": "human", "value": "The human is called Ada."});
    let file = json!({
        "agents": [
            {"name": "helper",
             "memory_blocks": [block, {"label": "persona", "value": "I am kind."}],
             "messages": [{}, {}]},
            {"name": "other", "memory_blocks": [block, {"id": "block-2", "label": "empty", "value": ""}]},
        ],
        "blocks": [block],
        "tools": [{}],
    });
    let folder = folder(&[("agent.af", &file.to_string())]);
    let source = read("letta", &folder.path().join("agent.af"));
    assert_eq!(source.items.len(), 3, "{source:?}");
    assert_eq!(named(&source, "letta/block/block-1").text, "The human is called Ada.");
    assert_eq!(source.left, [("messages", 2), ("tools", 1)]);
    let old = json!({"agent_type": "memgpt_agent", "name": "h", "core_memory": [{"label": "human", "value": "Ada"}], "messages": []});
    fs::write(folder.path().join("old.af"), old.to_string()).expect("written");
    assert_eq!(read("letta", &folder.path().join("old.af")).items.len(), 1);
}

#[test]
fn facts_of_graphiti_keep_when_they_held() {
    let file = json!({
        "episodes": [
            {"uuid": "e1", "name": "Chat", "content": "Ada moved to Rome.", "source_description": "chat",
             "valid_at": "2025-01-01T00:00:00Z", "group_id": "g"},
            {"uuid": "e2", "name": null, "content": null},
        ],
        "edges": [
            {"uuid": "f1", "fact": "Ada lives in Rome", "valid_at": "2025-01-01T00:00:00Z",
             "invalid_at": "2025-06-01T00:00:00Z", "fact_embedding": [0.1]},
        ],
    });
    let folder = folder(&[("export.json", &file.to_string())]);
    let source = read("graphiti", &folder.path().join("export.json"));
    assert_eq!((source.items.len(), source.skipped.len()), (2, 1));
    let episode = named(&source, "graphiti/episode/e1");
    assert_eq!((episode.title.as_str(), episode.agent.as_str()), ("Chat", "chat"));
    let fact = named(&source, "fact/graphiti-f1");
    assert_eq!((fact.kind.as_str(), fact.text.as_str()), ("fact", "Ada lives in Rome"));
    assert_eq!(fact.metadata["valid_from"], 1_735_689_600_000_000_i64);
    assert_eq!(fact.metadata["valid_to"], 1_748_736_000_000_000_i64);
    assert!(!fact.metadata.contains_key("fact_embedding"));
}

#[test]
fn exports_of_chats_give_what_was_noted() {
    let profile = json!({"message": {"content": {"content_type": "user_editable_context",
        "user_profile": "I teach.", "user_instructions": null}}});
    let conversations = json!([
        {"title": null, "create_time": null, "mapping": {
            "a": {"message": null},
            "b": profile,
            "c": {"message": {"recipient": "bio", "create_time": 1_735_689_600.5,
                "content": {"content_type": "text", "parts": ["User has a dog."]}}},
            "d": {"message": {"recipient": "all", "content": {"parts": ["Hello"]}}},
        }},
        {"mapping": {"b2": profile}},
    ]);
    let folder = folder(&[("conversations.json", &conversations.to_string())]);
    let source = read("chatgpt", folder.path());
    let texts: Vec<&str> = source.items.iter().map(|item| item.record.text.as_str()).collect();
    assert_eq!(texts, ["I teach.", "User has a dog.", "I teach."]);
    assert_eq!(source.items[0].record.uri, source.items[2].record.uri, "the same profile is one");
    assert_eq!(source.left, [("conversations", 2), ("messages", 1)]);
    let memories = json!([{"conversations_memory": "**Work** Ada teaches.",
        "project_memories": {"p-1": "The project is a book.", "p-2": null},
        "account_uuid": "acc"}]);
    fs::write(folder.path().join("memories.json"), memories.to_string()).expect("written");
    let source = read("claude", folder.path());
    assert_eq!((source.items.len(), source.skipped.len()), (2, 1));
    assert_eq!(named(&source, "claude/account/acc").text, "**Work** Ada teaches.");
}
