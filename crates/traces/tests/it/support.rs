//! Traces, a capsule, and an extractor that takes what it is told.

use std::fs;
use std::path::{Path, PathBuf};

use kapsa_agents::{CapsuleFactStore, Fact, FactQuery, FactStore, StoreLocation};
use kapsa_extract::{Candidate, MemoryType};
use kapsa_ingest::{Session, Speaker, TurnKind};
use kapsa_memory::{Reader, WriteOptions, create};
use kapsa_traces::{Extractor, Registry, Report, Step, SyncOptions, sync};
use serde_json::json;
use tempfile::TempDir;

/// The time of all writes.
pub(crate) const NOW: i64 = 1_790_000_000_000_000;

pub(crate) fn now() -> i64 {
    NOW
}

/// A capsule, and a folder of traces.
pub(crate) struct Place {
    pub(crate) folder: TempDir,
}

impl Place {
    pub(crate) fn new() -> Place {
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir(folder.path().join("traces")).expect("a folder");
        let place = Place { folder };
        create(&place.capsule(), &WriteOptions::new(now)).expect("a capsule");
        place
    }

    pub(crate) fn capsule(&self) -> PathBuf {
        self.folder.path().join("memory.kapsa")
    }

    pub(crate) fn traces(&self) -> PathBuf {
        self.folder.path().join("traces")
    }

    pub(crate) fn location(&self) -> StoreLocation {
        StoreLocation::new(&self.capsule(), WriteOptions::new(now))
    }

    /// A session of Claude Code in the repository `shop`, that began on this day of June 2026.
    pub(crate) fn session(&self, id: &str, day: u32, said: &[&str]) -> PathBuf {
        self.session_in("shop", id, day, said)
    }

    pub(crate) fn session_in(&self, folder: &str, id: &str, day: u32, said: &[&str]) -> PathBuf {
        let path = self.traces().join(format!("{id}.jsonl"));
        let mut text = String::new();
        for (minute, said) in said.iter().enumerate() {
            let (speaker, said) = match said.strip_prefix("assistant: ") {
                Some(said) => ("assistant", said),
                None => ("user", *said),
            };
            let line = json!({
                "type": speaker,
                "uuid": format!("{id}-{minute}"),
                "sessionId": id,
                "cwd": format!("/src/{folder}"),
                "timestamp": format!("2026-06-{day:02}T10:{minute:02}:00.000Z"),
                "message": {"role": speaker, "content": said},
            });
            text.push_str(&format!("{line}\n"));
        }
        fs::write(&path, text).expect("it can be written");
        path
    }

    pub(crate) fn sync(&self) -> Report {
        self.sync_with(&options())
    }

    pub(crate) fn sync_with(&self, options: &SyncOptions<'_>) -> Report {
        self.try_sync(&[self.traces()], options).expect("it syncs")
    }

    pub(crate) fn try_sync(
        &self,
        paths: &[PathBuf],
        options: &SyncOptions<'_>,
    ) -> kapsa_traces::Result<Report> {
        sync(&self.location(), paths, options, &mut |_: Step| ())
    }

    /// Every fact, those included whose place another took, by their ids.
    pub(crate) fn facts(&self) -> Vec<Fact> {
        let query = FactQuery { superseded: true, limit: usize::MAX, ..FactQuery::default() };
        let store = CapsuleFactStore::new(self.location());
        let mut facts = store.query(&query).expect("it can be asked");
        facts.sort_by(|a, b| a.id.cmp(&b.id));
        facts
    }

    /// The one fact that begins so.
    pub(crate) fn fact(&self, begins: &str) -> Fact {
        let mut facts = self.facts();
        facts.retain(|fact| fact.content.starts_with(begins));
        assert_eq!(facts.len(), 1, "{begins}: {facts:#?}");
        facts.remove(0)
    }

    pub(crate) fn live(&self) -> Vec<String> {
        let mut texts: Vec<String> = self
            .facts()
            .into_iter()
            .filter(|fact| fact.superseded_by.is_none())
            .map(|fact| fact.content)
            .collect();
        texts.sort();
        texts
    }

    pub(crate) fn registry(&self) -> Registry {
        Registry::load(&self.location()).expect("it can be read")
    }

    pub(crate) fn reader(&self) -> Reader {
        Reader::open(&self.capsule()).expect("it opens")
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        fs::read(self.capsule()).expect("it can be read")
    }
}

pub(crate) fn options() -> SyncOptions<'static> {
    SyncOptions { extractor: Extractor { version: 1, extract: &told }, ..SyncOptions::new(now) }
}

/// Takes every text of the form `type: title | body` for a candidate; `no longer ` before it takes
/// one back.
pub(crate) fn told(session: &Session) -> Vec<Candidate> {
    let texts = session.turns.iter().filter(|turn| turn.kind == TurnKind::Text);
    texts
        .filter_map(|turn| {
            let (text, reversed) = match turn.text.strip_prefix("reversed ") {
                Some(text) => (text, true),
                None => (turn.text.as_str(), false),
            };
            let (kind, said) = text.split_once(": ")?;
            let (title, body) = said.split_once(" | ").unwrap_or((said, ""));
            Some(Candidate {
                kind: MemoryType::named(kind)?,
                title: title.to_string(),
                body: body.replace("\\n", "\n"),
                confidence: 0.7,
                said_by: match turn.speaker {
                    Speaker::Injected => Speaker::User,
                    speaker => speaker,
                },
                evidence: vec![turn.place],
                at: turn.at,
                tags: Vec::new(),
                reversed,
            })
        })
        .collect()
}

/// What became of each candidate.
pub(crate) fn actions(report: &Report) -> Vec<String> {
    let one = |kept: &kapsa_traces::Kept| {
        let decision = &kept.decision;
        let pending = if decision.pending { "+pending" } else { "" };
        let held = if decision.held { "+held" } else { "" };
        format!("{}{pending}{held}", decision.action)
    };
    report.kept.iter().map(one).collect()
}

/// The last part of a path.
pub(crate) fn name_of(path: &str) -> String {
    let name = Path::new(path).file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}
