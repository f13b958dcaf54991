//! `insight`: what an agent learned.

use kapsa_agents::{
    AgentMemory, CapsuleFactStore, Fact, FactStore, Insight, InsightQuery, InsightStatus,
    ReflectError, Reflection, Secrets, fresh_id,
};
use kapsa_memory::access::Classification;
use kapsa_model::block_on;

use super::episode::{agent, memory, writing_agent};
use crate::app::{App, did, refuse_own_tags};
use crate::args::{InsightAdd, InsightList, InsightVerb, Level, OneInsight, Publish};
use crate::commands::embed::New;
use crate::commands::text::typed_text;
use crate::error::{CliError, Done, Result};
use crate::escape;
use crate::moment;
use crate::render::counted;
use crate::wire::agent::{FactsOut, InsightOut, InsightsOut, ReflectedOut};

/// `kapsa insight`.
pub(crate) fn run(app: &mut App, verb: InsightVerb) -> Result<()> {
    match verb {
        InsightVerb::Add(args) => add(app, *args),
        InsightVerb::List(args) => list(app, args),
        InsightVerb::Confirm(args) => change(app, &args, |memory| memory.confirm(&args.id)),
        InsightVerb::Weaken(args) => change(app, &args, |memory| memory.weaken(&args.id)),
        InsightVerb::Retire(args) => {
            change(app, &args, |memory| memory.retire(&args.id))?;
            let published = format!("pub_{}", args.id);
            if CapsuleFactStore::new(app.location()?)
                .get(&published)?
                .is_some_and(|fact| fact.superseded_by.is_none())
            {
                let message = format!(
                    "its published fact remains; kapsa forget fact/{published} withdraws it"
                );
                app.out.warn("published_fact_remains", &message);
            }
            Ok(())
        }
        InsightVerb::Reflect(args) => {
            let agent = writing_agent(app, &args.owner)?;
            reflect(app, &agent)
        }
        InsightVerb::Publish(args) => publish(app, args),
    }
}

fn missing(agent: &str, id: &str) -> CliError {
    let hint = format!("kapsa insight list --all --agent {agent}");
    CliError::user("insight_not_found", format!("{agent} has no insight {id}"))
        .hint(hint)
        .field("id", id)
}

fn change(
    app: &mut App,
    args: &OneInsight,
    change: impl FnOnce(&AgentMemory) -> kapsa_memory::Result<Option<Insight>>,
) -> Result<()> {
    let agent = writing_agent(app, &args.owner)?;
    let new = New::begin(app, None)?;
    let insight = change(&memory(app, &agent, None)?)?.ok_or_else(|| missing(&agent, &args.id))?;
    stored(app, &insight);
    let embedding = new.end(app);
    tell(app, &insight, embedding)
}

fn stored(app: &mut App, insight: &Insight) {
    let id = insight.id.as_str();
    did(app, Done::new(format!("stored insight {id}")).field("id", id));
}

fn tell(app: &mut App, insight: &Insight, embedding: Option<String>) -> Result<()> {
    if app.out.is_json() {
        return app.out.json(&InsightOut::from(insight).stored(embedding));
    }
    line(app, insight)
}

fn add(app: &mut App, args: InsightAdd) -> Result<()> {
    refuse_own_tags(app, &args.about.tags)?;
    let agent = writing_agent(app, &args.owner)?;
    let memory = memory(app, &agent, None)?;
    // What is not said of one that is known stays as it is.
    let known = args.id.as_deref().map(|id| memory.insight(id)).transpose()?.flatten();
    let is_known = known.is_some();
    let fresh = || {
        Insight::new(args.id.clone().unwrap_or_else(|| fresh_id("ins_")), &agent, "", moment::now())
    };
    let known = known.unwrap_or_else(fresh);
    let mut from = known.source_episode_ids.clone();
    from.extend(args.sources.iter().filter(|id| !known.source_episode_ids.contains(id)).cloned());
    let (secrets, of_sources) = sources(&memory, &args.sources)?;
    let own_domain = Some(known.domain.clone()).filter(|_| is_known);
    let domain = args.about.domain.or(own_domain).or(of_sources).unwrap_or_default();
    let least =
        secrets.level().max(if is_known { known.classification } else { Classification::Internal });
    let classification = args.classification.map_or(least, Level::into);
    if classification < secrets.level_in(&domain) && secrets.level_in(&domain) != secrets.level() {
        return Err(other_domain(&secrets, &domain));
    }
    if classification < secrets.level() {
        let least = secrets.level();
        return Err(CliError::usage(format!(
            "it comes from an episode that is {least}, so it cannot be {classification}"
        ))
        .hint(format!("--classification {least}, or a higher one")));
    }
    let new = New::begin(app, args.embed)?;
    let insight = Insight {
        content: typed_text(&args.text)?,
        confidence: args.confidence.unwrap_or(known.confidence),
        evidence_count: known.evidence_count.max(from.len() as u64),
        source_episode_ids: from,
        entity: args.about.entity.unwrap_or(known.entity),
        domain,
        tags: if args.about.tags.is_empty() { known.tags } else { args.about.tags },
        classification,
        ..known
    };
    memory.store_insight(insight.clone())?;
    stored(app, &insight);
    let embedding = new.end(app);
    tell(app, &insight, embedding)
}

/// What the agent read in these episodes of its own, and their domain when they agree.
fn sources(memory: &AgentMemory, episodes: &[String]) -> Result<(Secrets, Option<String>)> {
    let mut secrets = Secrets::default();
    let mut domains: Vec<String> = Vec::new();
    for id in episodes {
        let hint = format!("kapsa episode list --agent {}", memory.agent_id());
        let message = format!("{} has no episode {id}", memory.agent_id());
        let missing =
            || CliError::user("episode_not_found", message).hint(hint).field("id", id.as_str());
        let episode = memory.episode(id)?.ok_or_else(missing)?;
        secrets.add(&episode.domain, episode.classification);
        domains.push(episode.domain);
    }
    domains.dedup();
    Ok((secrets, if domains.len() == 1 { domains.pop() } else { None }))
}

/// A secret of one domain cannot become an insight of another, where others may know it.
fn other_domain(secrets: &Secrets, domain: &str) -> CliError {
    let named =
        |domain: &str| if domain.is_empty() { "no domain".to_string() } else { domain.to_string() };
    let of: Vec<String> = secrets.domains().map(named).collect();
    let hint = match secrets.domains().collect::<Vec<_>>()[..] {
        [only] => format!(
            "--domain {only:?}, or --classification restricted to keep it for the agent alone"
        ),
        _ => "--classification restricted keeps it for the agent alone".to_string(),
    };
    let message = format!(
        "its episodes contain secrets of {}: in {} only the agent may read it",
        of.join(" and "),
        named(domain)
    );
    CliError::usage(message).hint(hint)
}

fn list(app: &mut App, args: InsightList) -> Result<()> {
    let agent = agent(app, &args.owner)?;
    let query = InsightQuery {
        entity: args.within.entity,
        domain: args.within.domain,
        tags: args.within.tags,
        text: args.text.join(" "),
        confidence_min: args.min_confidence,
        retired: args.all,
        limit: args.limit.saturating_add(1),
        ..InsightQuery::of(&agent)
    };
    let found = memory(app, &agent, args.as_of.as_deref())?.recall_insights(&query)?;
    let more = found.len() > args.limit;
    let found = &found[..found.len().min(args.limit)];
    if app.out.is_json() {
        return app.out.json(&InsightsOut::of(&agent, found, more));
    }
    found.iter().try_for_each(|insight| line(app, insight))?;
    if found.is_empty() {
        app.out.note(&format!("no insights of {agent}"));
    } else if more {
        app.out.note("there are more; show them with --limit N");
    }
    Ok(())
}

fn reflect(app: &mut App, agent: &str) -> Result<()> {
    let new = New::begin(app, None)?;
    let learned =
        block_on(memory(app, agent, None)?.reflect(None, "")).map_err(|error| match error {
            ReflectError::Store(error) => CliError::from(error),
            ReflectError::Model(error) => error.into(),
        })?;
    learned_done(app, &learned);
    new.end(app);
    if app.out.is_json() {
        return app.out.json(&ReflectedOut::of(agent, &learned));
    }
    tell_learned(
        app,
        &learned,
        "nothing new: an insight needs the same result of the same action three times",
    )
}

/// Notes that what was learned is stored.
pub(super) fn learned_done(app: &mut App, learned: &Reflection) {
    let count = (learned.new.len() + learned.strengthened.len()) as u64;
    let what = format!("stored {}", counted(count, "insight"));
    did(app, (count > 0).then(|| Done::new(what)));
}

/// Notes that facts were published.
pub(super) fn published_done(app: &mut App, published: &[Fact]) {
    let what = format!("published {}", counted(published.len() as u64, "fact"));
    did(app, (!published.is_empty()).then(|| Done::new(what)));
}

/// Tells people what was learned, or that it was nothing.
pub(super) fn tell_learned(app: &mut App, learned: &Reflection, nothing: &str) -> Result<()> {
    for (what, all) in [("learned", &learned.new), ("seen again", &learned.strengthened)] {
        for insight in all {
            app.out.text(&format!("{what}: "))?;
            line(app, insight)?;
        }
    }
    if learned.new.is_empty() && learned.strengthened.is_empty() {
        app.out.note(nothing);
    }
    Ok(())
}

fn publish(app: &mut App, args: Publish) -> Result<()> {
    let agent = writing_agent(app, &args.owner)?;
    let memory = memory(app, &agent, None)?;
    let query = InsightQuery {
        confidence_min: args.min_confidence,
        limit: usize::MAX,
        ..memory.insight_query()
    };
    let chosen = if args.ids.is_empty() {
        memory.recall_insights(&query)?
    } else {
        let one = |id: &String| memory.insight(id)?.ok_or_else(|| missing(&agent, id));
        args.ids.iter().map(one).collect::<Result<Vec<Insight>>>()?
    };
    let new = New::begin(app, None)?;
    let published = memory.publish(&chosen, args.classification.map(Level::into))?;
    published_done(app, &published);
    new.end(app);
    tell_published(app, &published)
}

/// Tells which facts the team knows now.
pub(super) fn tell_published(app: &mut App, published: &[Fact]) -> Result<()> {
    if app.out.is_json() {
        return app.out.json(&FactsOut::of(published, false));
    }
    for fact in published {
        app.out.strong(&escape::line(&fact.id))?;
        app.out.line(&format!("  {}  [{}]", escape::line(&fact.content), fact.classification))?;
    }
    if published.is_empty() {
        app.out.note("nothing to publish: no insight reaches the minimum confidence");
    }
    Ok(())
}

/// `ins_1f0c  A VP as sponsor predicts a deal  [0.6, seen 3 times; revenue]`.
fn line(app: &mut App, insight: &Insight) -> Result<()> {
    app.out.strong(&escape::line(&insight.id))?;
    app.out.text(&format!("  {}", escape::line(&insight.content)))?;
    let mut parts = vec![format!(
        "{:.1}, seen {}",
        insight.confidence,
        counted(insight.evidence_count, "time")
    )];
    parts.extend(
        [&insight.entity, &insight.domain].into_iter().filter(|name| !name.is_empty()).cloned(),
    );
    parts.extend(
        (insight.classification != Classification::Internal)
            .then(|| insight.classification.to_string()),
    );
    parts.extend(
        (insight.status != InsightStatus::Active).then(|| insight.status.name().to_string()),
    );
    app.out.faint(&format!("  [{}]", escape::line(&parts.join("; "))))?;
    app.out.line("")
}
