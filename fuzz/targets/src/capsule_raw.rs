//! Does a file of any bytes do harm when it is taken for a capsule?

use crate::exercise::exercise;

/// The bytes are the file.
pub fn capsule_raw(data: &[u8]) {
    exercise(data);
}
