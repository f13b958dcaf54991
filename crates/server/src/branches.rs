//! `memory_branch`: lines of memory to try something on, and what would come of them. Merging is
//! for a person, or for a program that reviews (`kapsa merge`).

use kapsa_memory::branch::{self, MAIN};
use kapsa_memory::merge::{self, MergeOutcome, MergeRequest};
use kapsa_memory::{Branch, Record, history};

use crate::fit;
use crate::host::Problem;
use crate::memory::{Memory, Place, Progress, Session};
use crate::wire::{BranchAction, BranchIn, BranchLine, BranchOut, ChangeOut};
use crate::{searching, shown};

/// Why principals are refused, as access errors word it.
const BRANCHES: &str = "work with branches";

/// `memory_branch`.
pub(crate) fn branch(
    memory: &Memory,
    session: &Session,
    args: BranchIn,
    progress: &dyn Progress,
) -> Result<BranchOut, Problem> {
    memory.refuse_principals(BRANCHES)?;
    let place = memory.place(session, None)?;
    let name = || {
        let name = args.name.clone().filter(|name| !name.trim().is_empty());
        name.ok_or_else(|| Problem::new("invalid_argument", "name: which branch is meant?"))
    };
    match args.action {
        BranchAction::List => branches(memory, &place),
        BranchAction::Create => create(memory, &place, &name()?, args.from.as_deref(), progress),
        BranchAction::Diff => diff(memory, &place, &name()?, args.from.as_deref()),
        BranchAction::MergePreview => preview(memory, &place, &name()?, args.from.as_deref()),
    }
}

fn branches(memory: &Memory, place: &Place) -> Result<BranchOut, Problem> {
    let reader = memory.owner_reader(place, BRANCHES)?;
    let all = branch::list(&reader).map_err(|error| memory.problem(error))?;
    let mut branches: Vec<BranchLine> = all.iter().map(line).collect();
    let left_out = fit::keep(&mut branches);
    Ok(BranchOut { branches, left_out: left_out as u64, ..answer() })
}

fn create(
    memory: &Memory,
    place: &Place,
    name: &str,
    from: Option<&str>,
    progress: &dyn Progress,
) -> Result<BranchOut, Problem> {
    let parent = from.unwrap_or(place.branch()).to_string();
    let whole = Place { path: place.path.clone(), branch: None };
    let made = memory.write(
        &whole,
        progress,
        |_| Ok(()),
        |writer, ()| match writer {
            kapsa_memory::AnyWriter::Owner(writer) => {
                branch::create(writer, name, &parent, None).map_err(|error| memory.problem(error))
            }
            kapsa_memory::AnyWriter::Principal(_) => {
                Err(Problem::new("access_denied", "only the owner makes branches"))
            }
        },
    )?;
    Ok(BranchOut { branches: vec![line(&made)], ..answer() })
}

/// The branch that another one is compared with: the one named, else its parent.
fn other(
    memory: &Memory,
    place: &Place,
    name: &str,
    from: Option<&str>,
) -> Result<String, Problem> {
    if let Some(from) = from {
        return Ok(from.to_string());
    }
    let reader = memory.owner_reader(place, BRANCHES)?;
    let branch = branch::named(&reader, name).map_err(|error| memory.problem(error))?;
    Ok(branch.parent.unwrap_or_else(|| MAIN.to_string()))
}

fn diff(
    memory: &Memory,
    place: &Place,
    name: &str,
    from: Option<&str>,
) -> Result<BranchOut, Problem> {
    let other = other(memory, place, name, from)?;
    let reader = memory.owner_reader(place, BRANCHES)?;
    let on = |branch: &str| reader.on(branch, None).map_err(|error| memory.problem(error));
    let begin = |record: &Record| searching::beginning(memory, record);
    let differences = history::differences(&on(&other)?, &on(name)?);
    let mut changes: Vec<ChangeOut> = differences
        .map_err(|error| memory.problem(error))?
        .iter()
        .map(|difference| ChangeOut {
            uri: shown::line(difference.uri.short()),
            change: match (&difference.a, &difference.b) {
                (None, _) => "added",
                (_, None) => "forgotten",
                _ => "changed",
            }
            .to_string(),
            ours: difference.b.as_ref().map(begin),
            other: difference.a.as_ref().map(begin),
        })
        .collect();
    let left_out = fit::keep(&mut changes);
    Ok(BranchOut { changes, left_out: left_out as u64, ..answer() })
}

fn preview(
    memory: &Memory,
    place: &Place,
    name: &str,
    from: Option<&str>,
) -> Result<BranchOut, Problem> {
    let to = other(memory, place, name, from)?;
    let reader = memory.owner_reader(place, BRANCHES)?;
    let request = MergeRequest { from: name.to_string(), to, ..MergeRequest::default() };
    let plan = merge::plan(&reader, &request).map_err(|error| memory.problem(error))?;
    let begin = |record: &Record| searching::beginning(memory, record);
    let conflicts = plan.conflicts().count() as u64;
    let mut changes: Vec<ChangeOut> = plan
        .items
        .iter()
        .map(|item| ChangeOut {
            uri: shown::line(item.uri.short()),
            change: match item.outcome {
                MergeOutcome::Added => "added",
                MergeOutcome::Changed => "changed",
                MergeOutcome::Forgotten => "forgotten",
                MergeOutcome::Conflict => "conflict",
            }
            .to_string(),
            ours: Some(begin(&item.theirs)),
            other: item.ours.as_ref().map(begin),
        })
        .collect();
    let left_out = fit::keep(&mut changes);
    Ok(BranchOut { changes, conflicts, left_out: left_out as u64, ..answer() })
}

fn answer() -> BranchOut {
    BranchOut { notice: shown::NOTICE, ..BranchOut::default() }
}

fn line(branch: &Branch) -> BranchLine {
    BranchLine {
        name: shown::line(&branch.name),
        parent: branch.parent.as_deref().map(shown::line),
        fork: branch.fork,
        archived: branch.archived,
    }
}
