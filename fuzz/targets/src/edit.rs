//! Applies a structured input to a capsule: its bytes choose edits of fields, pages and lengths.

use crate::input::Input;
use crate::layout::{FRAME_HEADER, LOG_START, POINTERS, kind, put_u64, u64_at};
use crate::samples::Sample;

/// Most edits of one input.
const EDITS_MAX: usize = 12;
/// Most bytes that one edit appends.
const APPENDED_BYTES_MAX: usize = 600;
/// Numbers around limits of the format and of the integers that hold them.
const NUMBERS: [u64; 20] = [
    u64::MAX,
    u64::MAX - 1,
    u64::MAX - 7,
    u64::MAX - 71,
    1 << 63,
    (1 << 63) - 1,
    1 << 62,
    (1 << 62) - 1,
    1 << 36,
    (1 << 36) + 1,
    1 << 32,
    u32::MAX as u64,
    1 << 31,
    1 << 26,
    (1 << 26) + 1,
    1 << 25,
    65_537,
    65_536,
    12_288,
    4_096,
];

/// A capsule under the knife.
pub(crate) struct Patient<'a> {
    sample: &'a Sample,
    pub(crate) file: Vec<u8>,
}

impl<'a> Patient<'a> {
    pub(crate) fn new(sample: &'a Sample) -> Patient<'a> {
        Patient { sample, file: sample.file.clone() }
    }

    pub(crate) fn edit(&mut self, input: &mut Input<'_>) {
        for _ in 0..EDITS_MAX {
            if input.is_empty() {
                return;
            }
            match input.byte() % 8 {
                0 | 1 => self.set_field(input, 8),
                2 => self.set_field(input, 4),
                3 => self.add_to_field(input),
                4 => self.write_run(input),
                5 => self.forge_pointer(input),
                6 => self.drop_pointers(input),
                _ => self.change_length(input),
            }
        }
    }

    /// The start of the header, a commit pointer, a frame header, or a payload.
    fn place(&self, input: &mut Input<'_>) -> usize {
        let frames = &self.sample.frames;
        let place = usize::from(input.byte()) % (3 + 2 * frames.len());
        match place.checked_sub(3) {
            None => place * 4096,
            Some(at) => frames[at / 2] + at % 2 * FRAME_HEADER,
        }
    }

    /// A field of `bytes` bytes: the header's, a commit pointer's, a frame's, or one in the first
    /// 1,024 bytes of a payload.
    fn field(&self, input: &mut Input<'_>, bytes: usize) -> usize {
        let place = self.place(input);
        place + usize::from(input.byte()) % (1024 / bytes) * bytes
    }

    fn set_field(&mut self, input: &mut Input<'_>, bytes: usize) {
        let at = self.field(input, bytes);
        let value = self.number(input);
        self.write(at, &value.to_le_bytes()[..bytes]);
    }

    fn add_to_field(&mut self, input: &mut Input<'_>) {
        let at = self.field(input, 8);
        let step = i64::from(input.byte() as i8);
        if at + 8 <= self.file.len() {
            let value = u64_at(&self.file, at).wrapping_add_signed(step);
            put_u64(&mut self.file, at, value);
        }
    }

    /// A small number, a frame's offset or end, a length of the file, a number near a limit, or
    /// any.
    fn number(&self, input: &mut Input<'_>) -> u64 {
        let choice = input.byte();
        let frames = &self.sample.frames;
        let frame = |index: u8| {
            frames.get(usize::from(index) % frames.len().max(1)).copied().unwrap_or(LOG_START)
        };
        match choice {
            0..0x40 => u64::from(choice),
            0x40..0x80 => frame(choice) as u64,
            0x80..0xa0 => {
                frames.get(usize::from(choice - 0x7f)).copied().unwrap_or(self.file.len()) as u64
            }
            0xa0..0xe0 => NUMBERS[usize::from(choice) % NUMBERS.len()],
            0xe0..0xf0 => (self.file.len() as u64).wrapping_sub(u64::from(choice & 15)),
            _ => input.long(),
        }
    }

    fn write_run(&mut self, input: &mut Input<'_>) {
        let at = self.place(input) + usize::from(input.short()) % 4096;
        let len = usize::from(input.byte());
        let run = input.bytes(len);
        self.write(at, run);
    }

    /// Names a commit in a commit pointer, whole or with a field changed by a later edit.
    fn forge_pointer(&mut self, input: &mut Input<'_>) {
        let is_commit = |offset: &&usize| self.file.get(**offset + 4) == Some(&kind::COMMIT);
        let commits: Vec<usize> = self.sample.frames.iter().filter(is_commit).copied().collect();
        let Some(&commit) = commits.get(usize::from(input.byte()) % commits.len().max(1)) else {
            return;
        };
        if commit + FRAME_HEADER + 8 > self.file.len() {
            return;
        }
        let serial = u64_at(&self.file, commit + FRAME_HEADER);
        let slot = POINTERS[(serial % 2) as usize];
        let mut pointer = b"KAPSHINT".to_vec();
        let end = commit + FRAME_HEADER + 256;
        [serial, commit as u64, end as u64]
            .iter()
            .for_each(|word| pointer.extend_from_slice(&word.to_le_bytes()));
        pointer.resize(128, 0);
        self.write(slot, &pointer);
    }

    /// Without a commit pointer the walk over commits begins where it is left, or at the start of
    /// the log.
    fn drop_pointers(&mut self, input: &mut Input<'_>) {
        let which = input.byte();
        for (_, slot) in
            POINTERS.into_iter().enumerate().filter(|(index, _)| which >> index & 1 == 0)
        {
            self.write(slot, &[0; 128]);
        }
    }

    fn change_length(&mut self, input: &mut Input<'_>) {
        match input.byte() % 3 {
            0 => {
                let len = self.place(input) + usize::from(input.byte()) * 8;
                self.file.truncate(len);
            }
            1 => {
                let cut = usize::from(input.byte());
                self.file.truncate(self.file.len().saturating_sub(cut));
            }
            _ => {
                let len = usize::from(input.short()) % APPENDED_BYTES_MAX;
                let start = input.bytes(8.min(len)).to_vec();
                self.file.extend_from_slice(&start);
                self.file.resize(self.file.len() + len - start.len(), 0);
            }
        }
    }

    /// Writes what lies within the file.
    fn write(&mut self, at: usize, bytes: &[u8]) {
        let len = self.file.len();
        let (start, end) = (at.min(len), at.saturating_add(bytes.len()).min(len));
        self.file[start..end].copy_from_slice(&bytes[..end - start]);
    }
}
