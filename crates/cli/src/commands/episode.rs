//! `episode`: what an agent did.

use kapsa_agents::{AgentMemory, Episode, EpisodeQuery, WorkspaceMemory, fresh_id};

use crate::app::{App, did, refuse_own_tags};
use crate::args::{EpisodeAdd, EpisodeList, EpisodeVerb, Level, Owner};
use crate::commands::embed::New;
use crate::commands::text::typed_text;
use crate::error::{CliError, Done, Result};
use crate::escape;
use crate::moment::{self, readable};
use crate::wire::agent::{EpisodeOut, EpisodesOut};

/// `kapsa episode`.
pub(crate) fn run(app: &mut App, verb: EpisodeVerb) -> Result<()> {
    match verb {
        EpisodeVerb::Add(args) => add(app, *args),
        EpisodeVerb::List(args) => list(app, args),
    }
}

/// Whose memory is meant: the one that was named, else who acts.
pub(super) fn agent(app: &App, owner: &Owner) -> Result<String> {
    let named = owner.agent.as_deref().filter(|agent| !agent.trim().is_empty());
    named.or(app.principal()).map(str::to_string).ok_or_else(|| {
        CliError::usage("no agent given").hint("name it with --agent NAME or KAPSA_AGENT")
    })
}

/// Whose memory is written to: a principal's own.
pub(super) fn writing_agent(app: &App, owner: &Owner) -> Result<String> {
    let agent = agent(app, owner)?;
    match app.principal() {
        Some(principal) if principal != agent => {
            let what = "write into the memory of another agent";
            Err(kapsa_memory::Error::AccessDenied { principal: principal.to_string(), what }.into())
        }
        _ => Ok(agent),
    }
}

/// The memory of an agent, and what its team shares.
pub(super) fn memory(app: &App, agent: &str, as_of: Option<&str>) -> Result<AgentMemory> {
    let location = app.location_when(as_of)?;
    let workspace = WorkspaceMemory::in_capsule(location.clone(), moment::now);
    Ok(AgentMemory::in_capsule(agent, &location, moment::now).with_workspace(workspace.into()))
}

fn add(app: &mut App, args: EpisodeAdd) -> Result<()> {
    refuse_own_tags(app, &args.about.tags)?;
    let agent = writing_agent(app, &args.owner)?;
    let new = New::begin(app, args.embed)?;
    let memory = memory(app, &agent, None)?;
    let known = args.id.as_deref().map(|id| memory.episode(id)).transpose()?.flatten();
    let fresh =
        || Episode::new(args.id.clone().unwrap_or_else(|| fresh_id("ep_")), &agent, moment::now());
    // What is not said of one that is known stays as it is.
    let known = known.unwrap_or_else(fresh);
    let episode = Episode {
        timestamp: args.at.unwrap_or(known.timestamp),
        operator_id: args.operator.unwrap_or(known.operator_id),
        node_name: args.node.unwrap_or(known.node_name),
        action: args.action.unwrap_or(known.action),
        input_summary: args.input.unwrap_or(known.input_summary),
        output_summary: typed_text(&args.text)?,
        outcome: args.outcome.unwrap_or(known.outcome),
        duration_ms: args.duration_ms.unwrap_or(known.duration_ms),
        tokens_in: args.tokens_in.unwrap_or(known.tokens_in),
        tokens_out: args.tokens_out.unwrap_or(known.tokens_out),
        entity: args.about.entity.unwrap_or(known.entity),
        domain: args.about.domain.unwrap_or(known.domain),
        tags: if args.about.tags.is_empty() { known.tags } else { args.about.tags },
        classification: args.classification.map_or(known.classification, Level::into),
        ..known
    };
    memory.record_episode(episode.clone())?;
    let id = episode.id.as_str();
    did(app, Done::new(format!("stored episode {id}")).field("id", id));
    let embedding = new.end(app);
    if app.out.is_json() {
        return app.out.json(&EpisodeOut::from(&episode).stored(embedding));
    }
    line(app, &episode)
}

fn list(app: &mut App, args: EpisodeList) -> Result<()> {
    let agent = agent(app, &args.owner)?;
    let query = EpisodeQuery {
        entity: args.within.entity,
        domain: args.within.domain,
        tags: args.within.tags,
        since: args.since,
        limit: args.limit.saturating_add(1),
        ..EpisodeQuery::of(&agent)
    };
    let found = memory(app, &agent, args.as_of.as_deref())?.recall_episodes(&query)?;
    let more = found.len() > args.limit;
    let found = &found[..found.len().min(args.limit)];
    if app.out.is_json() {
        return app.out.json(&EpisodesOut::of(&agent, found, more));
    }
    found.iter().try_for_each(|episode| line(app, episode))?;
    if found.is_empty() {
        app.out.note(&format!("no episodes of {agent}"));
    } else if more {
        app.out.note("there are more; show them with --limit N");
    }
    Ok(())
}

/// `2026-11-27 09:30:00  ep_1f0c  qualify_lead (acme): score 85`.
fn line(app: &mut App, episode: &Episode) -> Result<()> {
    app.out.faint(&readable(episode.timestamp))?;
    app.out.strong(&format!("  {}", escape::line(&episode.id)))?;
    let about =
        if episode.entity.is_empty() { String::new() } else { format!(" ({})", episode.entity) };
    let what = format!("{}{about}", episode.action);
    let what = if what.is_empty() { String::new() } else { format!("{what}: ") };
    app.out.line(&format!("  {}", escape::line(&format!("{what}{}", episode.output_summary))))
}
