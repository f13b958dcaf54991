//! The JSON of `key`, and of what `verify` finds out about signatures and an expected chain.

use kapsa_memory::{Anchor, CommitFault, Fault, SignatureReport};
use schemars::JsonSchema;
use serde::Serialize;

use super::Time;

/// A signing key.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Key")]
pub(crate) struct KeyOut<'a> {
    /// The public key: `ed25519:` and 64 hexadecimal digits.
    pub(crate) public_key: &'a str,
    /// The file of the secret key.
    pub(crate) key_path: &'a str,
}

/// Whether trusted keys vouch for a history.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Signatures")]
pub(crate) struct SignaturesOut {
    /// Whether they do: a trusted key signed the newest commit, and each since the first that one
    /// signed.
    trusted: bool,
    /// Number of commits that a trusted key signed.
    signed_count: u64,
    /// Number of the first of them, which vouches for those before it.
    #[serde(skip_serializing_if = "Option::is_none")]
    first_signed_commit: Option<u64>,
    /// Number of later commits that no trusted key signed.
    fault_count: u64,
    /// Those commits, oldest first; at most 1,000.
    faults: Vec<CommitFaultOut>,
}

/// A commit that no trusted key signed.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "CommitFault")]
struct CommitFaultOut {
    /// Number of the commit.
    commit: u64,
    /// When it says that it was made.
    committed_at: Time,
    /// What is wrong.
    #[schemars(extend("enum" = ["unsigned", "bad_signature", "other_key"]))]
    problem: &'static str,
    /// The key that signed it instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    public_key: Option<String>,
}

impl From<&SignatureReport> for SignaturesOut {
    fn from(report: &SignatureReport) -> SignaturesOut {
        SignaturesOut {
            trusted: report.is_trusted(),
            signed_count: report.signed,
            first_signed_commit: report.first_signed,
            fault_count: report.fault_count,
            faults: report.faults.iter().map(CommitFaultOut::from).collect(),
        }
    }
}

impl From<&CommitFault> for CommitFaultOut {
    fn from(fault: &CommitFault) -> CommitFaultOut {
        let (problem, public_key) = match fault.what {
            Fault::Unsigned => ("unsigned", None),
            Fault::BadSignature => ("bad_signature", None),
            Fault::OtherKey(key) => ("other_key", Some(key.to_string())),
        };
        let (commit, committed_at) = (fault.number, Time(fault.time_us));
        CommitFaultOut { commit, committed_at, problem, public_key }
    }
}

/// Whether the history has a commit with the expected chain.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ExpectedChain")]
pub(crate) struct ExpectedChainOut {
    /// Whether it has; otherwise it was rolled back, cut or rewritten since the chain was noted.
    found: bool,
    /// Number of that commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    commit: Option<u64>,
    /// Number of commits after it.
    #[serde(skip_serializing_if = "Option::is_none")]
    later_commit_count: Option<u64>,
}

impl From<Option<Anchor>> for ExpectedChainOut {
    fn from(found: Option<Anchor>) -> ExpectedChainOut {
        ExpectedChainOut {
            found: found.is_some(),
            commit: found.map(|anchor| anchor.number),
            later_commit_count: found.map(|anchor| anchor.later),
        }
    }
}
