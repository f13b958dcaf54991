//! `export`, `import`, `mounts` and `gc`: parts of a memory that travel, and those that came.
//!
//! Exports lie in `exports/` beside the capsule, imports in `mounts/` with a register `mounts.json`. Whatever is written is written under a
//! temporary name first. An import is read with `--mount NAME` and never written to.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use kapsa_memory::uri::slug;
use kapsa_memory::{Event, EventType, Export, ExportRequest, NewEvent, Reader, Record, check, content_hash};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::app::App;
use crate::args::{ExportArgs, ExportFormat, Gc, Import};
use crate::error::{CliError, Result};
use crate::moment::{self, rfc3339};
use crate::render::{counted, size};
use crate::sealed::{self, Passphrase};
use crate::wire::RecordOut;

/// What stands after the name of a file in the making.
const PART: &str = ".part";
/// Longest name of a mount, in characters.
const MOUNT_NAME_MAX: usize = 64;
/// Bytes of a file that tell whether it is sealed.
const MAGIC_BYTES: u64 = 64;

/// `kapsa export`.
pub(crate) fn export(app: &mut App, args: &ExportArgs) -> Result<()> {
    let capsule = app.capsule()?;
    let sealed = args.run.is_some() && !args.no_encrypt;
    if sealed && args.format == ExportFormat::Markdown {
        return Err(CliError::usage("a folder of files cannot be sealed").hint("--no-encrypt writes it in the open"));
    }
    let out = args.out.clone().unwrap_or_else(|| default_path(&capsule, args, sealed));
    if out.symlink_metadata().is_ok() && !args.force {
        return Err(
            CliError::user("exists", format!("{} exists", out.display())).hint("--force takes its place, --out names another")
        );
    }
    let passphrase = if sealed { Some(Passphrase::find(true, true)?) } else { None };
    let reader = reader_of(app, args)?;
    let request = ExportRequest { spec: args.spec.clone(), run: args.run.clone(), is_unsafe: args.is_unsafe };
    let export = reader.export(&request)?;
    if let Some(folder) = out.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        fs::create_dir_all(folder).map_err(|error| CliError::io(&format!("make {}", folder.display()), &error))?;
    }
    let part = beside(&out, PART);
    remove(&part)?;
    let written = write(&export, &reader, args.format, &part, passphrase.as_ref()).and_then(|bytes| {
        if args.force {
            remove(&out)?;
        }
        fs::rename(&part, &out).map_err(|error| CliError::io(&format!("write {}", out.display()), &error))?;
        Ok(bytes)
    });
    if written.is_err() {
        remove(&part).ok();
    }
    let bytes_written = written?;
    tell_of_export(app, &capsule, &export, args, sealed);
    let whole = args.format == ExportFormat::Capsule;
    let format = format_name(args.format, sealed);
    if app.out.is_json() {
        return app.out.json(&json!({ "exported": true, "format": format, "output_path": out.display().to_string(),
            "bytes_written": bytes_written, "artifact_count": export.artifact_count,
            "checkpoint_count": if whole { export.checkpoint_count } else { 0 }, "event_count": if whole { export.event_count } else { 0 },
            "content_hash": export.content_hash, "encrypted": sealed, "safe_mode": !args.is_unsafe }));
    }
    let what = counted(export.artifact_count, "record");
    app.out.line(&format!("exported {what} to {} ({}, {format})", out.display(), size(bytes_written)))
}

fn format_name(format: ExportFormat, sealed: bool) -> &'static str {
    match (format, sealed) {
        (ExportFormat::Capsule, false) => "kapsa-v1",
        (ExportFormat::Capsule, true) => "kapsa-v1+age",
        (ExportFormat::Jsonl, false) => "jsonl",
        (ExportFormat::Jsonl, true) => "jsonl+age",
        (ExportFormat::Markdown, _) => "markdown",
    }
}

/// The run's own branch, where there is one and no other was asked for.
fn reader_of(app: &App, args: &ExportArgs) -> Result<Reader> {
    let as_of = args.when.as_of.as_deref();
    if let Some(run) = args.run.as_deref().filter(|_| app.global.branch.is_none()) {
        let whole = app.whole_reader()?;
        let branch = kapsa_memory::branch::run_branch(run)?;
        if whole.branch_info(&branch).is_ok() {
            return Ok(whole.on(&branch, as_of.map(moment::as_of).as_ref())?);
        }
    }
    app.reader_when(&args.when)
}

fn default_path(capsule: &Path, args: &ExportArgs, sealed: bool) -> PathBuf {
    let parts: Vec<String> = [&args.spec, &args.run].into_iter().flatten().map(|part| slug(part)).collect();
    let name = if parts.is_empty() { "capsule".to_string() } else { parts.join("_") };
    let ending = match args.format {
        ExportFormat::Capsule => ".kapsa",
        ExportFormat::Jsonl => ".jsonl",
        ExportFormat::Markdown => "",
    };
    folder_of(capsule).join("exports").join(format!("{name}{ending}{}", if sealed { ".age" } else { "" }))
}

fn folder_of(capsule: &Path) -> PathBuf {
    capsule.parent().map(Path::to_path_buf).unwrap_or_default()
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_os_string();
    name.push(ending);
    PathBuf::from(name)
}

/// Removes a file or a folder of ours, if it is there. A link is removed, not followed.
fn remove(path: &Path) -> Result<()> {
    let removed = match path.symlink_metadata() {
        Err(_) => return Ok(()),
        Ok(found) if found.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
    };
    removed.map_err(|error| CliError::io(&format!("remove {}", path.display()), &error))
}

/// Writes the export under a temporary name. Returns its bytes.
fn write(export: &Export, reader: &Reader, format: ExportFormat, part: &Path, passphrase: Option<&Passphrase>) -> Result<u64> {
    let plain = if passphrase.is_some() { beside(part, ".plain") } else { part.to_path_buf() };
    remove(&plain)?;
    let made = match format {
        ExportFormat::Capsule => export.write_capsule(&plain).map_err(CliError::from),
        ExportFormat::Jsonl => jsonl(export, reader, &plain),
        ExportFormat::Markdown => return markdown(export, reader, part),
    };
    let sealed = made.and_then(|()| match passphrase {
        Some(passphrase) => seal(passphrase, &plain, part),
        None => Ok(()),
    });
    if passphrase.is_some() {
        remove(&plain)?;
    }
    sealed?;
    let written = fs::metadata(part).map_err(|error| CliError::io(&format!("read {}", part.display()), &error))?;
    Ok(written.len())
}

fn seal(passphrase: &Passphrase, plain: &Path, to: &Path) -> Result<()> {
    let failed = |error| CliError::io(&format!("write {}", to.display()), &error);
    let source = File::open(plain).map_err(|error| CliError::io(&format!("read {}", plain.display()), &error))?;
    let target = File::create_new(to).map_err(failed)?;
    sealed::seal(passphrase, BufReader::new(source), BufWriter::new(&target))?;
    target.sync_all().map_err(failed)
}

/// Records that are visible, as `put` takes them back.
fn visible<'a>(export: &'a Export, reader: &Reader) -> Result<Vec<&'a Record>> {
    let mut records = Vec::new();
    for record in export.records.iter().filter(|record| !record.system && !record.tombstone && record.alias.is_none()) {
        let newest = reader.get(&record.uri).ok();
        if newest.is_some_and(|newest| newest.sequence == record.sequence || newest.beside.contains(&record.sequence)) {
            records.push(record);
        }
    }
    Ok(records)
}

fn jsonl(export: &Export, reader: &Reader, path: &Path) -> Result<()> {
    let failed = |error: io::Error| CliError::io(&format!("write {}", path.display()), &error);
    let file = File::create_new(path).map_err(failed)?;
    let mut out = BufWriter::new(&file);
    for record in visible(export, reader)? {
        crate::output::write_json(&mut out, &portable(record)).map_err(failed)?;
    }
    out.flush().map_err(failed)?;
    drop(out);
    file.sync_all().map_err(failed)
}

/// The fields of a record that mean the same anywhere.
fn portable(record: &Record) -> Map<String, Value> {
    let mut fields = match serde_json::to_value(RecordOut::whole(record)) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    };
    fields.retain(|name, _| !matches!(name.as_str(), "sequence" | "committed_at" | "origin" | "contested_with"));
    fields
}

/// One file for each memory, and an index. A name is made from the URI and its hash: safe everywhere, and never the same twice.
fn markdown(export: &Export, reader: &Reader, folder: &Path) -> Result<u64> {
    let failed = |error: io::Error| CliError::io(&format!("write {}", folder.display()), &error);
    fs::create_dir(folder).map_err(failed)?;
    let (mut bytes, mut index) = (0, String::from("# Index\n\n"));
    for record in visible(export, reader)? {
        let name = format!("{}-{:08x}-{}.md", slug(record.uri.short()), record.uri.hash() as u32, record.sequence);
        let text = page(record);
        bytes += text.len() as u64;
        fs::write(folder.join(&name), text).map_err(failed)?;
        let title = crate::render::headline(record).replace(['[', ']', '\\', '`', '*', '<'], " ");
        writeln!(index, "- [{title}]({name})").expect("writing to a String cannot fail");
    }
    bytes += index.len() as u64;
    fs::write(folder.join("index.md"), index).map_err(failed)?;
    Ok(bytes)
}

/// A memory as a page: its fields as YAML, whose scalars are written as JSON, then its text.
fn page(record: &Record) -> String {
    let mut page = String::from("---\n");
    for (name, value) in portable(record).into_iter().filter(|(name, _)| name != "text") {
        writeln!(page, "{name}: {}", crate::escape::body(&value.to_string())).expect("writing to a String cannot fail");
    }
    page.push_str("---\n\n");
    page.push_str(&record.text);
    if !record.text.ends_with('\n') {
        page.push('\n');
    }
    page
}

fn object<const N: usize>(fields: [(&str, Value); N]) -> Map<String, Value> {
    fields.into_iter().filter(|(_, value)| !value.is_null()).map(|(name, value)| (name.to_string(), value)).collect()
}

/// Tells of it in the capsule, as far as that can be written to.
fn emit(app: &mut App, capsule: &Path, event_type: EventType, payload: Map<String, Value>) {
    let told: Result<Vec<Event>> =
        app.keeper(capsule).and_then(|mut writer| Ok(writer.emit(vec![NewEvent { payload, ..NewEvent::new(event_type) }])?));
    if let Err(error) = told {
        app.out.note(&format!("the capsule does not tell of this: {}", error.message));
    }
}

fn tell_of_export(app: &mut App, capsule: &Path, export: &Export, args: &ExportArgs, sealed: bool) {
    let payload = object([
        ("destination_type", "file".into()),
        ("format", format_name(args.format, sealed).into()),
        ("checkpoints_included", export.checkpoint_count.into()),
        ("sanitized", (!args.is_unsafe).into()),
        ("encrypted", sealed.into()),
        ("exported_at", rfc3339(moment::now()).into()),
        ("content_hash", export.content_hash.clone().into()),
    ]);
    emit(app, capsule, EventType::CapsuleExported, payload);
}

/// The register of imports.
#[derive(Debug, Deserialize, Serialize)]
struct Register {
    schema_version: u64,
    mounts: Vec<Mount>,
}

#[derive(Debug, Deserialize, Serialize)]
struct Mount {
    name: String,
    file: String,
    content_hash: String,
    original_capsule_id: String,
    imported_at: String,
    read_only: bool,
}

fn mounts_folder(capsule: &Path) -> PathBuf {
    folder_of(capsule).join("mounts")
}

fn register(capsule: &Path) -> Result<Register> {
    let path = mounts_folder(capsule).join("mounts.json");
    let odd = |what: &str| CliError::system("mounts_damaged", format!("{}: {what}", path.display()));
    match fs::read(&path) {
        Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| odd(&error.to_string())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Register { schema_version: 1, mounts: Vec::new() }),
        Err(error) => Err(CliError::io(&format!("read {}", path.display()), &error)),
    }
}

fn check_name(name: &str) -> Result<&str> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if (1..=MOUNT_NAME_MAX).contains(&name.len()) && name.chars().all(allowed) {
        return Ok(name);
    }
    Err(CliError::user("invalid_mount_name", format!("`{name}` is no name for a mount"))
        .hint("letters, digits, `_` and `-`, at most 64 of them"))
}

/// Where the import called `name` lies.
pub(crate) fn mount_path(capsule: &Path, name: &str) -> Result<PathBuf> {
    let name = check_name(name)?;
    let found = register(capsule)?.mounts.into_iter().any(|mount| mount.name == name);
    let missing = || CliError::user("mount_not_found", format!("nothing is mounted as {name}")).hint("kapsa mounts lists them");
    found.then(|| mounts_folder(capsule).join(format!("{name}.kapsa"))).ok_or_else(missing)
}

/// Names of all imports.
pub(crate) fn mount_names(capsule: &Path) -> Result<Vec<String>> {
    Ok(register(capsule)?.mounts.into_iter().map(|mount| mount.name).collect())
}

/// `kapsa import`.
pub(crate) fn import(app: &mut App, args: &Import) -> Result<()> {
    let capsule = app.capsule()?;
    // The workspace must be one: an import is kept beside it.
    Reader::open(&capsule)?;
    let stem = args.file.file_stem().map(|stem| slug(&stem.to_string_lossy().replace(".kapsa", "")).replace('.', "-"));
    let name = args.mount_as.clone().or(stem).unwrap_or_default();
    let name = check_name(&name)?.to_string();
    let folder = mounts_folder(&capsule);
    fs::create_dir_all(&folder).map_err(|error| CliError::io(&format!("make {}", folder.display()), &error))?;
    let part = folder.join(format!("{name}.kapsa{PART}"));
    remove(&part)?;
    let brought = bring(&args.file, &part).and_then(|()| place(&capsule, &part, &name));
    if brought.is_err() {
        remove(&part).ok();
    }
    let (mount, fresh) = brought?;
    let reader = Reader::open(&mount_path(&capsule, &name)?)?;
    let stats = reader.stats(true)?;
    if fresh {
        let payload = object([
            ("source_type", "file".into()),
            ("format", "kapsa-v1".into()),
            ("original_capsule_id", mount.original_capsule_id.clone().into()),
            ("checkpoints_imported", stats.checkpoint_count.into()),
            ("imported_at", mount.imported_at.clone().into()),
            ("content_hash", mount.content_hash.clone().into()),
            ("mount_name", name.clone().into()),
            ("verification_passed", true.into()),
        ]);
        emit(app, &capsule, EventType::CapsuleImported, payload);
    }
    if app.out.is_json() {
        return app.out.json(
            &json!({ "imported": true, "already": !fresh, "source_path": args.file.display().to_string(), "mount_name": name,
            "content_hash": mount.content_hash, "artifact_count": stats.uri_count, "checkpoint_count": stats.checkpoint_count,
            "event_count": stats.event_count, "verification_passed": true, "diagnostics": [] }),
        );
    }
    let how = if fresh { "mounted" } else { "was mounted already" };
    app.out.line(&format!("{} {how} as {name}; kapsa find WORDS --mount {name}", counted(stats.uri_count.unwrap_or(0), "record")))
}

/// Brings the file to its temporary place, opened if it is sealed, and checks all of it.
fn bring(file: &Path, part: &Path) -> Result<()> {
    let unreadable = |error| match error {
        error if io::Error::kind(&error) == io::ErrorKind::NotFound => {
            CliError::user("source_not_found", format!("{} is not there", file.display()))
        }
        error => CliError::io(&format!("read {}", file.display()), &error),
    };
    let failed = |error| CliError::io(&format!("write {}", part.display()), &error);
    if !fs::metadata(file).map_err(unreadable)?.is_file() {
        return Err(CliError::user("not_a_capsule", format!("{} is no file", file.display())));
    }
    let mut first = Vec::new();
    File::open(file).and_then(|file| file.take(MAGIC_BYTES).read_to_end(&mut first)).map_err(unreadable)?;
    let mut source = File::open(file).map_err(unreadable)?;
    let mut target = File::create_new(part).map_err(failed)?;
    if sealed::is_sealed(&first) {
        sealed::open(&Passphrase::find(true, false)?, BufReader::new(source), BufWriter::new(&target))?;
    } else {
        io::copy(&mut source, &mut target).map_err(failed)?;
    }
    target.sync_all().map_err(failed)?;
    let report = check::verify(part, &mut |_, _| {}).map_err(|error| {
        let error = CliError::from(error);
        CliError { message: format!("{}: {}", file.display(), error.message.replace(&part.display().to_string(), "it")), ..error }
    })?;
    match report.problems.first() {
        None => Ok(()),
        Some(problem) => {
            let message = format!("{} is damaged at byte {}: {}", file.display(), problem.offset, problem.message);
            Err(CliError::system("verification_failed", message).hint("nothing was mounted"))
        }
    }
}

/// Gives the import its name, unless the same one has it already. True when it is new.
fn place(capsule: &Path, part: &Path, name: &str) -> Result<(Mount, bool)> {
    let mut register = register(capsule)?;
    let mount = Mount {
        name: name.to_string(),
        file: format!("{name}.kapsa"),
        content_hash: content_hash(part)?,
        original_capsule_id: Reader::open(part)?.stats(false)?.capsule_id,
        imported_at: rfc3339(moment::now()),
        read_only: true,
    };
    if let Some(known) = register.mounts.iter().position(|known| known.name == name) {
        remove(part)?;
        let known = register.mounts.swap_remove(known);
        if known.content_hash == mount.content_hash {
            return Ok((known, false));
        }
        return Err(CliError::user("mount_hash_conflict", format!("{name} is mounted already, with other content"))
            .hint("--mount-as names another mount"));
    }
    let folder = mounts_folder(capsule);
    let target = folder.join(&mount.file);
    let failed = |error: io::Error| CliError::io(&format!("write {}", target.display()), &error);
    fs::rename(part, &target).map_err(failed)?;
    register.mounts.push(mount);
    register.mounts.sort_by(|a, b| a.name.cmp(&b.name));
    let written = serde_json::to_vec_pretty(&register).map_err(|error| failed(error.into())).and_then(|bytes| {
        let new = folder.join(format!("mounts.json{PART}"));
        fs::write(&new, bytes).and_then(|()| fs::rename(&new, folder.join("mounts.json"))).map_err(failed)
    });
    if let Err(error) = written {
        remove(&target).ok();
        return Err(error);
    }
    let at = register.mounts.iter().position(|mount| mount.name == name).expect("just registered");
    Ok((register.mounts.swap_remove(at), true))
}

/// `kapsa mounts`.
pub(crate) fn mounts(app: &mut App) -> Result<()> {
    let mounts = register(&app.capsule()?)?.mounts;
    if app.out.is_json() {
        return app.out.json(&json!({ "count": mounts.len(), "mounts": mounts }));
    }
    if mounts.is_empty() {
        app.out.note("nothing is mounted; kapsa import FILE mounts an export");
    }
    mounts.iter().try_for_each(|mount| app.out.line(&format!("{}  {}  {}", mount.name, mount.imported_at, mount.content_hash)))
}

/// `kapsa gc`.
pub(crate) fn gc(app: &mut App, args: &Gc) -> Result<()> {
    let capsule = app.capsule()?;
    let mut swept = Swept { dry_run: args.dry_run, ..Swept::default() };
    let age = Duration::from_secs(args.retention_days.saturating_mul(86_400));
    for path in files_in(&folder_of(&capsule).join("exports"))? {
        swept.look_at_export(&path, age, !args.no_keep_pinned)?;
    }
    for path in files_in(&mounts_folder(&capsule))? {
        if is_part(&path) {
            swept.drop_file(&path, true)?;
        }
    }
    if !args.dry_run {
        let details = json!({ "exports_deleted": swept.exports_deleted, "temp_files_deleted": swept.temp_files_deleted,
            "bytes_freed": swept.bytes_freed });
        let payload = object([
            ("gate_name", "CapsuleGC".into()),
            ("outcome", "Pass".into()),
            ("stage", "maintenance".into()),
            ("blocking", false.into()),
            ("details", details),
        ]);
        emit(app, &capsule, EventType::GateDecision, payload);
    }
    if app.out.is_json() {
        return app.out.json(&swept);
    }
    let verb = if args.dry_run { "would delete" } else { "deleted" };
    let (exports, temporary) = (counted(swept.exports_deleted, "export"), counted(swept.temp_files_deleted, "temporary file"));
    app.out.line(&format!("{verb} {exports} and {temporary}, {} freed", size(swept.bytes_freed)))
}

#[derive(Debug, Default, Serialize)]
struct Swept {
    dry_run: bool,
    exports_deleted: u64,
    exports_preserved: u64,
    exports_skipped: u64,
    temp_files_deleted: u64,
    bytes_freed: u64,
    deleted_paths: Vec<String>,
}

/// Plain files of a folder, by name; none when there is no folder.
fn files_in(folder: &Path) -> Result<Vec<PathBuf>> {
    let failed = |error| CliError::io(&format!("read {}", folder.display()), &error);
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed(error)),
    };
    let mut files = Vec::new();
    for entry in entries {
        let entry = entry.map_err(failed)?;
        if entry.file_type().map_err(failed)?.is_file() {
            files.push(entry.path());
        }
    }
    files.sort();
    Ok(files)
}

fn named(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

fn is_part(path: &Path) -> bool {
    let name = named(path);
    name.ends_with(PART) || name.ends_with(&format!("{PART}.plain"))
}

impl Swept {
    fn look_at_export(&mut self, path: &Path, retention: Duration, keep_pinned: bool) -> Result<()> {
        let name = named(path);
        if is_part(path) {
            return self.drop_file(path, true);
        }
        let ours = [".kapsa", ".kapsa.age", ".jsonl", ".jsonl.age"].iter().any(|ending| name.ends_with(ending));
        if !ours {
            self.exports_skipped += u64::from(!name.ends_with(".pin"));
            return Ok(());
        }
        let pinned = keep_pinned && beside(path, ".pin").symlink_metadata().is_ok();
        let modified = path.symlink_metadata().and_then(|found| found.modified()).ok();
        let age = modified.and_then(|at| SystemTime::now().duration_since(at).ok()).unwrap_or_default();
        if pinned || age < retention {
            self.exports_preserved += 1;
            return Ok(());
        }
        self.drop_file(path, false)
    }

    fn drop_file(&mut self, path: &Path, temporary: bool) -> Result<()> {
        self.bytes_freed += path.symlink_metadata().map_or(0, |found| found.len());
        *(if temporary { &mut self.temp_files_deleted } else { &mut self.exports_deleted }) += 1;
        self.deleted_paths.push(path.display().to_string());
        if self.dry_run { Ok(()) } else { remove(path) }
    }
}
