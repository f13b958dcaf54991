//! The candidates of a search that may be shown, and the records that a filter leaves. Decided
//! before anything is ranked, counted or cut.

use std::ops::Range;

use kapsa_index::{Candidate, Query, Sequences};

use super::{View, as_of, present};
use crate::error::{Error, Result};
use crate::records::branch::run_spellings;
use crate::records::kinds::SYSTEM_KINDS;
use crate::records::record::{Micros, Record};
use crate::records::request::Filter;
use crate::tables::branch_table::Class;

/// Sequences of visible records that pass `filter`.
pub(crate) fn list(
    view: &View,
    filter: &Filter,
    limit: usize,
    newest_first: bool,
) -> Result<Vec<u64>> {
    let mut visibility = Visibility::of(view);
    let asked = filter;
    let filter = asked.within(view)?;
    let mut accept = |candidate: Candidate<'_>| {
        visibility.accepts(&candidate)
            && (asked.sessions_about.is_none()
                || visibility.fits(&candidate, &mut |record| !asked.is_elsewhere(record)))
    };
    let searcher = view.store().searcher()?;
    let sequences = if newest_first {
        searcher.newest(&filter, limit, None, &mut accept)?
    } else {
        searcher.oldest(&filter, limit, None, &mut accept)?
    };
    visibility.finish()?;
    Ok(sequences)
}

/// The newest visible records that have these exact terms.
pub(crate) fn list_exact(view: &View, terms: Vec<String>, limit: usize) -> Result<Vec<u64>> {
    let mut filter = Filter::default().within(view)?;
    filter.all.extend(terms.into_iter().map(|term| vec![term]));
    let mut visibility = Visibility::of(view);
    let mut accept = |candidate: Candidate<'_>| visibility.accepts(&candidate);
    let sequences = view.store().searcher()?.newest(&filter, limit, None, &mut accept)?;
    visibility.finish()?;
    Ok(sequences)
}

/// The rule that the search asks of each candidate; keeps the first error for when the search is
/// over.
pub(crate) struct Visibility<'a> {
    view: &'a View,
    error: Option<Error>,
}

impl<'a> Visibility<'a> {
    pub(crate) fn of(view: &'a View) -> Visibility<'a> {
        Visibility { view, error: None }
    }

    /// Before anything is ranked, counted or cut: what is replaced or may not be known has no part
    /// in a search.
    pub(crate) fn accepts(&mut self, candidate: &Candidate<'_>) -> bool {
        let visible = present::shows(self.view, candidate);
        self.unless_failed(visible)
    }

    /// Phrases are looked for in the record itself.
    pub(crate) fn has_phrases(&mut self, query: &Query, candidate: &Candidate<'_>) -> bool {
        if !query.has_phrases() {
            return true;
        }
        let record = self.view.store().record(candidate.seq());
        self.unless_failed(record.map(|record| query.phrases_match(&record.title, &record.text)))
    }

    /// Whether the record itself fits.
    pub(crate) fn fits(
        &mut self,
        candidate: &Candidate<'_>,
        fits: &mut dyn FnMut(&Record) -> bool,
    ) -> bool {
        let record = self.view.store().record(candidate.seq());
        self.unless_failed(record.map(|record| fits(&record)))
    }

    /// Keeps an error; what it was about is not accepted.
    pub(crate) fn fail(&mut self, error: Error) -> bool {
        self.unless_failed(Err(error))
    }

    fn unless_failed(&mut self, accepted: Result<bool>) -> bool {
        match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                self.error.get_or_insert(error);
                false
            }
        }
    }

    pub(crate) fn finish(self) -> Result<()> {
        self.error.map_or(Ok(()), Err)
    }
}

impl Filter {
    /// The filter, and what the view sees.
    pub(crate) fn within(&self, view: &View) -> Result<kapsa_index::Filter> {
        let is_asked = || self.kinds.iter().any(|kind| SYSTEM_KINDS.contains(&kind.as_str()));
        let seqs = if !view.is_guarded() && is_asked() {
            Some(view.store().sequences(view.lineage(), Class::Both)?)
        } else {
            view.memories()?.cloned()
        };
        let seqs = match self.recorded(view)? {
            None => seqs,
            Some(recorded) => {
                let recorded = Sequences::new(vec![recorded]);
                Some(seqs.map_or(recorded.clone(), |seqs| seqs.intersection(&recorded)))
            }
        };
        let mut filter = kapsa_index::Filter { seqs, ..self.to_index() };
        view.narrow(&mut filter)?;
        Ok(filter)
    }

    /// The sequences that were committed in the time that is asked for; none where any is.
    fn recorded(&self, view: &View) -> Result<Option<Range<u64>>> {
        if (self.recorded_since, self.recorded_until) == (None, None) {
            return Ok(None);
        }
        let place = |time: Option<Micros>, default| {
            time.map_or(Ok(default), |time| as_of::first_after(view, time.saturating_sub(1)))
        };
        let start = place(self.recorded_since, 0)?;
        Ok(Some(start..place(self.recorded_until, u64::MAX)?.max(start)))
    }

    pub(crate) fn to_index(&self) -> kapsa_index::Filter {
        let mut all: Vec<Vec<String>> = Vec::new();
        for (field, values) in self.fields().into_iter().filter(|(_, values)| !values.is_empty()) {
            let spelt = |value: &String| match field {
                "run" => run_spellings(value),
                _ => vec![value.clone()],
            };
            let values = values.iter().flat_map(spelt);
            all.push(values.map(|value| format!("{field}:{value}")).collect());
        }
        let tag = |(name, value): (&String, &String)| {
            if value.is_empty() { format!("tag:{name}") } else { format!("tag:{name}={value}") }
        };
        all.extend(self.tags.iter().map(|pair| vec![tag(pair)]));
        kapsa_index::Filter {
            all,
            since_us: self.since,
            until_us: self.until,
            ..kapsa_index::Filter::default()
        }
    }
}
