//! Arguments of `review`, and levels of trust.

use clap::{Args, Subcommand, ValueEnum};
use kapsa_memory::{Admission, Trust};

use crate::examples;

#[derive(Debug, Args)]
pub(crate) struct ReviewArgs {
    #[command(subcommand)]
    pub(crate) verb: Option<ReviewVerb>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ReviewVerb {
    /// List what waits, the oldest first
    #[command(after_help = examples::REVIEW)]
    List {
        /// Most records listed
        #[arg(long, default_value_t = REVIEW_LIMIT_DEFAULT)]
        limit: usize,
    },
    /// Show one record that waits: its text, who brought it, and why it waits
    #[command(after_help = examples::REVIEW)]
    Show {
        /// Number or URI, as listed
        id: String,
    },
    /// Store what waits, in the name of whoever brought it
    #[command(after_help = examples::REVIEW)]
    Accept(ReviewDecide),
    /// Discard what waits; its history stays
    #[command(after_help = examples::REVIEW)]
    Reject(ReviewDecide),
    /// Store what waits with another text
    #[command(after_help = examples::REVIEW)]
    Edit(ReviewEdit),
    /// List the rules that say what has to wait
    #[command(after_help = examples::REVIEW)]
    Rules,
    /// Add or replace a rule that says what has to wait
    #[command(after_help = examples::REVIEW)]
    Rule {
        /// What becomes of the records that the rule is about
        admission: AdmissionLevel,
        #[command(flatten)]
        scope: ReviewScopeArgs,
    },
    /// Remove a rule
    #[command(after_help = examples::REVIEW)]
    RemoveRule {
        #[command(flatten)]
        scope: ReviewScopeArgs,
    },
}

/// Records that are listed by default.
pub(crate) const REVIEW_LIMIT_DEFAULT: usize = 50;

#[derive(Debug, Args)]
pub(crate) struct ReviewDecide {
    /// Numbers or URIs, as listed
    #[arg(required = true, value_name = "ID")]
    pub(crate) ids: Vec<String>,
    /// Who decides
    #[arg(long, value_name = "NAME", allow_hyphen_values = true)]
    pub(crate) by: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ReviewEdit {
    /// Number or URI, as listed
    pub(crate) id: String,
    /// The text to store [default: opens VISUAL or EDITOR]
    #[arg(long)]
    pub(crate) text: Option<String>,
    /// Who decides
    #[arg(long, value_name = "NAME", allow_hyphen_values = true)]
    pub(crate) by: Option<String>,
}

// What a rule is about: all that is given must hold.
#[derive(Debug, Args)]
pub(crate) struct ReviewScopeArgs {
    /// Records trusted no further than this
    #[arg(long = "of-trust", value_enum, value_name = "TRUST")]
    pub(crate) of_trust: Option<TrustLevel>,
    /// Records that this principal writes
    #[arg(long = "of-principal", value_name = "PRINCIPAL")]
    pub(crate) of_principal: Option<String>,
    /// Records of this domain
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) domain: Option<String>,
    /// Records of this kind
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) kind: Option<String>,
}

/// What becomes of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum AdmissionLevel {
    /// Stored at once, whatever its text is like
    Direct,
    /// Stored at once unless its text is flagged: the default
    Flagged,
    /// Waits for review
    Review,
}

impl From<AdmissionLevel> for Admission {
    fn from(level: AdmissionLevel) -> Admission {
        match level {
            AdmissionLevel::Direct => Admission::Direct,
            AdmissionLevel::Flagged => Admission::Flagged,
            AdmissionLevel::Review => Admission::Review,
        }
    }
}

// How far something is believed, as docs/access.md says. Comments on the values would make every
// help text long, since the flags are global.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TrustLevel {
    Tool,
    Import,
    Trace,
    Model,
    Principal,
    Owner,
}

impl From<TrustLevel> for Trust {
    fn from(level: TrustLevel) -> Trust {
        match level {
            TrustLevel::Tool => Trust::Tool,
            TrustLevel::Import => Trust::Import,
            TrustLevel::Trace => Trust::Trace,
            TrustLevel::Model => Trust::Model,
            TrustLevel::Principal => Trust::Principal,
            TrustLevel::Owner => Trust::Owner,
        }
    }
}
