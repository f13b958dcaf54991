//! Target: arbitrary bytes opened as a capsule do no harm.

use crate::exercise::{Sums, exercise};

/// The bytes are the file.
pub fn capsule_raw(data: &[u8]) {
    exercise(data, Sums::Found);
}
