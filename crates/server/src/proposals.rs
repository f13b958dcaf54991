//! `memory_propose`: what an agent learned in its session, decided as what is found in traces is.

use kapsa_extract::MemoryType;
use kapsa_memory::PROPOSED;
use kapsa_traces::{Action, Proposal, Proposer};

use crate::host::Problem;
use crate::memory::{Memory, Progress, Session, Step};
use crate::shown;
use crate::wire::{CandidateIn, ProposeIn, ProposeOut, ProposedOut};

/// Most candidates of a call.
const CANDIDATES_MAX: usize = 50;
/// How sure a candidate is that says nothing of it.
const CONFIDENCE_DEFAULT: f64 = 0.7;
/// Who decides what the memory does not.
const PENDING: &str = "ask the user to decide what is pending: `kapsa fact list --pending` shows it, \
     `kapsa fact resolve ID` decides; `kapsa review list` has what waits for review";

/// `memory_propose`.
pub(crate) fn propose(
    memory: &Memory,
    session: &Session,
    args: ProposeIn,
    progress: &dyn Progress,
) -> Result<ProposeOut, Problem> {
    if args.candidates.is_empty() || args.candidates.len() > CANDIDATES_MAX {
        let count = args.candidates.len();
        let message = format!("candidates: {count} were given, not 1 to {CANDIDATES_MAX}");
        return Err(Problem::new("invalid_argument", message));
    }
    let proposals = args.candidates.iter().enumerate().map(|(at, one)| proposal(at, one));
    let proposals: Vec<Proposal> = proposals.collect::<Result<_, _>>()?;
    let place = memory.place(session, args.branch.as_deref())?;
    memory.reader(&place, None)?;
    let location = memory.location(&place)?;
    let repository = match args.repository {
        Some(named) => named,
        None => memory.workspace_of(session, &place)?,
    };
    // A session without a name is one of its repository: what another one says is another word.
    let named = args.session.as_deref().unwrap_or(&repository).trim();
    let proposer = Proposer {
        session: match named {
            "" => PROPOSED.to_string(),
            named => format!("{PROPOSED}/{named}"),
        },
        repository,
        at: memory.host().now(),
    };
    let _turn = memory.turn(progress)?;
    let total = proposals.len();
    let mut decided = Vec::new();
    let now = {
        let host = std::sync::Arc::clone(memory.shared_host());
        move || host.now()
    };
    // One by one, so that a call that is given up ends where it is.
    for proposal in &proposals {
        if progress.is_cancelled() {
            break;
        }
        let one = kapsa_traces::propose(
            &location,
            now.clone(),
            std::slice::from_ref(proposal),
            &proposer,
        );
        let one = one.map_err(|error| memory.of_traces(error))?;
        decided.extend(one.into_iter().map(|one| {
            ProposedOut {
                title: shown::line(&one.title),
                action: match (one.action, one.is_pending) {
                    (Action::NoOp, true) => "pending",
                    (action, _) => action.name(),
                }
                .to_string(),
                uri: format!("fact/{}", shown::line(&one.id)),
                other: one.other.map(|other| format!("fact/{}", shown::line(&other))),
                reason: shown::line(&one.reason),
                pending: one.is_pending,
            }
        }));
        progress.step(Step {
            done: decided.len() as f64,
            total: Some(total as f64),
            message: "comparing with what is known".to_string(),
        });
    }
    let left_out = (total - decided.len()) as u64;
    let mut notes = Vec::new();
    if decided.iter().any(|one| one.pending) {
        notes.push(PENDING.to_string());
    }
    Ok(ProposeOut { decided, left_out, notes })
}

fn proposal(at: usize, one: &CandidateIn) -> Result<Proposal, Problem> {
    let wrong =
        |what: String| Err(Problem::new("invalid_argument", format!("candidates[{at}]: {what}")));
    let Some(kind) = MemoryType::named(&one.kind) else {
        let names: Vec<&str> = MemoryType::ALL.iter().map(|kind| kind.name()).collect();
        return wrong(format!("type is {:?}, not one of {}", one.kind, names.join(", ")));
    };
    if one.title.trim().is_empty() {
        return wrong("title is empty".to_string());
    }
    let confidence = one.confidence.unwrap_or(CONFIDENCE_DEFAULT);
    if !(0.0..=1.0).contains(&confidence) {
        return wrong(format!("confidence is {confidence}, not 0 to 1"));
    }
    Ok(Proposal {
        kind,
        title: one.title.clone(),
        body: one.body.clone().unwrap_or_default(),
        confidence,
    })
}
