//! The facts of a repository as files that people read and edit: a second view of one memory. What
//! was written last decides who changed something; nothing that somebody changed is overwritten.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use kapsa_agents::{Fact, FactQuery, StoreLocation, TimeSource, WorkspaceMemory};
use kapsa_extract::MemoryType;
use kapsa_memory::kinds::TRACE_NOTE;
use kapsa_memory::owned::escape;
use kapsa_memory::{Micros, NewRecord, Uri};
use kapsa_notes::{
    ConflictState, Contents, MemoryFolder, NewMemory, Note, Primitive, Reconciled, Revision, Stamp,
    StoredNote, Versions, reconcile,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::Result;
use crate::known::{Known, content};

/// Prefix of the ids of facts that a person wrote as a file.
const ID_PREFIX: &str = "n_";
const HASH_DIGITS: usize = 16;

/// A folder that shows the facts of a repository.
pub struct FolderView<'a> {
    location: &'a StoreLocation,
    memory: WorkspaceMemory,
    folder: MemoryFolder,
    /// Stands for the folder in the names of notes.
    root: String,
    repository: &'a str,
    /// The run that writes.
    source: &'a str,
    clock: &'a TimeSource,
}

impl std::fmt::Debug for FolderView<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FolderView").field("folder", &self.folder).finish_non_exhaustive()
    }
}

/// What became of the files of a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Viewed {
    /// Files that were written, by the facts that they show.
    pub written: BTreeMap<String, PathBuf>,
    /// Every file, by the fact that it shows.
    pub files: BTreeMap<String, PathBuf>,
    /// Facts that a person changed, wrote or removed in the folder.
    pub taken: Vec<String>,
    /// Files of facts that no longer hold, where they are now.
    pub archived: Vec<PathBuf>,
    /// Files that both sides changed: they are left as they are.
    pub conflicts: Vec<PathBuf>,
    /// Files that could not be read, and why.
    pub unreadable: Vec<(PathBuf, String)>,
}

/// Which file shows a fact, and what both were when they agreed last.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct Link {
    root: String,
    fact: String,
    path: String,
    /// Hash of the file.
    file: String,
    /// Hash of what the fact said.
    known: String,
    /// Whether the fact's version lies beside the file.
    conflict: bool,
}

impl<'a> FolderView<'a> {
    /// The view of a repository's facts in the folder `root`, written by the run `source`.
    #[must_use]
    pub fn new(
        location: &'a StoreLocation,
        root: &Path,
        repository: &'a str,
        source: &'a str,
        clock: &'a TimeSource,
    ) -> FolderView<'a> {
        let now = clock.clone();
        FolderView {
            location,
            memory: WorkspaceMemory::in_capsule(location.clone(), move || now.now()),
            folder: MemoryFolder::at(root),
            root: blake3::hash(root.as_os_str().as_encoded_bytes()).to_hex()[..HASH_DIGITS]
                .to_string(),
            repository,
            source,
            clock,
        }
    }

    /// Takes what people changed into the capsule, and writes what changed there.
    ///
    /// # Errors
    /// What the disk, the capsule or the folder reports.
    pub fn agree(&self) -> Result<Viewed> {
        self.folder.create()?;
        let contents = self.folder.read()?;
        let mut pass = Pass::begin(self, &contents)?;
        let links = std::mem::take(&mut pass.links);
        for link in links {
            self.agree_on(&mut pass, link)?;
        }
        self.write_new(&mut pass)?;
        self.take_new(&mut pass)?;
        if !pass.kept.is_empty() || !pass.forgotten.is_empty() {
            self.location.change_notes(pass.kept, pass.forgotten)?;
        }
        Ok(pass.viewed)
    }

    /// What holds in the repository, and everywhere.
    fn facts(&self) -> Result<BTreeMap<String, Fact>> {
        let now = self.clock.now();
        let mut all = BTreeMap::new();
        for entity in BTreeSet::from([self.repository, ""]) {
            let query = FactQuery {
                entity: Some(entity.to_string()),
                limit: usize::MAX,
                ..FactQuery::default()
            };
            let found = self.memory.store().query(&query)?;
            let holds = |fact: &Fact| {
                fact.pending.is_none() && fact.valid_to.is_none_or(|until| now < until)
            };
            all.extend(found.into_iter().filter(holds).map(|fact| (fact.id.clone(), fact)));
        }
        Ok(all)
    }

    /// Agrees on one file and the fact that it showed last.
    fn agree_on(&self, pass: &mut Pass<'_>, link: Link) -> Result<()> {
        let path = PathBuf::from(&link.path);
        if pass.unreadable.contains(&path) {
            pass.facts.remove(&link.fact);
            pass.viewed.conflicts.push(path);
            return Ok(());
        }
        let (fact, file) = (pass.facts.remove(&link.fact), pass.files.remove(&path));
        let known = fact.as_ref().map(known_hash);
        let capsule = match (&fact, &file) {
            (Some(fact), Some(file)) if says_the_same(fact, file) && is_as_sure(fact, file) => {
                Some(file.hash.clone())
            }
            (Some(_), _) if known.as_ref() == Some(&link.known) => Some(link.file.clone()),
            _ => known.clone(),
        };
        let conflict = match (link.conflict, file.is_some()) {
            (true, true) if self.folder.conflicts_of(&path)?.is_empty() => ConflictState::Decided,
            (true, _) => ConflictState::Open,
            (false, _) => ConflictState::None,
        };
        let decided = reconcile(Versions {
            last: Some(&link.file),
            file: file.as_ref().map(|file| file.hash.as_str()),
            capsule: capsule.as_deref(),
            conflict,
        });
        match (decided, fact, file) {
            (Reconciled::Unchanged, Some(fact), Some(file)) => {
                pass.keep(self, &link, &fact, &path, &file.hash)
            }
            (Reconciled::WriteFile, Some(fact), Some(file)) => {
                let note = self.revised(&file.note, &fact)?;
                let written = self.folder.write(&path, &note, Some(&file.hash))?;
                pass.viewed.written.insert(fact.id.clone(), path.clone());
                pass.keep(self, &link, &fact, &path, &written.hash)
            }
            (Reconciled::TakeEdit, fact, Some(file)) => {
                let fact = self.edited(fact, &link, file)?;
                pass.viewed.taken.push(fact.id.clone());
                pass.keep(self, &link, &fact, &path, &file.hash)
            }
            (Reconciled::Conflict, Some(fact), Some(file)) => {
                if !link.conflict {
                    self.folder.write_conflict(&path, &self.revised(&file.note, &fact)?)?;
                }
                pass.viewed.conflicts.push(path.clone());
                pass.viewed.files.insert(fact.id.clone(), path);
                pass.keep_link(self, &link, Link { conflict: true, ..link.clone() })
            }
            (Reconciled::Conflict, None, Some(_)) => {
                pass.viewed.conflicts.push(path);
                Ok(())
            }
            (Reconciled::FileRemoved { capsule_changed: false }, Some(fact), None) => {
                let valid_to = Some(self.clock.now());
                self.memory.update_fact(&Fact { valid_to, ..fact })?;
                pass.viewed.taken.push(link.fact.clone());
                pass.forget(self, &link)
            }
            (Reconciled::FileRemoved { .. }, Some(_), None) => {
                pass.viewed.conflicts.push(path);
                Ok(())
            }
            (Reconciled::ArchiveFile, None, Some(_)) => {
                pass.viewed.archived.push(self.folder.archive(&path)?);
                pass.forget(self, &link)
            }
            _ => pass.forget(self, &link),
        }
    }

    /// Writes the facts that no file shows yet; one that says the same already is that file.
    fn write_new(&self, pass: &mut Pass<'_>) -> Result<()> {
        for fact in std::mem::take(&mut pass.facts).into_values() {
            let same = pass.files.iter().find(|(_, file)| says_the_same(&fact, file));
            let same = same.map(|(path, file)| (path.clone(), file.hash.clone()));
            let (path, hash) = match same {
                Some((path, hash)) => {
                    pass.files.remove(&path);
                    (path, hash)
                }
                None => {
                    let written = self.added(&fact)?;
                    pass.viewed.written.insert(fact.id.clone(), written.path.clone());
                    (written.path, written.hash)
                }
            };
            pass.keep(self, &Link::default(), &fact, &path, &hash)?;
        }
        Ok(())
    }

    /// Takes the files that people wrote.
    fn take_new(&self, pass: &mut Pass<'_>) -> Result<()> {
        for (path, file) in std::mem::take(&mut pass.files) {
            let link = Link::default();
            let fact = self.edited(None, &link, file)?;
            pass.viewed.taken.push(fact.id.clone());
            pass.keep(self, &link, &fact, &path, &file.hash)?;
        }
        Ok(())
    }

    fn added(&self, fact: &Fact) -> Result<StoredNote> {
        let shown = Shown::of(fact);
        let new = NewMemory {
            title: &shown.title,
            body: &shown.body,
            source: self.source,
            confidence: Some(shown_confidence(fact)),
            tags: &fact.tags,
            kind: shown.kind,
        };
        let created = Stamp::from_micros(fact.created_at)?;
        let note = Note::memory(shown.primitive, &new, &created).map_err(unwritable)?;
        Ok(self.folder.add(shown.primitive, note, &created)?)
    }

    /// A note as the fact is now. The id, `created` and the name of the file stay.
    fn revised(&self, note: &Note, fact: &Fact) -> Result<Note> {
        let shown = Shown::of(fact);
        let mut note = note.clone();
        let revision = Revision {
            title: Some(&shown.title),
            body: Some(&shown.body),
            source: Some(self.source),
            confidence: Some(shown_confidence(fact)),
            tags: Some(&fact.tags),
            kind: shown.kind,
        };
        note.revise(&revision, &Stamp::from_micros(self.clock.now())?).map_err(unwritable)?;
        Ok(note)
    }

    /// Stores what a person wrote, in their name.
    fn edited(&self, fact: Option<Fact>, link: &Link, file: &StoredNote) -> Result<Fact> {
        let now = self.clock.now();
        let fact = match fact {
            Some(fact) => fact,
            None => {
                let id =
                    if link.fact.is_empty() { fresh_id(&file.path) } else { link.fact.clone() };
                let known = self.memory.store().get(&id)?;
                known.unwrap_or_else(|| Fact {
                    entity: self.repository.to_string(),
                    ..Fact::new(id, "", now)
                })
            }
        };
        let fact = Fact {
            content: content_of(file),
            tags: tags_of(file),
            confidence: file
                .note
                .front
                .number("confidence")
                .map_or(fact.confidence, |sure| sure.clamp(0.0, 1.0)),
            updated_at: now,
            valid_to: None,
            ..fact
        };
        self.memory.update_fact(&fact)?;
        Ok(fact)
    }

    fn uri_of(&self, fact: &str) -> kapsa_memory::Result<Uri> {
        Uri::parse(&format!("kapsa/trace/note/{}/{}", self.root, escape(fact)))
    }
}

fn unwritable(source: kapsa_notes::NoteError) -> kapsa_notes::Error {
    kapsa_notes::Error::Note { path: PathBuf::new(), source }
}

/// One pass over a folder.
struct Pass<'a> {
    facts: BTreeMap<String, Fact>,
    links: Vec<Link>,
    /// Decisions and learnings that are not archived.
    files: BTreeMap<PathBuf, &'a StoredNote>,
    unreadable: BTreeSet<PathBuf>,
    kept: Vec<NewRecord>,
    forgotten: Vec<Uri>,
    viewed: Viewed,
}

impl<'a> Pass<'a> {
    fn begin(view: &FolderView<'_>, contents: &'a Contents) -> Result<Pass<'a>> {
        let links: Vec<Link> = view
            .location
            .notes(TRACE_NOTE)?
            .into_iter()
            .filter_map(|note| serde_json::from_value(Value::Object(note.metadata)).ok())
            .filter(|link: &Link| link.root == view.root)
            .collect();
        let is_memory =
            |note: &&StoredNote| !note.is_archived && note.primitive != Primitive::Summary;
        let unreadable = contents.unreadable.iter();
        Ok(Pass {
            facts: view.facts()?,
            links,
            files: contents
                .notes
                .iter()
                .filter(is_memory)
                .map(|note| (note.path.clone(), note))
                .collect(),
            unreadable: unreadable.clone().map(|one| one.path.clone()).collect(),
            kept: Vec::new(),
            forgotten: Vec::new(),
            viewed: Viewed {
                unreadable: unreadable.map(|one| (one.path.clone(), one.reason.clone())).collect(),
                ..Viewed::default()
            },
        })
    }

    /// Notes that a file and a fact agree.
    fn keep(
        &mut self,
        view: &FolderView<'_>,
        before: &Link,
        fact: &Fact,
        path: &Path,
        hash: &str,
    ) -> Result<()> {
        self.viewed.files.insert(fact.id.clone(), path.to_path_buf());
        let link = Link {
            root: view.root.clone(),
            fact: fact.id.clone(),
            path: path.to_string_lossy().into_owned(),
            file: hash.to_string(),
            known: known_hash(fact),
            conflict: false,
        };
        self.keep_link(view, before, link)
    }

    fn keep_link(&mut self, view: &FolderView<'_>, before: &Link, link: Link) -> Result<()> {
        if *before == link {
            return Ok(());
        }
        let metadata = match serde_json::to_value(&link) {
            Ok(Value::Object(metadata)) => metadata,
            _ => Map::new(),
        };
        self.kept.push(NewRecord {
            uri: Some(view.uri_of(&link.fact)?),
            kind: TRACE_NOTE.to_string(),
            metadata,
            ..NewRecord::text("note")
        });
        Ok(())
    }

    fn forget(&mut self, view: &FolderView<'_>, link: &Link) -> Result<()> {
        self.forgotten.push(view.uri_of(&link.fact)?);
        Ok(())
    }
}

/// A fact as a note shows it.
struct Shown {
    primitive: Primitive,
    kind: Option<&'static str>,
    title: String,
    body: String,
}

impl Shown {
    fn of(fact: &Fact) -> Shown {
        let known = Known::of(fact.clone());
        let kind = known.kind();
        let is_decision = kind == Some(MemoryType::Decision);
        let body = if known.body.is_empty() { known.title.clone() } else { known.body };
        Shown {
            primitive: if is_decision { Primitive::Decision } else { Primitive::Learning },
            kind: kind.and_then(MemoryType::kind),
            title: known.title,
            body,
        }
    }
}

/// The text of the fact that a file shows.
fn content_of(file: &StoredNote) -> String {
    let title = file.note.front.text("title").unwrap_or_default();
    let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
    let body = file.note.text().replace("\r\n", "\n");
    // A full stop makes no other sentence of it.
    let repeats = body.trim_end_matches('.') == title.trim_end_matches('.');
    match (title.is_empty(), repeats) {
        (true, _) if body.is_empty() => "(empty)".to_string(),
        (true, _) => body,
        (false, true) => title,
        (false, false) => content(&title, &body),
    }
}

/// The tags of the fact that a file shows: those that it has, and its type.
fn tags_of(file: &StoredNote) -> Vec<String> {
    let mut tags = file.note.front.list("tags");
    if !tags.iter().any(|tag| MemoryType::named(tag).is_some()) {
        let kind = file.note.front.text("kind");
        let of_kind = |one: &MemoryType| one.kind() == kind.as_deref();
        let kind = match file.primitive {
            Primitive::Decision => Some(MemoryType::Decision),
            _ => MemoryType::ALL.into_iter().find(of_kind),
        };
        tags.insert(0, kind.unwrap_or(MemoryType::Fact).name().to_string());
    }
    tags
}

fn says_the_same(fact: &Fact, file: &StoredNote) -> bool {
    fact.content == content_of(file) && fact.tags == tags_of(file)
}

/// Steps of a confidence of 1 that a note shows.
const CONFIDENCE_STEPS: f64 = 1000.0;

/// The confidence of a fact as a note shows it.
fn shown_confidence(fact: &Fact) -> f64 {
    (fact.confidence * CONFIDENCE_STEPS).round() / CONFIDENCE_STEPS
}

/// Whether a file shows the confidence of a fact; one that shows none says nothing else.
fn is_as_sure(fact: &Fact, file: &StoredNote) -> bool {
    let shown = file.note.front.number("confidence");
    shown.is_none_or(|shown| (shown - shown_confidence(fact)).abs() < 0.5 / CONFIDENCE_STEPS)
}

/// A hash of what a note shows of a fact.
fn known_hash(fact: &Fact) -> String {
    let mut hasher = blake3::Hasher::new();
    let confidence = format!("{:.3}", fact.confidence);
    for part in [fact.content.as_str(), &fact.tags.join("\n"), &confidence] {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    hasher.finalize().to_hex().to_string()
}

/// The id of what a person wrote as a file: a run that is repeated makes no second one.
fn fresh_id(path: &Path) -> String {
    let hash = blake3::hash(path.as_os_str().as_encoded_bytes());
    format!("{ID_PREFIX}{}", &hash.to_hex()[..HASH_DIGITS])
}

/// A moment, for notes.
pub(crate) fn stamp(at: Micros) -> Result<Stamp> {
    Ok(Stamp::from_micros(at)?)
}
