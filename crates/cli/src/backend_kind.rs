//! Names of the stores that can serve the plain verbs; what they do is not known here.

use clap::ValueEnum;

/// The stores by name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum BackendKind {
    /// The capsule
    #[default]
    Capsule,
    /// The daemon local-memory
    LocalMemory,
    /// A file of Memvid beside the capsule
    Memvid,
}

impl BackendKind {
    /// All of them.
    pub(crate) const ALL: [BackendKind; 3] =
        [BackendKind::Capsule, BackendKind::LocalMemory, BackendKind::Memvid];

    /// Its name, as it is written in the file.
    pub(crate) fn name(self) -> &'static str {
        match self {
            BackendKind::Capsule => "capsule",
            BackendKind::LocalMemory => "local-memory",
            BackendKind::Memvid => "memvid",
        }
    }
}
