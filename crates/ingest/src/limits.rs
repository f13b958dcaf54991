//! What is read and kept at most: traces are written by others, and any size may come. Knows
//! nothing of formats.

/// Bytes of one line, or of one element of a document; longer ones are skipped and counted.
pub const RECORD_BYTES_MAX: usize = 16 << 20;
/// Bytes of one file, after decompression; the rest is left.
pub const FILE_BYTES_MAX: u64 = 4 << 30;
/// Bytes at the start of a file by which its format is found.
pub const HEAD_BYTES: usize = 64 << 10;
/// Bytes of a compressed file that one step back may reach, as a power of two (64 MiB).
pub const ZSTD_WINDOW_LOG_MAX: u32 = 26;
/// Sessions of one file.
pub const SESSIONS_MAX: u64 = 100_000;
/// Turns of one session.
pub const TURNS_MAX: usize = 100_000;
/// Of those, turns that only the user's words may take.
pub const TURNS_OF_USERS: usize = 10_000;
/// Records of one session of which it is known which one they follow.
pub const LINKS_MAX: usize = 200_000;
/// Bytes of text, arguments and results that one session keeps.
pub const KEPT_BYTES_MAX: usize = 48 << 20;
/// Of those, bytes that only the user's words may take.
pub const KEPT_BYTES_OF_USERS: usize = 16 << 20;
/// Characters of a tool's result that are kept: its head and its tail.
pub const RESULT_CHARS_MAX: usize = 4_000;
/// Characters of any other text that are kept: its head and its tail.
pub const TEXT_CHARS_MAX: usize = 100_000;
/// Bytes of a call's arguments that are decoded; longer ones are kept as a shortened text.
pub const ARGUMENTS_BYTES_MAX: usize = 256 << 10;
/// Characters of each text in a call's arguments.
pub const ARGUMENT_CHARS_MAX: usize = 4_000;
/// Bytes of an id, a name, a path or a branch.
pub const NAME_BYTES_MAX: usize = 1_024;
/// Elements of a list, or members of an object, inside one record.
pub const ELEMENTS_MAX: usize = 20_000;
/// Levels of a list within a list within an object in which texts are sought.
pub const CONTENT_DEPTH_MAX: usize = 16;
/// Kinds of skipped records that are counted apart.
pub const SKIPPED_KINDS_MAX: usize = 64;
/// Ids of records that are remembered across the files of a walk.
pub const SEEN_MAX: usize = 2_000_000;
/// Files of one walk.
pub const FILES_MAX: usize = 1_000_000;
/// Folders within folders of one walk.
pub const FOLDERS_DEEP_MAX: usize = 32;
/// How long a reader waits for a database that a program is writing to, in milliseconds.
pub const BUSY_WAIT_MS: u64 = 2_000;
