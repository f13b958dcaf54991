//! Who may know what, against an oracle: a plain list of what was written and the rule as the
//! contract has it. Every public read of a principal is asked about every record, in every layout
//! of the capsule, and nothing may tell of what is hidden.

use std::collections::{BTreeMap, BTreeSet};

use kapsa_memory::access::{Access, Classification, Classified, ClearanceProfile};
use kapsa_memory::{
    AsOf, Change, Error, Filter, FindRequest, Grouping, NewRecord, PrincipalReader, Reader, Record,
    TimelineRequest, WriteOptions, Writer, branch, checkpoint, create, merge, optimize, policy,
    stats,
};

use crate::{Fixture, clock, named, uri};

const DOMAINS: [&str; 4] = ["", "revenue", "hr", "Ž/1"];
const PRINCIPALS: [&str; 4] = ["cro", "cmo", "cfo", "nobody"];

/// A small generator: the seed is told when something fails.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n
    }

    fn pick<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }
}

fn profiles(random: &mut Random) -> Vec<ClearanceProfile> {
    let mut all: Vec<ClearanceProfile> =
        PRINCIPALS.iter().map(|name| ClearanceProfile::new(*name)).collect();
    for profile in &mut all[..3] {
        for domain in DOMAINS {
            if random.below(3) > 0 {
                profile.domains.insert(domain.to_string(), *random.pick(&Classification::ALL));
            }
        }
    }
    all
}

/// One revision that was written.
struct Written {
    sequence: u64,
    uri: String,
    forgotten: bool,
    domain: String,
    access: Option<Access>,
}

/// The rule, written down once more.
fn may(profile: &ClearanceProfile, written: &Written) -> bool {
    let level = written.access.as_ref().map_or(Classification::Internal, |access| access.level);
    let clearance = profile.domains.get(&written.domain).copied();
    match level {
        Classification::Public => true,
        Classification::Restricted => {
            let is_named = written
                .access
                .iter()
                .flat_map(|access| &access.named)
                .any(|name| *name == profile.principal);
            clearance == Some(Classification::Restricted) && is_named
        }
        level => clearance.is_some_and(|clearance| clearance.rank() >= level.rank()),
    }
}

/// The rule for any revision: what was said last of its URI holds for it as well.
fn may_still(profile: &ClearanceProfile, written: &Written, all: &[Written]) -> bool {
    let last = all.iter().rev().find(|other| !other.forgotten && other.uri == written.uri);
    may(profile, written) && last.is_some_and(|last| may(profile, last))
}

fn history(random: &mut Random, writer: &mut Writer, count: usize) -> Vec<Written> {
    let mut all = Vec::new();
    let mut live: BTreeSet<String> = BTreeSet::new();
    for n in 0..count {
        let name = format!("fact/{}", random.below(count / 2 + 1));
        if live.contains(&name) && random.below(5) == 0 {
            let put = writer.forget(&uri(&name)).expect("forgotten");
            all.push(Written {
                sequence: put.sequence,
                uri: name.clone(),
                forgotten: true,
                domain: String::new(),
                access: None,
            });
            live.remove(&name);
            continue;
        }
        let domain = (*random.pick(&DOMAINS)).to_string();
        let level = *random.pick(&Classification::ALL);
        let people: Vec<String> = PRINCIPALS
            .iter()
            .filter(|_| random.below(2) == 0)
            .map(|name| (*name).to_string())
            .collect();
        let access = Some(Access { level, named: people }).filter(|_| random.below(4) > 0);
        let mut record = NewRecord {
            domain: domain.clone(),
            access: access.clone(),
            ..named(&name, &format!("secret word{} of {n}", n % 7))
        };
        record.entity = "acme".to_string();
        record.tags.insert("session".to_string(), format!("s{}", n % 3));
        let put = writer.put(record).expect("put");
        all.push(Written {
            sequence: put.sequence,
            uri: name.clone(),
            forgotten: false,
            domain,
            access,
        });
        live.insert(name);
    }
    all
}

/// What counts under each URI up to a sequence.
fn heads(all: &[Written], until: u64) -> BTreeMap<&str, &Written> {
    let mut heads = BTreeMap::new();
    for written in all.iter().filter(|written| written.sequence <= until) {
        heads.insert(written.uri.as_str(), written);
    }
    heads.retain(|_, written| !written.forgotten);
    heads
}

fn sequences<'a>(records: impl IntoIterator<Item = &'a Record>) -> BTreeSet<u64> {
    records.into_iter().map(|record| record.sequence).collect()
}

/// Asks a principal's reader everything, and counts the (principal, record, operation) triples that
/// were compared.
fn compare(reader: &Reader, profile: &ClearanceProfile, all: &[Written], seed: u64) -> u64 {
    let reader = reader.as_principal(profile.clone());
    let last = all.last().map_or(0, |written| written.sequence);
    let context = |what: &str| format!("seed {seed}, {profile:?}, {what}");
    let mut triples = 0;
    let visible = |until: u64| -> BTreeSet<u64> {
        heads(all, until)
            .values()
            .filter(|written| may_still(profile, written, all))
            .map(|written| written.sequence)
            .collect()
    };
    let now = visible(last);
    let mut same = |what: &str, found: BTreeSet<u64>, want: &BTreeSet<u64>| {
        assert_eq!(found, *want, "{}", context(what));
        triples += all.len() as u64;
    };
    let find = |query: &str, k: usize| FindRequest { k, ..FindRequest::new(query) };
    let sequences_of = |reader: &PrincipalReader, request: &FindRequest| {
        sequences(reader.find(request).expect("found").hits.iter().map(|hit| &hit.record))
    };
    let hits = |request: &FindRequest| sequences_of(&reader, request);
    same("find", hits(&find("secret", 10_000)), &now);
    same("find by field", hits(&find("secret entity:acme", 10_000)), &now);
    same(
        "find with fallback",
        hits(&FindRequest { fallback: true, ..find("nothingofthis", 10_000) }),
        &now,
    );
    let few = reader.find(&find("secret", 5)).expect("found").hits;
    assert_eq!(
        few.len(),
        now.len().min(5),
        "{}",
        context("a reader of low clearance gets its full k")
    );
    let grouped = reader
        .find(&FindRequest { group: Some(Grouping::Session), ..find("secret", 10_000) })
        .expect("found");
    let counted: usize = grouped.hits.iter().map(|hit| hit.group_hits).sum();
    assert_eq!(counted, now.len(), "{}", context("groups count no more than may be known"));
    let timeline = TimelineRequest { limit: 10_000, ..TimelineRequest::default() };
    same("timeline", sequences(&reader.timeline(&timeline).expect("listed")), &now);
    let newest = reader
        .timeline(&TimelineRequest { limit: 3, reverse: true, ..TimelineRequest::default() })
        .expect("listed");
    assert_eq!(newest.len(), now.len().min(3), "{}", context("a list fills its limit"));
    let middle = last / 2;
    if middle > 0 {
        let then = reader.on("main", Some(&AsOf::Sequence(middle))).expect("a moment");
        same("as of", sequences(&then.timeline(&timeline).expect("listed")), &visible(middle));
        same("find as of", sequences_of(&then, &find("secret", 10_000)), &visible(middle));
        let got = heads(all, last)
            .keys()
            .filter_map(|name| then.get(&uri(name)).ok())
            .map(|record| record.sequence)
            .collect();
        let want = visible(middle).into_iter().filter(|sequence| {
            all.iter().any(|written| {
                written.sequence == *sequence && heads(all, last).contains_key(written.uri.as_str())
            })
        });
        same("get as of", got, &want.collect());
    }
    // A filter is said to know the values of visible records, and no others.
    let others = DOMAINS.map(|domain| format!("{domain}x"));
    let stored = DOMAINS.iter().filter(|domain| !domain.is_empty());
    for domain in stored.map(|domain| (*domain).to_string()).chain(others) {
        let filter = Filter { domains: vec![domain.clone()], ..Filter::default() };
        let unknown = reader.unknown_values(&filter).expect("it can be asked");
        let seen = |name: &str| {
            heads(all, last).values().any(|written| written.domain == name && may(profile, written))
        };
        assert_eq!(unknown.is_empty(), seen(&domain), "{}", context("a value is known"));
        let near = unknown.iter().flat_map(|value| &value.near);
        near.for_each(|near| assert!(seen(near), "{}: {near}", context("a value is named")));
    }
    let mut got = BTreeSet::new();
    let mut lived = BTreeSet::new();
    for name in all
        .iter()
        .map(|written| written.uri.as_str())
        .chain(["fact/never"])
        .collect::<BTreeSet<_>>()
    {
        match reader.get(&uri(name)) {
            Ok(record) => drop(got.insert(record.sequence)),
            // Hidden, forgotten and never there are told in the same words.
            Err(error) => assert_eq!(
                error.to_string(),
                Error::UriNotFound { uri: uri(name).to_string() }.to_string()
            ),
        }
        match reader.history(&uri(name)) {
            Ok(records) => lived.extend(sequences(&records)),
            Err(error) => assert!(matches!(error, Error::UriNotFound { .. }), "{error}"),
        }
    }
    same("get", got, &now);
    let known: BTreeSet<u64> = all
        .iter()
        .filter(|written| !written.forgotten && may_still(profile, written, all))
        .map(|written| written.sequence)
        .collect();
    same("history", lived, &known);
    let read = (1..=last + 2).filter(|sequence| match reader.record(*sequence) {
        Ok(record) => {
            assert_eq!(record.sequence, *sequence);
            true
        }
        Err(error) => {
            assert!(
                matches!(error, Error::Capsule(kapsa_memory::CapsuleError::NoSuchRecord { .. })),
                "{error}"
            );
            false
        }
    });
    same("read by sequence", read.collect(), &known);
    // What is read as it is stored shows no more.
    for (n, written) in all.iter().enumerate().filter(|(_, written)| !written.forgotten) {
        let same =
            reader.same_text(&format!("secret word{} of {n}", n % 7)).expect("it can be asked");
        assert_eq!(same.is_some(), now.contains(&written.sequence), "{}", context("same text"));
    }
    let raw = reader.raw();
    let hidden = |written: &Written| !written.forgotten && !may_still(profile, written, all);
    for written in all.iter().filter(|written| hidden(written)) {
        let record = raw.known_record(written.sequence).expect("it can be asked");
        assert!(record.is_none(), "seed {seed}: {profile:?} read {record:?} as it is stored");
    }
    for name in heads(all, last).keys() {
        let known = raw.known(&uri(name)).expect("it can be asked").map(|record| record.sequence);
        assert!(known.is_none_or(|sequence| now.contains(&sequence)), "seed {seed}: {name}");
        assert_eq!(raw.noted(&uri(name)).expect("it can be asked"), None);
    }
    triples
}

#[test]
fn nothing_tells_of_what_is_hidden() {
    const TRIPLES_MIN: u64 = 200_000;
    let mut triples = 0;
    for seed in 0.. {
        let mut random = Random(seed);
        let fixture = Fixture::new();
        let mut writer = fixture.writer();
        let count = 180 + random.below(3) * 150;
        let all = history(&mut random, &mut writer, count);
        let profiles = profiles(&mut random);
        for layout in 0..3 {
            match layout {
                0 => {}
                1 => {
                    writer.optimize(&mut |_, _| {}).expect("optimised");
                }
                _ => {
                    writer.compact(&mut |_, _| {}).expect("compacted");
                    writer = fixture.writer();
                }
            }
            let reader = fixture.reader();
            triples +=
                profiles.iter().map(|profile| compare(&reader, profile, &all, seed)).sum::<u64>();
        }
        if triples >= TRIPLES_MIN {
            break;
        }
    }
    eprintln!("{triples} triples");
}

/// Every public method of [`PrincipalReader`] and [`PrincipalWriter`], named here so that a new one
/// is thought of: a read is compared above, a write is checked below. What belongs to the owner is
/// not there to be called.
#[test]
fn every_method_of_a_principal_is_compared() {
    const COMPARED: [&str; 14] = [
        "find",
        "find_with",
        // The same, in another order.
        "find_by",
        "timeline",
        "list",
        "get",
        "history",
        // Of which the one above is made.
        "revisions",
        "record",
        "on",
        "branch",
        "raw",
        "unknown_values",
        "same_text",
    ];
    // Names of branches are known to whoever was given a record of them; of vectors only the model
    // is shown (below); what the stores of `kapsa-agents` read is compared by their tests.
    // `trusted` only leaves out more.
    const HARMLESS: [&str; 2] = ["branch_of", "trusted"];
    const CHECKED: [&str; 8] =
        ["path", "switch", "transaction", "put", "put_many", "forget", "change", "leaves_index"];
    let methods = |source: &str, of: &str| -> Vec<String> {
        let body = source.split(&format!("\nimpl {of} {{")).nth(1).expect("one block holds them");
        assert_eq!(
            source.matches(&format!("\nimpl {of} {{")).count(),
            1,
            "{of} has its methods in one place"
        );
        let lines = body
            .split("\n}\n")
            .next()
            .expect("its end")
            .lines()
            .filter_map(|line| line.strip_prefix("    pub fn "));
        lines.map(|line| line.split(['(', '<']).next().unwrap_or_default().to_string()).collect()
    };
    let source = |path: &str| {
        std::fs::read_to_string(format!("{}/src/{path}", env!("CARGO_MANIFEST_DIR")))
            .expect("the source")
    };
    let mut reads = methods(&source("search/principal.rs"), "PrincipalReader");
    let mut known = [&COMPARED[..], &HARMLESS[..]].concat();
    reads.sort();
    known.sort_unstable();
    assert_eq!(reads, known, "compare a new read with the oracle");
    let mut writes = methods(&source("write/principal.rs"), "PrincipalWriter");
    let mut known = CHECKED.to_vec();
    writes.sort();
    known.sort_unstable();
    assert_eq!(writes, known, "check a new write below");
    let fixture = Fixture::new();
    fixture
        .writer()
        .put(NewRecord { domain: "hr".into(), ..named("fact/x", "secret") })
        .expect("put");
    let reader = fixture.reader().as_principal(ClearanceProfile::new("nobody"));
    assert_eq!(reader.raw().model().expect("the model"), None);
    assert!(matches!(reader.on("run/secret", None), Err(Error::BranchNotFound { .. })));
}

/// A transaction of a principal checks what is added to it, and what is refused leaves nothing
/// behind.
#[test]
fn a_principals_transaction_is_checked_as_it_is_filled() {
    let fixture = Fixture::new();
    let hidden = NewRecord { domain: "hr".into(), ..named("fact/hidden", "secret") };
    fixture.writer().put(hidden).expect("put");
    let profile = ClearanceProfile::new("cro").with("revenue", Classification::Internal);
    let mut writer = fixture.writer().as_principal(profile);
    let own = |name: &str| NewRecord { domain: "revenue".into(), ..named(name, "ours") };
    let mut transaction = writer.transaction();
    transaction.put(own("fact/a")).expect("its own");
    let denied = transaction.put(NewRecord { domain: "hr".into(), ..named("fact/b", "theirs") });
    assert!(matches!(denied, Err(Error::AccessDenied { .. })));
    assert!(matches!(transaction.forget(&uri("fact/hidden")), Err(Error::UriNotFound { .. })));
    let signed = transaction.put(NewRecord { agent: "cmo".into(), ..own("fact/c") });
    assert!(matches!(signed, Err(Error::FieldDenied { field, .. }) if field == "agent"));
    let unpublished = transaction.prepare().expect("prepared");
    assert_eq!(unpublished.puts().len(), 1);
    assert!(
        fixture.reader().get(&uri("fact/a")).is_err(),
        "nothing is there before it is published"
    );
    unpublished.publish().expect("published");
    let noted = writer.change(|_, batch| {
        batch.note(NewRecord {
            domain: "hr".into(),
            ..named("fact/hidden", "overwritten as a note")
        });
        Ok(())
    });
    assert!(noted.is_err(), "a note is not a way around a clearance");
    drop(writer);
    assert_eq!(fixture.reader().get(&uri("fact/hidden")).expect("there").text, "secret");
    assert!(fixture.reader().get(&uri("fact/a")).is_ok());
}

#[test]
fn names_of_checkpoints_and_sizes_do_not_leak_through_moments() {
    let fixture = Fixture::new();
    let mut writer = fixture.writer();
    writer
        .put(NewRecord {
            access: Some(Access::level(Classification::Public)),
            ..named("fact/x", "known")
        })
        .expect("put");
    checkpoint::make(
        &mut writer,
        &kapsa_memory::NewCheckpoint { label: "the-merger".into(), ..Default::default() },
    )
    .expect("made");
    let reader = fixture.reader().as_principal(ClearanceProfile::new("nobody"));
    let told = |moment: AsOf| reader.on("main", Some(&moment)).expect_err("unknown").to_string();
    let known = told(AsOf::checkpoint("the-merger"));
    assert_eq!(known.replace("the-merger", "x"), told(AsOf::checkpoint("x")));
    // Whatever the capsule holds, every sequence and time is a moment.
    for moment in [AsOf::Sequence(1), AsOf::Sequence(999), AsOf::Time(1)] {
        assert!(reader.on("main", Some(&moment)).is_ok(), "{moment:?}");
    }
    let trusted = ClearanceProfile::new("cro").with("", Classification::Internal);
    assert!(
        fixture
            .reader()
            .as_principal(trusted)
            .on("main", Some(&AsOf::checkpoint("the-merger")))
            .is_ok()
    );
}

#[test]
fn a_raised_level_hides_what_a_branch_inherited() {
    let fixture = Fixture::new();
    let record = |level, text: &str| NewRecord {
        access: Some(Access { level, named: Vec::new() }),
        ..named("n/x", text)
    };
    fixture.writer().put(record(Classification::Internal, "launchcode")).expect("put");
    branch::create(&mut fixture.writer(), "b", "main", None).expect("made");
    let eve = ClearanceProfile::new("eve").with("", Classification::Internal);
    let seen = || {
        let reader = fixture.reader().as_principal(eve.clone()).on("b", None).expect("a branch");
        let found = reader.find(&FindRequest::new("launchcode")).expect("found").hits.len();
        let listed = reader.timeline(&TimelineRequest::default()).expect("listed").len();
        let history = reader.history(&uri("n/x")).map_or(0, |all| all.len());
        [usize::from(reader.get(&uri("n/x")).is_ok()), found, listed, history]
    };
    assert_eq!(seen(), [1, 1, 1, 1]);
    fixture.writer().put(record(Classification::Confidential, "launchcode")).expect("put");
    assert_eq!(seen(), [0, 0, 0, 0]);
    optimize(&fixture.path, &WriteOptions::new(clock), &mut |_, _| {}).expect("optimised");
    assert_eq!(seen(), [0, 0, 0, 0]);
}

#[test]
fn nobody_writes_above_a_clearance_or_over_what_it_may_not_know() {
    let fixture = Fixture::new();
    let record = |name: &str, domain: &str, level| NewRecord {
        domain: domain.to_string(),
        access: Some(Access { level, named: vec!["cro".into()] }),
        ..named(name, "text")
    };
    use Classification::{Confidential, Internal, Public, Restricted};
    fixture
        .writer()
        .put_many(vec![
            record("fact/hidden", "hr", Confidential),
            record("fact/own", "revenue", Confidential),
        ])
        .expect("put");
    let profile = ClearanceProfile::new("cro").with("revenue", Confidential);
    let put = |record: NewRecord| fixture.writer().as_principal(profile.clone()).put(record);
    for (name, domain, level, allowed) in [
        ("fact/1", "revenue", Internal, true),
        ("fact/2", "revenue", Confidential, true),
        ("fact/3", "revenue", Public, true),
        ("fact/4", "revenue", Restricted, false),
        ("fact/5", "hr", Internal, false),
        ("fact/6", "hr", Public, false),
        ("fact/7", "", Internal, false),
        ("fact/hidden", "revenue", Internal, false),
        ("fact/own", "revenue", Internal, false),
        ("fact/own", "revenue", Confidential, true),
        ("clearance/cro", "revenue", Internal, false),
    ] {
        let done = put(record(name, domain, level));
        assert_eq!(done.is_ok(), allowed, "{name} {domain} {level} {done:?}");
        assert!(done.err().is_none_or(|error| matches!(error, Error::AccessDenied { .. })));
    }
    assert!(put(NewRecord::text("without a level, internal in no domain")).is_err());
    let mut writer = fixture.writer().as_principal(profile.clone());
    assert!(matches!(writer.forget(&uri("fact/hidden")), Err(Error::UriNotFound { .. })));
    assert!(writer.forget(&uri("fact/own")).is_ok());
    drop(writer);
    assert!(fixture.reader().get(&uri("fact/hidden")).is_ok(), "nothing happened to it");
}

#[test]
fn profiles_are_records_with_a_history_that_only_the_owner_reads() {
    let fixture = Fixture::new();
    let profile = ClearanceProfile::new("cro")
        .with("revenue", Classification::Confidential)
        .with("", Classification::Restricted);
    assert_eq!(
        fixture.reader().clearance("cro").expect("told"),
        ClearanceProfile::new("cro"),
        "deny by default"
    );
    fixture.writer().put(profile.record().expect("a record")).expect("put");
    assert_eq!(fixture.reader().clearance("cro").expect("told"), profile);
    let narrower = ClearanceProfile::new("cro").with("revenue", Classification::Internal);
    fixture.writer().put(narrower.record().expect("a record")).expect("put");
    assert_eq!(fixture.reader().clearance("cro").expect("told"), narrower);
    assert_eq!(
        fixture
            .reader()
            .history(&ClearanceProfile::uri("cro").expect("a URI"))
            .expect("told")
            .len(),
        2
    );
    let own = fixture.reader().as_principal(profile);
    assert!(
        own.get(&ClearanceProfile::uri("cro").expect("a URI")).is_err()
            && own.find(&FindRequest::new("what cro may know")).expect("found").hits.is_empty()
    );
    assert!(ClearanceProfile::uri("a/b").is_err());
}

#[test]
fn nothing_else_takes_the_place_of_a_profile() {
    let fixture = Fixture::new();
    let profile = ClearanceProfile::new("cro").with("", Classification::Restricted);
    let record = profile.record().expect("a record");
    fixture.writer().put(record.clone()).expect("put");
    let with = |key: &str, value: serde_json::Value| {
        let mut other = record.clone();
        other.metadata.insert(key.to_string(), value);
        other
    };
    let named = |name: &str| NewRecord { uri: Some(uri(name)), ..record.clone() };
    for other in [
        NewRecord { uri: Some(uri("clearance/cro")), ..NewRecord::text("a note") },
        with("principal", "cmo".into()),
        with("domains", "all".into()),
        with("domains", serde_json::json!({"": "everything"})),
        named("clearance/cmo"),
        named("note/cro"),
        NewRecord { uri: None, ..record.clone() },
    ] {
        let refused = fixture.writer().put(other.clone());
        assert!(matches!(refused, Err(Error::InvalidOperation { .. })), "{other:?}: {refused:?}");
    }
    assert_eq!(fixture.reader().clearance("cro").expect("told"), profile);
}

#[test]
fn levels_survive_a_merge_and_an_older_program_would_refuse_them() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("m.kapsa");
    create(&path, &WriteOptions::new(clock)).expect("made");
    let mut writer = Writer::open(&path, WriteOptions::new(clock)).expect("opens");
    branch::create(&mut writer, "run/1", "main", None).expect("made");
    writer.switch("run/1").expect("there");
    let access = Some(Access::restricted(["cro"]));
    writer.put(NewRecord { access: access.clone(), ..named("fact/x", "secret") }).expect("put");
    merge::merge(
        &mut writer,
        &kapsa_memory::MergeRequest {
            from: "run/1".into(),
            to: "main".into(),
            ..Default::default()
        },
    )
    .expect("merged");
    assert_eq!(
        Reader::open(&path).expect("opens").get(&uri("fact/x")).expect("there").access,
        access
    );
}

/// For who may know next to nothing the index looks for that instead of asking of everything.
#[test]
fn who_knows_next_to_nothing_finds_that() {
    let fixture = Fixture::new();
    let mut writer = fixture.writer();
    let secret = |n: usize| NewRecord {
        domain: format!("d{}", n % 50),
        ..named(&format!("fact/{n}"), &format!("the secret of {n}"))
    };
    writer.put_many((0..500).map(secret).collect()).expect("put");
    drop(writer);
    for optimised in [false, true] {
        for domain in ["d7", "none"] {
            let reader = fixture
                .reader()
                .as_principal(ClearanceProfile::new("x").with(domain, Classification::Internal));
            let want = if domain == "none" { 0 } else { 10 };
            let found = reader
                .find(&FindRequest { k: 100, ..FindRequest::new("secret") })
                .expect("found")
                .hits;
            assert_eq!(found.len(), want, "{domain} {optimised}");
            assert!(found.iter().all(|hit| hit.record.domain == domain));
            let timeline = TimelineRequest { limit: 4, ..TimelineRequest::default() };
            assert_eq!(reader.timeline(&timeline).expect("listed").len(), want.min(4));
        }
        optimize(&fixture.path, &WriteOptions::new(clock), &mut |_, _| {}).expect("optimised");
    }
    assert!(stats(&fixture.reader(), false).expect("counted").segment_count > 0);
}

/// What a principal is told of its hits is the same whatever is hidden beside them.
#[test]
fn scores_do_not_tell_of_hidden_records() {
    let told = |hidden: usize| {
        let fixture = Fixture::new();
        let mut writer = fixture.writer();
        let open = |name: &str, text: &str| NewRecord {
            access: Some(Access::level(Classification::Public)),
            ..named(name, text)
        };
        writer.put(open("fact/a", "acme acme merger")).expect("put");
        writer
            .put(open("fact/b", "the acme of it, told at length and in many words"))
            .expect("put");
        writer
            .put_many(
                (0..hidden).map(|n| named(&format!("fact/h{n}"), "merger merger talks")).collect(),
            )
            .expect("put");
        let found = fixture
            .reader()
            .as_principal(ClearanceProfile::new("x"))
            .find(&FindRequest::new("acme merger"))
            .expect("found");
        found
            .hits
            .iter()
            .map(|hit| (hit.record.uri.to_string(), hit.score, hit.why.clone(), hit.strength))
            .collect::<Vec<_>>()
    };
    assert_eq!(told(0), told(40));
    assert_eq!(told(0).len(), 2);
}

/// Whoever changes or ends something is cleared for it as it is, however public it is, and for what
/// becomes of it. Hidden and absent are told in the same words.
#[test]
fn changing_needs_clearance_for_what_is_there() {
    use Classification::{Confidential, Internal, Public};
    let fixture = Fixture::new();
    let record = |name: &str, domain: &str, level, text: &str| NewRecord {
        domain: domain.to_string(),
        access: Some(Access::level(level)),
        ..named(name, text)
    };
    fixture
        .writer()
        .put_many(vec![
            record("note/holidays", "hr", Public, "holidays"),
            record("note/pay", "hr", Confidential, "pay"),
            record("note/deal", "revenue", Internal, "deal"),
        ])
        .expect("put");
    fixture.writer().alias(&uri("note/other"), &uri("note/holidays")).expect("an alias");
    let profile = ClearanceProfile::new("cro").with("revenue", Confidential);
    let writer = || fixture.writer().as_principal(profile.clone());
    let is_denied = |error: Option<Error>| matches!(error, Some(Error::AccessDenied { .. }));
    for name in ["note/holidays", "note/other"] {
        let taken = writer().put(record(name, "revenue", Internal, "moved"));
        assert!(is_denied(taken.err()), "{name} is moved");
        assert!(is_denied(writer().forget(&uri(name)).err()), "{name} is ended");
    }
    let told = |name: &str| writer().forget(&uri(name)).expect_err("hidden").to_string();
    assert_eq!(told("note/pay").replace("pay", "x"), told("note/none").replace("none", "x"));
    let left = fixture.reader().get(&uri("note/holidays")).expect("there");
    assert_eq!((left.text.as_str(), left.domain.as_str()), ("holidays", "hr"));
    assert!(writer().put(record("note/deal", "revenue", Confidential, "deal")).is_ok(), "its own");
    assert!(writer().forget(&uri("note/deal")).is_ok());
}

/// What is not said of a record that is revised stays as it is, for whoever revises it.
#[test]
fn a_revision_keeps_the_domain_and_level_that_it_does_not_name() {
    use Classification::{Confidential, Internal};
    let fixture = Fixture::new();
    let secret = NewRecord {
        domain: "hr".into(),
        access: Some(Access::level(Confidential)),
        ..named("note/pay", "pay")
    };
    fixture.writer().put(secret).expect("put");
    let level = |name: &str| {
        let record = fixture.reader().get(&uri(name)).expect("there");
        (record.domain, record.access.map_or(Internal, |access| access.level))
    };
    let kept = ("hr".to_string(), Confidential);
    let mut writer = fixture.writer();
    let mut transaction = writer.transaction();
    transaction.revise(named("note/pay", "pay rises")).expect("added");
    transaction.revise(named("note/pay", "pay rises again")).expect("added");
    transaction.commit().expect("published");
    drop(writer);
    assert_eq!(level("note/pay"), kept, "for the owner");
    let profile = ClearanceProfile::new("cho").with("hr", Confidential);
    let mut writer = fixture.writer().as_principal(profile);
    writer.put(named("note/pay", "pay falls")).expect("put");
    drop(writer);
    assert_eq!(level("note/pay"), kept, "for a principal");
    let mut writer = fixture.writer();
    let mut transaction = writer.transaction();
    let open = NewRecord { access: Some(Access::level(Internal)), ..named("note/pay", "open") };
    transaction.revise(open).expect("added");
    transaction.forget(&uri("note/pay"), "").expect("added");
    transaction.revise(named("note/pay", "anew")).expect("added");
    transaction.commit().expect("published");
    drop(writer);
    assert_eq!(level("note/pay"), (String::new(), Internal), "what was forgotten keeps nothing");
}

/// Names and kinds that belong to a verb of the owner, and fields that the memory fills in.
#[test]
fn a_principal_writes_nothing_that_belongs_to_a_verb() {
    let fixture = Fixture::new();
    let mut writer = fixture.writer();
    for (name, kind) in [("note/task", "task"), ("note/built", "artifact")] {
        let kind = kind.to_string();
        writer.put(NewRecord { kind, ..named(name, "the owner's") }).expect("put");
    }
    branch::create(&mut writer, "run/1", "main", None).expect("made");
    drop(writer);
    let profile = ClearanceProfile::new("cro").with("", Classification::Confidential);
    let writer = || fixture.writer().as_principal(profile.clone());
    let refused = |record: NewRecord| {
        let told = format!("{record:?}");
        let error = writer().put(record).expect_err(&told);
        assert!(matches!(error, Error::AccessDenied { .. } | Error::FieldDenied { .. }), "{told}");
        error.to_string()
    };
    for name in ["policy/x", "run/1", "access/f1", "kapsa/x", "clearance/cro", "s/r/card/acme"] {
        refused(named(name, "x"));
    }
    let kinds = ["run", "task", "plan", "event", "card", "edge", "policy", "audit", "artifact"];
    for kind in kinds {
        refused(NewRecord { kind: kind.into(), ..NewRecord::text("x") });
    }
    for name in ["note/task", "note/built"] {
        refused(named(name, "x"));
        assert!(matches!(writer().forget(&uri(name)), Err(Error::AccessDenied { .. })), "{name}");
    }
    let mut counted = named("fact/f1", "x");
    counted.metadata.insert("evidence_count".into(), 99.into());
    assert!(refused(counted).contains("`metadata.evidence_count`"));
    let mut tagged = NewRecord::text("x");
    tagged.tags.insert("kapsa.place".into(), "1".into());
    assert!(refused(tagged).contains("`tags.kapsa.place`"));
    let sure = NewRecord { confidence: Some(1.0), ..NewRecord::text("x") };
    assert!(refused(sure).contains("`confidence`"));
    assert!(refused(NewRecord { agent: "cmo".into(), ..NewRecord::text("x") }).contains("`agent`"));
    assert!(matches!(writer().switch("run/1"), Err(Error::AccessDenied { .. })));
    assert!(writer().put(NewRecord::text("its own")).is_ok());
}

/// What the capsule writes about itself is the owner's, whatever a principal is cleared for.
#[test]
fn what_the_capsule_writes_about_itself_is_the_owners() {
    let fixture = Fixture::new();
    let mut writer = fixture.writer();
    writer.put(named("note/x", "known")).expect("put");
    branch::create(&mut writer, "try", "main", None).expect("made");
    let label = "the-merger".to_string();
    checkpoint::make(&mut writer, &kapsa_memory::NewCheckpoint { label, ..Default::default() })
        .expect("made");
    let profile = ClearanceProfile::new("cro").with("", Classification::Restricted);
    for optimised in [false, true] {
        if optimised {
            writer.optimize(&mut |_, _| {}).expect("optimised");
        }
        let reader = fixture.reader();
        let guarded = reader.as_principal(profile.clone());
        for kind in ["branch", "checkpoint", "event"] {
            let filter = Filter { kinds: vec![kind.to_string()], ..Filter::default() };
            let request = TimelineRequest { limit: 10, filter: filter.clone(), reverse: false };
            assert_eq!(guarded.timeline(&request).expect("listed"), [], "{kind}");
            let find = FindRequest { filter, ..FindRequest::new("merger") };
            assert!(guarded.find(&find).expect("found").hits.is_empty(), "{kind}");
            for record in reader.timeline(&request).expect("listed") {
                assert!(guarded.get(&record.uri).is_err(), "{}", record.uri);
                assert!(guarded.history(&record.uri).is_err(), "{}", record.uri);
                assert!(guarded.record(record.sequence).is_err(), "{}", record.uri);
            }
        }
        assert!(guarded.get(&uri("note/x")).is_ok());
    }
}

/// `note/c` with two sides that contest each other, of which a principal `low` knows one; the
/// hidden one came last if it `is_merged`.
fn with_a_hidden_side(fixture: &Fixture, is_merged: bool) {
    let mut writer = fixture.writer();
    writer.put(named("note/c", "base")).expect("put");
    branch::create(&mut writer, "try", "main", None).expect("made");
    let access = Some(Access::level(Classification::Confidential));
    let secret = NewRecord { access, ..named("note/c", "secret side") };
    let mut sides = [secret, named("note/c", "open side")];
    sides.rotate_left(usize::from(!is_merged));
    for (name, side) in ["try", "main"].into_iter().zip(sides) {
        writer.switch(name).expect("there");
        writer.put(side).expect("put");
    }
    let request = kapsa_memory::MergeRequest {
        from: "try".into(),
        to: "main".into(),
        rule: Some(kapsa_memory::Choice::Contested),
        ..Default::default()
    };
    merge::merge(&mut writer, &request).expect("merged");
}

/// Where the newest of revisions that contest each other is hidden, every read shows the others.
#[test]
fn a_hidden_side_of_a_conflict_is_hidden_alike() {
    for is_merged_secret in [false, true] {
        let fixture = Fixture::new();
        with_a_hidden_side(&fixture, is_merged_secret);
        let profile = ClearanceProfile::new("low").with("", Classification::Internal);
        let reader = fixture.reader().as_principal(profile);
        let request = TimelineRequest { limit: 9, ..TimelineRequest::default() };
        let listed = reader.timeline(&request).expect("listed").remove(0);
        assert_eq!(listed.text, "open side", "{is_merged_secret}");
        assert_eq!(reader.get(&uri("note/c")).expect("there"), listed, "{is_merged_secret}");
        let raw = reader.raw().known(&uri("note/c")).expect("asked").expect("there");
        assert_eq!(raw.sequence, listed.sequence, "{is_merged_secret}");
        assert!(reader.raw().is_newest(&raw).expect("asked"), "{is_merged_secret}");
        let hits = reader.find(&FindRequest::new("side")).expect("found").hits;
        assert_eq!(hits.iter().map(|hit| hit.record.sequence).collect::<Vec<_>>(), [raw.sequence]);
    }
}

/// Who knows one side of a conflict replaces that side, as if there were no other, and the hidden
/// one goes on contesting it.
#[test]
fn a_principal_replaces_its_own_side_of_a_conflict_only() {
    let low = ClearanceProfile::new("low").with("", Classification::Internal);
    let all = TimelineRequest { limit: 9, ..TimelineRequest::default() };
    for (is_merged, is_indexed) in [(false, false), (false, true), (true, false), (true, true)] {
        let fixture = Fixture::new();
        with_a_hidden_side(&fixture, is_merged);
        if is_indexed {
            optimize(&fixture.path, &WriteOptions::new(clock), &mut |_, _| {}).expect("optimised");
        }
        let mut writer = fixture.writer().as_principal(low.clone());
        assert_eq!(writer.put(named("note/c", "first")).expect("put").change, Change::Revised);
        writer.put_many(vec![named("note/c", "second"), named("note/c", "third")]).expect("put");
        assert!(matches!(writer.forget(&uri("note/c")), Err(Error::UriNotFound { .. })));
        drop(writer);
        for optimised in [false, true] {
            if optimised {
                optimize(&fixture.path, &WriteOptions::new(clock), &mut |_, _| {})
                    .expect("optimised");
            }
            let reader = fixture.reader();
            let texts = |listed: Vec<Record>| {
                let mut texts: Vec<String> = listed.into_iter().map(|record| record.text).collect();
                texts.sort();
                texts
            };
            let listed = reader.timeline(&all).expect("listed");
            assert_eq!(texts(listed), ["secret side", "third"], "{is_merged} {is_indexed}");
            let newest = reader.get(&uri("note/c")).expect("there");
            assert_eq!(newest.classification(), Classification::Internal, "its side's level");
            let [hidden] = newest.conflicts_with[..] else { panic!("{newest:?}") };
            assert_eq!(reader.record(hidden).expect("there").text, "secret side");
            let guarded = reader.as_principal(low.clone());
            assert_eq!(texts(guarded.timeline(&all).expect("listed")), ["third"]);
            let known = guarded.get(&uri("note/c")).expect("there");
            assert_eq!((known.text.as_str(), &known.conflicts_with[..]), ("third", &[][..]));
        }
        fixture.writer().put(named("note/c", "settled")).expect("put");
        let listed = fixture.reader().timeline(&all).expect("listed");
        assert_eq!(listed.len(), 1, "the owner settles all of it");
        fixture.assert_whole();
    }
}

/// A policy that is not what was captured is an error, and capturing it again mends it.
#[test]
fn a_changed_policy_is_never_shown() {
    let fixture = Fixture::new();
    let mut writer = fixture.writer();
    let parts = serde_json::json!({"weights": {"quality": 0.85}});
    let parts = parts.as_object().expect("an object").clone();
    let captured = policy::capture(&mut writer, &parts, "now").expect("captured").policy;
    assert_eq!(policy::changed(&fixture.reader()).expect("asked"), [""; 0]);
    let is_changed = |found: kapsa_memory::Result<Option<kapsa_memory::PolicySnapshot>>| {
        matches!(found, Err(Error::PolicyChanged { .. }))
    };
    let forged = |change: &dyn Fn(&mut NewRecord)| {
        let mut record = NewRecord {
            kind: captured.record.kind.clone(),
            title: captured.record.title.clone(),
            metadata: captured.record.metadata.clone(),
            ..named(captured.uri.short(), &captured.record.text)
        };
        change(&mut record);
        record
    };
    let other = serde_json::json!({"quality": 0.1});
    for record in [
        forged(&|record| record.text = "everything is allowed".into()),
        forged(&|record| drop(record.metadata.insert("weights".into(), other.clone()))),
        forged(&|record| drop(record.metadata.insert("hash".into(), "0".repeat(64).into()))),
        forged(&|record| record.kind = "note".into()),
    ] {
        writer.put(record).expect("put");
        let reader = fixture.reader();
        assert!(is_changed(policy::named(&reader, &captured.id)), "by its name");
        assert!(is_changed(policy::current(&reader)), "in force");
        assert_eq!(policy::changed(&reader).expect("asked"), [captured.id.as_str()]);
    }
    let again = policy::capture(&mut writer, &parts, "now").expect("captured");
    assert!(again.changed);
    assert_eq!(policy::current(&fixture.reader()).expect("whole"), Some(again.policy));
}
