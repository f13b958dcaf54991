//! Completion of the addresses of resources, and of what prompts ask for.

use std::collections::BTreeSet;

use kapsa_agents::EntryKind;
use kapsa_memory::request::TimelineRequest;

use crate::host::Problem;
use crate::memory::{Memory, Session};
use crate::{resources, shown};

/// Newest records that are looked through.
const LOOKED_THROUGH_MAX: usize = 2000;
/// Values that are offered; the protocol allows no more.
const VALUES_MAX: usize = 100;

/// What is completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Completed {
    Uri,
    Agent,
    Run,
    Entity,
}

/// Values that begin so, in order, and whether there are more.
pub(crate) fn completions(
    memory: &Memory,
    session: &Session,
    what: Completed,
    begin: &str,
) -> Result<(Vec<String>, bool), Problem> {
    let place = memory.place(session, None)?;
    let reader = memory.reader(&place, None)?;
    let request =
        TimelineRequest { limit: LOOKED_THROUGH_MAX, reverse: true, ..TimelineRequest::default() };
    let mut values = BTreeSet::new();
    for record in reader.list(&request).map_err(|error| memory.problem(error))? {
        let record = record.map_err(|error| memory.problem(error))?;
        let value = match what {
            Completed::Uri => record.uri.short(),
            Completed::Agent => record.agent.as_str(),
            Completed::Run => record.run.as_str(),
            Completed::Entity => record.entity.as_str(),
        };
        if !value.is_empty() && value.starts_with(begin) {
            values.insert(shown::line(value));
        }
    }
    let is_more = values.len() > VALUES_MAX;
    Ok((values.into_iter().take(VALUES_MAX).collect(), is_more))
}

/// The same for paths of an agent's files: those in the folder that is being typed.
pub(crate) fn completed_paths(
    memory: &Memory,
    session: &Session,
    agent: &str,
    begin: &str,
) -> Result<(Vec<String>, bool), Problem> {
    let folder = begin.rsplit_once('/').map_or("", |(folder, _)| folder);
    let files = resources::files(memory, session, agent)?;
    let listing =
        files.browse(&format!("/{folder}")).map_err(|error| resources::of_file(memory, error))?;
    let mut paths: Vec<String> = listing
        .entries
        .iter()
        .map(|entry| {
            let slash = if matches!(entry.kind, EntryKind::Folder { .. }) { "/" } else { "" };
            let path = format!("{}{}{slash}", listing.path, entry.name);
            shown::line(path.trim_start_matches('/'))
        })
        .filter(|path| path.starts_with(begin))
        .collect();
    let is_more = listing.more > 0 || paths.len() > VALUES_MAX;
    paths.truncate(VALUES_MAX);
    Ok((paths, is_more))
}
