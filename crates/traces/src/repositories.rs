//! What a session is about: its repository, by the address that it names or by its folder. Agents
//! that name no address are told it by those that do, where both worked in one folder. Looks at no
//! folder itself.

use std::collections::BTreeMap;

use kapsa_agents::StoreLocation;
use kapsa_ingest::Session;

use crate::error::Result;
use crate::registry::{Registry, SessionState};

/// The repositories of folders, as sessions named them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Repositories {
    folders: BTreeMap<String, String>,
}

impl Repositories {
    /// Those that sessions named before.
    pub(crate) fn of<'s>(sessions: impl Iterator<Item = &'s SessionState>) -> Repositories {
        let named = sessions.filter(|session| !session.repository.is_empty());
        let folders = named.map(|session| (session.folder.clone(), session.repository.clone()));
        Repositories { folders: folders.collect() }
    }

    /// Learns what a session names.
    pub(crate) fn learn(&mut self, session: &Session) {
        let (folder, repository) = named(session);
        if !repository.is_empty() {
            self.folders.insert(folder, repository);
        }
    }

    /// The repository in short: `owner/name` of an address, or the name of the folder.
    pub(crate) fn name(&self, session: &Session) -> String {
        let folder = folder_of(session);
        named_by(session).unwrap_or_else(|| self.name_of_folder(&folder))
    }

    /// The repository of a folder, or of the nearest known one above it that is called like its
    /// repository.
    pub(crate) fn name_of_folder(&self, folder: &str) -> String {
        // A home folder may be a repository of its own, and its projects are not of it.
        let is_above = |(above, repository): &(&String, &String)| {
            let is_within = folder.strip_prefix(above.as_str());
            is_within.is_some_and(|below| below.starts_with('/'))
                && above.rsplit('/').next() == repository.rsplit('/').next()
        };
        let known = self.folders.get(folder).or_else(|| {
            let above = self.folders.iter().filter(is_above).max_by_key(|(above, _)| above.len());
            above.map(|(_, repository)| repository)
        });
        known.cloned().unwrap_or_else(|| {
            let last = folder.split(['/', '\\']).rfind(|part| !part.is_empty());
            last.unwrap_or_default().to_string()
        })
    }
}

/// The repository that sessions in a folder were about, as memories of them name it: that of the
/// folder or of one above it which is known, else the folder's own name.
///
/// # Errors
/// What the disk or a damaged file reports.
pub fn repository_of(location: &StoreLocation, folder: &str) -> Result<String> {
    let registry = Registry::load(location)?;
    let sessions = registry.files().flat_map(|file| &file.sessions);
    Ok(Repositories::of(sessions).name_of_folder(folder))
}

/// The folder of a session and the repository that it names; both empty where it names none.
pub(crate) fn named(session: &Session) -> (String, String) {
    let folder = folder_of(session);
    match named_by(session) {
        Some(repository) if !folder.is_empty() => (folder, repository),
        _ => (String::new(), String::new()),
    }
}

pub(crate) fn folder_of(session: &Session) -> String {
    session.cwd.as_deref().unwrap_or_default().trim_end_matches('/').to_string()
}

/// What the address of a repository says in short.
pub(crate) fn named_by(session: &Session) -> Option<String> {
    let repo = session.repo.as_ref()?;
    let path = repo.trim_end_matches('/').trim_end_matches(".git");
    let path = path.split_once("://").map_or(path, |(_, rest)| rest);
    let parts: Vec<&str> = path.split(['/', ':']).filter(|part| !part.is_empty()).collect();
    match parts.as_slice() {
        [.., owner, name] => Some(format!("{owner}/{name}")),
        [name] => Some((*name).to_string()),
        [] => None,
    }
}
