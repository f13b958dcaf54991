//! Does a file of any bytes do harm when it is taken for a capsule?

use crate::exercise::{Sums, exercise};

/// The bytes are the file.
pub fn capsule_raw(data: &[u8]) {
    exercise(data, Sums::Found);
}
