//! `merge`: by rule, by a review file, or by asking about each conflict on the terminal.
//!
//! A review file is a JSON object that `merge --plan` writes and `merge --apply` reads:
//! `{"kapsa_merge_plan":1,"from","to","mode","by"?,"note"?,"items":[{"uri","outcome","decision","
//! text"?,"note"?,"theirs","ours"?,"base"?}]}`. `decision` is one of `take` (not for conflicts),
//! `ours`, `theirs`, `contested`, `edited` (with `text`), `skip`, or null while it is open.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, IsTerminal};
use std::path::Path;

use kapsa_memory::branch::MAIN;
use kapsa_memory::merge::{MergeItem, MergeOutcome};
use kapsa_memory::{
    Choice, MergePlan, MergeRequest, MergeResult, Merged, Mode, Record, Ruling, Selector, Uri,
    branch, merge,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::app::{App, did};
use crate::args::{Merge, MergeMode};
use crate::commands::embed::New;
use crate::error::{CliError, Done, Result};
use crate::escape;
use crate::out_file::OutFile;
use crate::output::ErrorStyle;
use crate::render::counted;
use crate::wire::merge::{MergeOut, PlanOut, choice_name, outcome_name};
use crate::{conflict, editor};

/// Largest review file that is read.
const PLAN_BYTES_MAX: u64 = 256 << 20;
/// Lines of a text that are shown while asking.
const SHOWN_LINES_MAX: usize = 12;

/// `kapsa merge`.
pub(crate) fn run(app: &mut App, args: &Merge) -> Result<()> {
    let path = app.capsule()?;
    let mut request = match &args.apply {
        Some(file) => from_file(file)?,
        None => from_flags(app, args)?,
    };
    if let Some(by) = &args.by {
        request.by.clone_from(by);
    }
    if let Some(note) = &args.note {
        request.note.clone_from(note);
    }
    if let Some(spec) = &args.spec {
        request.spec.clone_from(spec);
        app.spec = Some(spec.clone());
    }
    if args.dry_run || args.plan.is_some() {
        let plan = merge::plan(&app.whole_reader()?, &request)?;
        return match &args.plan {
            Some(file) => write_plan(app, &plan, &request, file),
            None => show(app, &plan),
        };
    }
    loop {
        let new = New::begin(app, None)?;
        let result = merge::merge(&mut app.keeper(&path)?, &request)?;
        let plan = match result {
            MergeResult::Done(merged) => {
                did(app, done(&merged));
                new.with_left().end(app);
                if app.out.is_json() {
                    return app.out.json(&MergeOut::done(&merged));
                }
                let what = format!(
                    "merged {} of {} into {}",
                    counted(merged.written, "record"),
                    merged.plan.from,
                    merged.plan.to
                );
                return match &merged.checkpoint {
                    Some(checkpoint) => app.out.line(&format!("{what}, checkpoint {checkpoint}")),
                    None if merged.written == 0 => app.out.line("up to date"),
                    None => app.out.line(&what),
                };
            }
            MergeResult::Conflicts(plan) => plan,
        };
        let can_ask = !app.out.is_json() && io::stdin().is_terminal() && io::stderr().is_terminal();
        if !can_ask || !review(app, &plan, &mut request)? {
            return refuse(app, &plan);
        }
    }
}

fn done(merged: &Merged) -> Done {
    let (from, to) = (&merged.plan.from, &merged.plan.to);
    let what = format!("{from} was merged into {to} as #{}", merged.sequence);
    Done::new(what).field("sequence", merged.sequence).field("branch", to.as_str())
}

fn from_flags(app: &App, args: &Merge) -> Result<MergeRequest> {
    let from = args.branch_to_merge.as_deref().or(args.from.as_deref()).unwrap_or_default();
    let from = branch::meant(&app.whole_reader()?, from)?;
    let to = match &args.to {
        Some(to) => to.clone(),
        None => parent_of(app, &from)?,
    };
    let rules = [
        (args.ours, Choice::Ours),
        (args.theirs, Choice::Theirs),
        (args.contested, Choice::Contested),
    ];
    Ok(MergeRequest {
        from,
        to,
        mode: match args.mode {
            MergeMode::Curated => Mode::Curated,
            MergeMode::Full => Mode::Full,
        },
        include: args.include.iter().map(|text| Selector::parse(text)).collect(),
        exclude: args.exclude.iter().map(|text| Selector::parse(text)).collect(),
        rule: rules.into_iter().find(|(asked, _)| *asked).map(|(_, choice)| choice),
        ..MergeRequest::default()
    })
}

fn parent_of(app: &App, from: &str) -> Result<String> {
    let reader = app.whole_reader()?;
    let branch = branch::named(&reader, from)?;
    if let Some(remote) = &branch.remote {
        // The branch of the same name, where there is one here.
        let own = branch.name.strip_prefix(&format!("{remote}/")).unwrap_or_default();
        let is_here = branch::named(&reader, own).is_ok_and(|own| own.remote.is_none());
        return Ok(if is_here { own.to_string() } else { MAIN.to_string() });
    }
    branch.parent.ok_or_else(|| {
        CliError::user("invalid_operation", "main has no parent to merge into")
            .hint("name the target with --to BRANCH")
    })
}

/// Shows the conflicts and fails.
fn refuse(app: &mut App, plan: &MergePlan) -> Result<()> {
    show(app, plan)?;
    app.out.flush()?;
    let count = plan.conflicts().count() as u64;
    let message = format!("nothing was merged: {} to resolve", counted(count, "conflict"));
    let hint = format!(
        "--ours, --theirs, --contested, or kapsa merge {} --plan FILE, then --apply FILE",
        plan.from
    );
    Err(CliError::user("merge_conflicts", message).hint(hint).field("conflict_count", count))
}

fn show(app: &mut App, plan: &MergePlan) -> Result<()> {
    if app.out.is_json() {
        return app.out.json(&MergeOut::planned(plan));
    }
    for item in &plan.items {
        let decided = item
            .choice
            .as_ref()
            .map_or_else(String::new, |choice| format!(" → {}", choice_name(choice)));
        app.out.text(&format!("{:<10} ", outcome_name(item.outcome)))?;
        app.out.strong(&escape::line(item.uri.short()))?;
        app.out.line(&decided)?;
        if item.outcome == MergeOutcome::Conflict {
            sides(app, item)?;
        }
    }
    let rest = format!("{} left out, {} with nothing new", plan.left_out, plan.same);
    app.out.line(&format!(
        "{} to merge from {} into {}; {rest}",
        counted(plan.items.len() as u64, "record"),
        plan.from,
        plan.to
    ))
}

fn sides(app: &mut App, item: &MergeItem) -> Result<()> {
    for (name, side) in
        [("base", &item.base), ("ours", &item.ours), ("theirs", &Some(item.theirs.clone()))]
    {
        let Some(record) = side else { continue };
        let by =
            if record.agent.is_empty() { String::new() } else { format!(" by {}", record.agent) };
        app.out.faint(&format!("  {name:<7}#{}{}", record.sequence, escape::line(&by)))?;
        app.out.line("")?;
        for line in shown(record).lines().take(SHOWN_LINES_MAX) {
            app.out.line(&format!("    {}", escape::line(line)))?;
        }
    }
    Ok(())
}

fn shown(record: &Record) -> &str {
    if record.tombstone { "(forgotten)" } else { &record.text }
}

/// Asks about each conflict. False when the review was given up.
fn review(app: &mut App, plan: &MergePlan, request: &mut MergeRequest) -> Result<bool> {
    let total = plan.conflicts().count();
    for (at, item) in plan.conflicts().enumerate() {
        app.out.line(&format!(
            "\nconflict {} of {total}: {}",
            at + 1,
            escape::line(item.uri.short())
        ))?;
        sides(app, item)?;
        app.out.flush()?;
        let Some(choice) = ask(item)? else { return Ok(false) };
        let note = if matches!(choice, Choice::Skip) {
            String::new()
        } else {
            answer("why (may be empty): ")?.unwrap_or_default()
        };
        request.rulings.insert(item.uri.clone(), Ruling { choice, note, seen: Some(seen(item)) });
    }
    Ok(true)
}

fn seen(item: &MergeItem) -> (Option<u64>, u64) {
    (item.ours.as_ref().map(|ours| ours.sequence), item.theirs.sequence)
}

fn ask(item: &MergeItem) -> Result<Option<Choice>> {
    loop {
        let Some(typed) = answer("[o]urs, [t]heirs, [c]ontested, [e]dit, [s]kip, [q]uit: ")? else {
            return Ok(None);
        };
        return Ok(Some(match typed.as_str() {
            "o" | "ours" => Choice::Ours,
            "t" | "theirs" => Choice::Theirs,
            "c" | "contested" => Choice::Contested,
            "s" | "skip" => Choice::Skip,
            "q" | "quit" => return Ok(None),
            "e" | "edit" => match edit(item)? {
                Some(text) => Choice::Edited(text),
                None => continue,
            },
            _ => continue,
        }));
    }
}

/// Opens both texts in the editor. None when it gave no text that could be taken; the reason is
/// printed.
fn edit(item: &MergeItem) -> Result<Option<String>> {
    let ours = item.ours.as_ref().map_or("", |ours| &ours.text);
    let both = conflict::marked(ours, &item.theirs.text);
    let text = match editor::edit(&both) {
        Ok(text) => text,
        Err(error) => {
            crate::output::error(&error, ErrorStyle::People);
            return Ok(None);
        }
    };
    let refused = if text.trim().is_empty() {
        "the text is empty"
    } else if conflict::has_marks(&text) {
        "conflict marks are left in the text"
    } else {
        return Ok(Some(text));
    };
    crate::output::usage(&format!("{refused}\n"));
    Ok(None)
}

/// One line from the terminal; none at its end.
fn answer(question: &str) -> Result<Option<String>> {
    crate::output::prompt(question);
    let mut line = String::new();
    let read = io::stdin()
        .read_line(&mut line)
        .map_err(|error| CliError::io("read the terminal", &error))?;
    Ok((read > 0).then(|| line.trim().to_string()))
}

fn write_plan(app: &mut App, plan: &MergePlan, request: &MergeRequest, file: &Path) -> Result<()> {
    let side = |record: &Record| {
        let mut side = Map::new();
        side.insert("sequence".to_string(), record.sequence.into());
        if record.tombstone {
            side.insert("tombstone".to_string(), true.into());
        } else {
            side.insert("text".to_string(), record.text.clone().into());
            side.insert("agent".to_string(), record.agent.clone().into());
            side.insert("title".to_string(), record.title.clone().into());
        }
        Value::Object(side)
    };
    let item = |item: &MergeItem| {
        let decision =
            if item.outcome == MergeOutcome::Conflict { Value::Null } else { "take".into() };
        json!({ "uri": item.uri.as_str(), "outcome": outcome_name(item.outcome), "decision": decision, "note": "",
            "theirs": side(&item.theirs), "ours": item.ours.as_ref().map(side), "base": item.base.as_ref().map(side) })
    };
    let whole = json!({ "kapsa_merge_plan": 1, "from": plan.from, "to": plan.to, "mode": plan.mode.name(), "by": request.by,
        "note": request.note, "choices": ["take", "ours", "theirs", "contested", "edited", "skip"],
        "items": plan.items.iter().map(item).collect::<Vec<_>>() });
    let text = serde_json::to_string_pretty(&whole)
        .map_err(|error| CliError::io("write the plan", &error.into()))?;
    OutFile::at(file, &app.capsule()?)?.write(format!("{text}\n").as_bytes())?;
    let conflicts = plan.conflicts().count();
    if app.out.is_json() {
        let (plan_path, count) = (file.display().to_string(), plan.items.len());
        return app.out.json(&PlanOut { plan_path, count, conflict_count: conflicts });
    }
    let apply =
        format!("write your decisions into the file, then kapsa merge --apply {}", file.display());
    app.out.line(&format!(
        "{} and {}; {apply}",
        counted(plan.items.len() as u64, "record"),
        counted(conflicts as u64, "conflict")
    ))
}

#[derive(Deserialize)]
struct PlanIn {
    kapsa_merge_plan: u64,
    from: String,
    to: String,
    mode: String,
    #[serde(default)]
    by: String,
    #[serde(default)]
    note: String,
    items: Vec<ItemIn>,
}

#[derive(Deserialize)]
struct ItemIn {
    uri: String,
    decision: Option<String>,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    note: String,
    theirs: SideIn,
    ours: Option<SideIn>,
}

#[derive(Deserialize)]
struct SideIn {
    sequence: u64,
}

/// The merge that a review file decides. What it does not list is left alone.
fn from_file(file: &Path) -> Result<MergeRequest> {
    let odd =
        |message: String| CliError::user("invalid_plan", format!("{}: {message}", file.display()));
    let size = fs::metadata(file)
        .map_err(|error| CliError::io(&format!("read {}", file.display()), &error))?
        .len();
    if size > PLAN_BYTES_MAX {
        return Err(odd("larger than 256 MiB".to_string()));
    }
    let bytes = fs::read(file)
        .map_err(|error| CliError::io(&format!("read {}", file.display()), &error))?;
    let plan: PlanIn = serde_json::from_slice(&bytes)
        .map_err(|error| odd(format!("not a merge plan: {error}")))?;
    if plan.kapsa_merge_plan != 1 {
        return Err(odd(format!("version {} of merge plans is not known", plan.kapsa_merge_plan)));
    }
    let mode = match plan.mode.as_str() {
        "curated" => Mode::Curated,
        "full" => Mode::Full,
        other => return Err(odd(format!("`{other}` is not a mode: curated or full"))),
    };
    let mut rulings = BTreeMap::new();
    for item in plan.items {
        let uri = Uri::parse(&item.uri)?;
        let choice = match (item.decision.as_deref(), item.text) {
            (Some("ours"), _) => Choice::Ours,
            (Some("take" | "theirs"), _) => Choice::Theirs,
            (Some("contested"), _) => Choice::Contested,
            (Some("skip"), _) => Choice::Skip,
            (Some("edited"), Some(text)) if !text.is_empty() => Choice::Edited(text),
            (Some("edited"), _) => {
                return Err(odd(format!("{} is edited, but its `text` is missing", item.uri)));
            }
            (Some(other), _) => {
                return Err(odd(format!("`{other}` is not a decision about {}", item.uri)));
            }
            (None, _) => continue,
        };
        let seen = Some((item.ours.map(|side| side.sequence), item.theirs.sequence));
        rulings.insert(uri, Ruling { choice, note: item.note, seen });
    }
    let only_listed = true;
    Ok(MergeRequest {
        from: plan.from,
        to: plan.to,
        mode,
        rulings,
        only_listed,
        by: plan.by,
        note: plan.note,
        ..MergeRequest::default()
    })
}
