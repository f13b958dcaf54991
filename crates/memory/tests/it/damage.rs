//! A flipped bit of the index gives the right answer or an error, never another answer, and nothing
//! waits for ever.

use std::collections::BTreeMap;
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use kapsa_memory::{Filter, FindRequest, NewRecord, Reader, TimelineRequest};

use crate::{Fixture, named, uri};

const SEED: u64 = 20_261_128;
const RECORDS: usize = 9000;
const WORDS_PER_RECORD: usize = 105;
const VOCABULARY: u64 = 60_000;
/// Records whose URI gets a second revision within the segment.
const REVISED: usize = 2500;
const SEGMENT_BYTES_MIN: u64 = 3 << 20;
/// Flips at places drawn from a whole section, and how many are drawn again within each page where
/// one was noticed.
const FLIPS: [(&str, usize); 4] =
    [("lexical ", 2000), ("uris    ", 200), ("replaced", 150), ("recdir  ", 200)];
const FLIPS_PER_NOTICED_PAGE: usize = 4;
const PAGE: u64 = 4096;
/// No answer takes longer, damaged or not, on any machine.
const PATIENCE: Duration = Duration::from_secs(60);

struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16) % n
    }

    /// Small numbers are much more likely.
    fn skewed(&mut self, n: u64) -> u64 {
        let first = 1 + self.below(n);
        let second = 1 + self.below(first);
        self.below(second)
    }
}

/// One of a million words of letters only: a digit would make it several words.
fn word(number: u64) -> String {
    let letter = |place: u32| {
        char::from(
            b"bcdfghjklmnpqrtvwxz"[(number * 7919 % 1_000_003 / 19u64.pow(place) % 19) as usize],
        )
    };
    (0..5).map(letter).collect()
}

fn record(random: &mut Random, number: usize, revision: &str) -> NewRecord {
    let words: Vec<String> =
        (0..WORDS_PER_RECORD).map(|_| word(random.skewed(VOCABULARY))).collect();
    NewRecord {
        kind: ["note", "decision", "bug"][number % 3].to_string(),
        agent: format!("agent{}", number % 40),
        tags: BTreeMap::from([("lang".to_string(), format!("l{}", number % 100))]),
        created_at: Some(1_000_000 * (number as i64 * 7919 % 100_003)),
        title: format!("{revision} {}", word(100_000 + number as u64 / 3)),
        ..named(&format!("key/{number}"), &words.join(" "))
    }
}

/// A capsule with one large segment, and a tail that replaces some of its records.
fn capsule() -> Fixture {
    let f = Fixture::new();
    let mut random = Random(SEED);
    let mut writer = f.writer();
    writer.put_many((0..RECORDS).map(|n| record(&mut random, n, "first")).collect()).expect("put");
    writer
        .put_many((0..REVISED).map(|n| record(&mut random, n * 3, "second")).collect())
        .expect("put");
    writer.optimize(&mut |_, _| {}).expect("merges");
    writer
        .put_many((0..8).map(|n| record(&mut random, n * 500 + 1, "third")).collect())
        .expect("put");
    f
}

/// Where the sections of the largest segment lie in the file, by tag.
fn sections(path: &Path) -> BTreeMap<String, Range<u64>> {
    let snapshot = kapsa_capsule::Snapshot::open(path).expect("opens");
    let segment = snapshot.segments().iter().max_by_key(|s| s.payload_len).expect("one at least");
    assert!(
        segment.payload_len >= SEGMENT_BYTES_MIN,
        "the segment has {} bytes",
        segment.payload_len
    );
    let payload = segment.id + 72;
    let bytes = std::fs::read(path).expect("there");
    let number = |at: u64| {
        u64::from_le_bytes(bytes[(payload + at) as usize..][..8].try_into().expect("eight bytes"))
    };
    assert_eq!(number(0), u64::from_le_bytes(*b"KAPSASEG"));
    let entry = |index: u64| 24 + index * 24;
    let section = |index| {
        let tag = String::from_utf8(number(entry(index)).to_le_bytes().to_vec()).expect("ASCII");
        let start = payload + number(entry(index) + 8);
        (tag, start..start + number(entry(index) + 16))
    };
    (0..number(16)).map(section).collect()
}

/// What was asked and what came back; none for an error.
type Answers = Vec<Option<String>>;

/// Asks a process's worth of questions of all kinds.
fn ask(path: &Path) -> Answers {
    let Ok(reader) = Reader::open(path) else { return vec![None] };
    let filter = Filter {
        kinds: vec!["bug".to_string()],
        agents: vec!["agent7".to_string()],
        ..Filter::default()
    };
    let window =
        Filter { since: Some(31_000_000_000), until: Some(33_000_000_000), ..Filter::default() };
    let find = |query: &str, filter: &Filter| {
        let request = FindRequest {
            filter: filter.clone(),
            k: 5,
            snippet_chars: 40,
            fallback: false,
            ..FindRequest::new(query)
        };
        let found = reader.find(&request).ok()?;
        let hits = found
            .hits
            .iter()
            .map(|hit| (hit.record.sequence, hit.score.to_bits(), hit.snippet.as_str()));
        Some(format!("{:?}", hits.collect::<Vec<_>>()))
    };
    let list = |filter: &Filter, reverse| {
        let request = TimelineRequest { filter: filter.clone(), limit: 5, reverse };
        let records = reader.timeline(&request).ok()?;
        Some(format!("{:?}", records.iter().map(|record| record.sequence).collect::<Vec<_>>()))
    };
    let (rare, frequent, absent) = (word(40_000), word(30), word(300_000));
    let words = format!("{rare} {} {absent} {frequent}", word(900));
    let pair = format!("+{} +{}", word(2), word(5));
    vec![
        find(&words, &Filter::default()),
        find(&format!("\"second {}\"", word(100_000)), &Filter::default()),
        find(&pair, &Filter::default()),
        find(&frequent, &filter),
        find(&frequent, &window),
        reader.get(&uri("key/4242")).ok().map(|record| record.text),
        reader
            .history(&uri("key/300"))
            .ok()
            .map(|all| format!("{:?}", all.iter().map(|r| r.sequence).collect::<Vec<_>>())),
        list(&filter, true),
        list(&window, false),
    ]
}

/// What became of the answers to one flip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Untouched,
    Noticed,
    Wrong,
}

fn judge(right: &Answers, answers: &Answers) -> Outcome {
    let mut outcome = Outcome::Untouched;
    for (right, answer) in right.iter().zip(answers) {
        match answer {
            None => outcome = Outcome::Noticed,
            Some(_) if answer != right => return Outcome::Wrong,
            Some(_) => {}
        }
    }
    outcome
}

/// Flips bits and reports each outcome with its place.
struct Flipper {
    path: PathBuf,
    file: File,
    right: Answers,
    outcomes: Sender<(u64, Option<Outcome>)>,
}

impl Flipper {
    fn flip(&self, at: u64, bit: u64) -> Outcome {
        let mut byte = [0];
        self.file.read_exact_at(&mut byte, at).expect("in the file");
        self.outcomes.send((at, None)).expect("somebody waits");
        self.file.write_all_at(&[byte[0] ^ 1 << bit], at).expect("written");
        let outcome = judge(&self.right, &ask(&self.path));
        self.file.write_all_at(&byte, at).expect("written");
        self.outcomes.send((at, Some(outcome))).expect("somebody waits");
        outcome
    }

    fn run(&self, sections: &BTreeMap<String, Range<u64>>) {
        let mut random = Random(SEED);
        for (tag, flips) in FLIPS {
            let section = &sections[tag];
            let mut pages = BTreeMap::new();
            for _ in 0..flips {
                let at = section.start + random.below(section.end - section.start);
                if self.flip(at, random.below(8)) == Outcome::Noticed {
                    pages.insert(at / PAGE, ());
                }
            }
            assert!(
                !pages.is_empty(),
                "no flip in {tag:?} was noticed: the questions do not read it"
            );
            for page in pages.into_keys() {
                let part = section.start.max(page * PAGE)..section.end.min((page + 1) * PAGE);
                for _ in 0..FLIPS_PER_NOTICED_PAGE {
                    self.flip(part.start + random.below(part.end - part.start), random.below(8));
                }
            }
        }
    }
}

#[test]
fn a_flipped_bit_of_the_index_is_never_believed() {
    let f = capsule();
    let right = ask(&f.path);
    assert!(
        right.iter().all(|answer| answer.as_ref().is_some_and(|answer| answer.len() > 2)),
        "{right:?}"
    );
    let sections = sections(&f.path);
    let (outcomes, waiting) = channel();
    let file = File::options().read(true).write(true).open(&f.path).expect("opens");
    let flipper = Flipper { path: f.path.clone(), file, right, outcomes };
    let worker = thread::spawn(move || flipper.run(&sections));
    let (mut untouched, mut noticed, mut wrong, mut last) = (0, 0, Vec::new(), 0);
    loop {
        match waiting.recv_timeout(PATIENCE) {
            Ok((at, None)) => last = at,
            Ok((_, Some(Outcome::Untouched))) => untouched += 1,
            Ok((_, Some(Outcome::Noticed))) => noticed += 1,
            Ok((at, Some(Outcome::Wrong))) => wrong.push(at),
            Err(RecvTimeoutError::Timeout) => {
                panic!("no answer with a flip at byte {last} (seed {SEED})")
            }
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    println!("{noticed} flips noticed, {untouched} without effect, {} wrong", wrong.len());
    assert_eq!(wrong, [0u64; 0], "wrong answers with flips at these bytes (seed {SEED})");
    worker.join().expect("every section is read by some question");
    assert!(noticed > 100 && untouched > 100, "{noticed} noticed, {untouched} untouched");
    f.assert_whole();
}
