//! The capsule as one of the stores, for comparisons.

use kapsa_memory::request::FindRequest;
use kapsa_memory::{AnyReader, Error, NewRecord, Record, Uri};

use super::asked::Asked;
use super::find::by_meaning;
use crate::app::App;
use crate::backend_kind::BackendKind;
use crate::backends::{Backend, Note, StoredText};
use crate::error::Result;

/// The capsule that a call means, opened once.
pub(super) struct CapsuleStore<'a> {
    app: &'a App,
    reader: AnyReader,
}

impl CapsuleStore<'_> {
    pub(super) fn open(app: &App) -> Result<CapsuleStore<'_>> {
        Ok(CapsuleStore { app, reader: app.reader()? })
    }
}

fn stored(record: &Record, score: f64) -> StoredText {
    StoredText {
        id: record.uri.as_str().to_string(),
        title: record.title.clone(),
        text: record.text.clone(),
        score,
    }
}

impl Backend for CapsuleStore<'_> {
    fn kind(&self) -> BackendKind {
        BackendKind::Capsule
    }

    fn health(&self) -> Result<()> {
        Ok(())
    }

    fn put(&self, note: &Note) -> Result<String> {
        let uri = note.uri.as_deref().map(Uri::parse).transpose()?;
        let record = NewRecord { uri, title: note.title.clone(), ..NewRecord::text(&note.text) };
        let mut writer = self.app.owner_writer(&self.app.capsule()?, None)?;
        Ok(writer.put(record)?.uri.as_str().to_string())
    }

    fn find(&self, query: &str, limit: usize) -> Result<Vec<StoredText>> {
        let request = FindRequest { k: limit, or_plain: true, ..FindRequest::new(query) };
        let found = by_meaning(&mut Asked::default(), &self.reader, &request, None)?;
        Ok(found.hits.iter().map(|hit| stored(&hit.record, hit.score.into())).collect())
    }

    fn get(&self, id: &str) -> Result<Option<StoredText>> {
        match self.reader.get(&Uri::parse(id)?) {
            Ok(record) => Ok(Some(stored(&record, 0.0))),
            Err(Error::UriNotFound { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}
