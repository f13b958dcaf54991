//! The disk after the power failed: every state that it may be left in.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::SECTOR;
use crate::disk::Operation;
use crate::random::Random;

/// Up to so many unsynced pieces, every subset of them is tried.
pub const SUBSET_BITS_MAX: usize = 8;
/// With more pieces: every prefix, every single one alone, every single one missing, and so many random subsets.
pub const SUBSETS_SAMPLED: usize = 48;

/// One state the disk may be left in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Crash {
    /// The files by name.
    pub files: BTreeMap<PathBuf, Vec<u8>>,
    /// Records that a caller had been told are safe.
    pub acknowledged: u64,
    /// How many operations came before the crash.
    pub operations: usize,
}

/// Part of an unsynced write that reaches the disk as a whole, or a change of length.
#[derive(Clone, Debug)]
enum Piece {
    Bytes { offset: u64, bytes: Vec<u8> },
    Length(u64),
}

#[derive(Clone, Debug, Default)]
struct File {
    durable: Vec<u8>,
    pending: Vec<Piece>,
}

/// What is on disk and what is on its way there.
#[derive(Clone, Debug, Default)]
struct State {
    files: Vec<File>,
    durable_names: BTreeMap<PathBuf, usize>,
    pending_names: Vec<Operation>,
    acknowledged: u64,
}

/// Calls `each` with every state that the disk may be left in, when it held `files` and the power fails after any
/// number of `operations`. Returns how many there were.
pub fn crashes(
    files: &BTreeMap<PathBuf, Vec<u8>>,
    operations: &[Operation],
    random: &mut Random,
    each: &mut dyn FnMut(Crash),
) -> u64 {
    let mut state = State::default();
    for (number, (path, content)) in files.iter().enumerate() {
        state.files.push(File { durable: content.clone(), pending: Vec::new() });
        state.durable_names.insert(path.clone(), number);
    }
    let mut count = state.crash(0, random, each);
    for (index, operation) in operations.iter().enumerate() {
        state.apply(operation);
        count += state.crash(index + 1, random, each);
    }
    count
}

impl State {
    fn apply(&mut self, operation: &Operation) {
        match operation {
            Operation::Write { file, offset, bytes } => self.files[*file].pending.extend(pieces(*offset, bytes)),
            Operation::SetLen { file, len } => self.files[*file].pending.push(Piece::Length(*len)),
            Operation::Sync { file } => self.files[*file].settle(),
            Operation::Create { file, .. } => {
                assert_eq!(*file, self.files.len(), "files are numbered as they are made");
                self.files.push(File::default());
                self.pending_names.push(operation.clone());
            }
            Operation::Rename { .. } | Operation::Remove { .. } => self.pending_names.push(operation.clone()),
            Operation::SyncFolder => {
                let pending = std::mem::take(&mut self.pending_names);
                self.durable_names = self.names(&pending);
            }
            Operation::Acknowledge { records } => self.acknowledged = *records,
        }
    }

    fn names(&self, pending: &[Operation]) -> BTreeMap<PathBuf, usize> {
        let mut names = self.durable_names.clone();
        for operation in pending {
            match operation {
                Operation::Create { file, path } => drop(names.insert(path.clone(), *file)),
                Operation::Remove { path } => drop(names.remove(path)),
                Operation::Rename { from, to } => {
                    if let Some(file) = names.remove(from) {
                        names.insert(to.clone(), file);
                    }
                }
                _ => {}
            }
        }
        names
    }

    /// Every state for this point: each prefix of the pending names, and for each the choices of pieces.
    fn crash(&self, operations: usize, random: &mut Random, each: &mut dyn FnMut(Crash)) -> u64 {
        let mut count = 0;
        for renamed in 0..=self.pending_names.len() {
            let names = self.names(&self.pending_names[..renamed]);
            let pieces: usize = names.values().map(|&file| self.files[file].pending.len()).sum();
            for choice in choices(pieces, random) {
                let files = self.contents(&names, &choice);
                each(Crash { files, acknowledged: self.acknowledged, operations });
                count += 1;
            }
        }
        count
    }

    fn contents(&self, names: &BTreeMap<PathBuf, usize>, choice: &[bool]) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut choice = choice.iter();
        let mut content = |file: &File| {
            let mut bytes = file.durable.clone();
            for piece in &file.pending {
                if *choice.next().expect("one choice for each piece") {
                    piece.write(&mut bytes);
                }
            }
            bytes
        };
        names.iter().map(|(path, &file)| (path.clone(), content(&self.files[file]))).collect()
    }
}

impl File {
    fn settle(&mut self) {
        for piece in std::mem::take(&mut self.pending) {
            piece.write(&mut self.durable);
        }
    }
}

impl Piece {
    fn write(&self, content: &mut Vec<u8>) {
        match self {
            Piece::Length(len) => content.resize(*len as usize, 0),
            Piece::Bytes { offset, bytes } => {
                let end = *offset as usize + bytes.len();
                if content.len() < end {
                    content.resize(end, 0);
                }
                content[*offset as usize..end].copy_from_slice(bytes);
            }
        }
    }
}

/// A write, cut at sector edges.
fn pieces(offset: u64, bytes: &[u8]) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut done = 0;
    while done < bytes.len() {
        let at = offset + done as u64;
        let len = ((SECTOR - at % SECTOR) as usize).min(bytes.len() - done);
        pieces.push(Piece::Bytes { offset: at, bytes: bytes[done..done + len].to_vec() });
        done += len;
    }
    pieces
}

/// Which of `count` pieces reached the disk: every subset where they are few, else the telling ones.
fn choices(count: usize, random: &mut Random) -> Vec<Vec<bool>> {
    if count <= SUBSET_BITS_MAX {
        return (0..1u32 << count).map(|mask| (0..count).map(|bit| mask >> bit & 1 == 1).collect()).collect();
    }
    let mut all: Vec<Vec<bool>> = (0..=count).map(|prefix| (0..count).map(|piece| piece < prefix).collect()).collect();
    for single in 0..count {
        all.push((0..count).map(|piece| piece == single).collect());
        all.push((0..count).map(|piece| piece != single).collect());
    }
    all.extend((0..SUBSETS_SAMPLED).map(|_| (0..count).map(|_| random.number() & 1 == 1).collect()));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn synced_bytes_stay_and_unsynced_ones_come_in_any_combination() {
        let path = PathBuf::from("f");
        let files = BTreeMap::from([(path.clone(), vec![0; 1024])]);
        let operations = [
            Operation::Write { file: 0, offset: 0, bytes: vec![1; 10] },
            Operation::Sync { file: 0 },
            Operation::Write { file: 0, offset: 500, bytes: vec![2; 600] },
        ];
        let mut seen = std::collections::BTreeSet::new();
        crashes(&files, &operations, &mut Random::new(1), &mut |crash| {
            if crash.operations == 3 {
                let f = &crash.files[&path];
                assert_eq!(f[0], 1, "synced");
                seen.insert((f[500], f[512], f.get(1024).copied()));
            }
        });
        assert_eq!(seen.len(), 8, "each of the three pieces is there or not: {seen:?}");
    }

    #[test]
    fn a_rename_is_lost_until_the_folder_is_synced() {
        let (a, b) = (PathBuf::from("a"), PathBuf::from("b"));
        let files = BTreeMap::from([(a.clone(), vec![1]), (b.clone(), vec![2])]);
        let operations = [Operation::Rename { from: a, to: b.clone() }, Operation::SyncFolder];
        let mut seen = Vec::new();
        crashes(&files, &operations, &mut Random::new(1), &mut |crash| seen.push((crash.operations, crash.files[&b][0])));
        assert_eq!(seen, [(0, 2), (1, 2), (1, 1), (2, 1)]);
    }
}
