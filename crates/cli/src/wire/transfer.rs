//! The JSON of exports, imports, mounts and their leftovers.

use kapsa_memory::request::Stats;
use kapsa_memory::transfer::{GcReport, Mount, Mounted};
use serde::Serialize;

use super::{DiagnosisOut, show};

/// `export`: `{"exported","format","output_path","bytes_written","artifact_count","checkpoint_count","event_count","content_hash","encrypted","safe_mode","warning"?}`.
/// `content_hash` is the BLAKE3 of the file before it was sealed; of a folder, of a list with a line `<hash>  <name>` for each file.
#[derive(Debug, Serialize)]
pub(crate) struct ExportOut {
    pub(crate) exported: bool,
    pub(crate) format: &'static str,
    pub(crate) output_path: String,
    pub(crate) bytes_written: u64,
    pub(crate) artifact_count: u64,
    pub(crate) checkpoint_count: u64,
    pub(crate) event_count: u64,
    pub(crate) content_hash: String,
    pub(crate) encrypted: bool,
    pub(crate) safe_mode: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) warning: Option<String>,
}

/// A mount: `{"name","path","content_hash","imported_at","original_capsule_id","read_only"}`.
#[derive(Debug, Serialize)]
pub(crate) struct MountOut<'a> {
    name: &'a str,
    path: String,
    content_hash: &'a str,
    imported_at: &'a str,
    original_capsule_id: &'a str,
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

/// `mounts`: `{"count","mounts":[mount]}`.
#[derive(Debug, Serialize)]
pub(crate) struct MountsOut<'a> {
    count: usize,
    mounts: Vec<MountOut<'a>>,
}

impl<'a> MountsOut<'a> {
    pub(crate) fn of(mounts: &'a [Mount]) -> MountsOut<'a> {
        MountsOut { count: mounts.len(), mounts: mounts.iter().map(MountOut::from).collect() }
    }
}

/// `import`: `{"imported","already","source_path","mount_name","mount_path","content_hash","original_capsule_id","artifact_count","checkpoint_count","event_count","verification_passed","diagnostics","warning"?}`.
#[derive(Debug, Serialize)]
pub(crate) struct ImportOut<'a> {
    imported: bool,
    already: bool,
    source_path: String,
    mount_name: &'a str,
    mount_path: String,
    content_hash: &'a str,
    original_capsule_id: &'a str,
    artifact_count: u64,
    checkpoint_count: u64,
    event_count: u64,
    verification_passed: bool,
    diagnostics: Vec<DiagnosisOut<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    warning: Option<String>,
}

impl<'a> ImportOut<'a> {
    pub(crate) fn of(source: &std::path::Path, done: &'a Mounted, stats: &Stats, warning: Option<String>) -> ImportOut<'a> {
        ImportOut {
            imported: true,
            already: done.existed,
            source_path: show(source),
            mount_name: &done.mount.name,
            mount_path: show(&done.mount.path),
            content_hash: &done.mount.content_hash,
            original_capsule_id: &done.mount.original_capsule_id,
            artifact_count: stats.uri_count.unwrap_or_default(),
            checkpoint_count: stats.checkpoint_count.unwrap_or_default(),
            event_count: stats.event_count.unwrap_or_default(),
            verification_passed: true,
            diagnostics: done.diagnostics.iter().map(DiagnosisOut::from).collect(),
            warning,
        }
    }
}

/// `gc`: `{"dry_run","exports_deleted","exports_preserved","exports_skipped","temp_files_deleted","bytes_freed","deleted_paths","warning"?}`.
#[derive(Debug, Serialize)]
pub(crate) struct GcOut {
    dry_run: bool,
    exports_deleted: u64,
    exports_preserved: u64,
    exports_skipped: u64,
    temp_files_deleted: u64,
    bytes_freed: u64,
    deleted_paths: Vec<String>,
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
