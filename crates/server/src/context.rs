//! `memory_context`: what an agent should know before its next step.

use std::sync::Arc;

use kapsa_agents::{CONTEXT_TOKENS_DEFAULT, Context, ContextOptions, Scope, WorkspaceMemory};

use crate::fit;
use crate::host::Problem;
use crate::memory::{Memory, Session};
use crate::searching::within;
use crate::wire::{ContextIn, ContextLineOut, ContextOut};
use crate::{searching, shown};

/// Tokens that a context may be asked for.
const BUDGET_MIN: usize = 100;
const BUDGET_MAX: usize = 15_000;

/// `memory_context`.
pub(crate) fn context(
    memory: &Memory,
    session: &Session,
    args: ContextIn,
) -> Result<ContextOut, Problem> {
    let budget = within("budget", args.budget, CONTEXT_TOKENS_DEFAULT, BUDGET_MIN..=BUDGET_MAX)?;
    let place = memory.place(session, args.branch.as_deref())?;
    // A capsule that is not there is not an empty one.
    memory.reader(&place, None)?;
    let location = memory.location(&place)?;
    let entity = args.entity.unwrap_or_default();
    let here = if args.all_projects || !entity.is_empty() {
        None
    } else {
        memory.here(session, &place)?
    };
    let scope = Scope {
        entity,
        sessions_about: here.clone(),
        domain: args.domain.unwrap_or_default(),
        tags: Vec::new(),
        query: args.query.unwrap_or_default(),
    };
    let options = ContextOptions { tokens_max: budget, ..ContextOptions::default() };
    let named = args.agent.filter(|agent| !agent.trim().is_empty());
    let agent = named.or_else(|| memory.host().principal().map(str::to_string));
    let host = Arc::clone(memory.shared_host());
    let clock = move || host.now();
    let context = match agent {
        Some(agent) => {
            memory.host().agent(&place.path, &location, &agent)?.context(&scope, &options)
        }
        None => WorkspaceMemory::in_capsule(location, clock).context(None, &scope, &options),
    };
    let context = context.map_err(|error| memory.problem(error))?;
    Ok(answer(&context, here.as_deref()))
}

fn answer(context: &Context, here: Option<&[String]>) -> ContextOut {
    let mut lines: Vec<ContextLineOut> = context
        .lines
        .iter()
        .map(|line| ContextLineOut {
            section: line.section.heading().to_string(),
            uri: shown::line(line.uri.short()),
            text: shown::line(&line.text),
            contested: line.contested || line.pending,
            entity: shown::line(&line.entity),
            trust: line.trust.map(|trust| trust.name().to_string()),
            from: shown::line(&line.source),
        })
        .collect();
    let left_out = fit::keep(&mut lines) + context.left_out;
    let narrowed_to = searching::shown_names(here);
    ContextOut { notice: shown::NOTICE, lines, left_out: left_out as u64, narrowed_to }
}
