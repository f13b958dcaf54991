//! `find`: a question in words, answered with passages.

use kapsa_memory::query::speaks_of_time;
use kapsa_memory::request::{Clock, Filter, FindRequest, Found, Grade, Grouping, SearchMode};
use kapsa_memory::{AsOf, Micros, Models};
use kapsa_model::Reranker;

use crate::app::{AnyReader, App};
use crate::args::{Filters, Find, Group, SearchBy};
use crate::commands::asked::Asked;
use crate::commands::{embed, names};
use crate::error::{CliError, Result};
use crate::render::{self, Reading, counted};
use crate::wire::FoundOut;
use crate::{calendar, models, moment, typed_time};

/// `kapsa find`.
pub(crate) fn run(app: &mut App, args: Find) -> Result<()> {
    let explain = args.explain || args.ranking.mode == SearchBy::Explain;
    let (k, full, when) = (args.k, args.full, args.when.clone());
    let reranker = match args.reranking.rerank {
        Some(true) => Some(models::reranker()?.ok_or_else(no_reranker)?),
        Some(false) | None => None,
    };
    let mut request = request(args)?;
    let asked = request.filter.clone();
    request.filter = names::of_entities(app, &asked, &when)?;
    let reader = app.reader_when(&when)?;
    let reranker = reranker.as_ref().map(|reranker| reranker as &dyn Reranker);
    let found = search(app, &reader, &request, reranker)?;
    if app.out.is_json() {
        app.out.json(&FoundOut::of(&request.query, k, &found, full, explain))?;
    } else {
        show(app, &reader, &found, explain)?;
    }
    names::warn_unknown(app, &reader, &asked, &when)?;
    if found.means.model.is_some() && found.means.missing > 0 {
        let missing = counted(found.means.missing, "record");
        let time = embed::time_for(found.means.missing);
        let message = format!(
            "{missing} without vectors can be found by words only; `kapsa embed` takes {time}"
        );
        app.out.warn("vectors_missing", &message);
    }
    Ok(())
}

pub(crate) fn no_reranker() -> CliError {
    CliError::user("no_reranker", "no re-ranker is installed").hint(
        "`cargo xtask model --reranker FILE` makes one, `kapsa model add FILE` installs it; \
         docs/search.md says more",
    )
}

/// Says why hits are not in the order of a re-ranker.
pub(crate) fn tell_not_reranked(app: &mut App, why: &str) {
    app.out.warn("not_reranked", &format!("ordered without the re-ranker: {why}"));
}

fn request(args: Find) -> Result<FindRequest> {
    let query = args.query.join(" ");
    let ranking = &args.ranking;
    let now = moment::now();
    // A fact must hold at the moment that is looked at.
    let then = match args.when.as_of.as_deref().map(typed_time::as_of) {
        Some(AsOf::Time(time) | AsOf::Named { or: Some(time), .. }) => time.min(now),
        _ => now,
    };
    let needs_clock = !ranking.no_time || ranking.recency.is_some();
    Ok(FindRequest {
        filter: filter(args.filters),
        k: args.k,
        fallback: args.fallback,
        mode: match ranking.mode {
            SearchBy::Auto | SearchBy::Explain => SearchMode::Auto,
            SearchBy::Lex => SearchMode::Words,
            SearchBy::Sem => SearchMode::Meaning,
        },
        group: ranking.group.map(|group| match group {
            Group::Session => Grouping::Session,
            Group::Source => Grouping::Source,
        }),
        diverse: ranking.diverse,
        time: if needs_clock { Some(clock(now, &query)?) } else { None },
        read_times: !ranking.no_time,
        recency_days: ranking.recency,
        confidence: ranking.by_confidence,
        superseded: args.include_superseded,
        duplicates: args.duplicates,
        strict: args.strict,
        around: usize::from(args.around),
        or_plain: true,
        valid_at: Some(then),
        ..FindRequest::new(query)
    })
}

/// The clock by which a query is read. The user's time zone is looked up only where it matters.
pub(super) fn clock(now: Micros, query: &str) -> Result<Clock> {
    let clock = Clock::utc(now);
    if !speaks_of_time(query, &clock) {
        return Ok(clock);
    }
    let calendar =
        calendar::of_user().map_err(|message| CliError::user("invalid_config", message))?;
    Ok(Clock { calendar: calendar.clone(), ..clock })
}

/// Searches by meaning too, where there are vectors. A model that fails leaves the words, and says
/// so.
fn search(
    app: &mut App,
    reader: &AnyReader,
    request: &FindRequest,
    reranker: Option<&dyn Reranker>,
) -> Result<Found> {
    let found = match by_meaning(&mut Asked::default(), reader, request, reranker) {
        // Vectors can be made again; words are always there.
        Err(error) if request.mode == SearchMode::Auto => {
            let found = reader.find_by(request, Models { embedder: None, reranker })?;
            let why = format!("searched by words only: {}", error.message);
            app.out.warn("searched_by_words", &why);
            found
        }
        found => found?,
    };
    if let Some(why) = &found.means.rerank_error {
        tell_not_reranked(app, why);
    }
    Ok(found)
}

/// Searches by meaning too, where that is wanted and there are vectors. A model that fails is an
/// error; a re-ranker that fails is not.
pub(crate) fn by_meaning(
    asked: &mut Asked,
    reader: &AnyReader,
    request: &FindRequest,
    reranker: Option<&dyn Reranker>,
) -> Result<Found> {
    let model = if request.mode == SearchMode::Words { None } else { reader.model()? };
    let Some(model) = model else {
        return Ok(reader.find_by(request, Models { embedder: None, reranker })?);
    };
    let question = asked.question(model, reader)?;
    Ok(reader.find_by(request, Models { embedder: Some(question), reranker })?)
}

fn show(app: &mut App, reader: &AnyReader, found: &Found, explain: bool) -> Result<()> {
    let searched = reader.branch()?;
    let reading = Reading { branch: &searched };
    let read = &found.read;
    if found.hits.is_empty() {
        app.out.note("nothing found; try fewer words, or --fallback for the newest records");
    } else if found.fallback {
        app.out.note("nothing matched; these are the newest records");
    } else if read.plain {
        app.out.note("nothing has what the operators ask for; searched for the text as it is");
    }
    if found.grade == Grade::Weak && !found.fallback {
        app.out.note("nothing here surely answers; these are the nearest");
    }
    if explain {
        render::query(&mut app.out, read)?;
    }
    for (at, hit) in found.hits.iter().enumerate() {
        let written_on = reader.branch_of(&hit.record)?;
        render::hit(&mut app.out, at + 1, hit, &written_on, &reading)?;
        if explain {
            render::why(&mut app.out, hit)?;
        }
    }
    Ok(())
}

/// The filter that the flags describe.
pub(crate) fn filter(flags: Filters) -> Filter {
    Filter {
        kinds: flags.kind,
        labels: flags.label,
        tags: flags.tags.into_iter().collect(),
        agents: flags.agent,
        runs: flags.run,
        entities: flags.entity,
        domains: flags.domain,
        sources: flags.source,
        since: flags.since,
        until: flags.until,
        recorded_since: flags.recorded_since,
        recorded_until: flags.recorded_until,
        sessions_about: None,
    }
}
