//! Writes records and returns them whole: nothing is read after the commit, so that no failure to
//! read looks like one to commit.

use super::pending::Pending;
use super::writer::Writer;
use crate::error::Result;
use crate::records::codec;
use crate::records::record::Record;

/// Writes what the crate itself made, in one commit. Returns the records as everybody reads them
/// from then on.
pub(crate) fn write(writer: &mut Writer, all: Vec<Pending>) -> Result<Vec<Record>> {
    let mut transaction = writer.transaction();
    transaction.add(all);
    let unpublished = transaction.prepare()?;
    let read = unpublished
        .added()
        .iter()
        .map(|entry| Ok(codec::decode(entry.sequence, &entry.body)?.record));
    let records = read.collect::<Result<Vec<_>>>()?;
    unpublished.publish()?;
    Ok(records)
}
