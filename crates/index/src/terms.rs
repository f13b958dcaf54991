//! Checks the bytes of a term dictionary that looking up a term reads.
//!
//! tantivy takes the whole dictionary of a field as one slice and reads a few dozen bytes of it for
//! each look-up. So this goes the way itself, through the nodes of the automaton and to the entry
//! of the term, and has each of them checked before it reads it; afterwards tantivy may look up the
//! same term. What tantivy 0.27 writes, for each field (`tantivy::termdict`):
//!
//! ```text
//! automaton  from a term to its ordinal (crate tantivy-fst)
//! store      8 length of the block heads, 8 number of terms, block heads, packed entries
//! footer     8 length of the store, 4 version, 4 kind of dictionary
//! ```
//! A block head, for 256 terms each: offset of their packed entries, the first entry, the widths of
//! the packed fields.

use std::ops::Range;

use tantivy::directory::{CompositeFile, FileSlice, OwnedBytes};
use tantivy::postings::TermInfo;
use tantivy::schema::Field;
use tantivy_fst::raw::{CompiledAddr, Fst, Node, Output};

use crate::directory::damaged;
use crate::error::Result;
use crate::segment_bytes::SegmentBytes;
use crate::similar::{Like, Row};

const FOOTER_BYTES: usize = 16;
const STORE_HEAD_BYTES: usize = 16;
const BLOCK_TERMS: usize = 256;
/// Offset (8), first entry (28), three widths.
const BLOCK_HEAD_BYTES: usize = 39;
/// Bytes that reading a packed field of any width takes.
const PACKED_READ_BYTES: usize = 8;
/// Transitions from which on a node has an index of all 256 inputs.
const INDEXED_TRANSITIONS: usize = 32;
/// Address of the node without transitions, which is not stored.
const NO_NODE: CompiledAddr = 0;
/// At each end of an automaton so many bytes are not nodes: version and type, number of terms and
/// address of the root.
const FST_END_BYTES: usize = 16;
/// Most nodes are not longer.
const NODE_BYTES_USUAL: usize = 64;
/// At most so many bytes at a node's end say how long it is.
const NODE_HEAD_BYTES: usize = 3;

/// The term dictionary of one field.
pub(crate) struct Terms {
    /// The file that it lies in.
    file: SegmentBytes,
    automaton: Option<Automaton>,
}

struct Automaton {
    fst: Fst<OwnedBytes>,
    /// Where in the file it begins.
    start: usize,
    root: CompiledAddr,
    heads: Range<usize>,
    entries: Range<usize>,
}

impl Terms {
    /// The terms of `field` in `file`, which tantivy reads as `slice`; none when no document has
    /// the field. When this has returned, every byte that tantivy reads to open them has been
    /// checked.
    pub(crate) fn open(file: SegmentBytes, slice: &FileSlice, field: Field) -> Result<Terms> {
        let dictionary = CompositeFile::open(slice).map_err(damaged)?.open_read(field);
        let automaton =
            dictionary.map(|dictionary| Automaton::open(&file, dictionary)).transpose()?;
        Ok(Terms { file, automaton })
    }

    /// The beginning of a look-up.
    pub(crate) fn look_up<'a>(&'a self, term: &'a [u8]) -> LookUp<'a> {
        let next = self
            .automaton
            .as_ref()
            .map_or(Step::Done(None), |automaton| Step::Node(automaton.root));
        LookUp { terms: self, term, ordinal: Output::zero(), next }
    }
}

/// Where a walk through the dictionary is.
struct Place {
    address: CompiledAddr,
    row: Row,
    word: Vec<u8>,
}

impl Terms {
    /// Calls `sink` with the terms that are like something, in no certain order, until it returns
    /// false or as many nodes were read as there are steps left.
    pub(crate) fn walk(
        &self,
        like: &Like,
        steps_left: &mut usize,
        sink: &mut dyn FnMut(&str) -> bool,
    ) -> Result<()> {
        let Some(automaton) = &self.automaton else { return Ok(()) };
        let mut waiting =
            vec![Place { address: automaton.root, row: like.start(), word: Vec::new() }];
        while let Some(Place { address, row, word }) = waiting.pop() {
            let Some(left) = steps_left.checked_sub(1) else { return Ok(()) };
            *steps_left = left;
            let node = automaton.node(&self.file, address)?;
            let term = std::str::from_utf8(&word).ok().filter(|_| node.is_final());
            if term.is_some_and(|term| like.accepts(&row) && !sink(term)) {
                return Ok(());
            }
            for transition in node.transitions() {
                let Some(row) = like.step(&row, transition.inp) else { continue };
                let word = [word.as_slice(), &[transition.inp]].concat();
                waiting.push(Place { address: transition.addr, row, word });
            }
        }
        Ok(())
    }
}

impl Automaton {
    fn open(file: &SegmentBytes, dictionary: FileSlice) -> Result<Automaton> {
        let read = |slice: FileSlice| slice.read_bytes().map_err(damaged);
        let (body, footer) = dictionary.split_from_end(FOOTER_BYTES);
        let (fst, store) = body.split_from_end(u64_at(&read(footer)?, 0));
        let (head, store) = store.split(STORE_HEAD_BYTES);
        let heads_len = u64_at(&read(head)?, 0);
        let (fst, store) = (read(fst)?, read(store)?);
        if fst.len() < FST_END_BYTES {
            return Err(damaged("a dictionary of terms is cut short"));
        }
        let (place, store) = (place_in(file, &fst), place_in(file, &store));
        file.check(place.start..place.start + FST_END_BYTES)?;
        file.check(place.end - FST_END_BYTES..place.end)?;
        let heads = store.start..store.start + heads_len;
        Ok(Automaton {
            start: place.start,
            root: u64_at(&fst, fst.len() - 8),
            fst: Fst::new(fst).map_err(damaged)?,
            entries: heads.end..store.end,
            heads,
        })
    }

    /// Where in the file the node is that ends at `address`, as far as `len` bytes of it. An empty
    /// node has no bytes.
    fn place(&self, address: CompiledAddr, len: usize) -> Range<usize> {
        let end = if address == NO_NODE { self.start } else { self.start + address + 1 };
        end.saturating_sub(len).max(self.start)..end
    }

    /// The node that ends at `address`, checked.
    fn node(&self, file: &SegmentBytes, address: CompiledAddr) -> Result<Node<'_>> {
        let head = file.read(self.place(address, NODE_HEAD_BYTES))?;
        if address != NO_NODE {
            file.check(self.place(address, node_len(head)))?;
        }
        Ok(self.fst.node(address))
    }

    /// Where in the file the head of the block is that holds the entry of a term.
    fn head(&self, ordinal: usize) -> Range<usize> {
        let start = self.heads.start + ordinal / BLOCK_TERMS * BLOCK_HEAD_BYTES;
        start..start + BLOCK_HEAD_BYTES
    }

    /// How the entry of a term is packed, by the `head` of its block. The first entry of a block is
    /// in the head.
    fn entry(&self, ordinal: usize, head: &[u8]) -> TermEntry {
        let bits = [36, 37, 38].map(|at| usize::from(head[at]));
        let first = TermInfo {
            doc_freq: u32_at(head, 8) as u32,
            postings_range: u64_at(head, 12)..u64_at(head, 12) + u32_at(head, 20),
            positions_range: 0..0,
        };
        let Some(packed) = (ordinal % BLOCK_TERMS).checked_sub(1) else {
            return TermEntry {
                place: self.entries.start..self.entries.start,
                shift: 0,
                bits,
                first,
            };
        };
        let total: usize = bits.iter().sum();
        let block = self.entries.start + u64_at(head, 0);
        // The entry's ends are where the next one begins.
        let end = (block + (packed + 2) * total / 8 + PACKED_READ_BYTES).min(self.entries.end);
        TermEntry { place: block + packed * total / 8..end, shift: packed * total % 8, bits, first }
    }
}

/// An entry of the store.
struct TermEntry {
    /// Where in the file it is packed, with what tantivy reads beside it; empty for the first of a
    /// block.
    place: Range<usize>,
    /// Bits before it at its place.
    shift: usize,
    /// Widths of its count of documents, its start of postings, its start of positions.
    bits: [usize; 3],
    /// The first entry of its block.
    first: TermInfo,
}

impl TermEntry {
    /// Unpacks it from the `bytes` at its place. There are no positions.
    fn unpack(&self, bytes: &[u8]) -> TermInfo {
        assert_eq!(bytes.len(), self.place.len(), "the bytes are those of its place");
        if bytes.is_empty() {
            return self.first.clone();
        }
        let [doc_freq_bits, postings_bits, positions_bits] = self.bits;
        let total = doc_freq_bits + postings_bits + positions_bits;
        let postings = |entry: usize| {
            self.first.postings_range.start
                + bits_at(bytes, self.shift + entry * total, postings_bits)
        };
        TermInfo {
            doc_freq: bits_at(bytes, self.shift + postings_bits + positions_bits, doc_freq_bits)
                as u32,
            postings_range: postings(0)..postings(1),
            positions_range: 0..0,
        }
    }
}

/// A number of `width` bits, at most 56, that begins at bit `at`.
fn bits_at(bytes: &[u8], at: usize, width: usize) -> usize {
    let mut word = [0; PACKED_READ_BYTES];
    let rest = bytes.get(at / 8..).unwrap_or_default();
    let len = rest.len().min(PACKED_READ_BYTES);
    word[..len].copy_from_slice(&rest[..len]);
    (u64::from_le_bytes(word) >> (at % 8) & ((1 << width) - 1)) as usize
}

/// A look-up on its way. When it is done, every byte that tantivy reads to look up the term has
/// been checked.
pub(crate) struct LookUp<'a> {
    terms: &'a Terms,
    /// What is left of the term.
    term: &'a [u8],
    ordinal: Output,
    next: Step,
}

/// What a look-up reads next.
enum Step {
    Node(CompiledAddr),
    Head,
    Entry(TermEntry),
    Done(Option<TermInfo>),
}

impl LookUp<'_> {
    /// Where the term is, if it was found.
    pub(crate) fn into_found(self) -> Option<TermInfo> {
        assert!(self.is_done(), "a look-up is brought to its end before it is asked");
        if let Step::Done(found) = self.next { found } else { None }
    }

    fn is_done(&self) -> bool {
        matches!(self.next, Step::Done(_))
    }

    /// Asks for what the next step reads; `false` if there is no need to wait for it.
    fn ask(&self) -> bool {
        let Some(automaton) = &self.terms.automaton else {
            return false;
        };
        let range = match &self.next {
            Step::Node(address) => automaton.place(*address, NODE_BYTES_USUAL),
            Step::Head => automaton.head(self.ordinal.value() as usize),
            Step::Entry(entry) => entry.place.clone(),
            Step::Done(_) => return false,
        };
        self.terms.file.will_read(range)
    }

    fn step(&mut self) -> Result<()> {
        let (Some(automaton), file) = (&self.terms.automaton, &self.terms.file) else {
            return Ok(());
        };
        let ordinal = self.ordinal.value() as usize;
        self.next = match &self.next {
            Step::Node(address) => self.after(&automaton.node(file, *address)?),
            Step::Head => {
                Step::Entry(automaton.entry(ordinal, file.read(automaton.head(ordinal))?))
            }
            Step::Entry(entry) => Step::Done(Some(entry.unpack(file.read(entry.place.clone())?))),
            Step::Done(_) => return Ok(()),
        };
        Ok(())
    }

    fn after(&mut self, node: &Node<'_>) -> Step {
        let Some((&byte, rest)) = self.term.split_first() else {
            self.ordinal = self.ordinal.cat(node.final_output());
            return if node.is_final() { Step::Head } else { Step::Done(None) };
        };
        let Some(transition) = node.find_input(byte).map(|index| node.transition(index)) else {
            return Step::Done(None);
        };
        self.term = rest;
        self.ordinal = self.ordinal.cat(transition.out);
        Step::Node(transition.addr)
    }
}

/// Brings look-ups to their end, all side by side: each asks for what it needs next before the
/// first of them waits for it, so that the disk has them all to do at once.
pub(crate) fn finish(look_ups: &mut [LookUp<'_>]) -> Result<()> {
    let mut waiting: Vec<&mut LookUp<'_>> =
        look_ups.iter_mut().filter(|look_up| !look_up.is_done()).collect();
    for look_up in &waiting {
        look_up.ask();
    }
    while !waiting.is_empty() {
        for look_up in &mut waiting {
            look_up.step()?;
            while !look_up.is_done() && !look_up.ask() {
                look_up.step()?;
            }
        }
        waiting.retain(|look_up| !look_up.is_done());
    }
    debug_assert!(look_ups.iter().all(LookUp::is_done), "none is left waiting");
    Ok(())
}

/// Length of the node that ends with `head`, or a little more. It lies before its head, which says:
/// whether it has one transition or any number, the number if it does not fit in the state byte,
/// and the widths of addresses and outputs.
fn node_len(head: &[u8]) -> usize {
    let at = |from_end: usize| usize::from(head[head.len() - 1 - from_end]);
    let state = at(0);
    let small = state & 0b11_1111;
    let extra = usize::from(small == 0);
    let (addresses, outputs) = (at(1 + extra) >> 4, at(1 + extra) & 0b1111);
    match state >> 6 {
        0b11 => 1 + extra,
        0b10 => 2 + extra + addresses + outputs,
        _ => {
            let transitions = match (small, at(1)) {
                (0, 1) => 256,
                (0, transitions) => transitions,
                _ => small,
            };
            let index = if transitions > INDEXED_TRANSITIONS { 256 } else { 0 };
            2 + extra + index + transitions * (1 + addresses + outputs) + outputs
        }
    }
}

/// Where in `file` the slice `part` of it lies; an empty one lies nowhere.
fn place_in(file: &SegmentBytes, part: &[u8]) -> Range<usize> {
    if part.is_empty() {
        return 0..0;
    }
    let (whole, bytes) = (file.bytes().as_ptr_range(), part.as_ptr_range());
    assert!(
        whole.start <= bytes.start && bytes.end <= whole.end,
        "tantivy lends a part of the file, and copies none"
    );
    let start = part.as_ptr() as usize - file.bytes().as_ptr() as usize;
    start..start + part.len()
}

fn u32_at(bytes: &[u8], at: usize) -> usize {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes")) as usize
}

fn u64_at(bytes: &[u8], at: usize) -> usize {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes")) as usize
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::io::Write;
    use std::path::Path;
    use std::sync::{Arc, Mutex};

    use bytes::Bytes;
    use tantivy::Directory;
    use tantivy::directory::{CompositeWrite, RamDirectory};
    use tantivy::termdict::{TermDictionary, TermDictionaryBuilder};

    use super::*;
    use crate::directory::dictionary_file;
    use crate::error::CheckError;
    use crate::schema::{TERMS, TEXT};
    use crate::segment_bytes::Checks;

    /// Notes what it is asked about.
    #[derive(Debug, Default)]
    struct Notes(Mutex<Vec<Range<usize>>>);

    impl Checks for Notes {
        fn check(&self, range: Range<usize>) -> std::result::Result<(), CheckError> {
            self.0.lock().expect("one thread").push(range);
            Ok(())
        }
    }

    fn info(ordinal: usize) -> TermInfo {
        let at = ordinal * 37;
        TermInfo {
            doc_freq: 1 + ordinal as u32 % 900,
            postings_range: at..at + 37,
            positions_range: 0..0,
        }
    }

    fn dictionary(terms: &BTreeSet<Vec<u8>>) -> Vec<u8> {
        let mut builder = TermDictionaryBuilder::create(Vec::new()).expect("in memory");
        for (ordinal, term) in terms.iter().enumerate() {
            builder.insert(term, &info(ordinal)).expect("ascending");
        }
        builder.finish().expect("in memory")
    }

    /// Two fields, as in a segment.
    fn file(terms: &BTreeSet<Vec<u8>>) -> Vec<u8> {
        let (directory, path) = (RamDirectory::create(), Path::new("terms"));
        let mut file = CompositeWrite::wrap(directory.open_write(path).expect("new"));
        for field in [TEXT, TERMS] {
            file.for_field(field).write_all(&dictionary(terms)).expect("in memory");
        }
        file.close().expect("in memory");
        directory.open_read(path).expect("written").read_bytes().expect("written").to_vec()
    }

    fn looked_up(file: Vec<u8>, field: Field, term: &[u8]) -> Option<TermInfo> {
        let file = CompositeFile::open(&FileSlice::from(file)).expect("its footer is sound");
        let dictionary = TermDictionary::open(file.open_read(field).expect("written"))
            .expect("its ends are sound");
        dictionary.get(term).expect("in memory")
    }

    /// Terms that make nodes of every form: one or many transitions, next to each other or far,
    /// with and without outputs.
    fn terms() -> BTreeSet<Vec<u8>> {
        let mut terms: BTreeSet<Vec<u8>> =
            (0..=255).flat_map(|byte| [vec![byte], vec![7, byte, byte]]).collect();
        terms.insert(Vec::new());
        for number in 0u32..6000 {
            let mixed = number.wrapping_mul(2_654_435_761);
            terms.insert(format!("{mixed:x}").into_bytes());
            terms.insert(format!("tag:{}=running{}", mixed % 61, number % 977).into_bytes());
        }
        terms
    }

    #[test]
    fn what_a_look_up_reads_is_what_was_checked() {
        let terms = terms();
        let whole = file(&terms);
        let all_spoilt: Vec<u8> = whole.iter().map(|byte| byte ^ 0x5a).collect();
        let absent = ["tag:", "tag:60=running9999", "zzz", "7fffffffffff"]
            .map(|term| term.as_bytes().to_vec());
        let present = terms
            .iter()
            .enumerate()
            .step_by(37)
            .map(|(ordinal, term)| (term.clone(), Some(info(ordinal))));
        let mut most = 0;
        for (term, expected) in present.chain(absent.map(|term| (term, None))) {
            for field in [TEXT, TERMS] {
                let notes = Arc::new(Notes::default());
                let bytes = SegmentBytes::checked_by(notes.clone(), Bytes::from(whole.clone()));
                let slice = FileSlice::new(dictionary_file(bytes.clone()));
                let dictionary = Terms::open(bytes, &slice, field).expect("sound");
                let mut look_up = dictionary.look_up(&term);
                finish(std::slice::from_mut(&mut look_up)).expect("sound");
                assert_eq!(look_up.into_found(), expected);
                let checked = notes.0.lock().expect("one thread");
                let mut spoilt = all_spoilt.clone();
                checked
                    .iter()
                    .for_each(|range| spoilt[range.clone()].copy_from_slice(&whole[range.clone()]));
                assert_eq!(
                    looked_up(spoilt, field, &term),
                    expected,
                    "{}",
                    String::from_utf8_lossy(&term)
                );
                most = most.max(checked.iter().map(Range::len).sum());
            }
        }
        assert!(
            most < whole.len() / 20,
            "a look-up checks little: {most} bytes of {}",
            whole.len()
        );
    }
}
