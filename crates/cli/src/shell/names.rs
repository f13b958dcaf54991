//! Which names does a capsule hold that a line may go on with?

use kapsa_memory::Record;
use kapsa_memory::branch;
use kapsa_memory::request::TimelineRequest;

use crate::app::App;
use crate::args::Global;
use crate::error::Result;
use crate::escape;

/// Newest records whose URIs are looked at.
const SCANNED_MAX: usize = 1000;
/// Most URIs that are offered at a time.
const OFFERED_MAX: usize = 50;

/// Names of a capsule. One that cannot be read has none.
pub(super) trait Names {
    /// Branches that can be worked on.
    fn branches(&self) -> Vec<String>;
    /// URIs that begin with `prefix`, newest first.
    fn uris(&self, prefix: &str) -> Vec<String>;
}

/// The capsule that the shell works on, opened anew for each question: it may have grown or been switched since.
pub(super) struct CapsuleNames {
    held: Global,
}

impl CapsuleNames {
    pub(super) fn new(held: &Global) -> CapsuleNames {
        CapsuleNames { held: held.clone() }
    }

    fn newest(&self) -> Result<Vec<Record>> {
        let request = TimelineRequest { limit: SCANNED_MAX, reverse: true, ..TimelineRequest::default() };
        Ok(App::new(self.held.clone()).reader()?.timeline(&request)?)
    }

    fn open_branches(&self) -> Result<Vec<String>> {
        let branches = branch::list(&App::new(self.held.clone()).whole_reader()?)?;
        Ok(branches.into_iter().filter(|branch| !branch.archived).map(|branch| branch.name).collect())
    }
}

impl Names for CapsuleNames {
    fn branches(&self) -> Vec<String> {
        self.open_branches().unwrap_or_default().into_iter().filter(|name| escape::is_plain(name)).collect()
    }

    fn uris(&self, prefix: &str) -> Vec<String> {
        let records = self.newest().unwrap_or_default();
        let uris = records.iter().map(|record| &record.uri);
        let fitting = uris.filter_map(|uri| [uri.short(), uri.as_str()].into_iter().find(|form| form.starts_with(prefix)));
        let mut offered: Vec<String> = Vec::new();
        for uri in fitting.filter(|uri| escape::is_plain(uri)) {
            if offered.len() == OFFERED_MAX {
                break;
            }
            if !offered.iter().any(|known| known == uri) {
                offered.push(uri.to_string());
            }
        }
        offered
    }
}
