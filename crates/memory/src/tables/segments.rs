//! Makes an index segment of records: their words, their URIs, and which older revisions they
//! replace.

use std::ops::Range;

use kapsa_capsule::{SegmentDraft, Tag};
use kapsa_index::{Document, SegmentBuilder, SegmentBytes};
use kapsa_statement::slug;

use crate::error::Result;
use crate::records::access::{self, Access, Term};
use crate::records::codec::{Body, Envelope, Operation};
use crate::records::kinds::is_searched_by_parts;
use crate::records::provenance::Provenance;
use crate::records::record::{KIND_DEFAULT, Micros, NewRecord, Record};
use crate::records::turn::speaker_among;
use crate::records::uri::Uri;
use crate::tables::access_table::{AccessGroups, AccessTable};
use crate::tables::branch_table::{BranchKey, BranchRuns, BranchTable};
use crate::tables::keys::{Key, Replacement, encode_keys, encode_replacements};

/// Section that holds the words.
pub(crate) const LEXICAL: Tag = *b"lexical ";
/// Section that holds the URI table.
pub(crate) const URIS: Tag = *b"uris    ";
/// Section that holds the replacements.
pub(crate) const REPLACED: Tag = *b"replaced";
/// Section with the branch of each record.
pub(crate) const BRANCHES: Tag = *b"lanes   ";
/// Section with who may read each record: the records.
pub(crate) const ACCESS: Tag = *b"access  ";
/// Exact term of every purge marker.
pub(crate) const PURGE_TERM: &str = "is:purge";
/// Exact term of every record with the content of a file.
pub(crate) const CONTENT_TERM: &str = "is:file";
/// Exact term of every record that is beside others.
pub(crate) const CONTESTED_TERM: &str = "is:contested";
/// Memory that a builder starts with for a short segment, in bytes.
const BUILDER_BYTES: usize = 3 << 20;

/// What the index wants to know of a record.
pub(crate) struct Indexed {
    pub(crate) title: String,
    terms: Vec<String>,
    /// Of which whoever may know it has one.
    access: Vec<Term>,
    time_us: Micros,
    /// Whether it is asked for by parts of its text.
    by_parts: bool,
}

impl Indexed {
    pub(crate) fn of_new(
        record: &NewRecord,
        uri: &Uri,
        fresh: bool,
        now: Micros,
        envelope: &Envelope,
    ) -> Indexed {
        let kind = if record.kind.is_empty() { KIND_DEFAULT } else { &record.kind };
        let mut terms = Terms::default();
        terms.contested(!envelope.conflicts_with.is_empty());
        terms.content(record.content.is_some());
        terms.provenance(&envelope.provenance);
        terms.fields(
            kind,
            &record.label,
            &record.agent,
            &record.run,
            &record.entity,
            &record.domain,
        );
        terms.tags(&record.tags);
        terms.origin(uri, fresh, record.source.as_ref().map(|s| s.path.as_str()));
        let access = terms.access(record.access.as_ref(), &record.domain);
        let title = title_of(
            &record.title,
            record.source.as_ref().map(|s| s.path.as_str()),
            speaker_among(&record.entity, "", &record.tags),
        );
        Indexed {
            access,
            title,
            terms: terms.0,
            time_us: record.created_at.unwrap_or(now),
            by_parts: is_searched_by_parts(kind),
        }
    }

    pub(crate) fn of_record(record: &Record, fresh: bool, purge: bool) -> Indexed {
        let mut terms = Terms::default();
        if purge {
            terms.0.push(PURGE_TERM.to_string());
        }
        terms.contested(!record.conflicts_with.is_empty());
        terms.content(record.content.is_some());
        terms.provenance(&record.provenance);
        let mut access = Vec::new();
        if !record.tombstone && record.alias.is_none() && !record.is_signature() {
            terms.fields(
                &record.kind,
                &record.label,
                &record.agent,
                &record.run,
                &record.entity,
                &record.domain,
            );
            terms.tags(&record.tags);
            terms.origin(&record.uri, fresh, record.source.as_ref().map(|s| s.path.as_str()));
            access = terms.access(record.access.as_ref(), &record.domain);
        }
        let title = title_of(
            &record.title,
            record.source.as_ref().map(|s| s.path.as_str()),
            speaker_among(&record.entity, "", &record.tags),
        );
        let by_parts = is_searched_by_parts(&record.kind);
        Indexed { title, terms: terms.0, access, time_us: record.created_at, by_parts }
    }

    /// Its exact terms.
    pub(crate) fn terms(&self) -> &[String] {
        &self.terms
    }

    /// The document of a record with this text and URI, for the tail, which is read in full.
    pub(crate) fn document<'a>(&'a self, text: &'a str, key_hash: u64) -> Document<'a> {
        Document { title: &self.title, text, terms: &self.terms, key_hash, time_us: self.time_us }
    }
}

/// A passage is found by the name of its document as well, and a record by whom it is about or who
/// speaks.
fn title_of(title: &str, source: Option<&str>, about: &str) -> String {
    let mut all = title.to_string();
    for more in [source.unwrap_or_default(), about] {
        if !more.is_empty() && more != title {
            all = format!("{all} {more}");
        }
    }
    all
}

#[derive(Default)]
struct Terms(Vec<String>);

impl Terms {
    fn add(&mut self, field: &str, value: &str) {
        if !value.is_empty() {
            self.0.push(format!("{field}:{value}"));
        }
    }

    fn access(&mut self, access: Option<&Access>, domain: &str) -> Vec<Term> {
        let terms = access::terms_of(access, domain);
        self.0.extend(terms.iter().map(access::exact));
        terms
    }

    /// What the owner wrote has none.
    fn provenance(&mut self, provenance: &Provenance) {
        self.0.extend(provenance.trust.term());
        self.add("by", &provenance.principal);
    }

    fn content(&mut self, has: bool) {
        self.0.extend(has.then(|| CONTENT_TERM.to_string()));
    }

    fn contested(&mut self, contested: bool) {
        self.0.extend(contested.then(|| CONTESTED_TERM.to_string()));
    }

    fn fields(
        &mut self,
        kind: &str,
        label: &str,
        agent: &str,
        run: &str,
        entity: &str,
        domain: &str,
    ) {
        let named = [
            ("kind", kind),
            ("label", label),
            ("agent", agent),
            ("run", run),
            ("entity", entity),
            ("domain", domain),
        ];
        named.iter().for_each(|(field, value)| self.add(field, value));
        // By its slug an entity is found however its name is spelled.
        let slug = if entity.is_empty() { String::new() } else { slug(entity) };
        if slug != entity {
            self.add("entity", &slug);
        }
    }

    fn tags(&mut self, tags: &std::collections::BTreeMap<String, String>) {
        for (name, value) in tags {
            self.add("tag", name);
            if !value.is_empty() {
                self.0.push(format!("tag:{name}={value}"));
            }
        }
    }

    /// A URI made for one record is looked up in the URI table only; a given one can be filtered by
    /// as well.
    fn origin(&mut self, uri: &Uri, fresh: bool, source: Option<&str>) {
        if !fresh {
            self.add("uri", uri.short());
        }
        self.add("source", source.unwrap_or_default());
    }
}

/// A segment under construction.
pub(crate) struct Part {
    first_sequence: u64,
    builder: SegmentBuilder,
    keys: Vec<Key>,
    replaced: Vec<Replacement>,
    branch_table: BranchRuns,
    access: AccessGroups,
}

impl Part {
    /// Begins a segment with the record `first_sequence`; `text_bytes` is about how much text it
    /// will hold.
    pub(crate) fn new(first_sequence: u64, text_bytes: usize) -> Result<Part> {
        let builder = SegmentBuilder::new(text_bytes.max(BUILDER_BYTES))?;
        let (keys, replaced, branch_table, access) =
            (Vec::new(), Vec::new(), BranchRuns::default(), AccessGroups::default());
        Ok(Part { first_sequence, builder, keys, replaced, branch_table, access })
    }

    fn next_sequence(&self) -> u64 {
        self.first_sequence + u64::from(self.builder.len())
    }

    /// Adds the next record. `replaced` are the revisions that nobody is to see any more because of
    /// it, among them itself when it is a tombstone or an alias.
    pub(crate) fn add(
        &mut self,
        indexed: &Indexed,
        text: &str,
        uri: &Uri,
        branch_key: BranchKey,
        replaced: &[Replacement],
    ) -> Result<()> {
        let place = self.builder.len();
        let document = indexed.document(text, uri.hash());
        self.keys.push(Key { hash: document.key_hash, place });
        self.replaced.extend_from_slice(replaced);
        self.branch_table.add(branch_key, place..place + 1);
        self.access.add(&indexed.access);
        if !indexed.by_parts {
            return Ok(self.builder.add(&document)?);
        }
        let terms = [indexed.terms(), &kapsa_index::part_terms(text)].concat();
        Ok(self.builder.add(&Document { terms: &terms, ..document })?)
    }

    /// Adds the next record as it is stored; `replaced` as in [`Part::add`].
    pub(crate) fn add_body(&mut self, body: &Body, replaced: &[Replacement]) -> Result<()> {
        let record = &body.record;
        let indexed = Indexed::of_record(record, body.fresh, body.operation == Operation::Purge);
        let branch_key = BranchKey::new(record.branch, record.system);
        self.add(&indexed, &record.text, &record.uri, branch_key, replaced)
    }

    /// Adds an erased record: it has a place, and nothing else.
    pub(crate) fn add_erased(&mut self) -> Result<()> {
        let (sequence, place) = (self.next_sequence(), self.builder.len());
        self.replaced.push(Replacement { old: sequence, new: sequence });
        self.branch_table.add(BranchKey::default(), place..place + 1);
        self.access.add(&[]);
        Ok(self.builder.add(&Document {
            title: "",
            text: "",
            terms: &[],
            key_hash: 0,
            time_us: 0,
        })?)
    }

    pub(crate) fn finish(self) -> Result<SegmentDraft> {
        let next_sequence = self.next_sequence();
        let lexical = self.builder.finish()?;
        let tables = Tables {
            keys: self.keys,
            replaced: self.replaced,
            branch_table: self.branch_table,
            access: Some(self.access),
        };
        Ok(tables.draft(self.first_sequence..next_sequence, lexical))
    }
}

/// What a segment holds beside its words.
#[derive(Default)]
struct Tables {
    keys: Vec<Key>,
    replaced: Vec<Replacement>,
    branch_table: BranchRuns,
    /// None when some of the records were written before there were access table.
    access: Option<AccessGroups>,
}

impl Tables {
    fn draft(self, sequences: Range<u64>, lexical: Vec<u8>) -> SegmentDraft {
        // The words come first: what a search reads in any case then lies beside the segment's
        // head.
        let mut sections = vec![(LEXICAL, lexical), (URIS, encode_keys(self.keys))];
        if !self.replaced.is_empty() {
            sections.push((REPLACED, encode_replacements(self.replaced)));
        }
        sections.extend(self.branch_table.encode().map(|table| (BRANCHES, table)));
        sections.extend(self.access.map(|groups| (ACCESS, groups.encode())));
        SegmentDraft { first_sequence: sequences.start, next_sequence: sequences.end, sections }
    }
}

/// The sections of one segment that merging reads.
pub(crate) struct MergeSource {
    pub(crate) first_sequence: u64,
    pub(crate) next_sequence: u64,
    pub(crate) lexical: SegmentBytes,
    pub(crate) keys: crate::tables::keys::KeyTable,
    pub(crate) replaced: Option<crate::tables::keys::ReplacedTable>,
    pub(crate) branch_table: BranchTable,
    pub(crate) access: Option<AccessTable>,
}

/// Merges neighbouring segments into one.
pub(crate) fn merge(sources: &[MergeSource]) -> Result<SegmentDraft> {
    let (first, next) = match (sources.first(), sources.last()) {
        (Some(first), Some(last)) => (first.first_sequence, last.next_sequence),
        _ => (1, 1),
    };
    let lexical: Vec<SegmentBytes> = sources.iter().map(|s| s.lexical.clone()).collect();
    let mut tables = Tables { access: Some(AccessGroups::default()), ..Tables::default() };
    for source in sources {
        let shift = (source.first_sequence - first) as u32;
        tables.keys.extend(
            source.keys.keys()?.map(|key| Key { hash: key.hash, place: key.place + shift }),
        );
        if let Some(table) = &source.replaced {
            tables.replaced.extend(table.pairs()?);
        }
        source.branch_table.add_to(&mut tables.branch_table, first)?;
        match (&source.access, &mut tables.access) {
            (Some(table), Some(all)) => {
                table.add_to(all, (source.next_sequence - source.first_sequence) as usize)?
            }
            _ => tables.access = None,
        }
    }
    Ok(tables.draft(first..next, kapsa_index::merge(&lexical)?))
}
