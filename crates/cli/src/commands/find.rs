//! `find`: a question in words, answered with passages.

use kapsa_memory::request::{Filter, FindRequest, Found};

use crate::app::App;
use crate::args::{Filters, Find};
use crate::error::Result;
use crate::render;
use crate::wire::FoundOut;

/// `kapsa find`.
pub(crate) fn run(app: &mut App, args: Find) -> Result<()> {
    let query = args.query.join(" ");
    let request = FindRequest { filter: filter(args.filters), k: args.k, fallback: args.fallback, ..FindRequest::new(query) };
    let found = app.reader_when(&args.when)?.find(&request)?;
    if app.out.is_json() {
        return app.out.json(&FoundOut::of(&request.query, &found, args.full));
    }
    show(app, &found)
}

fn show(app: &mut App, found: &Found) -> Result<()> {
    if found.hits.is_empty() {
        app.out.note("nothing found; fewer words, or --fallback for the newest records");
    } else if found.fallback {
        app.out.note("nothing matched; these are the newest records");
    }
    for (at, hit) in found.hits.iter().enumerate() {
        render::hit(&mut app.out, at + 1, hit)?;
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
    }
}
