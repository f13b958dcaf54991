//! Exports as files and folders, mounts, and what is thrown away. The names of the acceptance tests
//! are those of the contract.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use kapsa_memory::transfer::{
    Format, GcReport, GcRequest, Import, Mounted, Mounts, Stage, Written, gc, mount_path,
};
use kapsa_memory::{
    Error, EventType, ExportRequest, MergeRequest, NewCheckpoint, NewEvent, NewRecord, branch,
    checkpoint, event, export, merge,
};

use crate::{Fixture, named, uri};

const DAY: Duration = Duration::from_secs(86_400);

fn time(at: i64) -> String {
    at.to_string()
}

/// Memories of every kind, a contest, and a run that was merged.
fn fixture() -> Fixture {
    let fixture = Fixture::new();
    let mut w = fixture.writer();
    w.put_many(vec![named("a", "first"), named("A", "upper case"), named("gone", "zap")])
        .expect("put");
    w.put(NewRecord { title: "Title: [x]".to_string(), ..named("a", "second\n---\n") })
        .expect("put");
    w.forget(&uri("gone")).expect("forgotten");
    w.alias(&uri("old"), &uri("a")).expect("aliased");
    branch::create(&mut w, "run/7", "main", None).expect("made");
    w.switch("run/7").expect("open");
    w.put(named("found", "by the run")).expect("put");
    checkpoint::make(
        &mut w,
        &NewCheckpoint {
            stage: "plan".to_string(),
            run: "7".to_string(),
            ..NewCheckpoint::default()
        },
    )
    .expect("made");
    fixture
}

fn write(
    fixture: &Fixture,
    request: &ExportRequest,
    format: Format,
    name: &str,
) -> (PathBuf, Written) {
    let path = fixture.path.with_file_name(name);
    let written = export::gather(&fixture.reader(), request)
        .expect("gathered")
        .write(format, &path, time)
        .expect("written");
    (path, written)
}

fn whole() -> ExportRequest {
    ExportRequest::default()
}

fn of_run(run: &str) -> ExportRequest {
    ExportRequest { run: Some(run.to_string()), ..ExportRequest::default() }
}

#[test]
fn test_export_determinism_in_every_format() {
    let fixture = fixture();
    for format in [Format::Capsule, Format::JsonLines, Format::Markdown] {
        let (_, first) = write(&fixture, &whole(), format, &format!("first-{format:?}"));
        let exported = serde_json::json!({"destination_type": "file", "format": "capsule", "checkpoints_included": 0,
            "sanitized": true, "encrypted": false, "exported_at": "now"});
        let payload = exported.as_object().expect("an object").clone();
        event::emit(
            &mut fixture.writer(),
            vec![NewEvent { payload, ..NewEvent::new(EventType::CapsuleExported) }],
        )
        .expect("told");
        fixture.writer().compact(&mut |_, _| {}).expect("compacts");
        let (path, second) = write(&fixture, &whole(), format, &format!("second-{format:?}"));
        assert_eq!(first, second, "{format:?}: an export does not change the next one");
        if !format.is_folder() {
            assert_eq!(
                second.content_hash,
                blake3::hash(&fs::read(path).expect("readable")).to_hex().to_string()
            );
        }
    }
}

#[test]
fn a_run_is_exported_whole_merged_or_not() {
    let fixture = fixture();
    let uris = |request: &ExportRequest| {
        let reader = fixture.reader();
        let export = export::gather(&reader, request).expect("gathered");
        let of_the_capsule = export.checkpoint_count + export.event_count;
        (export.record_count - of_the_capsule, export.checkpoint_count, export.event_count)
    };
    assert_eq!(uris(&of_run("7")), (1, 1, 1), "seen from main, where it was not merged");
    let request = MergeRequest {
        from: "run/7".to_string(),
        to: "main".to_string(),
        ..MergeRequest::default()
    };
    merge::merge(&mut fixture.writer(), &request).expect("merged");
    let (artifacts, checkpoints, events) = uris(&of_run("run_7"));
    assert_eq!((artifacts, events), (2, 2), "the merged revision and the merge's event as well");
    assert!(checkpoints >= 1);
    assert_eq!(
        export::gather(&fixture.reader(), &whole()).expect("gathered").event_count,
        2,
        "events that came by the merge"
    );
}

#[test]
fn lines_hold_what_is_remembered_now() {
    let fixture = fixture();
    let (path, _) = write(&fixture, &whole(), Format::JsonLines, "lines.jsonl");
    let text = fs::read_to_string(path).expect("readable");
    let lines: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let texts: Vec<&str> = lines.iter().filter_map(|line| line["text"].as_str()).collect();
    assert_eq!(texts, ["upper case", "second\n---\n"]);
    assert_eq!(lines[2]["alias_of"], "mv2://default/a");
    let (path, _) = write(&fixture, &of_run("7"), Format::JsonLines, "run.jsonl");
    let text = fs::read_to_string(path).expect("readable");
    let systems: Vec<&str> = text.lines().filter(|line| line.contains("\"system\"")).collect();
    assert_eq!(systems.len(), 2, "{text}");
    assert!(systems[0].contains("\"checkpoint\"") && systems[1].contains("\"StageTransition\""));
}

#[test]
fn a_folder_has_one_safe_file_for_each_memory() {
    let fixture = fixture();
    let (path, written) = write(&fixture, &whole(), Format::Markdown, "notes");
    let mut names: Vec<String> = fs::read_dir(&path)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name().to_str().expect("UTF-8").to_string())
        .collect();
    names.retain(|name| name != "index.md");
    names.sort();
    assert_eq!(names.len(), 2);
    assert_ne!(names[0].to_lowercase(), names[1].to_lowercase(), "also where case does not count");
    let index = fs::read_to_string(path.join("index.md")).expect("an index");
    assert!(names.iter().all(|name| index.contains(&format!("({name})"))), "{index}");
    assert!(index.contains("old -\\> a"), "{index}");
    let pages: u64 =
        names.iter().map(|name| fs::metadata(path.join(name)).expect("a file").len()).sum();
    assert_eq!(written.bytes, pages + index.len() as u64);
}

#[test]
fn nothing_takes_a_place_that_is_taken() {
    let fixture = fixture();
    let folder = fixture.path.parent().expect("a folder");
    let (file, notes) = (folder.join("file"), folder.join("notes"));
    let stage = || Stage::beside(&file).expect("a stage");
    let place = |content: &str, force: bool| {
        let stage = stage();
        fs::write(stage.path("x"), content).expect("written");
        stage.place_file(&stage.path("x"), &file, force)
    };
    place("one", false).expect("free");
    assert!(matches!(place("two", false), Err(Error::TargetExists { .. })));
    assert_eq!(fs::read_to_string(&file).expect("kept"), "one");
    place("two", true).expect("forced");
    assert_eq!(fs::read_to_string(&file).expect("replaced"), "two");
    fs::create_dir(&notes).expect("a folder");
    fs::write(notes.join("own.txt"), "mine").expect("written");
    let export = || {
        let stage = stage();
        let made = export::gather(&fixture.reader(), &whole()).expect("gathered").write(
            Format::Markdown,
            &stage.path("x"),
            time,
        );
        made.expect("written");
        stage.place_folder(&stage.path("x"), &notes, true)
    };
    assert!(
        matches!(export(), Err(Error::TargetExists { .. })),
        "a folder that is no export is never replaced"
    );
    assert!(notes.join("own.txt").exists());
    fs::remove_dir_all(&notes).expect("removed");
    export().expect("free");
    export().expect("an export is replaced by another");
    let left = fs::read_dir(folder).expect("readable").filter(|entry| {
        entry.as_ref().is_ok_and(|entry| {
            entry.file_name().to_str().is_some_and(|name| name.starts_with(".kapsa-part"))
        })
    });
    assert_eq!(left.count(), 0);
}

fn import(fixture: &Fixture, from: &Path, name: &str) -> Result<Mounted, Error> {
    let request = Import { name: name.to_string(), imported_at: "now".to_string(), strict: false };
    let copy = |to: &Path| {
        fs::copy(from, to).expect("copied");
        Ok(())
    };
    Mounts::of(&fixture.path).import::<Error>(&request, copy, &mut |_, _| {})
}

#[test]
fn test_import_idempotent_same_hash() {
    let fixture = fixture();
    let (export, written) = write(&fixture, &whole(), Format::Capsule, "export.kapsa");
    let first = import(&fixture, &export, "other").expect("mounted");
    let again = import(&fixture, &export, "other").expect("mounted");
    assert_eq!((first.existed, again.existed), (false, true));
    assert_eq!((&first.mount, &first.mount.content_hash), (&again.mount, &written.content_hash));
    assert_eq!(
        Mounts::of(&fixture.path).list().expect("listed"),
        std::slice::from_ref(&first.mount)
    );
    assert_eq!(mount_path(&fixture.path, "other").expect("mounted"), first.mount.path);
    assert!(fs::metadata(&first.mount.path).expect("there").permissions().readonly());
    fs::remove_file(&first.mount.path).expect("removed");
    import(&fixture, &export, "other").expect("the lost file is put back");
    assert!(first.mount.path.exists());
}

#[test]
fn test_import_hash_conflict() {
    let fixture = fixture();
    let (export, _) = write(&fixture, &whole(), Format::Capsule, "export.kapsa");
    let (other, _) = write(&fixture, &of_run("7"), Format::Capsule, "other.kapsa");
    import(&fixture, &export, "x").expect("mounted");
    let before = fs::read(mount_path(&fixture.path, "x").expect("mounted")).expect("readable");
    assert!(matches!(import(&fixture, &other, "x"), Err(Error::MountHashConflict { .. })));
    assert!(
        before == fs::read(mount_path(&fixture.path, "x").expect("mounted")).expect("readable")
    );
}

#[test]
fn test_import_invalid_mount_name_path_traversal() {
    let fixture = fixture();
    let (export, _) = write(&fixture, &whole(), Format::Capsule, "export.kapsa");
    for name in ["", "..", "../x", "a/b", "/x", "a.b", "a b", "é", "x\0", &"x".repeat(65)] {
        assert!(
            matches!(import(&fixture, &export, name), Err(Error::InvalidMountName { .. })),
            "{name:?}"
        );
        assert!(
            matches!(mount_path(&fixture.path, name), Err(Error::InvalidMountName { .. })),
            "{name:?}"
        );
    }
    import(&fixture, &export, &"x".repeat(64)).expect("the longest name");
    let registry = fixture.path.with_file_name("mounts").join("mounts.json");
    let forged = r#"{"schema_version":1,"mounts":[{"name":"../m","file":"../../etc/passwd"}]}"#;
    fs::write(registry, forged).expect("written");
    assert!(matches!(mount_path(&fixture.path, "m"), Err(Error::MountsRegistry { .. })));
}

#[test]
fn test_import_verification_failure_no_partial_mount() {
    let fixture = fixture();
    let (export, _) = write(&fixture, &whole(), Format::Capsule, "export.kapsa");
    let mut bytes = fs::read(&export).expect("readable");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&export, bytes).expect("written");
    assert!(matches!(import(&fixture, &export, "x"), Err(Error::VerificationFailed { .. })));
    assert!(!fixture.path.with_file_name("mounts").exists(), "nothing is left behind");
    assert!(matches!(mount_path(&fixture.path, "x"), Err(Error::MountNotFound { .. })));
}

/// Files of an age in the folder of exports.
fn exports(fixture: &Fixture, names: &[(&str, u32)]) -> PathBuf {
    let folder = fixture.path.with_file_name("exports");
    fs::create_dir_all(&folder).expect("a folder");
    for (name, days) in names {
        fs::write(folder.join(name), "12345").expect("written");
        let made = SystemTime::now() - DAY * *days;
        fs::File::open(folder.join(name)).and_then(|file| file.set_modified(made)).expect("dated");
    }
    folder
}

fn collect(fixture: &Fixture, dry_run: bool, keep_pinned: bool) -> GcReport {
    let request = GcRequest { now: SystemTime::now(), retention: DAY * 30, dry_run, keep_pinned };
    gc(&fixture.path, &request).expect("collected")
}

#[test]
fn test_gc_preserves_pinned() {
    let fixture = fixture();
    let names = [
        ("old.kapsa", 40),
        ("new.kapsa", 3),
        ("pinned.jsonl", 40),
        ("pinned.jsonl.pin", 40),
        ("notes.txt", 400),
    ];
    let folder = exports(&fixture, &names);
    let dry = collect(&fixture, true, true);
    assert!(folder.join("old.kapsa").exists(), "a dry run changes nothing");
    let report = collect(&fixture, false, true);
    assert_eq!(dry, report);
    assert_eq!(
        (
            report.exports_deleted,
            report.exports_preserved,
            report.exports_skipped,
            report.bytes_freed
        ),
        (1, 2, 1, 5)
    );
    assert_eq!(report.deleted_paths, [folder.join("old.kapsa")]);
    assert!(folder.join("pinned.jsonl").exists() && folder.join("notes.txt").exists());
    assert_eq!(collect(&fixture, false, false).deleted_paths, [folder.join("pinned.jsonl")]);
}

#[test]
fn a_pin_keeps_the_folder_of_an_export_as_well() {
    let fixture = fixture();
    exports(&fixture, &[("kept.pin", 40)]);
    for format in [Format::JsonFolder, Format::Markdown, Format::Capsule] {
        let name = format!("exports/kept.{}", format.extension());
        let (to, _) = write(&fixture, &whole(), format, &name);
        // As if it had been made long ago.
        let inside = fs::read_dir(&to).into_iter().flatten().flatten().map(|entry| entry.path());
        for path in inside.chain([to.clone()]) {
            let made = SystemTime::now() - DAY * 40;
            fs::File::open(path).and_then(|file| file.set_modified(made)).expect("dated");
        }
    }
    let report = collect(&fixture, false, true);
    assert_eq!((report.exports_preserved, report.exports_deleted), (3, 0), "{report:?}");
    assert_eq!(collect(&fixture, true, false).exports_deleted, 3, "but for the pin");
}

#[test]
fn gc_follows_no_link_and_takes_no_stage_that_is_in_use() {
    let fixture = fixture();
    let folder = exports(&fixture, &[("a.kapsa", 1)]);
    let outside = fixture.path.with_file_name("outside.kapsa");
    fs::write(&outside, "mine").expect("written");
    std::os::unix::fs::symlink(&outside, folder.join("link.kapsa")).expect("linked");
    let stage = Stage::beside(&folder.join("x")).expect("a stage");
    let leftover = folder.join(".kapsa-part-0123456789abcdef");
    fs::create_dir(&leftover).expect("a leftover");
    fs::write(leftover.join(".kapsa-part"), "").expect("marked");
    let linked = folder.join(".kapsa-part-fedcba9876543210");
    std::os::unix::fs::symlink(fixture.path.parent().expect("a folder"), &linked).expect("linked");
    // Folders of somebody else, whatever they are called.
    for name in [".kapsa-part-7", ".kapsa-part-00000000deadbeef"] {
        fs::create_dir(folder.join(name)).expect("a folder");
    }
    let request = GcRequest {
        now: SystemTime::now() + DAY,
        retention: Duration::ZERO,
        dry_run: false,
        keep_pinned: true,
    };
    let report = gc(&fixture.path, &request).expect("collected");
    assert_eq!(
        (report.exports_deleted, report.exports_skipped, report.temp_files_deleted),
        (1, 4, 1)
    );
    assert!(!leftover.exists() && folder.join(".kapsa-part-7").exists());
    assert!(outside.exists() && fixture.path.exists() && stage.path("").exists());
}
