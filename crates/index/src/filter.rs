//! The documents that a search may return at all.

use crate::seqs::Sequences;

/// Restricts a search or a listing, before anything is ranked.
///
/// Terms are exact terms as given in [`Document::terms`](crate::Document::terms), or
/// `title:<word>`. The default lets everything through.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// A document must have at least one term of each group; an empty group lets nothing through.
    pub all: Vec<Vec<String>>,
    /// A document must have none of these terms.
    pub none: Vec<String>,
    /// A document's text must have these as parts, letter case aside, as far as the index can
    /// tell: what has them passes, and so may some that has not, so that whoever wants to know
    /// must look. For documents that were given [`part_terms`](crate::part_terms);
    /// others do not pass. Parts of fewer than three characters let everything through.
    pub parts: Vec<String>,
    /// Earliest time, in microseconds since the Unix epoch.
    pub since_us: Option<i64>,
    /// First time that is too late, in microseconds since the Unix epoch.
    pub until_us: Option<i64>,
    /// Only these sequence numbers. Segments that lie after all of them do not count for the
    /// statistics either: a search as of then ranks as then.
    pub seqs: Option<Sequences>,
}

impl Filter {
    /// Whether it lets everything through.
    pub fn is_empty(&self) -> bool {
        *self == Filter::default()
    }

    /// Whether it looks at nothing but sequence numbers.
    pub fn is_only_seqs(&self) -> bool {
        self.all.is_empty()
            && self.none.is_empty()
            && self.parts.is_empty()
            && self.since_us.is_none()
            && self.until_us.is_none()
    }

    /// Whether it lets this sequence number through.
    pub fn allows_seq(&self, seq: u64) -> bool {
        self.passes_seq(seq)
    }

    /// Whether it lets through a document with these exact terms and this time, whatever its
    /// number. What it says of titles and parts is not looked at.
    pub fn allows(&self, terms: &[String], time_us: i64) -> bool {
        let has = |term: &String| term.starts_with("title:") || terms.contains(term);
        self.all.iter().all(|group| group.iter().any(has))
            && !self.none.iter().any(|term| terms.contains(term))
            && self.passes_time(time_us)
    }

    /// What passes both filters.
    #[must_use]
    pub fn with(&self, other: &Filter) -> Filter {
        self.and(other)
    }

    /// What passes both filters.
    pub(crate) fn and(&self, other: &Filter) -> Filter {
        Filter {
            all: [self.all.as_slice(), &other.all].concat(),
            none: [self.none.as_slice(), &other.none].concat(),
            parts: [self.parts.as_slice(), &other.parts].concat(),
            since_us: self.since_us.max(other.since_us),
            until_us: self.until_us.into_iter().chain(other.until_us).min(),
            seqs: match (&self.seqs, &other.seqs) {
                (Some(a), Some(b)) => Some(a.intersection(b)),
                (one, None) | (None, one) => one.clone(),
            },
        }
    }

    pub(crate) fn passes_seq(&self, seq: u64) -> bool {
        self.seqs.as_ref().is_none_or(|seqs| seqs.contains(seq))
    }

    /// First sequence number that is too late; `u64::MAX` if none is.
    pub(crate) fn seqs_end(&self) -> u64 {
        self.seqs.as_ref().map_or(u64::MAX, Sequences::end)
    }

    pub(crate) fn passes_time(&self, time_us: i64) -> bool {
        self.since_us.is_none_or(|since| since <= time_us)
            && self.until_us.is_none_or(|until| time_us < until)
    }
}
