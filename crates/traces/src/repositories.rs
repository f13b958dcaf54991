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

    fn names_in(&self, folder: &str) -> Vec<String> {
        let own = self.name_of_folder(folder);
        if own.is_empty() {
            return Vec::new();
        }
        let is_below = |below: &str| {
            below.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let below = self.folders.iter().filter(|(below, _)| is_below(below));
        std::iter::once(own).chain(below.map(|(_, repository)| repository.clone())).collect()
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

/// The repositories that whatever happens in some folders is about: those of the folders
/// ([`repository_of`]), and those of sessions below them. Ascending; none of a folder without a
/// name.
///
/// # Errors
/// What the disk or a damaged file reports.
pub fn repositories_in(location: &StoreLocation, folders: &[&str]) -> Result<Vec<String>> {
    let registry = Registry::load(location)?;
    let sessions = registry.files().flat_map(|file| &file.sessions);
    let known = Repositories::of(sessions);
    let mut names: Vec<String> =
        folders.iter().flat_map(|folder| known.names_in(folder.trim_end_matches('/'))).collect();
    names.sort();
    names.dedup();
    Ok(names)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_about_its_repository_and_those_below() {
        let folders = [
            ("/src/shop", "acme/shop"),
            ("/src/tools/web", "acme/web"),
            ("/src/toolshed", "acme/toolshed"),
        ];
        let folders = folders.map(|(folder, name)| (folder.to_string(), name.to_string()));
        let known = Repositories { folders: folders.into() };
        let names = |folder: &str| known.names_in(folder);
        assert_eq!(names("/src/shop"), ["acme/shop", "acme/shop"]);
        assert_eq!(names("/src/shop/src"), ["acme/shop"]);
        assert_eq!(names("/src/tools"), ["tools", "acme/web"]);
        assert_eq!(names("/src/new"), ["new"]);
        assert_eq!(names("/"), Vec::<String>::new());
    }
}
