//! A reader that is renewed knows what one that is opened anew does, whatever was written, erased,
//! merged or put back in between: what it takes over from before is still so.

use std::fs;

use kapsa_memory::access::{Access, Classification, ClearanceProfile};
use kapsa_memory::{Error, FindRequest, NewRecord, Reader, purge};
use kapsa_testkit::Random;

use crate::fixture::{Fixture, named, uri};

const NAMES: u64 = 12;
const WORDS: [&str; 8] = ["crane", "harbour", "tide", "rope", "lantern", "keel", "anchor", "quay"];
const STEPS: usize = 80;
/// More than there are.
const SEQUENCES_MAX: u64 = 1000;

fn name(random: &mut Random) -> String {
    format!("note/{}", random.below(NAMES))
}

fn text(random: &mut Random) -> String {
    let words: Vec<&str> =
        (0..4).map(|_| WORDS[random.below(WORDS.len() as u64) as usize]).collect();
    format!("{} {}", words.join(" "), random.below(1000))
}

/// What two readers must agree on.
fn answers(reader: &Reader) -> Vec<String> {
    let mut all = Vec::new();
    for word in &WORDS[..3] {
        let found = reader.find(&FindRequest::new(*word)).expect("any query is answered");
        all.extend(found.hits.iter().map(|hit| {
            let record = &hit.record;
            format!("{word}: {} {} {} {}", record.uri, record.sequence, record.text, hit.score)
        }));
        let profile = ClearanceProfile::new("guest").with("ops", Classification::Internal);
        let found = reader.as_principal(profile).find(&FindRequest::new(*word)).expect("answered");
        all.extend(found.hits.iter().map(|hit| format!("guest: {} {}", hit.record.uri, hit.score)));
    }
    for name in (0..NAMES).map(|name| uri(&format!("note/{name}"))) {
        match reader.history(&name) {
            Ok(history) => all.extend(history.iter().map(|revision| {
                format!("{name}: {} {} {}", revision.sequence, revision.text, revision.purged)
            })),
            Err(Error::UriNotFound { .. }) => all.push(format!("{name}: not there")),
            Err(error) => panic!("{name}: {error}"),
        }
    }
    // Whatever is erased, as each reads it.
    all.extend((1..SEQUENCES_MAX).map_while(|sequence| {
        reader.record(sequence).ok().map(|record| format!("{sequence} {}", record.text))
    }));
    all
}

fn step(fixture: &Fixture, random: &mut Random, backup: &mut Vec<u8>) -> &'static str {
    let mut writer = fixture.writer();
    match random.below(20) {
        0 => {
            let _absent_maybe = writer.forget(&uri(&name(random)));
            "forget"
        }
        1 | 2 => {
            let _absent_maybe = purge(&mut writer, &uri(&name(random)));
            "purge"
        }
        3 => {
            writer.optimize(&mut |_, _| ()).expect("optimized");
            "optimize"
        }
        4 => {
            writer.compact(&mut |_, _| ()).expect("compacted");
            "compact"
        }
        5 => {
            drop(writer);
            *backup = fs::read(&fixture.path).expect("read");
            "back up"
        }
        6 | 7 if !backup.is_empty() => {
            drop(writer);
            fs::write(&fixture.path, &*backup).expect("written");
            let mut writer = fixture.writer();
            writer.put(named(&name(random), &text(random))).expect("put");
            "put back, and put"
        }
        _ => {
            let some = (0..=random.below(3)).map(|_| {
                let domain = ["", "ops", "hr"][random.below(3) as usize].to_string();
                let access = Some(Access::level(Classification::Internal));
                NewRecord { domain, access, ..named(&name(random), &text(random)) }
            });
            writer.put_many(some.collect()).expect("put");
            "put"
        }
    }
}

#[test]
fn a_renewed_reader_knows_what_a_new_one_does() {
    for seed in 0..2 {
        let (fixture, mut random) = (Fixture::new(), Random::new(seed));
        let (mut reader, mut backup) = (fixture.reader(), Vec::new());
        for number in 0..STEPS {
            let what = step(&fixture, &mut random, &mut backup);
            reader = reader.renewed().expect("renewed");
            let (renewed, new) = (answers(&reader), answers(&fixture.reader()));
            assert_eq!(renewed, new, "seed {seed}, step {number}: {what}");
        }
    }
}
