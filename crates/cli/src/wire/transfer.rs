//! The JSON of `export`, `import`, `mounts`, `gc` and `clone`.

use std::path::Path;

use kapsa_importers::Skipped;
use kapsa_memory::request::Stats;
use kapsa_memory::transfer::{GcReport, Mount, Mounted};
use schemars::JsonSchema;
use serde::Serialize;

use super::care::DiagnosisOut;
use super::{Extent, Time, Versions, show};

/// What was exported.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ExportOut {
    /// True.
    pub(crate) exported: bool,
    /// What was written.
    #[schemars(extend("enum" = ["capsule", "jsonl", "json-dir", "markdown", "basic-memory", "server-memory", "claude-md", "mv2"]))]
    pub(crate) format: &'static str,
    /// The file or folder.
    pub(crate) output_path: String,
    /// Size of the file or folder, in bytes.
    pub(crate) bytes_written: u64,
    /// Number of records of any kind, earlier revisions among them.
    pub(crate) record_count: u64,
    /// Number of live URIs.
    pub(crate) uri_count: u64,
    /// Number of checkpoints.
    pub(crate) checkpoint_count: u64,
    /// Number of events.
    pub(crate) event_count: u64,
    /// BLAKE3 of the file before it was sealed; of a folder, of a list with a line `<hash>
    /// <name>` for each file.
    pub(crate) content_hash: String,
    /// Whether it was sealed with a passphrase.
    pub(crate) encrypted: bool,
    /// Whether model calls, debug traces and folder names were left out.
    pub(crate) safe_mode: bool,
    /// What failed besides the export, which is whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) warning: Option<String>,
    #[serde(flatten)]
    pub(crate) versions: Versions,
}

/// A capsule that is mounted, to be read only.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Mount")]
struct MountOut<'a> {
    /// Its name.
    name: &'a str,
    /// The capsule.
    path: String,
    /// BLAKE3 of the capsule.
    content_hash: &'a str,
    /// When it was imported.
    #[schemars(with = "Time")]
    imported_at: &'a str,
    /// Id of the capsule that it is a copy of.
    original_capsule_id: &'a str,
    /// True.
    read_only: bool,
}

impl<'a> From<&'a Mount> for MountOut<'a> {
    fn from(mount: &'a Mount) -> MountOut<'a> {
        MountOut {
            name: &mount.name,
            path: show(&mount.path),
            content_hash: &mount.content_hash,
            imported_at: &mount.imported_at,
            original_capsule_id: &mount.original_capsule_id,
            read_only: true,
        }
    }
}

/// A list of mounts.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct MountsOut<'a> {
    #[serde(flatten)]
    extent: Extent,
    /// The mounts.
    mounts: Vec<MountOut<'a>>,
}

impl<'a> MountsOut<'a> {
    pub(crate) fn of(mounts: &'a [Mount]) -> MountsOut<'a> {
        MountsOut {
            extent: Extent::whole(mounts.len()),
            mounts: mounts.iter().map(MountOut::from).collect(),
        }
    }
}

/// What `import` answers: what it mounted, or with a product what came of its memory, or with
/// `--status` or `--verify` how that compares with what is here.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum ImportAnswer<'a> {
    Mount(ImportOut<'a>),
    Memories(ImportedOut<'a>),
    Compared(ImportComparedOut<'a>),
}

/// What came of the memory of a product. `added`, `replaced`, `unchanged`, `doubled`, `kept` and
/// `skipped` are together `source_count`.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ImportedMemories")]
pub(crate) struct ImportedOut<'a> {
    /// The product.
    pub(crate) product: &'static str,
    /// The file or folder.
    pub(crate) source_path: String,
    /// Whether nothing was written.
    pub(crate) dry_run: bool,
    /// Memories that the source holds.
    pub(crate) source_count: u64,
    /// Records that were not here.
    pub(crate) added: u64,
    /// Records that took the place of what was here.
    pub(crate) replaced: u64,
    /// Records that were here as they are.
    pub(crate) unchanged: u64,
    /// Older revisions that were put before records that were added or replaced.
    pub(crate) revisions: u64,
    /// Memories with the id of a later one, which counts.
    pub(crate) doubled: u64,
    /// Records among those that were added or replaced that wait for a review.
    pub(crate) held: u64,
    /// Records that differ and stay as they are here.
    pub(crate) kept: Vec<String>,
    /// Memories that cannot be used.
    pub(crate) skipped: Vec<ImportSkippedOut<'a>>,
    /// What is not a memory and stays in the source.
    pub(crate) left: Vec<ImportLeftOut>,
    /// Memories that were stored, or would be: `added` and `replaced`. Only of local-memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) stored_count: Option<u64>,
    /// All others; both are together `source_count`. Only of local-memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) skipped_count: Option<u64>,
    /// Copy of the capsule as it was before. Only of local-memory, where something was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) backup_path: Option<String>,
    /// How the memories were found. Only of local-memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) found: Option<ImportFoundOut>,
}

/// How memories were found where a program can only be searched.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[schemars(rename = "ImportFound")]
pub(crate) struct ImportFoundOut {
    /// How many searches were asked.
    pub(crate) searches: u64,
    /// Whether the last ones brought nothing new; otherwise there may be more memories.
    pub(crate) settled: bool,
}

/// How the memory of a product compares with what is here. `here`, `missing`, `differing`,
/// `doubled` and `skipped` are together `source_count`.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ImportCompared")]
pub(crate) struct ImportComparedOut<'a> {
    /// The product.
    pub(crate) product: &'static str,
    /// Whether it was asked for with `--verify`.
    pub(crate) verified: bool,
    /// Whether everything that can be used is here as it is there.
    pub(crate) same: bool,
    /// Memories that the source holds.
    pub(crate) source_count: u64,
    /// Memories that are here as they are there.
    pub(crate) here: u64,
    /// Memories that say the same as another or have its id.
    pub(crate) doubled: u64,
    /// URIs of memories that are not here.
    pub(crate) missing: Vec<String>,
    /// URIs of memories that differ here.
    pub(crate) differing: Vec<String>,
    /// Memories that cannot be used.
    pub(crate) skipped: Vec<ImportSkippedOut<'a>>,
    /// How the memories were found.
    pub(crate) found: ImportFoundOut,
}

/// A memory that cannot be used.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ImportSkipped")]
pub(crate) struct ImportSkippedOut<'a> {
    /// Where it stands.
    place: &'a str,
    /// Why.
    reason: &'a str,
}

impl<'a> From<&'a Skipped> for ImportSkippedOut<'a> {
    fn from(skipped: &'a Skipped) -> ImportSkippedOut<'a> {
        ImportSkippedOut { place: &skipped.place, reason: &skipped.reason }
    }
}

/// What stays in the source.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ImportLeft")]
pub(crate) struct ImportLeftOut {
    /// What it is.
    pub(crate) what: &'static str,
    /// How many.
    pub(crate) count: u64,
}

/// What was imported.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Import")]
pub(crate) struct ImportOut<'a> {
    /// True.
    imported: bool,
    /// Whether the same capsule was mounted before under this name.
    existed: bool,
    /// The file that was imported.
    source_path: String,
    /// Name of the mount.
    mount_name: &'a str,
    /// The mounted capsule.
    mount_path: String,
    /// BLAKE3 of the capsule.
    content_hash: &'a str,
    /// Id of the capsule that it is a copy of.
    original_capsule_id: &'a str,
    /// Number of live URIs.
    uri_count: u64,
    /// Number of checkpoints.
    checkpoint_count: u64,
    /// Number of events.
    event_count: u64,
    /// True: what does not verify is not mounted.
    verification_passed: bool,
    /// What `doctor` finds in it.
    diagnostics: Vec<DiagnosisOut<'a>>,
    /// What failed besides the import, which is whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    warning: Option<String>,
    #[serde(flatten)]
    versions: Versions,
}

impl<'a> ImportOut<'a> {
    pub(crate) fn of(
        source: &Path,
        done: &'a Mounted,
        stats: &Stats,
        warning: Option<String>,
    ) -> ImportOut<'a> {
        ImportOut {
            imported: true,
            existed: done.existed,
            source_path: show(source),
            mount_name: &done.mount.name,
            mount_path: show(&done.mount.path),
            content_hash: &done.mount.content_hash,
            original_capsule_id: &done.mount.original_capsule_id,
            uri_count: stats.uri_count.unwrap_or_default(),
            checkpoint_count: stats.checkpoint_count.unwrap_or_default(),
            event_count: stats.event_count.unwrap_or_default(),
            verification_passed: true,
            diagnostics: done.diagnostics.iter().map(DiagnosisOut::from).collect(),
            warning,
            versions: Versions::OURS,
        }
    }
}

/// What was deleted, or with `--dry-run` would be.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct GcOut {
    /// Whether nothing was deleted.
    dry_run: bool,
    /// Number of exports deleted.
    exports_deleted: u64,
    /// Number of exports kept, since they are pinned or young.
    exports_preserved: u64,
    /// Number of files passed over, since they are not exports.
    exports_skipped: u64,
    /// Number of leftovers of interrupted exports, imports and compactions deleted.
    temp_files_deleted: u64,
    /// Size of what was deleted.
    bytes_freed: u64,
    /// What was deleted.
    deleted_paths: Vec<String>,
    /// What failed besides.
    #[serde(skip_serializing_if = "Option::is_none")]
    warning: Option<String>,
}

impl GcOut {
    pub(crate) fn of(report: &GcReport, dry_run: bool, warning: Option<String>) -> GcOut {
        GcOut {
            dry_run,
            exports_deleted: report.exports_deleted,
            exports_preserved: report.exports_preserved,
            exports_skipped: report.exports_skipped,
            temp_files_deleted: report.temp_files_deleted,
            bytes_freed: report.bytes_freed,
            deleted_paths: report.deleted_paths.iter().map(|path| show(path)).collect(),
            warning,
        }
    }
}

/// A capsule that was cloned.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CloneOut {
    /// True.
    pub(crate) cloned: bool,
    /// The capsule.
    pub(crate) capsule_path: String,
    /// The copy.
    pub(crate) clone_path: String,
}
