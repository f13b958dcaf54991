//! The JSON of `remote`, `fetch`, `pull` and `push`.

use kapsa_memory::Remote;
use schemars::JsonSchema;
use serde::Serialize;

use super::Extent;

/// A capsule to exchange records with.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Remote")]
pub(crate) struct RemoteOut<'a> {
    /// Its name.
    remote: &'a str,
    /// Where it is: a path, or `ssh://host/path`.
    location: &'a str,
    /// Number of its commit up to which its records were fetched; absent before the first fetch.
    #[serde(skip_serializing_if = "Option::is_none")]
    fetched_commit: Option<u64>,
}

impl<'a> From<&'a Remote> for RemoteOut<'a> {
    fn from(remote: &'a Remote) -> RemoteOut<'a> {
        RemoteOut {
            remote: &remote.name,
            location: &remote.location,
            fetched_commit: remote.seen.map(|seen| seen.commit),
        }
    }
}

/// The remotes of a capsule.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RemotesOut<'a> {
    #[serde(flatten)]
    extent: Extent,
    /// The remotes, by name.
    remotes: Vec<RemoteOut<'a>>,
}

impl<'a> RemotesOut<'a> {
    pub(crate) fn of(remotes: &'a [Remote]) -> RemotesOut<'a> {
        let all = remotes.iter().map(RemoteOut::from).collect();
        RemotesOut { extent: Extent::whole(remotes.len()), remotes: all }
    }
}

/// What was exchanged with another capsule.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct ExchangedOut {
    /// What happened: nothing was missing; the records that were missing came (`fast_forward`);
    /// they came to branches that follow the other's (`fetched`); those were merged as well
    /// (`merged`); the other was given what it lacked (`pushed`).
    #[schemars(extend("enum" = ["up_to_date", "fast_forward", "fetched", "merged", "pushed"]))]
    pub(crate) relation: &'static str,
    /// The remote; absent for a copy that is only caught up with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) remote: Option<String>,
    /// Number of records copied.
    pub(crate) record_count: u64,
    /// Number of bytes of their bodies; absent where whole commits were copied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) byte_count: Option<u64>,
    /// Branches that they went to.
    pub(crate) branches: Vec<String>,
}
