//! A search by a principal answers, to the last bit, as a capsule that never held what is hidden
//! from it: with those records and without, over segments and tail, by words and by meaning.

use kapsa_memory::access::{Access, Classification, ClearanceProfile};
use kapsa_memory::{
    Clock, FindRequest, Found, Grouping, NewRecord, PrincipalReader, Reader, SearchMode, Writer,
    optimize, purge,
};

use crate::access::Random;
use crate::meaning::{Capsule, Plain, capsule, fill, options, record};

const WORDS: [&str; 16] = [
    "cat", "feline", "dog", "hound", "red", "ship", "harbour", "crane", "anchor", "tide", "rope",
    "lantern", "keel", "winch", "is", "5433",
];
const NOW: i64 = 1_800_000_000_000_000;
const HOUR: i64 = 3_600_000_000;

fn words(random: &mut Random, most: usize) -> String {
    let count = 1 + random.below(most);
    let words: Vec<&str> = (0..count).map(|_| WORDS[random.below(WORDS.len())]).collect();
    words.join(" ")
}

/// Records of which about half are hidden. These repeat words, stand between the turns of visible
/// conversations, and revise nothing that is visible.
fn records(random: &mut Random, count: usize) -> Vec<NewRecord> {
    let make = |n: usize| {
        let is_hidden = random.below(2) == 0;
        let level = if is_hidden { Classification::Confidential } else { Classification::Public };
        let text = words(random, 12);
        let text = if is_hidden { format!("{text} crane crane anchor") } else { text };
        let mut record = record(&format!("n/{n}"), &text);
        record.access = Some(Access { level, named: Vec::new() });
        record.created_at = Some(NOW - (count - n) as i64 * HOUR);
        if random.below(3) > 0 {
            record.tags.insert("session".into(), format!("s{}", n / 12));
            let role = ["user", "assistant", "tool"][random.below(3)];
            record.tags.insert("role".into(), role.into());
        }
        record
    };
    (0..count).map(make).collect()
}

fn is_visible(record: &NewRecord) -> bool {
    record.access.as_ref().is_some_and(|access| access.level == Classification::Public)
}

/// Puts records in commits of different sizes, with segments in different places.
fn filled(random: &mut Random, records: &[NewRecord]) -> Capsule {
    let capsule = capsule();
    let mut rest = records;
    while !rest.is_empty() {
        let (these, after) = rest.split_at((1 + random.below(90)).min(rest.len()));
        let mut writer = Writer::open(&capsule.path, options()).expect("opened");
        writer.put_many(these.to_vec()).expect("put");
        drop(writer);
        if random.below(3) == 0 {
            optimize(&capsule.path, &options(), &mut |_, _| ()).expect("optimized");
        }
        rest = after;
    }
    fill(&capsule.path, &Plain::new("plain"));
    capsule
}

/// Everything that an answer says, but for sequences.
fn said(found: &Found) -> Vec<String> {
    let hit = |hit: &kapsa_memory::Hit| {
        let around: Vec<&str> = hit.around.iter().map(|turn| turn.uri.short()).collect();
        format!(
            "{} {:x} {:x} {:?} {} {} {around:?} {:?}",
            hit.record.uri.short(),
            hit.score.to_bits(),
            hit.strength.to_bits(),
            hit.why,
            hit.group_hits,
            hit.newer.is_some(),
            hit.same_text,
        )
    };
    let mut said: Vec<String> = found.hits.iter().map(hit).collect();
    said.push(format!("{:?} {:x} {:?}", found.grade, found.share.to_bits(), found.read));
    said
}

fn request(random: &mut Random) -> FindRequest {
    let mut query = words(random, 5);
    match random.below(8) {
        0 => query = format!("+{query}"),
        1 => query = format!("{query} -winch"),
        2 => query = format!("\"{query}\""),
        3 => query.push_str(" yesterday"),
        4 => query.push_str(" hrbour"),
        _ => {}
    }
    let mode = [SearchMode::Auto, SearchMode::Auto, SearchMode::Words, SearchMode::Meaning]
        [random.below(4)];
    FindRequest {
        mode,
        k: 1 + random.below(30),
        around: random.below(3),
        group: (random.below(4) == 0).then_some(Grouping::Session),
        time: Some(Clock::utc(NOW)),
        read_times: true,
        ..FindRequest::new(query)
    }
}

fn principal(capsule: &Capsule) -> PrincipalReader {
    let reader = Reader::open(&capsule.path).expect("opened");
    reader.as_principal(ClearanceProfile::new("nobody"))
}

#[test]
fn hidden_records_change_no_figure_of_an_answer() {
    let model = Plain::new("plain");
    for seed in 0..8 {
        let mut random = Random(seed);
        let count = 40 + random.below(400);
        let all = records(&mut random, count);
        let visible: Vec<NewRecord> =
            all.iter().filter(|record| is_visible(record)).cloned().collect();
        let with_hidden = filled(&mut random, &all);
        let without = filled(&mut random, &visible);
        let (with_hidden, without) = (principal(&with_hidden), principal(&without));
        for round in 0..100 {
            let request = request(&mut random);
            let got = with_hidden.find_with(&request, Some(&model)).expect("found");
            let want = without.find_with(&request, Some(&model)).expect("found");
            assert_eq!(said(&got), said(&want), "seed {seed} round {round} {request:?}");
        }
    }
}

/// Cosines of every record with a question, in bits, by URI.
fn cosines(capsule: &Capsule) -> Vec<(String, Option<u32>)> {
    let reader = Reader::open(&capsule.path).expect("opened");
    let query = "red ship feline hound";
    let request = FindRequest { k: 1000, mode: SearchMode::Meaning, ..FindRequest::new(query) };
    let found = reader.find_with(&request, Some(&Plain::new("plain"))).expect("found");
    let cosine =
        |hit: &kapsa_memory::Hit| (hit.record.uri.to_string(), hit.why.cosine.map(f32::to_bits));
    let mut cosines: Vec<_> = found.hits.iter().map(cosine).collect();
    cosines.sort();
    cosines
}

/// Turns that were purged stood between others of their conversation.
#[test]
fn what_is_purged_leaves_no_trace_in_a_vector() {
    let mut random = Random(3);
    let all = records(&mut random, 200);
    let kept: Vec<NewRecord> = all.iter().filter(|record| is_visible(record)).cloned().collect();
    let purged = filled(&mut random, &all);
    let never_held = filled(&mut random, &kept);
    let mut writer = Writer::open(&purged.path, options()).expect("opened");
    for record in all.iter().filter(|record| !is_visible(record)) {
        purge(&mut writer, record.uri.as_ref().expect("named")).expect("purged");
    }
    writer.compact(&mut |_, _| ()).expect("compacted");
    let left = cosines(&purged);
    assert!(left.len() > 50, "{}", left.len());
    assert_eq!(left, cosines(&never_held));
}
