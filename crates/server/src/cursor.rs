//! Where a list goes on: the moment that it is a list of, and how much of it was given.
//!
//! A page is of the same moment as the one before it, so that what is written meanwhile moves
//! nothing.

use crate::host::Problem;

/// A place in a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cursor {
    /// Sequence as of which the list is; none for now.
    pub(crate) as_of: Option<u64>,
    /// Items before this place.
    pub(crate) offset: usize,
}

/// Items before which no place is looked for.
const OFFSET_MAX: usize = 100_000;

impl Cursor {
    pub(crate) fn parse(text: Option<&str>) -> Result<Cursor, Problem> {
        let Some(text) = text else { return Ok(Cursor::default()) };
        let wrong = || {
            Problem::new("invalid_cursor", "the cursor is not one that was given")
                .hint("leave it out to begin again, or give next_cursor as it was")
        };
        let (as_of, offset) = text.split_once('+').ok_or_else(wrong)?;
        let as_of: u64 = as_of.parse().map_err(|_| wrong())?;
        let offset: usize = offset.parse().map_err(|_| wrong())?;
        if offset > OFFSET_MAX {
            return Err(wrong());
        }
        Ok(Cursor { as_of: Some(as_of), offset })
    }

    /// The place after so many more items, of a list as of `as_of`.
    pub(crate) fn after(self, count: usize, as_of: u64) -> String {
        format!("{}+{}", self.as_of.unwrap_or(as_of), self.offset + count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_found_again() {
        let first = Cursor::parse(None).expect("none");
        let second = Cursor::parse(Some(&first.after(10, 7))).expect("ours");
        assert_eq!(second, Cursor { as_of: Some(7), offset: 10 });
        assert_eq!(second.after(5, 99), "7+15");
        for wrong in ["", "x", "1", "1+", "+1", "1+-1", "1+100001", "99999999999999999999+1"] {
            assert_eq!(
                Cursor::parse(Some(wrong)).map_err(|e| e.code),
                Err("invalid_cursor".into())
            );
        }
    }
}
