//! The disk after the power failed: every state that it may be left in.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::SECTOR;
use crate::disk::Operation;
use crate::random::Random;

/// Up to so many unsynced pieces, every subset of them is tried.
pub const SUBSET_BITS_MAX: usize = 10;
/// With more pieces: every prefix, every single one alone, every single one missing, and so many
/// random subsets.
pub const SUBSETS_SAMPLED: usize = 256;

/// One state the disk may be left in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Crash {
    /// The files by name.
    pub files: BTreeMap<PathBuf, Vec<u8>>,
    /// The last mark before the crash.
    pub mark: Option<usize>,
    /// How many operations came before the crash.
    pub operations: usize,
}

/// Part of an unsynced write that reaches the disk as a whole, or a change of length.
#[derive(Clone, Debug)]
enum Piece {
    Bytes { offset: u64, bytes: Vec<u8> },
    Length(u64),
}

/// A piece, and what is known of it.
#[derive(Clone, Debug)]
struct Step {
    piece: Piece,
    /// On disk for certain; else it may be there or not.
    settled: bool,
    /// Left by a failed sync: no later sync brings it to the disk, and nobody knows whether that
    /// one did.
    limbo: bool,
}

#[derive(Clone, Debug, Default)]
struct File {
    durable: Vec<u8>,
    /// What was done since, in order. Settled steps are kept only while one in limbo comes before
    /// them.
    steps: Vec<Step>,
}

/// What is on disk and what is on its way there.
#[derive(Clone, Debug, Default)]
struct Medium {
    files: Vec<File>,
    durable_names: BTreeMap<PathBuf, usize>,
    pending_names: Vec<Operation>,
    mark: Option<usize>,
}

/// Calls `each` with every state that the disk may be left in, when it held `files` and the power
/// fails after any number of `operations` from `from` on. Returns how many there were.
pub fn crashes(
    files: &BTreeMap<PathBuf, Vec<u8>>,
    operations: &[Operation],
    from: usize,
    random: &mut Random,
    each: &mut dyn FnMut(Crash),
) -> u64 {
    let mut state = Medium::of(files);
    let mut count = 0;
    for done in 0..=operations.len() {
        if done > 0 {
            state.apply(&operations[done - 1]);
        }
        if done >= from {
            count += state.crash(done, random, each);
        }
    }
    count
}

/// One state, drawn at random, that the disk may be left in when the power fails after all of
/// `operations`.
pub fn one_crash(
    files: &BTreeMap<PathBuf, Vec<u8>>,
    operations: &[Operation],
    random: &mut Random,
) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut state = Medium::of(files);
    operations.iter().for_each(|operation| state.apply(operation));
    let renamed = random.below(state.pending_names.len() as u64 + 1) as usize;
    let names = state.names(&state.pending_names[..renamed]);
    let kept = random.below(5);
    let fate = |n: u64| if n < kept { Fate::Written } else { Fate::Missing };
    let fates: Vec<Fate> = (0..state.open_pieces(&names)).map(|_| fate(random.below(4))).collect();
    state.contents(&names, &fates, random.number())
}

impl Medium {
    fn of(files: &BTreeMap<PathBuf, Vec<u8>>) -> Medium {
        let mut state = Medium::default();
        for (number, (path, content)) in files.iter().enumerate() {
            state.files.push(File { durable: content.clone(), steps: Vec::new() });
            state.durable_names.insert(path.clone(), number);
        }
        state
    }

    /// How many pieces of the named files may be on disk or not.
    fn open_pieces(&self, names: &BTreeMap<PathBuf, usize>) -> usize {
        names
            .values()
            .map(|&file| self.files[file].steps.iter().filter(|step| !step.settled).count())
            .sum()
    }

    fn apply(&mut self, operation: &Operation) {
        match operation {
            Operation::Write { file, offset, bytes } => {
                pieces(*offset, bytes).for_each(|piece| self.files[*file].push(piece))
            }
            Operation::SetLen { file, len } => self.files[*file].push(Piece::Length(*len)),
            Operation::Sync { file } => self.files[*file].settle(),
            Operation::FailedSync { file, .. } => {
                self.files[*file].steps.iter_mut().for_each(|step| step.limbo = !step.settled)
            }
            Operation::Create { file, .. } => {
                assert_eq!(*file, self.files.len(), "files are numbered as they are made");
                self.files.push(File::default());
                self.pending_names.push(operation.clone());
            }
            Operation::Rename { .. } | Operation::Remove { .. } => {
                self.pending_names.push(operation.clone())
            }
            Operation::SyncFolder => {
                let pending = std::mem::take(&mut self.pending_names);
                self.durable_names = self.names(&pending);
            }
            Operation::Mark(mark) => self.mark = Some(*mark),
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

    /// Every state for this point: each prefix of the pending names, and for each the choices of
    /// pieces.
    fn crash(&self, operations: usize, random: &mut Random, each: &mut dyn FnMut(Crash)) -> u64 {
        let mut count = 0;
        for renamed in 0..=self.pending_names.len() {
            let names = self.names(&self.pending_names[..renamed]);
            for choice in choices(self.open_pieces(&names), random) {
                let files = self.contents(&names, &choice, random.number());
                each(Crash { files, mark: self.mark, operations });
                count += 1;
            }
        }
        count
    }

    fn contents(
        &self,
        names: &BTreeMap<PathBuf, usize>,
        choice: &[Fate],
        noise: u64,
    ) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut choice = choice.iter();
        let mut content = |file: &File| {
            let mut bytes = file.durable.clone();
            for step in &file.steps {
                let fate = if step.settled {
                    Fate::Written
                } else {
                    *choice.next().expect("one fate for each piece")
                };
                step.piece.write(&mut bytes, fate, noise);
            }
            bytes
        };
        names.iter().map(|(path, &file)| (path.clone(), content(&self.files[file]))).collect()
    }
}

/// What becomes of a piece that was not synced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Missing,
    Written,
    /// The sector holds neither the old nor the new bytes.
    Garbage,
}

impl File {
    fn push(&mut self, piece: Piece) {
        self.steps.push(Step { piece, settled: false, limbo: false });
    }

    fn settle(&mut self) {
        self.steps.iter_mut().filter(|step| !step.limbo).for_each(|step| step.settled = true);
        let known = self.steps.iter().position(|step| !step.settled).unwrap_or(self.steps.len());
        for step in self.steps.drain(..known) {
            step.piece.write(&mut self.durable, Fate::Written, 0);
        }
    }
}

impl Piece {
    fn write(&self, content: &mut Vec<u8>, fate: Fate, noise: u64) {
        match self {
            _ if fate == Fate::Missing => {}
            Piece::Length(len) => content.resize(*len as usize, 0),
            Piece::Bytes { offset, bytes } => {
                let end = *offset as usize + bytes.len();
                if content.len() < end {
                    content.resize(end, 0);
                }
                let place = &mut content[*offset as usize..end];
                if fate == Fate::Written {
                    place.copy_from_slice(bytes);
                } else {
                    let mut random = Random::new(noise);
                    place.iter_mut().for_each(|byte| *byte = random.number() as u8);
                }
            }
        }
    }
}

/// A write, cut at sector edges.
fn pieces(offset: u64, bytes: &[u8]) -> impl Iterator<Item = Piece> {
    let mut done = 0;
    std::iter::from_fn(move || {
        let at = offset + done as u64;
        let len = ((SECTOR - at % SECTOR) as usize).min(bytes.len() - done);
        let piece = Piece::Bytes { offset: at, bytes: bytes[done..done + len].to_vec() };
        done += len;
        (len > 0).then_some(piece)
    })
}

/// What became of `count` pieces: every subset where they are few, else the telling ones; and each
/// one as garbage.
fn choices(count: usize, random: &mut Random) -> Vec<Vec<Fate>> {
    let fate = |written: bool| if written { Fate::Written } else { Fate::Missing };
    let of = |written: &dyn Fn(usize) -> bool| {
        (0..count).map(|piece| fate(written(piece))).collect::<Vec<_>>()
    };
    let mut all = Vec::new();
    if count <= SUBSET_BITS_MAX {
        all.extend((0..1u32 << count).map(|mask| of(&|piece| mask >> piece & 1 == 1)));
    } else {
        all.extend((0..=count).map(|prefix| of(&|piece| piece < prefix)));
        for single in 0..count {
            all.push(of(&|piece| piece == single));
            all.push(of(&|piece| piece != single));
        }
        all.extend(
            (0..SUBSETS_SAMPLED)
                .map(|_| (0..count).map(|_| fate(random.number() & 1 == 1)).collect()),
        );
    }
    for garbage in 0..count {
        let mut choice = of(&|_| true);
        choice[garbage] = Fate::Garbage;
        all.push(choice);
    }
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
        crashes(&files, &operations, 0, &mut Random::new(1), &mut |crash| {
            if crash.operations == 3 {
                let f = &crash.files[&path];
                assert_eq!(f[0], 1, "synced");
                seen.insert((f[500], f[512], f.get(1024).copied()));
            }
        });
        let plain = |byte: &u8| [0, 2].contains(byte);
        let subsets = seen
            .iter()
            .filter(|(a, b, c)| plain(a) && plain(b) && c.as_ref().is_none_or(plain))
            .count();
        assert_eq!(
            (subsets, seen.len()),
            (8, 11),
            "each of the three pieces is there or not, or garbage: {seen:?}"
        );
    }

    #[test]
    fn a_rename_is_lost_until_the_folder_is_synced() {
        let (a, b) = (PathBuf::from("a"), PathBuf::from("b"));
        let files = BTreeMap::from([(a.clone(), vec![1]), (b.clone(), vec![2])]);
        let operations = [Operation::Rename { from: a, to: b.clone() }, Operation::SyncFolder];
        let mut seen = Vec::new();
        crashes(&files, &operations, 0, &mut Random::new(1), &mut |crash| {
            seen.push((crash.operations, crash.files[&b][0]))
        });
        assert_eq!(seen, [(0, 2), (1, 2), (1, 1), (2, 1)]);
    }

    #[test]
    fn what_a_failed_sync_left_may_come_back_whatever_is_synced_later() {
        let path = PathBuf::from("f");
        let files = BTreeMap::from([(path.clone(), vec![0; 512])]);
        let write = |value| Operation::Write { file: 0, offset: 0, bytes: vec![value; 512] };
        let seen = |tail: &[Operation]| {
            let mut operations = vec![write(1), Operation::FailedSync { file: 0, dropped: false }];
            operations.extend_from_slice(tail);
            let mut seen = std::collections::BTreeSet::new();
            crashes(&files, &operations, operations.len(), &mut Random::new(1), &mut |crash| {
                seen.insert(crash.files[&path][0]);
            });
            seen
        };
        assert!(
            seen(&[Operation::Sync { file: 0 }]).is_superset(&[0, 1].into()),
            "a later sync settles nothing"
        );
        assert_eq!(
            seen(&[write(2), Operation::Sync { file: 0 }]),
            [2].into(),
            "but writing again does"
        );
    }
}
