//! Branches, checkpoints, time travel, merges, events: as a user of the library sees them.

use std::collections::HashSet;

use kapsa_memory::request::Change;
use kapsa_memory::{
    AsOf, Choice, Decision, Error, EventRequest, EventType, FindRequest, MergeRequest, MergeResult,
    Mode, NewCheckpoint, NewEvent, NewRecord, Reader, Ruling, Selector, TimelineRequest, Undo,
    Writer, branch, checkpoint, event, history, merge, purge, stats,
};

use crate::{Fixture, named, uri};

fn texts(reader: &Reader) -> Vec<String> {
    let all = TimelineRequest { limit: 10_000, ..TimelineRequest::default() };
    let listed = reader.timeline(&all).expect("listed");
    let uris: HashSet<&str> = listed.iter().map(|record| record.uri.as_str()).collect();
    assert_eq!(
        stats(reader, true).expect("counted").uri_count,
        Some(uris.len() as u64),
        "contested URIs count once"
    );
    let mut texts: Vec<String> = listed.into_iter().map(|record| record.text).collect();
    let found = reader.find(&FindRequest { k: 10_000, ..FindRequest::new("fact") }).expect("found");
    let mut hits: Vec<String> = found.hits.into_iter().map(|hit| hit.record.text).collect();
    texts.sort();
    hits.sort();
    assert_eq!(texts, hits, "a listing and a search see the same");
    texts
}

fn label(label: &str) -> NewCheckpoint {
    NewCheckpoint { label: label.to_string(), ..NewCheckpoint::default() }
}

fn merge(from: &str) -> MergeRequest {
    MergeRequest {
        from: from.to_string(),
        to: "main".to_string(),
        by: "reviewer".to_string(),
        ..MergeRequest::default()
    }
}

fn done(result: MergeResult) -> kapsa_memory::Merged {
    match result {
        MergeResult::Done(merged) => *merged,
        MergeResult::Conflicts(plan) => panic!("{plan:?}"),
    }
}

/// Runs a check on every layout: all in the tail, in segments, optimised, compacted.
fn in_every_layout(fixture: &Fixture, check: impl Fn(&Reader)) {
    check(&fixture.reader());
    let filler = (0..200).map(|i| named(&format!("filler/{i}"), "padding only")).collect();
    let mut writer = fixture.writer();
    branch::create(&mut writer, "filler", "main", None).expect("made");
    writer.switch("filler").expect("open");
    writer.put_many(filler).expect("put");
    check(&fixture.reader());
    writer.optimize(&mut |_, _| {}).expect("optimises");
    check(&fixture.reader());
    writer.compact(&mut |_, _| {}).expect("compacts");
    check(&fixture.reader());
    fixture.assert_whole();
}

fn on(fixture: &Fixture, branch: &str) -> Writer {
    let mut writer = fixture.writer();
    writer.switch(branch).expect("a branch");
    writer
}

#[test]
fn run_branch_isolation_is_exact_in_every_layout() {
    let fixture = Fixture::new();
    let mut w = fixture.writer();
    w.put(named("a", "fact a of before")).expect("put");
    w.put(named("b", "fact b of before")).expect("put");
    branch::create(&mut w, "run/1", "main", None).expect("made");
    w.put(named("c", "fact c on main")).expect("put");
    w.switch("run/1").expect("open");
    w.put(named("a", "fact a of the run")).expect("put");
    w.forget(&uri("b")).expect("forgotten");
    w.put(named("d", "fact d of the run")).expect("put");
    branch::create(&mut w, "run/1.task", "run/1", None).expect("made");
    w.put(named("e", "fact e after the task left")).expect("put");
    drop(w);
    let mut w = on(&fixture, "run/1.task");
    assert_eq!(w.put(named("d", "fact d of the task")).expect("put").change, Change::Revised);
    assert_eq!(w.put(named("b", "fact b again")).expect("put").change, Change::Added);
    drop(w);
    in_every_layout(&fixture, |reader| {
        assert_eq!(texts(reader), ["fact a of before", "fact b of before", "fact c on main"]);
        let run = reader.on("run/1", None).expect("a branch");
        assert_eq!(
            texts(&run),
            ["fact a of the run", "fact d of the run", "fact e after the task left"]
        );
        let task = reader.on("run/1.task", None).expect("a branch");
        assert_eq!(texts(&task), ["fact a of the run", "fact b again", "fact d of the task"]);
        assert!(matches!(run.get(&uri("b")), Err(Error::UriNotFound { .. })));
        assert_eq!(task.history(&uri("d")).expect("two").len(), 2);
        assert!(matches!(reader.on("run/2", None), Err(Error::BranchNotFound { .. })));
    });
}

#[test]
fn a_branch_name_is_never_used_again_and_an_archived_one_is_closed() {
    let fixture = Fixture::new();
    let mut w = fixture.writer();
    let made = branch::create(&mut w, "run/run_7", "main", None).expect("made");
    assert_eq!(made.name, "run/7");
    assert!(matches!(
        branch::create(&mut w, "run/7", "main", None),
        Err(Error::InvalidOperation { .. })
    ));
    w.switch("run/7").expect("open");
    w.put(named("x", "fact x")).expect("put");
    branch::archive(&mut w, "run/7").expect("archived");
    assert!(matches!(
        branch::create(&mut w, "run/7", "main", None),
        Err(Error::InvalidOperation { .. })
    ));
    assert!(matches!(branch::archive(&mut w, "run/7"), Err(Error::InvalidOperation { .. })));
    assert!(matches!(branch::archive(&mut w, "main"), Err(Error::InvalidOperation { .. })));
    drop(w);
    assert!(matches!(fixture.writer().switch("run/7"), Err(Error::InvalidOperation { .. })));
    in_every_layout(&fixture, |reader| {
        let branches = branch::list(reader).expect("listed");
        let run = branches.iter().find(|branch| branch.name == "run/7").expect("listed");
        assert!(run.archived && run.parent.as_deref() == Some("main"));
        assert_eq!(texts(&reader.on("run/7", None).expect("readable")), ["fact x"]);
    });
    for reserved in ["branch/x", "checkpoint/x", "s/r/event/1"] {
        let refused = fixture.writer().put(named(reserved, "x"));
        assert!(matches!(refused, Err(Error::InvalidOperation { .. })), "{reserved}");
        assert!(fixture.writer().forget(&uri(reserved)).is_err());
    }
}

#[test]
fn time_travel_survives_reopen_and_sees_nothing_later() {
    let fixture = Fixture::new();
    let mut w = fixture.writer();
    let first = w.put(named("a", "fact a one")).expect("put").sequence;
    let one = checkpoint::make(&mut w, &label("one")).expect("made");
    w.put(named("a", "fact a two")).expect("put");
    w.put(named("b", "fact b")).expect("put");
    checkpoint::make(&mut w, &label("two")).expect("made");
    w.forget(&uri("a")).expect("forgotten");
    branch::create(&mut w, "run/1", "main", None).expect("made");
    w.switch("run/1").expect("open");
    let foreign = checkpoint::make(&mut w, &label("on the run")).expect("made");
    drop(w);
    in_every_layout(&fixture, |reader| {
        let then = |as_of: AsOf| texts(&reader.on("main", Some(&as_of)).expect("known"));
        assert_eq!(texts(reader), ["fact b"]);
        for one in [
            AsOf::checkpoint("one"),
            AsOf::checkpoint(&one.id),
            AsOf::checkpoint(one.uri.as_str()),
            AsOf::Sequence(first),
        ] {
            assert_eq!(then(one), ["fact a one"]);
        }
        assert_eq!(then(AsOf::Time(one.timestamp)), ["fact a one"]);
        assert_eq!(then(AsOf::checkpoint("two")), ["fact a two", "fact b"]);
        let unknown = [
            AsOf::checkpoint("three"),
            AsOf::checkpoint("on the run"),
            AsOf::checkpoint(&foreign.id),
            AsOf::Sequence(0),
            AsOf::Sequence(1_000_000),
            AsOf::Time(0),
        ];
        for as_of in unknown {
            assert!(
                matches!(reader.on("main", Some(&as_of)), Err(Error::UnknownAsOf { .. })),
                "{as_of:?}"
            );
        }
        assert_eq!(
            texts(&reader.on("run/1", Some(&AsOf::checkpoint("two"))).expect("inherited")),
            ["fact a two", "fact b"]
        );
        assert_eq!(reader.get(&foreign.uri).expect("resolves from anywhere").label, "on the run");
    });
}

#[test]
fn label_uniqueness_is_scoped_to_the_branch() {
    let fixture = Fixture::new();
    let mut w = fixture.writer();
    w.put(named("a", "fact")).expect("put");
    let first = checkpoint::make(&mut w, &label("release")).expect("made");
    assert!(matches!(
        checkpoint::make(&mut w, &label("release")),
        Err(Error::DuplicateLabel { .. })
    ));
    let forced = checkpoint::make(&mut w, &NewCheckpoint { force: true, ..label("release") })
        .expect("forced");
    assert_ne!(first.id, forced.id);
    for odd in ["", "  ", "12", "#12"] {
        assert!(
            matches!(checkpoint::make(&mut w, &label(odd)), Err(Error::InvalidOperation { .. })),
            "{odd:?}"
        );
    }
    branch::create(&mut w, "run/1", "main", None).expect("made");
    w.switch("run/1").expect("open");
    checkpoint::make(&mut w, &label("release")).expect("another branch");
    drop(w);
    in_every_layout(&fixture, |reader| {
        assert_eq!(checkpoint::list(reader, false).expect("listed").len(), 2);
        assert_eq!(checkpoint::list(reader, true).expect("listed").len(), 3);
        assert_eq!(checkpoint::named(reader, "release").expect("the newest").id, forced.id);
        assert_eq!(
            checkpoint::list(&reader.on("run/1", None).expect("a branch"), false)
                .expect("listed")
                .len(),
            1
        );
    });
}

#[test]
fn a_stage_commit_leaves_a_checkpoint_and_a_stage_transition() {
    let fixture = Fixture::new();
    let mut w = fixture.writer();
    let stage = |stage: &str| NewCheckpoint {
        stage: stage.to_string(),
        spec: "S-1".to_string(),
        run: "7".to_string(),
        git_commit: "abc".to_string(),
        ..NewCheckpoint::default()
    };
    let plan = checkpoint::make(&mut w, &stage("plan")).expect("made");
    checkpoint::make(&mut w, &stage("plan")).expect("a stage may come again");
    checkpoint::make(&mut w, &stage("tasks")).expect("made");
    drop(w);
    in_every_layout(&fixture, |reader| {
        let listed = checkpoint::list(reader, false).expect("listed");
        assert_eq!(
            listed.iter().map(|c| c.label.as_str()).collect::<Vec<_>>(),
            ["stage:plan", "stage:plan", "stage:tasks"]
        );
        let found = &listed[0];
        assert_eq!(
            (&found.spec[..], &found.run[..], &found.git_commit[..], found.manual),
            ("S-1", "7", "abc", false)
        );
        let events = event::list(
            reader,
            &EventRequest { stage: Some("plan".to_string()), ..EventRequest::default() },
        )
        .expect("listed");
        assert_eq!(events.len(), 2);
        assert_eq!(events[0].payload["checkpoint_id"], plan.id);
        assert_eq!(reader.get(&events[0].uri).expect("resolves").kind, "event");
        assert!(events[0].uri.as_str().starts_with("mv2://default/S-1/7/event/"));
        assert!(texts(reader).is_empty(), "events and checkpoints are no memories");
        let named = FindRequest { filter: kinds("event"), ..FindRequest::new("StageTransition") };
        assert_eq!(reader.find(&named).expect("found").hits.len(), 3);
    });
}

fn kinds(kind: &str) -> kapsa_memory::Filter {
    kapsa_memory::Filter { kinds: vec![kind.to_string()], ..kapsa_memory::Filter::default() }
}

/// Two runs change the same fact; one is merged, the other conflicts.
fn two_runs() -> Fixture {
    let fixture = Fixture::new();
    let mut w = fixture.writer();
    w.put(named("port", "fact: the port is 1")).expect("put");
    w.put(named("old", "fact: old")).expect("put");
    for run in ["run/1", "run/2"] {
        branch::create(&mut w, run, "main", None).expect("made");
    }
    drop(w);
    let mut w = on(&fixture, "run/1");
    w.put(named("port", "fact: the port is 2")).expect("put");
    w.put(named("new", "fact: new")).expect("put");
    w.put(NewRecord { kind: "debug".to_string(), ..named("noise", "fact: noise") }).expect("put");
    w.forget(&uri("old")).expect("forgotten");
    drop(w);
    let mut w = on(&fixture, "run/2");
    w.put(named("port", "fact: the port is 3")).expect("put");
    drop(w);
    fixture
}

#[test]
fn a_merge_brings_what_only_one_side_changed_and_uris_stay() {
    let fixture = two_runs();
    let planned = merge::plan(&fixture.reader(), &merge("run/1")).expect("planned");
    assert_eq!((planned.items.len(), planned.left_out, planned.conflicts().count()), (3, 1, 0));
    let merged = done(merge::merge(&mut fixture.writer(), &merge("run/1")).expect("merged"));
    assert_eq!(merged.written, 3);
    let again = done(merge::merge(&mut fixture.writer(), &merge("run/1")).expect("merged"));
    assert_eq!((again.written, again.plan.same), (0, 3));
    in_every_layout(&fixture, |reader| {
        assert_eq!(texts(reader), ["fact: new", "fact: the port is 2"]);
        let port = reader.get(&uri("port")).expect("there");
        let origin = port.origin.expect("merged");
        assert_eq!((origin.decision, origin.by.as_str()), (Decision::Merged, "reviewer"));
        assert_eq!(
            texts(&reader.on("main", Some(&AsOf::Sequence(2))).expect("known")),
            ["fact: old", "fact: the port is 1"]
        );
        let labels: Vec<String> =
            checkpoint::list(reader, false).expect("listed").into_iter().map(|c| c.label).collect();
        assert_eq!(labels, ["merge:run/1", "merge:run/1"]);
    });
    let full = MergeRequest { mode: Mode::Full, ..merge("run/1") };
    assert_eq!(done(merge::merge(&mut fixture.writer(), &full).expect("merged")).written, 1);
}

#[test]
fn a_conflict_is_data_until_a_rule_or_a_reviewer_decides() {
    for (choice, expected) in [
        (Choice::Ours, vec!["fact: the port is 2"]),
        (Choice::Theirs, vec!["fact: the port is 3"]),
        (Choice::Contested, vec!["fact: the port is 2", "fact: the port is 3"]),
        (Choice::Edited("fact: the port is 2 or 3".to_string()), vec!["fact: the port is 2 or 3"]),
    ] {
        let fixture = two_runs();
        done(merge::merge(&mut fixture.writer(), &merge("run/1")).expect("merged"));
        let before = std::fs::read(&fixture.path).expect("readable");
        let MergeResult::Conflicts(plan) =
            merge::merge(&mut fixture.writer(), &merge("run/2")).expect("planned")
        else {
            panic!("a conflict")
        };
        assert_eq!(std::fs::read(&fixture.path).expect("readable"), before, "nothing is written");
        let conflict = plan.conflicts().next().expect("one").clone();
        assert_eq!(conflict.base.as_ref().expect("a base").text, "fact: the port is 1");
        let seen =
            Some((conflict.ours.as_ref().map(|ours| ours.sequence), conflict.theirs.sequence));
        let ruling = Ruling { choice: choice.clone(), note: "asked the owner".to_string(), seen };
        let decided =
            MergeRequest { rulings: [(uri("port"), ruling.clone())].into(), ..merge("run/2") };
        done(merge::merge(&mut fixture.writer(), &decided).expect("merged"));
        assert_eq!(
            done(merge::merge(&mut fixture.writer(), &decided).expect("settled")).written,
            0
        );
        assert_eq!(
            done(merge::merge(&mut fixture.writer(), &merge("run/2")).expect("settled")).written,
            0
        );
        in_every_layout(&fixture, |reader| {
            let port: Vec<String> =
                texts(reader).into_iter().filter(|text| text.contains("port")).collect();
            assert_eq!(port, expected);
            let blame = history::blame(reader, &uri("port")).expect("known");
            let last = blame.last().expect("revisions");
            let origin = last.record.origin.as_ref().expect("merged");
            assert_eq!((origin.note.as_str(), last.current), ("asked the owner", true));
            assert_eq!(last.from.as_ref().expect("from the run").0, "run/2");
            assert_eq!(last.checkpoint.as_ref().expect("the merge's").label, "merge:run/2");
            assert_eq!(blame.iter().filter(|b| b.current).count(), expected.len());
        });
        let mut w = fixture.writer();
        w.put(named("port", "fact: the port is 9")).expect("put");
        assert_eq!(
            texts(&fixture.reader()),
            ["fact: new", "fact: the port is 9"],
            "a new revision settles it"
        );
        drop(w);
        let mut w = on(&fixture, "run/2");
        w.put(named("port", "fact: the port is 4")).expect("put");
        assert!(
            matches!(
                merge::merge(&mut w, &merge("run/2")).expect("planned"),
                MergeResult::Conflicts(_)
            ),
            "both have changed again"
        );
        assert!(
            matches!(merge::merge(&mut w, &decided), Err(Error::InvalidOperation { .. })),
            "a ruling is for what was seen"
        );
    }
}

#[test]
fn a_merge_goes_to_the_branch_that_was_left_and_takes_what_is_selected() {
    let fixture = two_runs();
    let mut w = fixture.writer();
    let wrong = [("main", "run/1"), ("run/1", "run/2"), ("main", "main")];
    for (from, to) in wrong {
        let request = MergeRequest { to: to.to_string(), ..merge(from) };
        assert!(
            matches!(merge::merge(&mut w, &request), Err(Error::InvalidOperation { .. })),
            "{from} {to}"
        );
    }
    let only =
        MergeRequest { include: vec![Selector::parse("n*")], mode: Mode::Full, ..merge("run/1") };
    let only = MergeRequest { exclude: vec![Selector::parse("kind:debug")], ..only };
    let merged = done(merge::merge(&mut w, &only).expect("merged"));
    assert_eq!((merged.written, merged.plan.left_out), (1, 3));
    assert_eq!(texts(&fixture.reader()), ["fact: new", "fact: old", "fact: the port is 1"]);
}

#[test]
fn curated_merges_show_the_events_of_a_run_without_its_debris() {
    let fixture = two_runs();
    let mut w = on(&fixture, "run/1");
    let gate =
        serde_json::from_str(r#"{"gate_name":"g","outcome":"Pass","stage":"s","blocking":true}"#)
            .expect("JSON");
    event::emit(
        &mut w,
        vec![
            NewEvent { payload: gate, ..NewEvent::new(EventType::GateDecision) },
            NewEvent::new(EventType::DebugTrace),
        ],
    )
    .expect("told");
    drop(w);
    let types = |reader: &Reader, request: &EventRequest| {
        event::list(reader, request)
            .expect("listed")
            .into_iter()
            .map(|event| event.event_type)
            .collect::<Vec<_>>()
    };
    assert!(
        types(&fixture.reader(), &EventRequest::default()).is_empty(),
        "a run's events are the run's"
    );
    done(merge::merge(&mut fixture.writer(), &merge("run/1")).expect("merged"));
    in_every_layout(&fixture, |reader| {
        let all = EventRequest::default();
        assert_eq!(types(reader, &all), [EventType::GateDecision, EventType::BranchMerged]);
        assert_eq!(
            types(&reader.on("run/1", None).expect("a branch"), &all),
            [EventType::GateDecision, EventType::DebugTrace]
        );
        let limited = EventRequest { limit: Some(1), ..EventRequest::default() };
        assert_eq!(types(reader, &limited), [EventType::BranchMerged]);
    });
    done(
        merge::merge(&mut fixture.writer(), &MergeRequest { mode: Mode::Full, ..merge("run/1") })
            .expect("merged"),
    );
    assert!(types(&fixture.reader(), &EventRequest::default()).contains(&EventType::DebugTrace));
}

#[test]
fn an_alias_resolves_and_moves_with_its_branch() {
    let fixture = Fixture::new();
    let mut w = fixture.writer();
    w.put(named("new", "fact one")).expect("put");
    w.put(named("old", "fact to be moved")).expect("put");
    w.alias(&uri("old"), &uri("new")).expect("aliased");
    w.alias(&uri("older"), &uri("old")).expect("aliased");
    assert!(matches!(w.alias(&uri("new"), &uri("older")), Err(Error::InvalidOperation { .. })));
    assert!(matches!(w.alias(&uri("x"), &uri("nothing")), Err(Error::UriNotFound { .. })));
    let put = w.put(named("older", "fact two")).expect("put");
    assert_eq!((put.uri, put.change), (uri("new"), Change::Revised));
    drop(w);
    in_every_layout(&fixture, |reader| {
        assert_eq!(texts(reader), ["fact two"]);
        for name in ["new", "old", "older"] {
            assert_eq!(reader.get(&uri(name)).expect("resolves").uri, uri("new"));
        }
        let before = reader.on("main", Some(&AsOf::Sequence(2))).expect("known");
        assert_eq!(before.get(&uri("old")).expect("there").text, "fact to be moved");
    });
    fixture.writer().forget(&uri("old")).expect("the alias is forgotten");
    assert!(fixture.reader().get(&uri("old")).is_err());
    assert!(fixture.reader().get(&uri("new")).is_ok());
}

#[test]
fn what_is_purged_is_hidden_from_every_branch_and_from_the_past() {
    let fixture = Fixture::new();
    let mut w = fixture.writer();
    w.put(named("secret", "fact: secret")).expect("put");
    w.put(named("open", "fact: open")).expect("put");
    branch::create(&mut w, "run/1", "main", None).expect("made");
    w.switch("run/1").expect("open");
    w.put(named("secret", "fact: secret again")).expect("put");
    branch::create(&mut w, "run/2", "main", Some(&AsOf::Sequence(2))).expect("made");
    purge(&mut w, &uri("secret")).expect("purged");
    drop(w);
    in_every_layout(&fixture, |reader| {
        for (branch, as_of) in
            [("main", None), ("run/1", None), ("run/2", None), ("main", Some(AsOf::Sequence(2)))]
        {
            let view = reader.on(branch, as_of.as_ref()).expect("known");
            assert_eq!(texts(&view), ["fact: open"], "{branch} {as_of:?}");
            assert!(matches!(view.get(&uri("secret")), Err(Error::UriNotFound { .. })), "{branch}");
        }
    });
}

#[test]
fn reverting_a_run_brings_back_what_was_before_and_leaves_what_others_did() {
    let fixture = two_runs();
    done(merge::merge(&mut fixture.writer(), &merge("run/1")).expect("merged"));
    let mut w = fixture.writer();
    w.put(named("new", "fact: new, and touched by hand")).expect("put");
    let undone = history::revert(&mut w, &Undo::Run("1".to_string()), "reviewer", "it was wrong")
        .expect("reverted");
    assert_eq!(
        (undone.restored, undone.removed, undone.kept),
        (vec![uri("old"), uri("port")], vec![], vec![uri("new")])
    );
    assert!(matches!(
        history::revert(&mut w, &Undo::Run("99".to_string()), "", ""),
        Err(Error::InvalidOperation { .. })
    ));
    drop(w);
    let expected = ["fact: new, and touched by hand", "fact: old", "fact: the port is 1"];
    assert_eq!(texts(&fixture.reader()), expected);
    assert_eq!(
        done(merge::merge(&mut fixture.writer(), &merge("run/1")).expect("merged")).written,
        0,
        "what was reverted stays so"
    );
    in_every_layout(&fixture, |reader| assert_eq!(texts(reader), expected));
    let mut w = fixture.writer();
    let put = w.put_many(vec![named("x", "fact x"), named("old", "fact: older")]).expect("put");
    let undone = history::revert(&mut w, &Undo::Commit(put[0].sequence), "", "").expect("reverted");
    assert_eq!((undone.restored, undone.removed), (vec![uri("old")], vec![uri("x")]));
    assert_eq!(texts(&fixture.reader()), expected);
}

#[test]
fn reverting_brings_back_no_purged_text_and_undoes_a_whole_commit_around_what_was_erased() {
    let fixture = Fixture::new();
    let mut w = fixture.writer();
    w.put(named("secret", "fact: secret")).expect("put");
    purge(&mut w, &uri("secret")).expect("purged");
    let batch = w
        .put_many(["a", "gone", "b"].map(|name| named(name, "fact of the batch")).to_vec())
        .expect("put");
    let again = w.put(named("secret", "fact: harmless")).expect("put").sequence;
    history::revert(&mut w, &Undo::Commit(again), "", "").expect("reverted");
    assert!(matches!(fixture.reader().get(&uri("secret")), Err(Error::UriNotFound { .. })));
    purge(&mut w, &uri("gone")).expect("purged");
    w.compact(&mut |_, _| {}).expect("compacts");
    let undone = history::revert(&mut fixture.writer(), &Undo::Commit(batch[0].sequence), "", "")
        .expect("reverted");
    assert_eq!(undone.removed, [uri("a"), uri("b")]);
    assert!(texts(&fixture.reader()).is_empty());
}

#[test]
fn differences_and_picks() {
    let fixture = two_runs();
    let reader = fixture.reader();
    let (one, two) =
        (reader.on("run/1", None).expect("a branch"), reader.on("run/2", None).expect("a branch"));
    let changed: Vec<String> = history::differences(&one, &two)
        .expect("told")
        .into_iter()
        .map(|d| d.uri.short().to_string())
        .collect();
    assert_eq!(changed, ["new", "noise", "old", "port"]);
    assert!(history::differences(&one, &one).expect("told").is_empty());
    let put = merge::cherry_pick(&mut fixture.writer(), &uri("new"), "run/1", "me", "useful")
        .expect("picked");
    assert_eq!(put.change, Change::Added);
    assert_eq!(
        done(
            merge::merge(&mut fixture.writer(), &MergeRequest { ..merge("run/1") })
                .expect("merged")
        )
        .plan
        .same,
        1
    );
    let log = history::log(&fixture.reader(), 100, false).expect("told");
    assert!(log.is_sorted_by(|a, b| a.sequence > b.sequence));
    assert_eq!(log.iter().filter(|record| record.kind == "branch").count(), 2);
}

#[test]
fn what_is_merged_picked_or_brought_back_replaces_an_alias_and_not_its_target() {
    let aliased = || {
        let fixture = Fixture::new();
        let mut w = fixture.writer();
        w.put_many(vec![named("k", "fact k"), named("x", "fact x")]).expect("put");
        branch::create(&mut w, "b", "main", None).expect("made");
        let alias = w.alias(&uri("k"), &uri("x")).expect("aliased").sequence;
        w.switch("b").expect("open");
        w.put(named("k", "fact k of b")).expect("put");
        (fixture, alias)
    };
    let (fixture, _) = aliased();
    done(
        merge::merge(
            &mut fixture.writer(),
            &MergeRequest { rule: Some(Choice::Theirs), ..merge("b") },
        )
        .expect("merged"),
    );
    in_every_layout(&fixture, |reader| assert_eq!(texts(reader), ["fact k of b", "fact x"]));
    let (fixture, _) = aliased();
    merge::cherry_pick(&mut fixture.writer(), &uri("k"), "b", "", "").expect("picked");
    in_every_layout(&fixture, |reader| assert_eq!(texts(reader), ["fact k of b", "fact x"]));
    let (fixture, alias) = aliased();
    history::revert(&mut fixture.writer(), &Undo::Commit(alias), "", "").expect("undone");
    in_every_layout(&fixture, |reader| assert_eq!(texts(reader), ["fact k", "fact x"]));
}

#[test]
fn what_was_decided_against_a_branch_is_asked_again_when_the_branch_changes() {
    for choice in [Choice::Ours, Choice::Contested, Choice::Edited("fact: both".to_string())] {
        let fixture = two_runs();
        done(merge::merge(&mut fixture.writer(), &merge("run/1")).expect("merged"));
        done(
            merge::merge(
                &mut fixture.writer(),
                &MergeRequest { rule: Some(choice.clone()), ..merge("run/2") },
            )
            .expect("merged"),
        );
        let before = texts(&fixture.reader());
        on(&fixture, "run/2").put(named("port", "fact: the port is 4")).expect("put");
        let MergeResult::Conflicts(plan) =
            merge::merge(&mut fixture.writer(), &merge("run/2")).expect("planned")
        else {
            panic!("{choice:?} is overruled without a word")
        };
        assert_eq!(plan.conflicts().count(), 1);
        assert_eq!(texts(&fixture.reader()), before);
    }
}

/// `main` says one thing and branch `b` another, both contested; branch `c` left before.
fn contested() -> Fixture {
    let fixture = Fixture::new();
    let mut w = fixture.writer();
    w.put(named("k", "fact k")).expect("put");
    for branch in ["b", "c"] {
        branch::create(&mut w, branch, "main", None).expect("made");
    }
    w.put(named("k", "fact k on main")).expect("put");
    w.switch("b").expect("open");
    w.put(named("k", "fact k on b")).expect("put");
    done(
        merge::merge(&mut w, &MergeRequest { rule: Some(Choice::Contested), ..merge("b") })
            .expect("merged"),
    );
    drop(w);
    fixture
}

#[test]
fn what_stays_in_a_merge_stays_with_all_that_contests_it() {
    for (choice, forgets) in [(Choice::Ours, false), (Choice::Contested, true)] {
        let fixture = contested();
        let mut w = on(&fixture, "c");
        match forgets {
            true => w.forget(&uri("k")).expect("forgotten"),
            false => w.put(named("k", "fact k on c")).expect("put"),
        };
        done(
            merge::merge(&mut w, &MergeRequest { rule: Some(choice), ..merge("c") })
                .expect("merged"),
        );
        drop(w);
        in_every_layout(&fixture, |reader| {
            assert_eq!(texts(reader), ["fact k on b", "fact k on main"])
        });
    }
}

#[test]
fn a_branch_that_changed_and_changed_back_overwrites_nothing() {
    for merged_before in [false, true] {
        let fixture = Fixture::new();
        let mut w = fixture.writer();
        w.put(named("k", "fact k")).expect("put");
        branch::create(&mut w, "b", "main", None).expect("made");
        w.switch("b").expect("open");
        w.put(named("k", "fact k of b")).expect("put");
        if merged_before {
            done(merge::merge(&mut w, &merge("b")).expect("merged"));
            w.put(named("k", "fact k tried")).expect("put");
        }
        w.put(named("k", if merged_before { "fact k of b" } else { "fact k" })).expect("put");
        w.switch("main").expect("open");
        w.put(named("k", "fact k of main")).expect("put");
        let merged = done(merge::merge(&mut w, &merge("b")).expect("merged"));
        assert_eq!((merged.written, merged.plan.same), (0, 1));
        drop(w);
        in_every_layout(&fixture, |reader| assert_eq!(texts(reader), ["fact k of main"]));
    }
}

#[test]
fn what_the_parent_put_and_forgot_again_is_no_change() {
    let fixture = Fixture::new();
    let mut w = fixture.writer();
    branch::create(&mut w, "b", "main", None).expect("made");
    w.put(named("k", "fact k tried")).expect("put");
    w.forget(&uri("k")).expect("forgotten");
    w.switch("b").expect("open");
    w.put(named("k", "fact k")).expect("put");
    let merged = done(merge::merge(&mut w, &merge("b")).expect("merged"));
    assert_eq!(merged.plan.items[0].outcome, kapsa_memory::merge::MergeOutcome::Added);
    drop(w);
    in_every_layout(&fixture, |reader| assert_eq!(texts(reader), ["fact k"]));
}

#[test]
fn picking_an_older_revision_does_not_move_the_base_back() {
    let fixture = Fixture::new();
    let mut w = fixture.writer();
    branch::create(&mut w, "b", "main", None).expect("made");
    w.switch("b").expect("open");
    w.put(named("k", "fact one")).expect("put");
    branch::create(&mut w, "d", "b", None).expect("made");
    w.put(named("k", "fact two")).expect("put");
    done(merge::merge(&mut w, &merge("b")).expect("merged"));
    w.switch("main").expect("open");
    merge::cherry_pick(&mut w, &uri("k"), "d", "me", "back to one").expect("picked");
    assert_eq!(
        done(merge::merge(&mut w, &merge("b")).expect("merged")).written,
        0,
        "nothing new on the branch"
    );
    assert_eq!(texts(&fixture.reader()), ["fact one"]);
    w.switch("b").expect("open");
    w.put(named("k", "fact three")).expect("put");
    drop(w);
    in_every_layout(&fixture, |reader| {
        assert_eq!(
            merge::plan(reader, &merge("b")).expect("planned").conflicts().count(),
            1,
            "both say something else than two"
        );
    });
}

#[test]
fn a_pick_brings_all_that_is_contested() {
    let fixture = contested();
    let put =
        merge::cherry_pick(&mut on(&fixture, "c"), &uri("k"), "main", "me", "").expect("picked");
    assert_eq!((put.uri, put.change), (uri("k"), Change::Revised));
    in_every_layout(&fixture, |reader| {
        let picked = reader.on("c", None).expect("a branch");
        assert_eq!(texts(&picked), ["fact k on b", "fact k on main"]);
        let newest = picked.get(&uri("k")).expect("there");
        assert_eq!((newest.sequence, newest.text.as_str()), (put.sequence, "fact k on b"));
        assert!(history::differences(reader, &picked).expect("told").is_empty());
    });
    let missing = merge::cherry_pick(&mut on(&fixture, "c"), &uri("nothing"), "main", "", "");
    assert!(matches!(missing, Err(Error::UriNotFound { .. })));
}

#[test]
fn undoing_a_put_over_contested_revisions_brings_all_of_them_back() {
    let fixture = contested();
    let mut w = fixture.writer();
    let settled = w.put(named("k", "fact k settled")).expect("put").sequence;
    assert_eq!(
        history::revert(&mut w, &Undo::Commit(settled), "", "").expect("undone").restored,
        [uri("k")]
    );
    drop(w);
    in_every_layout(&fixture, |reader| {
        assert_eq!(texts(reader), ["fact k on b", "fact k on main"])
    });
}

#[test]
fn undoing_one_of_three_contested_revisions_leaves_two() {
    let fixture = contested();
    let mut w = on(&fixture, "c");
    w.put(named("k", "fact k on c")).expect("put");
    done(
        merge::merge(&mut w, &MergeRequest { rule: Some(Choice::Contested), ..merge("c") })
            .expect("merged"),
    );
    w.switch("main").expect("open");
    assert_eq!(texts(&fixture.reader()), ["fact k on b", "fact k on c", "fact k on main"]);
    let last = fixture.reader().get(&uri("k")).expect("there").sequence;
    history::revert(&mut w, &Undo::Commit(last), "", "").expect("undone");
    drop(w);
    in_every_layout(&fixture, |reader| {
        assert_eq!(texts(reader), ["fact k on b", "fact k on main"])
    });
}

#[test]
fn a_writer_that_archives_its_own_branch_writes_nothing_more_there() {
    let fixture = Fixture::new();
    let mut w = fixture.writer();
    branch::create(&mut w, "b", "main", None).expect("made");
    branch::create(&mut w, "b.child", "b", None).expect("made");
    w.switch("b").expect("open");
    let put = w.put(named("k", "fact k")).expect("put").sequence;
    branch::archive(&mut w, "b").expect("archived");
    let count = stats(&fixture.reader(), false).expect("counted").last_sequence;
    let refused = |result: Result<(), Error>| {
        assert!(matches!(result, Err(Error::InvalidOperation { .. })), "{result:?}")
    };
    refused(w.put(named("late", "fact late")).map(drop));
    refused(w.forget(&uri("k")).map(drop));
    refused(purge(&mut w, &uri("k")).map(drop));
    refused(checkpoint::make(&mut w, &label("late")).map(drop));
    refused(event::emit(&mut w, vec![NewEvent::new(EventType::IntakeCompleted)]).map(drop));
    refused(history::revert(&mut w, &Undo::Commit(put), "", "").map(drop));
    assert_eq!(
        stats(&fixture.reader(), false).expect("counted").last_sequence,
        count,
        "nothing was written"
    );
    branch::archive(&mut w, "b.child").expect("other branches may be closed");
    branch::create(&mut w, "later", "b", None).expect("and made of it");
    done(merge::merge(&mut w, &merge("b")).expect("and it may be merged"));
    w.switch("main").expect("open");
    w.put(named("main", "fact of main")).expect("put elsewhere");
    assert_eq!(texts(&fixture.reader()), ["fact k", "fact of main"]);
}

#[test]
fn a_purged_alias_is_hidden_where_it_is_inherited_in_every_layout() {
    let fixture = Fixture::new();
    let mut w = fixture.writer();
    w.put_many(vec![named("k", "fact k"), named("x", "fact x")]).expect("put");
    w.alias(&uri("k"), &uri("x")).expect("aliased");
    branch::create(&mut w, "late", "main", None).expect("made");
    purge(&mut w, &uri("k")).expect("purged");
    drop(w);
    in_every_layout(&fixture, |reader| {
        for (branch, as_of) in [("main", None), ("late", None), ("main", Some(AsOf::Sequence(3)))] {
            let view = reader.on(branch, as_of.as_ref()).expect("known");
            assert!(
                matches!(view.get(&uri("k")), Err(Error::UriNotFound { .. })),
                "{branch} {as_of:?}"
            );
            assert_eq!(texts(&view), ["fact x"]);
        }
    });
    fixture.writer().alias(&uri("k"), &uri("x")).expect("aliased again");
    assert_eq!(fixture.reader().get(&uri("k")).expect("resolves").uri, uri("x"));
}

#[test]
fn differences_tell_of_contested_revisions_that_differ_only_in_an_older_one() {
    let fixture = Fixture::new();
    let mut w = fixture.writer();
    for branch in ["p", "q", "r"] {
        branch::create(&mut w, branch, "main", None).expect("made");
        let child = format!("{branch}.child");
        branch::create(&mut w, &child, branch, None).expect("made");
        w.switch(branch).expect("open");
        w.put(named("k", if branch == "p" { "fact of p" } else { "fact of q and r" }))
            .expect("put");
        w.switch(&child).expect("open");
        w.put(named("k", "fact of all")).expect("put");
        let request = MergeRequest {
            from: child,
            to: branch.to_string(),
            rule: Some(Choice::Contested),
            ..merge("")
        };
        done(merge::merge(&mut w, &request).expect("merged"));
    }
    drop(w);
    in_every_layout(&fixture, |reader| {
        let [p, q, r] = ["p", "q", "r"].map(|branch| reader.on(branch, None).expect("a branch"));
        assert_eq!(history::differences(&p, &q).expect("told").len(), 1);
        assert!(history::differences(&q, &r).expect("told").is_empty());
    });
}

#[test]
fn contested_uris_are_counted_once() {
    let fixture = contested();
    fixture.writer().put(named("other", "fact other")).expect("put");
    let count = |reader: &Reader| stats(reader, true).expect("counted").uri_count;
    in_every_layout(&fixture, |reader| {
        assert_eq!(texts(reader).len(), 3);
        assert_eq!(count(reader), Some(2));
        assert_eq!(count(&reader.on("c", None).expect("a branch")), Some(1));
    });
    fixture.writer().put(named("k", "fact k settled")).expect("put");
    assert_eq!(count(&fixture.reader()), Some(2));
}
