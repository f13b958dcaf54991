//! `export`, `import`, `mounts` and `gc`: what leaves a capsule, what comes beside it, and what is
//! thrown away.

use std::fs::{self, File};
use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use kapsa_importers::{PRODUCTS, Product};
use kapsa_memory::branch::run_branch;
use kapsa_memory::transfer::{
    EXPORTS_FOLDER, Format, GcReport, GcRequest, Import, MOUNT_NAME_CHARS_MAX, Mounted, Mounts,
    Stage, Written, check_mount_name, gc as throw_away,
};
use kapsa_memory::{
    Error, EventType, Export, ExportRequest, NewEvent, Reader, event, export, stats,
};
use serde_json::{Value, json};

use super::EVENT_PATIENCE;
use crate::app::{App, Status, did};
use crate::args::{self, FormatArg, OnConflict};
use crate::error::{CliError, Done, Result};
use crate::memvid::{Helper, is_memvid};
use crate::moment::{self, rfc3339};
use crate::out_file::{expect_folder_of, is_standard_output};
use crate::progress::Progress;
use crate::render::{counted, size};
use crate::sealed::{self, Passphrase};
use crate::typed_time;
use crate::wire::Versions;
use crate::wire::transfer::{ExportOut, GcOut, ImportAnswer, ImportOut, MountsOut};

/// What the names of sealed files end with.
const SEALED_ENDING: &str = ".age";
/// What the names of files of the format `mv2e` end with.
const MV2E_ENDING: &str = ".mv2e";
/// Where a run of a spec keeps its own.
const SPECS_FOLDER: &str = "docs/specs";
const RUNS_FOLDER: &str = "runs";
/// Bytes that are handed to standard output at a time.
const STREAM_BYTES: usize = 256 << 10;
/// First bytes of a file, which show whether it is sealed.
const FIRST_BYTES: u64 = 64;
const SECONDS_PER_DAY: u64 = 86_400;
/// The product whose files are known without its name.
const MEMVID: &str = "memvid";
const LOCAL_MEMORY: &str = "local-memory";

/// `kapsa export`.
pub(crate) fn export(app: &mut App, args: &args::Export) -> Result<()> {
    let capsule = app.capsule()?;
    let format = Format::from(args.format);
    let sealed = seals(args, format)?;
    let request =
        ExportRequest { spec: args.spec.clone(), run: args.run.clone(), is_unsafe: args.is_unsafe };
    let is_streamed = args.out.as_deref().is_some_and(is_standard_output);
    let target = match is_streamed {
        true if format.is_folder() => {
            return Err(CliError::usage("a folder cannot be written to standard output")
                .hint("--format capsule or jsonl, or --out FOLDER"));
        }
        true if io::stdout().is_terminal() => {
            return Err(CliError::usage("an export is not written to a terminal")
                .hint("redirect it to a file or a pipe, or name a file with --out"));
        }
        true if app.out.is_json() => {
            return Err(CliError::usage("standard output holds the export, or the answer in JSON")
                .hint("name a file with --out, or leave out --json"));
        }
        true => PathBuf::new(),
        false => target(args, &capsule, format, sealed)?,
    };
    let reader = reader_of(app, args)?;
    let export = export::gather(&reader, &request)?;
    if export.file_count > 0 && !format.has_files() {
        let count = counted(export.file_count, "file");
        let message =
            format!("the bytes of {count} are left out: --format capsule or json-dir has them");
        app.out.warn("files_left_out", &message);
    }
    let passphrase = if sealed { Some(passphrase(app, true)?) } else { None };
    if is_streamed {
        return stream(app, &export, args.format, &capsule, passphrase.as_ref());
    }
    if args.out.is_none() {
        make_folder_of(&target)?;
    }
    let written = write(&export, args, &target, passphrase.as_ref())?;
    did(app, Done::new(format!("exported to {}", target.display())));
    let event = exported_event(args, &export, &written, &target, sealed);
    let warning = tell_event(app, &capsule, event);
    let out = ExportOut {
        exported: true,
        format: args.format.name(),
        output_path: target.display().to_string(),
        bytes_written: written.bytes,
        record_count: export.record_count,
        uri_count: export.uri_count,
        checkpoint_count: export.checkpoint_count,
        event_count: export.event_count,
        content_hash: written.content_hash,
        encrypted: sealed,
        safe_mode: !args.is_unsafe,
        warning,
        versions: Versions::OURS,
    };
    if app.out.is_json() {
        return app.out.json(&out);
    }
    let sealed = if sealed { ", sealed" } else { "" };
    app.out.line(&format!(
        "{}: {}, {}, {} ({}{sealed})",
        out.output_path,
        counted(out.uri_count, "record"),
        counted(out.checkpoint_count, "checkpoint"),
        counted(out.event_count, "event"),
        size(out.bytes_written)
    ))
}

/// Writes the export to standard output, once it is whole. It leaves no event: nobody knows where
/// it goes.
fn stream(
    app: &mut App,
    export: &Export,
    format: FormatArg,
    capsule: &Path,
    passphrase: Option<&Passphrase>,
) -> Result<()> {
    let stage = Stage::beside(capsule)?;
    let (mut whole, _) = write_plain(export, format, &stage)?;
    if let Some(passphrase) = passphrase {
        let sealed = stage.path("sealed");
        seal(passphrase, &whole, &sealed)?;
        whole = sealed;
    }
    let failed = |error: io::Error| CliError::io(&format!("read {}", whole.display()), &error);
    let mut file = File::open(&whole).map_err(failed)?;
    let mut part = vec![0; STREAM_BYTES];
    loop {
        match file.read(&mut part).map_err(failed)? {
            0 => return Ok(()),
            read => app.out.own(&part[..read])?,
        }
    }
}

/// The branch that is meant; the run's own, where only that knows the moment that is meant.
fn reader_of(app: &App, args: &args::Export) -> Result<Reader> {
    let reader = app.owner_reader_when(&args.when);
    match (&args.run, &reader) {
        (Some(run), Err(error))
            if error.code == "unknown_moment" && app.global.branch.is_none() =>
        {
            let as_of = args.when.as_of.as_deref().map(typed_time::as_of);
            let own = app.whole_reader()?.on(&run_branch(run)?, as_of.as_ref());
            own.or(reader)
        }
        _ => reader,
    }
}

/// Whether the export is to be sealed: a run's is, unless the flags say otherwise.
fn seals(args: &args::Export, format: Format) -> Result<bool> {
    if args.format == FormatArg::Mv2e && args.no_encrypt {
        return Err(CliError::usage("the format mv2e is encrypted")
            .hint("--format capsule --no-encrypt writes a capsule as it is"));
    }
    let is_wanted = args.encrypt || args.format == FormatArg::Mv2e;
    let sealed = is_wanted || args.run.is_some() && !args.no_encrypt;
    if sealed && format.is_folder() {
        return Err(CliError::usage("a folder of readable files cannot be encrypted").hint(
            "use --no-encrypt, or a format that can be encrypted: --format capsule or jsonl",
        ));
    }
    Ok(sealed)
}

/// The passphrase, typed twice to seal; programs are not asked.
fn passphrase(app: &App, seals: bool) -> Result<Passphrase> {
    Passphrase::find(!app.out.is_json(), seals)
}

/// Where the export goes. `--out` keeps the name it was given.
fn target(args: &args::Export, capsule: &Path, format: Format, sealed: bool) -> Result<PathBuf> {
    let target = match &args.out {
        Some(out) => {
            expect_folder_of(out)?;
            out.clone()
        }
        None => {
            let parts: Vec<String> =
                [&args.spec, &args.run].into_iter().flatten().map(|part| safe_part(part)).collect();
            let is_mv2e = args.format == FormatArg::Mv2e;
            if let ([spec, run], true) = (parts.as_slice(), is_mv2e) {
                let folder = Path::new(SPECS_FOLDER).join(spec).join(RUNS_FOLDER).join(run);
                return free(
                    folder.join(format!("capsule{MV2E_ENDING}")),
                    capsule,
                    format,
                    args.force,
                );
            }
            let stem = if parts.is_empty() { "capsule".to_string() } else { parts.join("_") };
            let ending = if sealed { SEALED_ENDING } else { "" };
            let name = match is_mv2e {
                true => format!("{stem}{MV2E_ENDING}"),
                false => format!("{stem}.{}{ending}", args.format.extension()),
            };
            capsule.with_file_name(EXPORTS_FOLDER).join(name)
        }
    };
    free(target, capsule, format, args.force)
}

/// The target, unless something is there that is not to be replaced.
fn free(target: PathBuf, capsule: &Path, format: Format, force: bool) -> Result<PathBuf> {
    let itself = target
        .canonicalize()
        .is_ok_and(|target| capsule.canonicalize().is_ok_and(|capsule| capsule == target));
    if itself || target.file_name().is_none() {
        return Err(CliError::user(
            "exists",
            format!("{} cannot hold an export", target.display()),
        )
        .hint("choose a new file with --out"));
    }
    let there = target.symlink_metadata();
    if there.as_ref().is_ok_and(|found| !format.is_folder() && found.is_dir())
        || there.is_ok() && !force
    {
        return Err(Error::TargetExists { path: target }.into());
    }
    Ok(target)
}

/// A spec or a run as part of a file's name.
fn safe_part(text: &str) -> String {
    let keep =
        |c: char| if c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_') { c } else { '-' };
    let safe: String = text.chars().take(64).map(keep).collect();
    let safe = safe.trim_start_matches('.');
    if safe.is_empty() { "_".to_string() } else { safe.to_string() }
}

fn make_folder_of(target: &Path) -> Result<()> {
    let folder =
        target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(folder)
        .map_err(|error| CliError::io(&format!("make {}", folder.display()), &error))
}

/// Writes the export beside its place, and gives it its name when it is whole.
fn write(
    export: &Export,
    args: &args::Export,
    target: &Path,
    passphrase: Option<&Passphrase>,
) -> Result<Written> {
    let stage = Stage::beside(target)?;
    let (mut whole, mut written) = write_plain(export, args.format, &stage)?;
    if let Some(passphrase) = passphrase {
        let sealed = stage.path("sealed");
        written.bytes = seal(passphrase, &whole, &sealed)?;
        whole = sealed;
    }
    if Format::from(args.format).is_folder() {
        stage.place_folder(&whole, target, args.force)?
    } else {
        stage.place_file(&whole, target, args.force)?
    }
    Ok(written)
}

/// Writes the export as it is without a seal.
fn write_plain(export: &Export, format: FormatArg, stage: &Stage) -> Result<(PathBuf, Written)> {
    let plain = stage.path("plain");
    let written = export.write(Format::from(format), &plain, rfc3339)?;
    if format != FormatArg::Mv2 {
        return Ok((plain, written));
    }
    let memvid = stage.path("memvid.mv2");
    Helper::find()?.write(&plain, &memvid)?;
    let failed = |error: io::Error| CliError::io(&format!("read {}", memvid.display()), &error);
    let mut hasher = blake3::Hasher::new();
    let file = File::open(&memvid).map_err(failed)?;
    hasher.update_reader(&file).map_err(failed)?;
    file.sync_all().map_err(failed)?;
    let bytes = file.metadata().map_err(failed)?.len();
    let content_hash = hasher.finalize().to_hex().to_string();
    Ok((memvid, Written { bytes, content_hash }))
}

/// Seals a file, durably. Gives the size of the sealed one.
fn seal(passphrase: &Passphrase, plain: &Path, to: &Path) -> Result<u64> {
    let failed = |error: io::Error| CliError::io(&format!("write {}", to.display()), &error);
    let from = File::open(plain)
        .map_err(|error| CliError::io(&format!("read {}", plain.display()), &error))?;
    let sealed = File::create_new(to).map_err(failed)?;
    sealed::seal(passphrase, from, &sealed)?;
    sealed.sync_all().map_err(failed)?;
    Ok(sealed.metadata().map_err(failed)?.len())
}

fn exported_event(
    args: &args::Export,
    export: &Export,
    written: &Written,
    target: &Path,
    sealed: bool,
) -> NewEvent {
    let format = Format::from(args.format);
    let payload = json!({
        "destination_type": if format.is_folder() { "folder" } else { "file" },
        "destination": file_name(target),
        "format": args.format.name(),
        "checkpoints_included": export.checkpoint_count,
        "sanitized": !args.is_unsafe,
        "encrypted": sealed,
        "exported_at": rfc3339(moment::now()),
        "content_hash": written.content_hash,
    });
    let of = |part: &Option<String>| part.clone().unwrap_or_default();
    NewEvent {
        spec: of(&args.spec),
        run: of(&args.run),
        ..event(EventType::CapsuleExported, payload)
    }
}

fn event(event_type: EventType, payload: Value) -> NewEvent {
    let Value::Object(payload) = payload else { return NewEvent::new(event_type) };
    NewEvent { payload, ..NewEvent::new(event_type) }
}

/// Tells the capsule what was done, if that is possible: what was done counts without it. Gives a
/// warning when it was not.
fn tell_event(app: &mut App, capsule: &Path, event: NewEvent) -> Option<String> {
    let mut options = app.write_options(None);
    options.lock_timeout = options.lock_timeout.min(EVENT_PATIENCE);
    let told = kapsa_memory::Writer::open(capsule, options)
        .and_then(|mut writer| event::emit(&mut writer, vec![event]));
    let warning = format!("the event was not recorded: {}", told.err()?);
    app.out.warn("event_not_recorded", &warning);
    Some(warning)
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// `kapsa import`.
pub(crate) fn import(app: &mut App, args: &args::Import) -> Result<Status> {
    if let Some(path) = &args.path {
        let name = args.file.to_string_lossy();
        let product = Product::named(&name).ok_or_else(|| unknown_product(&name))?;
        return super::import::run(app, args, product, path);
    }
    if args.file == Path::new(LOCAL_MEMORY) && args.mount_as.is_none() {
        let product = Product::named(LOCAL_MEMORY).ok_or_else(|| unknown_product(LOCAL_MEMORY))?;
        return super::import::of_local_memory(app, args, product);
    }
    if args.status || args.all || args.verify {
        return Err(CliError::usage(format!(
            "--status, --all and --verify are for kapsa import {LOCAL_MEMORY}"
        )));
    }
    if is_memvid(&args.file) && args.mount_as.is_none() {
        let product = Product::named(MEMVID).ok_or_else(|| unknown_product(MEMVID))?;
        return super::import::run(app, args, product, &args.file);
    }
    if args.dry_run || args.on_conflict != OnConflict::Newer {
        return Err(CliError::usage("a capsule is mounted as it is, and nothing is weighed")
            .hint("--dry-run and --on-conflict are for the memory of a product: PRODUCT PATH"));
    }
    mount(app, args).map(|()| Status::Done)
}

fn unknown_product(name: &str) -> CliError {
    let names: Vec<&str> = PRODUCTS.iter().map(|product| product.name).collect();
    CliError::usage(format!("no product {name} is known"))
        .hint(format!("known are {}", names.join(", ")))
}

fn mount(app: &mut App, args: &args::Import) -> Result<()> {
    let capsule = app.capsule()?;
    Reader::open(&capsule)?;
    let name = args.mount_as.clone().unwrap_or_else(|| stem(&args.file));
    check_mount_name(&name)?;
    let source = open_source(&args.file)?;
    let request =
        Import { name, imported_at: rfc3339(moment::now()), strict: args.require_verified };
    let ask = || passphrase(app, false);
    let mut progress = Progress::new("checking", &app.out);
    let done = Mounts::of(&capsule).import(
        &request,
        |to| copy_plain(source, to, ask),
        &mut |done, total| progress.set(done, total),
    )?;
    drop(progress);
    let what = format!("mounted {}", done.mount.name);
    did(app, (!done.existed).then(|| Done::new(what).field("mount", done.mount.name.as_str())));
    let stats = stats(&Reader::open(&done.mount.path)?, true)?;
    let told = if done.existed {
        None
    } else {
        Some(imported_event(args, &done, stats.checkpoint_count.unwrap_or_default()))
    };
    let warning = told.and_then(|event| tell_event(app, &capsule, event));
    if app.out.is_json() {
        let out = ImportOut::of(&args.file, &done, &stats, warning);
        return app.out.json(&ImportAnswer::Mount(out));
    }
    let what = if done.existed { "was mounted already" } else { "mounted" };
    app.out.line(&format!(
        "{} {what}: {}",
        done.mount.name,
        counted(stats.uri_count.unwrap_or_default(), "record")
    ))?;
    app.out.note(&format!("search it with kapsa find WORDS --mount {}", done.mount.name));
    Ok(())
}

/// A name for a mount: the file's without what the names of exports end with.
fn stem(file: &Path) -> String {
    let name = file_name(file);
    let name = name.strip_suffix(SEALED_ENDING).unwrap_or(&name);
    let name = name.strip_suffix(".kapsa").unwrap_or(name);
    name.chars()
        .take(MOUNT_NAME_CHARS_MAX)
        .map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' })
        .collect()
}

fn open_source(path: &Path) -> Result<File> {
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => {
            CliError::user("source_not_found", format!("no file {}", path.display()))
        }
        _ => CliError::io(&format!("read {}", path.display()), &error),
    };
    if !fs::metadata(path).map_err(failed)?.is_file() {
        return Err(CliError::user("not_a_capsule", format!("{} is not a file", path.display())));
    }
    File::open(path).map_err(failed)
}

/// Copies a capsule, opened when it is sealed.
fn copy_plain(mut source: File, to: &Path, ask: impl FnOnce() -> Result<Passphrase>) -> Result<()> {
    let unreadable = |error: io::Error| CliError::io("read what is to be imported", &error);
    let mut first = Vec::new();
    source.by_ref().take(FIRST_BYTES).read_to_end(&mut first).map_err(unreadable)?;
    let mut whole = first.as_slice().chain(source);
    let failed = |error: io::Error| CliError::io(&format!("write {}", to.display()), &error);
    let mut plain = File::create_new(to).map_err(failed)?;
    if sealed::is_sealed(&first) {
        sealed::open(&ask()?, whole, &plain)?;
    } else {
        io::copy(&mut whole, &mut plain).map_err(failed)?;
    }
    plain.sync_all().map_err(failed)
}

fn imported_event(args: &args::Import, done: &Mounted, checkpoints: u64) -> NewEvent {
    let payload = json!({
        "source_type": "file",
        "source": file_name(&args.file),
        "format": Format::Capsule.name(),
        "original_capsule_id": done.mount.original_capsule_id,
        "checkpoints_imported": checkpoints,
        "imported_at": done.mount.imported_at,
        "content_hash": done.mount.content_hash,
        "mount_name": done.mount.name,
        "verification_passed": true,
    });
    event(EventType::CapsuleImported, payload)
}

/// `kapsa mounts`.
pub(crate) fn mounts(app: &mut App) -> Result<()> {
    let mounts = Mounts::of(&app.capsule()?).list()?;
    if app.out.is_json() {
        return app.out.json(&MountsOut::of(&mounts));
    }
    if mounts.is_empty() {
        app.out.note("nothing is mounted; mount a capsule with kapsa import FILE");
    }
    for mount in &mounts {
        app.out.strong(&mount.name)?;
        app.out.line(&format!(
            "  capsule {}, imported {}",
            mount.original_capsule_id, mount.imported_at
        ))?;
    }
    Ok(())
}

/// `kapsa gc`.
pub(crate) fn gc(app: &mut App, args: &args::Gc) -> Result<()> {
    let capsule = app.capsule()?;
    Reader::open(&capsule)?;
    let request = GcRequest {
        now: SystemTime::now(),
        retention: Duration::from_secs(u64::from(args.retention_days) * SECONDS_PER_DAY),
        dry_run: args.dry_run,
        keep_pinned: !args.no_keep_pinned,
    };
    let report = throw_away(&capsule, &request)?;
    let removed = report.deleted_paths.len() as u64;
    let what = format!("removed {}", counted(removed, "file"));
    did(app, (removed > 0 && !args.dry_run).then(|| Done::new(what)));
    let warning =
        if args.dry_run { None } else { tell_event(app, &capsule, gc_event(args, &report)) };
    if app.out.is_json() {
        return app.out.json(&GcOut::of(&report, args.dry_run, warning));
    }
    let (verb, fate) =
        if args.dry_run { ("would remove", "would go") } else { ("removed", "removed") };
    report
        .deleted_paths
        .iter()
        .try_for_each(|path| app.out.line(&format!("{verb} {}", path.display())))?;
    app.out.line(&format!(
        "{} and {} {fate}, {} kept, {} skipped ({})",
        counted(report.exports_deleted, "export"),
        counted(report.temp_files_deleted, "leftover"),
        report.exports_preserved,
        report.exports_skipped,
        size(report.bytes_freed)
    ))
}

fn gc_event(args: &args::Gc, report: &GcReport) -> NewEvent {
    let payload = json!({
        "gate_name": "CapsuleGC",
        "outcome": "Pass",
        "stage": "maintenance",
        "blocking": false,
        "reason": format!("exports older than {} days and leftovers", args.retention_days),
        "details": {
            "retention_days": args.retention_days,
            "keep_pinned": !args.no_keep_pinned,
            "exports_deleted": report.exports_deleted,
            "exports_preserved": report.exports_preserved,
            "exports_skipped": report.exports_skipped,
            "temp_files_deleted": report.temp_files_deleted,
            "bytes_freed": report.bytes_freed,
            "deleted": report.deleted_paths.iter().map(|path| file_name(path)).collect::<Vec<_>>(),
        },
    });
    event(EventType::GateDecision, payload)
}
