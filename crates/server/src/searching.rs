//! `memory_search` and `memory_timeline`: records by what they say and by when.

use std::collections::BTreeMap;

use kapsa_memory::kinds::{FACT, PENDING};
use kapsa_memory::request::{Filter, FindRequest, Found, Grade, Hit, SearchMode, TimelineRequest};
use kapsa_memory::{AnyReader, AsOf, Error, Micros, Models, Record, Standing};

use crate::cursor::Cursor;
use crate::fit;
use crate::host::Problem;
use crate::memory::{Memory, Session};
use crate::shown;
use crate::wire::{
    FromOut, HitOut, ListedOut, RecordHead, SearchIn, SearchOut, StandingOut, TimelineIn,
    TimelineOut, WithinIn,
};

/// Hits of a search that names no limit.
pub const HITS_DEFAULT: usize = 10;
/// Most hits of a page.
pub const HITS_MAX: usize = 50;
/// Records of a list that names no limit.
const LISTED_DEFAULT: usize = 20;
/// Most records of a page.
const LISTED_MAX: usize = 100;
/// Most tags of a record that are shown.
const TAGS_SHOWN_MAX: usize = 24;
/// Most records with the same text that are named.
const SAME_SHOWN_MAX: usize = 8;
/// Most records that speak against another that are named.
const OTHERS_SHOWN_MAX: usize = 8;
/// Begins the names of tags that the memory keeps for itself.
const INTERNAL_TAGS: &str = "kapsa.";

/// A number that a call gives, within what is allowed.
pub(crate) fn within(
    name: &str,
    given: Option<u64>,
    default: usize,
    range: std::ops::RangeInclusive<usize>,
) -> Result<usize, Problem> {
    let Some(given) = given else { return Ok(default) };
    let number = usize::try_from(given).unwrap_or(usize::MAX);
    if range.contains(&number) {
        return Ok(number);
    }
    let message = format!("{name} is {given}, not {} to {}", range.start(), range.end());
    Err(Problem::new("invalid_argument", message))
}

/// `memory_search`.
pub(crate) fn search(
    memory: &Memory,
    session: &Session,
    args: SearchIn,
) -> Result<SearchOut, Problem> {
    let limit = within("limit", args.limit, HITS_DEFAULT, 1..=HITS_MAX)?;
    if args.query.trim().is_empty() {
        return Err(Problem::new("invalid_argument", "query is empty")
            .hint("say what to look for, or list records with memory_timeline"));
    }
    let cursor = Cursor::parse(args.cursor.as_deref())?;
    let Viewed { reader, as_of, since } = viewed(memory, session, &args.within, cursor)?;
    let then = moment(memory, as_of.as_ref());
    let filter = filter(memory, session, &args.within)?;
    let request = FindRequest {
        filter,
        k: cursor.offset + limit + 1,
        time: Some(memory.host().clock(&args.query)?),
        or_plain: true,
        valid_at: Some(then),
        ..FindRequest::new(args.query)
    };
    let (found, mut notes) = found(memory, &reader, &request)?;
    notes.extend(unknown(&reader, &request.filter).map_err(|error| memory.problem(error))?);
    if found.read.plain {
        notes.push("nothing has what the operators ask for; searched for plain words".into());
    }
    let is_more = found.hits.len() > cursor.offset + limit;
    let page = found.hits.iter().skip(cursor.offset).take(limit);
    let mut hits: Vec<Option<HitOut>> = Vec::new();
    for found in page {
        let stays = still_there(memory, since.as_ref(), &found.record)?;
        hits.push(stays.then(|| hit(memory, found, then)));
    }
    let left_out = fit::keep(&mut hits);
    let next_cursor = (is_more || left_out > 0).then(|| cursor.after(hits.len(), reader.moment()));
    let hits: Vec<HitOut> = hits.into_iter().flatten().collect();
    Ok(SearchOut {
        notice: shown::NOTICE,
        found: if hits.is_empty() { Grade::None } else { found.grade }.name().to_string(),
        hits,
        left_out: left_out as u64,
        next_cursor,
        narrowed_to: narrowed(&request.filter),
        notes,
    })
}

/// Searches by meaning too, where there are vectors and their model can be used.
fn found(
    memory: &Memory,
    reader: &AnyReader,
    request: &FindRequest,
) -> Result<(Found, Vec<String>), Problem> {
    let model = reader.model().map_err(|error| memory.problem(error))?;
    let mut notes = Vec::new();
    let embedder = match &model {
        Some(_) if request.mode != SearchMode::Words => match memory.embedder(model.as_ref()) {
            Ok(embedder) => Some(embedder),
            Err(problem) => {
                notes.push(format!("searched by words only: {}", problem.message));
                None
            }
        },
        _ => None,
    };
    let by = |embedder| reader.find_by(request, Models { embedder, reranker: None });
    let found = match by(embedder.as_deref()) {
        Err(error) if embedder.is_some() => {
            notes.push(format!("searched by words only: {}", memory.problem(error).message));
            by(None)
        }
        found => found,
    };
    Ok((found.map_err(|error| memory.problem(error))?, notes))
}

/// `memory_timeline`.
pub(crate) fn timeline(
    memory: &Memory,
    session: &Session,
    args: TimelineIn,
) -> Result<TimelineOut, Problem> {
    let limit = within("limit", args.limit, LISTED_DEFAULT, 1..=LISTED_MAX)?;
    let cursor = Cursor::parse(args.cursor.as_deref())?;
    let Viewed { reader, as_of, since } = viewed(memory, session, &args.within, cursor)?;
    let then = moment(memory, as_of.as_ref());
    let request = TimelineRequest {
        filter: filter(memory, session, &args.within)?,
        limit: cursor.offset + limit + 1,
        reverse: !args.oldest_first,
    };
    let mut listing = reader.list(&request).map_err(|error| memory.problem(error))?;
    let is_more = listing.truncate(cursor.offset + limit);
    let mut records = Vec::new();
    for record in listing.skip(cursor.offset) {
        let record = record.map_err(|error| memory.problem(error))?;
        let stays = still_there(memory, since.as_ref(), &record)?;
        records.push(stays.then(|| ListedOut {
            beginning: shown::beginning(&record.text),
            head: head(memory, &record, then),
        }));
    }
    let left_out = fit::keep(&mut records) as u64;
    let next_cursor =
        (is_more || left_out > 0).then(|| cursor.after(records.len(), reader.moment()));
    let records = records.into_iter().flatten().collect();
    let narrowed_to = narrowed(&request.filter);
    Ok(TimelineOut { notice: shown::NOTICE, records, left_out, next_cursor, narrowed_to })
}

/// What a list is of.
struct Viewed {
    /// The moment of its first page, where it goes on.
    reader: AnyReader,
    /// That moment, or the one that the call names.
    as_of: Option<AsOf>,
    /// What is there by now, where a list goes on that is not of a moment by request.
    since: Option<AnyReader>,
}

fn viewed(
    memory: &Memory,
    session: &Session,
    within: &WithinIn,
    cursor: Cursor,
) -> Result<Viewed, Problem> {
    let place = memory.place(session, within.branch.as_deref())?;
    let asked = within.as_of.as_deref().map(|as_of| memory.host().as_of(as_of));
    let goes_on = cursor.as_of.is_some() && asked.is_none();
    let since = goes_on.then(|| memory.reader(&place, None)).transpose()?;
    let as_of = cursor.as_of.map(AsOf::Sequence).or(asked);
    Ok(Viewed { reader: memory.reader(&place, as_of.as_ref())?, as_of, since })
}

/// Whether a record of a later page may be shown: what was forgotten or hidden since the first
/// page is not.
pub(crate) fn still_there(
    memory: &Memory,
    since: Option<&AnyReader>,
    record: &Record,
) -> Result<bool, Problem> {
    match since.map(|since| since.get(&record.uri)) {
        Some(Err(Error::UriNotFound { .. })) => Ok(false),
        Some(Err(error)) => Err(memory.problem(error)),
        Some(Ok(_)) | None => Ok(true),
    }
}

/// The moment at which what is asked for must hold: that of the view, or now.
pub(crate) fn moment(memory: &Memory, as_of: Option<&AsOf>) -> Micros {
    let now = memory.host().now();
    match as_of {
        Some(AsOf::Time(time) | AsOf::Named { or: Some(time), .. }) => (*time).min(now),
        _ => now,
    }
}

/// The repositories that an answer was narrowed to, as they are shown.
fn narrowed(filter: &Filter) -> Vec<String> {
    shown_names(filter.sessions_about.as_deref())
}

/// Names of repositories, as they are shown.
pub(crate) fn shown_names(names: Option<&[String]>) -> Vec<String> {
    names.unwrap_or_default().iter().map(|name| shown::field(name)).collect()
}

/// Which records are meant. Without an entity that is asked for and unless all projects are, what
/// sessions in other repositories left is not.
fn filter(memory: &Memory, session: &Session, within: &WithinIn) -> Result<Filter, Problem> {
    let one = |value: &Option<String>| {
        value.iter().filter(|value| !value.is_empty()).cloned().collect::<Vec<_>>()
    };
    let time = |name: &str, value: &Option<String>| {
        let value = value.as_deref().filter(|value| !value.is_empty());
        let time = value.map(|value| memory.host().time(value)).transpose();
        time.map_err(|problem| Problem {
            message: format!("{name}: {}", problem.message),
            ..problem
        })
    };
    if within.kinds.iter().any(|kind| kind == PENDING) {
        let message = "kinds: what waits for review is shown to whoever reviews";
        return Err(Problem::new("access_denied", message));
    }
    let entities = one(&within.entity);
    let sessions_about = if within.all_projects || !entities.is_empty() {
        None
    } else {
        memory.here(session, &memory.place(session, within.branch.as_deref())?)?
    };
    Ok(Filter {
        kinds: within.kinds.clone(),
        tags: within.tags.clone(),
        entities,
        sessions_about,
        domains: one(&within.domain),
        agents: one(&within.agent),
        runs: one(&within.run),
        since: time("since", &within.since)?,
        until: time("until", &within.until)?,
        ..Filter::default()
    })
}

fn hit(memory: &Memory, hit: &Hit, then: Micros) -> HitOut {
    HitOut {
        head: head(memory, &hit.record, then),
        snippet: shown::body(&hit.snippet),
        strength: (f64::from(hit.strength) * 100.0).round() / 100.0,
        same_text: hit
            .same_text
            .iter()
            .take(SAME_SHOWN_MAX)
            .map(|uri| shown::line(uri.short()))
            .collect(),
    }
}

/// A record without its text, with what it is worth at a moment.
pub(crate) fn head(memory: &Memory, record: &Record, then: Micros) -> RecordHead {
    let own = |(name, _): &(&String, &String)| !name.starts_with(INTERNAL_TAGS);
    let tags: BTreeMap<String, String> = record
        .tags
        .iter()
        .filter(own)
        .take(TAGS_SHOWN_MAX)
        .map(|(name, value)| (shown::field(name), shown::field(value)))
        .collect();
    RecordHead {
        uri: shown::line(record.uri.short()),
        sequence: record.sequence,
        kind: shown::field(&record.kind),
        title: shown::field(&record.title),
        trust: record.provenance.trust.name().to_string(),
        from: from(record),
        created_at: memory.host().shown_time(record.created_at),
        tags,
        entity: shown::field(&record.entity),
        domain: shown::field(&record.domain),
        standing: standing(memory, record, then),
    }
}

/// What a record is worth at a moment, with what speaks against it.
fn standing(memory: &Memory, record: &Record, then: Micros) -> StandingOut {
    let standing = kapsa_memory::standing(record, Some(then));
    let mut out = StandingOut { standing: standing.name().to_string(), ..StandingOut::default() };
    let time = |at| memory.host().shown_time(at);
    match standing {
        Standing::Current => {}
        Standing::Superseded { by } => out.superseded_by = named(&by),
        Standing::Expired { at } => out.expired_at = time(at),
        Standing::Scheduled { from } => out.scheduled_at = time(from),
        Standing::Contested { with } => out.contested_by = all_named(&with),
        Standing::Pending { with } => out.pending_with = all_named(&with),
    }
    out
}

/// The beginning of a record's text, after what it is worth now where that is not current.
pub(crate) fn beginning(memory: &Memory, record: &Record) -> String {
    let begin = shown::beginning(&record.text);
    let out = standing(memory, record, memory.host().now());
    if out.standing == Standing::Current.name() {
        return begin;
    }
    let others = [vec![out.superseded_by], out.contested_by, out.pending_with].concat();
    let named: Vec<String> = others.into_iter().filter(|other| !other.is_empty()).collect();
    let gap = if named.is_empty() { "" } else { " " };
    format!("({}{gap}{}) {begin}", out.standing, named.join(", "))
}

fn all_named(others: &[String]) -> Vec<String> {
    others.iter().take(OTHERS_SHOWN_MAX).map(|other| named(other)).collect()
}

/// The URI of a fact by its id; the sequence of a revision as it is.
fn named(other: &str) -> String {
    if other.is_empty() || other.starts_with('#') {
        return other.to_string();
    }
    format!("{FACT}/{}", shown::field(other))
}

/// Who brought a record.
pub(crate) fn from(record: &Record) -> FromOut {
    let document = record.source.as_ref().map(|source| match source.line_start {
        0 => shown::field(&source.path),
        first => format!("{}:{first}-{}", shown::field(&source.path), source.line_end),
    });
    FromOut {
        agent: shown::field(&record.agent),
        principal: shown::field(&record.provenance.principal),
        run: shown::field(&record.run),
        document: document.unwrap_or_default(),
    }
}

/// Notes on values of a filter that no record has, with those that are like them.
fn unknown(reader: &AnyReader, filter: &Filter) -> kapsa_memory::Result<Vec<String>> {
    let unknown = reader.unknown_values(filter)?;
    Ok(unknown
        .into_iter()
        .map(|value| {
            let near: Vec<String> = value.near.iter().map(|near| shown::line(near)).collect();
            let near = if near.is_empty() {
                String::new()
            } else {
                format!("; there is {}", near.join(", "))
            };
            format!("no record has {} {}{near}", value.field, shown::line(&value.value))
        })
        .collect())
}
