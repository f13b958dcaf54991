//! `context`: what an agent should know before its next step.

use kapsa_agents::{Context, ContextOptions, Reranks, Scope, WorkspaceMemory};
use kapsa_embed::LocalReranker;
use kapsa_memory::Micros;
use kapsa_memory::request::TimelineRequest;

use super::episode::memory;
use super::find;
use crate::app::App;
use crate::args::ContextArgs;
use crate::error::{CliError, Result};
use crate::role_config::Declared;
use crate::typed_time;
use crate::wire::agent::ContextOut;
use crate::{models, moment};

/// `kapsa context`.
pub(crate) fn run(app: &mut App, args: ContextArgs) -> Result<()> {
    // Not the owner's view, which an agent would get whose variable was never set.
    if args.agent.as_deref().is_some_and(|agent| agent.trim().is_empty()) {
        return Err(CliError::usage("the name of the agent is empty")
            .hint("name it; without --agent and KAPSA_AGENT the owner sees every fact"));
    }
    let agent = args.agent.as_deref().or(app.principal()).map(str::to_string);
    let scope = Scope {
        entity: args.within.entity.unwrap_or_default(),
        domain: args.within.domain.unwrap_or_default(),
        tags: args.within.tags,
        query: args.query.unwrap_or_default(),
        sessions_about: None,
    };
    let as_of = args.as_of.as_deref();
    let valid_at = as_of.map(|as_of| time_of(app, as_of)).transpose()?.flatten();
    let reranker = reranker(app, args.reranking.rerank, &scope.query)?;
    let options = ContextOptions {
        tokens_max: args.budget,
        uris: args.uris,
        valid_at,
        reranker: reranker.as_ref().map(|reranker| Reranks(reranker)),
    };
    let told = told(app, agent.as_deref(), as_of, &scope, &options)?;
    tell(app, agent.as_deref(), &told, args.budget)
}

/// What an agent should know; without one, what the owner's team knows.
pub(super) fn told(
    app: &App,
    agent: Option<&str>,
    as_of: Option<&str>,
    scope: &Scope,
    options: &ContextOptions<'_>,
) -> Result<Context> {
    Ok(match agent {
        Some(agent) => memory(app, agent, as_of)?
            .with_clearance(Declared::find()?.effective(app, agent)?)
            .context(scope, options)?,
        None => WorkspaceMemory::in_capsule(app.location_when(as_of)?, moment::now)
            .context(None, scope, options)?,
    })
}

/// The re-ranker, where one is installed and there is something to compare with, unless it is
/// switched off. Where nobody asked for it, one that cannot be used is said by a warning.
fn reranker(app: &mut App, wanted: Option<bool>, query: &str) -> Result<Option<LocalReranker>> {
    if wanted == Some(false) || (wanted.is_none() && query.trim().is_empty()) {
        return Ok(None);
    }
    match models::reranker() {
        Ok(None) if wanted == Some(true) => Err(find::no_reranker()),
        Err(error) if wanted.is_none() => {
            find::tell_not_reranked(app, &error.message);
            Ok(None)
        }
        reranker => reranker,
    }
}

/// When a moment was: the time that is named, else when the last record was written that counts
/// there.
fn time_of(app: &App, as_of: &str) -> Result<Option<Micros>> {
    if let Ok(time) = typed_time::as_of_time(as_of) {
        return Ok(Some(time));
    }
    let last = TimelineRequest { limit: 1, reverse: true, ..TimelineRequest::default() };
    let records = app.reader_as_of(Some(as_of))?.timeline(&last)?;
    Ok(records.first().map(|record| record.committed_at))
}

fn tell(app: &mut App, agent: Option<&str>, told: &Context, budget: usize) -> Result<()> {
    if let Some(why) = &told.rerank_error {
        find::tell_not_reranked(app, why);
    }
    if app.out.is_json() {
        return app.out.json(&ContextOut::of(agent, told, budget));
    }
    if told.lines.is_empty() && told.left_out == 0 {
        app.out.note("nothing to show");
        return Ok(());
    }
    if !told.lines.is_empty() {
        app.out.line(&told.text())?;
    }
    if told.left_out > 0 {
        app.out.note(&format!("{} more did not fit the budget of {budget} tokens", told.left_out));
    }
    Ok(())
}
