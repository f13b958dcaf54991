//! The inputs in `fuzz/corpus/`, and mutations of them, break no promise. Needs no fuzzer.

use std::fs;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use base16ct::lower::encode_string as hex;
use kapsa_fuzz_targets::{TARGETS, Target};
use kapsa_testkit::Random;

/// Mutations of each target at most.
const MUTATIONS_MAX: usize = 5000;
/// Time for the mutations of one target; all together stay within ten seconds.
const MUTATION_TIME: Duration = Duration::from_millis(1000);
/// Longest that one input may take: a thousand times what it takes on an idle machine.
const INPUT_TIME_MAX: Duration = Duration::from_secs(20);
/// Largest input made by mutation.
const INPUT_BYTES_MAX: usize = 16 << 10;
/// Total size of the inputs kept.
const CORPUS_BYTES_MAX: u64 = 300_000;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus")
}

/// The inputs of a target with their names, by name.
fn inputs(target: &str) -> Vec<(String, Vec<u8>)> {
    let folder = folder().join(target);
    let entries =
        fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut inputs: Vec<(String, Vec<u8>)> = entries
        .map(|entry| entry.expect("the folder can be listed"))
        .map(|entry| {
            (
                entry.file_name().to_string_lossy().into_owned(),
                fs::read(entry.path()).expect("an input can be read"),
            )
        })
        .collect();
    inputs.sort();
    inputs
}

/// Runs one input; a failure names it and shows its bytes, so that it can be kept.
fn run(target: Target, name: &str, input: &[u8]) {
    let start = Instant::now();
    if let Err(panic) = catch_unwind(|| target(input)) {
        eprintln!("{name} fails on {} bytes: {}", input.len(), hex(input));
        std::panic::resume_unwind(panic);
    }
    assert!(start.elapsed() < INPUT_TIME_MAX, "{name} takes {:?}: {}", start.elapsed(), hex(input));
}

#[test]
fn every_input_kept_breaks_no_promise() {
    for (name, target) in TARGETS {
        let inputs = inputs(name);
        assert!(!inputs.is_empty(), "{name} has no inputs");
        inputs.iter().for_each(|(file, input)| run(target, &format!("{name}/{file}"), input));
    }
}

#[test]
fn mutations_of_the_inputs_break_no_promise() {
    for (number, (name, target)) in TARGETS.into_iter().enumerate() {
        let inputs = inputs(name);
        let mut random = Random::new(number as u64);
        let start = Instant::now();
        let mut done = 0;
        while done < MUTATIONS_MAX && start.elapsed() < MUTATION_TIME {
            let input = mutation(&mut random, &inputs);
            run(target, &format!("{name}, mutation {done}"), &input);
            done += 1;
        }
        println!("{name}: {done} mutations of {} inputs in {:?}", inputs.len(), start.elapsed());
        assert!(done > 0, "{name} ran no mutation");
    }
}

#[test]
fn the_inputs_kept_are_few_and_belong_to_targets() {
    let mut bytes = 0;
    for entry in fs::read_dir(folder()).expect("there is a corpus") {
        let name =
            entry.expect("the folder can be listed").file_name().to_string_lossy().into_owned();
        assert!(TARGETS.iter().any(|(target, _)| *target == name), "{name} is not a target");
        bytes += inputs(&name).iter().map(|(_, input)| input.len() as u64).sum::<u64>();
    }
    assert!(bytes <= CORPUS_BYTES_MAX, "the corpus has {bytes} bytes");
}

#[test]
fn mutations_come_back_the_same_and_differ_from_each_other() {
    let inputs = [("a".to_owned(), b"0123456789".to_vec()), ("b".to_owned(), b"abcdef".to_vec())];
    let run = || -> Vec<Vec<u8>> {
        let mut random = Random::new(9);
        (0..100).map(|_| mutation(&mut random, &inputs)).collect()
    };
    assert_eq!(run(), run());
    let distinct: std::collections::BTreeSet<_> = run().into_iter().collect();
    assert!(distinct.len() > 50, "{} of 100", distinct.len());
}

/// An input with one to eight changes.
fn mutation(random: &mut Random, inputs: &[(String, Vec<u8>)]) -> Vec<u8> {
    let any = |random: &mut Random| &inputs[random.below(inputs.len() as u64) as usize].1;
    let mut input = any(random).clone();
    for _ in 0..=random.below(8) {
        let at = random.below(input.len() as u64 + 1) as usize;
        let len = (1 + random.below(8) as usize).min(input.len() - at);
        match random.below(7) {
            0 if len > 0 => input[at] ^= 1 << random.below(8),
            1 if len > 0 => input[at] = random.number() as u8,
            2 if len > 0 => {
                input[at..at + len].fill([0, 0xff, 0x7f, 0x80][random.below(4) as usize])
            }
            3 => drop(input.drain(at..at + len)),
            4 => drop(input.splice(at..at, (0..8).map(|_| random.number() as u8))),
            5 => input.truncate(at),
            _ => {
                let other = any(random);
                let from = random.below(other.len() as u64 + 1) as usize;
                input.truncate(at);
                input.extend_from_slice(&other[from..]);
            }
        }
    }
    input.truncate(INPUT_BYTES_MAX);
    input
}
