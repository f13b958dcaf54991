//! Target: a capsule whose fields contradict each other while every checksum matches does no harm.

use crate::edit::Patient;
use crate::exercise::{Sums, exercise};
use crate::input::Input;
use crate::layout::repair;
use crate::samples::samples;

/// The first byte chooses a valid capsule, the second what is left unrepaired, the rest are edits.
pub fn capsule_structured(data: &[u8]) {
    exercise(&file(data), Sums::Forged);
}

/// The file that an input stands for.
fn file(data: &[u8]) -> Vec<u8> {
    let mut input = Input::new(data);
    let samples = samples();
    let sample = &samples[usize::from(input.byte()) % samples.len()];
    let skipped = input.byte();
    let mut patient = Patient::new(sample);
    patient.edit(&mut input);
    repair(&mut patient.file, &sample.frames, skipped);
    patient.file
}
