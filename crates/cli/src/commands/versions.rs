//! `branch`, `checkpoint`, `checkpoints`, `diff`, `log`, `blame`, `revert`, `cherry-pick`, `alias`
//! and `resolve-uri`: the history of a memory.

use std::time::Duration;

use kapsa_memory::branch::MAIN;
use kapsa_memory::{
    AsOf, Blame, Branch, Checkpoint, Difference, Error, NewCheckpoint, Reader, Record, Undo,
    branch, checkpoint, history, merge,
};
use similar::{ChangeTag, TextDiff};

use crate::app::{self, App, did};
use crate::args::{
    self, Alias, BranchArgs, BranchVerb, CherryPick, Diff, Log, OneUri, ResolveUri, Revert,
};
use crate::commands::bytes::Bytes;
use crate::commands::records;
use crate::error::{CliError, Done, Result};
use crate::moment::readable;
use crate::out_file::{OutFile, is_standard_output};
use crate::output::{Look, Piece};
use crate::render::{self, counted, headline};
use crate::typed_time;
use crate::wire::versions::{
    ArchivedBranch, BlameOut, BranchesOut, CheckpointsOut, DiffOut, LogOut, MadeBranch,
    MadeCheckpoint, Resolved, RevertOut, SwitchedBranch, stands_for_none,
};
use crate::{escape, locate, log_graph, wire};

/// Columns before the rest of a broken line of the log.
const LOG_INDENT: usize = 4;
/// Equal lines shown around changed ones.
const CONTEXT_LINES: usize = 3;
/// Columns before the text of a changed line.
const DIFF_INDENT: usize = 5;
/// Longest time to look for the smallest difference of two texts; then a larger one is taken.
const DIFF_TIME_MAX: Duration = Duration::from_secs(1);
/// Fields that differ between any two revisions.
const VERSION_FIELDS: [&str; 4] = ["committed", "created", "origin", "contested"];

/// Bytes of a resolved URI that are shown to programs.
const PREVIEW_BYTES: usize = 200;

/// `kapsa branch`.
pub(crate) fn branch(app: &mut App, args: BranchArgs) -> Result<()> {
    match args.verb.unwrap_or(BranchVerb::List { all: false }) {
        BranchVerb::List { all } => list_branches(app, all),
        BranchVerb::Create { name, parent, as_of, switch } => {
            create(app, &name, parent, as_of.as_deref(), switch)
        }
        BranchVerb::Archive { name } => archive(app, &name),
        BranchVerb::Switch { name } => switch(app, &name),
    }
}

fn list_branches(app: &mut App, all: bool) -> Result<()> {
    let path = app.capsule()?;
    let current = app.branch(&path)?.unwrap_or_else(|| MAIN.to_string());
    let mut branches = branch::list(&Reader::open(&path)?)?;
    branches.retain(|branch| all || !branch.archived);
    if app.out.is_json() {
        return app.out.json(&BranchesOut::of(&current, &branches));
    }
    branches.iter().try_for_each(|branch| branch_line(app, branch, &current))
}

fn branch_line(app: &mut App, branch: &Branch, current: &str) -> Result<()> {
    app.out.text(if branch.name == current { "* " } else { "  " })?;
    app.out.strong(&escape::line(&branch.name))?;
    let from = branch.parent.as_deref().map(|parent| {
        format!(
            "  from {} at #{}, {}",
            escape::line(parent),
            branch.fork,
            readable(branch.created_at)
        )
    });
    let archived = if branch.archived { "  (archived)" } else { "" };
    let from = match &branch.remote {
        Some(remote) => Some(format!("  follows {}", escape::line(remote))),
        None => from,
    };
    app.out.line(&format!("{}{archived}", from.unwrap_or_default()))
}

fn create(
    app: &mut App,
    name: &str,
    parent: Option<String>,
    as_of: Option<&str>,
    switch: bool,
) -> Result<()> {
    let path = app.capsule()?;
    let parent = match parent {
        Some(parent) => parent,
        None => app.branch(&path)?.unwrap_or_else(|| MAIN.to_string()),
    };
    let mut writer = app.keeper(&path)?;
    let made = branch::create(&mut writer, name, &parent, as_of.map(typed_time::as_of).as_ref())?;
    drop(writer);
    let what = format!("branch {} was created", made.name);
    did(app, Done::new(what).field("branch", made.name.as_str()));
    if switch {
        locate::set_current_branch(&path, &made.name)?;
    }
    if app.out.is_json() {
        return app.out.json(&MadeBranch::of(&made, switch));
    }
    let now = if switch { ", and switched to it" } else { "" };
    app.out.line(&format!("created {} from {parent} at #{}{now}", made.name, made.fork))
}

fn archive(app: &mut App, name: &str) -> Result<()> {
    let path = app.capsule()?;
    branch::archive(&mut app.keeper(&path)?, name)?;
    did(app, Done::new(format!("branch {name} was archived")).field("branch", name));
    if app.out.is_json() {
        return app.out.json(&ArchivedBranch { branch: name, archived: true });
    }
    app.out.line(&format!("archived {name}"))
}

fn switch(app: &mut App, name: &str) -> Result<()> {
    let path = app.capsule()?;
    let branch = Reader::open(&path)?.on(name, None)?.branch()?;
    locate::set_current_branch(&path, &branch)?;
    did(app, Done::new(format!("switched to {branch}")).field("branch", branch.as_str()));
    if app.out.is_json() {
        return app.out.json(&SwitchedBranch { branch: &branch, switched: true });
    }
    app.out.line(&format!("switched to {branch}"))
}

/// `kapsa checkpoint`.
pub(crate) fn checkpoint(app: &mut App, args: args::Checkpoint) -> Result<()> {
    let path = app.capsule()?;
    app.spec.clone_from(&args.spec);
    let run = if args.stage.is_some() { args.run.unwrap_or_default() } else { String::new() };
    let new = NewCheckpoint {
        label: args.label.unwrap_or_default(),
        stage: args.stage.unwrap_or_default(),
        spec: args.spec.unwrap_or_default(),
        run,
        git_commit: args.git_commit.unwrap_or_default(),
        force: args.force,
    };
    let made = checkpoint::make(&mut app.owner_writer(&path, Some(&new.run))?, &new)?;
    let what = format!("checkpoint {} was stored as #{}", made.id, made.sequence);
    did(app, Done::new(what).field("sequence", made.sequence));
    if app.out.is_json() {
        return app.out.json(&MadeCheckpoint::of(&made));
    }
    app.out.line(&format!("{}  #{}  {}", made.id, made.sequence, escape::line(&made.label)))
}

/// `kapsa checkpoints`.
pub(crate) fn checkpoints(app: &mut App, args: &args::Checkpoints) -> Result<()> {
    let found = checkpoint::list(&app.owner_reader_when(&args.when)?, args.all)?;
    if app.out.is_json() {
        return app.out.json(&CheckpointsOut::of(&found));
    }
    if found.is_empty() {
        app.out.note("no checkpoints yet; make one with kapsa checkpoint --label NAME");
    }
    found.iter().try_for_each(|found| checkpoint_line(app, found, args.all))
}

/// One line of a list of checkpoints.
pub(super) fn checkpoint_line(app: &mut App, found: &Checkpoint, with_branch: bool) -> Result<()> {
    app.out.text(&format!(
        "{}  #{:<6} {}  ",
        found.id,
        found.sequence,
        readable(found.timestamp)
    ))?;
    app.out.strong(&escape::line(&found.label))?;
    let mut rest = String::new();
    for (name, value) in [("spec", &found.spec), ("run", &found.run), ("git", &found.git_commit)] {
        if !value.is_empty() && !stands_for_none(name, value) {
            rest.push_str(&format!("  {name} {}", escape::line(value)));
        }
    }
    if with_branch {
        rest.push_str(&format!("  on {}", escape::line(&found.branch)));
    }
    app.out.line(&rest)
}

/// `kapsa diff`.
pub(crate) fn diff(app: &mut App, args: &Diff) -> Result<()> {
    let path = app.capsule()?;
    let reader = Reader::open(&path)?;
    let current = app.branch(&path)?.unwrap_or_else(|| MAIN.to_string());
    let side = |text: &str| view_of(&reader, text, &current);
    let a = side(&args.a)?;
    let b = args.b.as_deref().map_or_else(|| Ok(reader.on(&current, None)?), side)?;
    let found = history::differences(&a, &b)?;
    if app.out.is_json() {
        return app.out.json(&DiffOut::of(&found, args.names));
    }
    if found.is_empty() {
        app.out.note("no difference");
    }
    found.iter().try_for_each(|difference| difference_for_people(app, difference, args.names))
}

/// The view that a side of a comparison names: `BRANCH`, `MOMENT` on the current branch, or
/// `BRANCH@MOMENT`.
fn view_of(reader: &Reader, text: &str, current: &str) -> Result<Reader> {
    let at = |branch: &str, moment: &str| Ok(reader.on(branch, Some(&typed_time::as_of(moment)))?);
    match text.split_once('@') {
        Some(("", moment)) => at(current, moment),
        Some((branch, moment)) => at(branch, moment),
        None => match reader.on(text, None) {
            Ok(view) => Ok(view),
            Err(Error::BranchNotFound { .. } | Error::InvalidOperation { .. }) => at(current, text),
            Err(error) => Err(error.into()),
        },
    }
}

fn difference_for_people(app: &mut App, difference: &Difference, names: bool) -> Result<()> {
    let sign = match (&difference.a, &difference.b) {
        (None, _) => "A",
        (_, None) => "D",
        _ => "M",
    };
    app.out.text(&format!("{sign}  "))?;
    app.out.strong(&escape::line(difference.uri.short()))?;
    app.out.line("")?;
    if names {
        return Ok(());
    }
    let (before, after) = (difference.a.as_ref(), difference.b.as_ref());
    changed_fields(app, before, after)?;
    changed_lines(app, before, after)
}

/// Prints the fields of a changed record that differ.
fn changed_fields(app: &mut App, before: Option<&Record>, after: Option<&Record>) -> Result<()> {
    let (Some(before), Some(after)) = (before, after) else { return Ok(()) };
    let of = |record: &Record| -> Vec<(&str, String)> {
        let mut fields = render::fields(record);
        fields.retain(|(name, _)| !VERSION_FIELDS.contains(name));
        fields.push(("kind", record.kind.clone()));
        fields
    };
    let (before, after) = (of(before), of(after));
    for (sign, look, side, other) in
        [("-", Look::Removed, &before, &after), ("+", Look::Added, &after, &before)]
    {
        for (name, value) in side.iter().filter(|field| !other.contains(field)) {
            diff_line(app, sign, look, &format!("[{name}] {value}"))?;
        }
    }
    Ok(())
}

/// Prints the lines of a text that differ, with a few equal ones around them.
fn changed_lines(app: &mut App, before: Option<&Record>, after: Option<&Record>) -> Result<()> {
    let text =
        |record: Option<&'_ Record>| record.map_or_else(String::new, |record| record.text.clone());
    let (before, after) = (text(before), text(after));
    let diff = TextDiff::configure().timeout(DIFF_TIME_MAX).diff_lines(&before, &after);
    for (at, group) in diff.grouped_ops(CONTEXT_LINES).iter().enumerate() {
        if at > 0 {
            diff_line(app, " ", Look::Faint, "…")?;
        }
        for change in group.iter().flat_map(|operation| diff.iter_changes(operation)) {
            let (sign, look) = match change.tag() {
                ChangeTag::Delete => ("-", Look::Removed),
                ChangeTag::Insert => ("+", Look::Added),
                ChangeTag::Equal => (" ", Look::Plain),
            };
            diff_line(app, sign, look, change.value().trim_end_matches(['\n', '\r']))?;
        }
    }
    Ok(())
}

fn diff_line(app: &mut App, sign: &str, look: Look, text: &str) -> Result<()> {
    app.out.pieces(&[Piece { text: format!("   {sign} {text}").into(), look }], DIFF_INDENT)
}

/// `kapsa log`.
pub(crate) fn log(app: &mut App, args: &Log) -> Result<()> {
    let reader = app.owner_reader_when(&args.when)?;
    let mut records = history::log(&reader, args.limit.saturating_add(1), args.all || args.graph)?;
    let more = wire::cut(&mut records, args.limit);
    let mut lines = Vec::with_capacity(records.len());
    for record in records {
        lines.push((reader.branch_of(&record)?, record));
    }
    if app.out.is_json() {
        return app.out.json(&LogOut::of(&lines, more));
    }
    let drawn =
        if args.graph { log_graph::lanes(&lines) } else { vec![String::new(); lines.len()] };
    let width = lines.first().map_or(1, |(_, record)| record.sequence.to_string().len());
    for (lanes, (branch, record)) in drawn.iter().zip(&lines) {
        let sequence = format!("#{}", record.sequence);
        let before = format!(
            "{lanes}{sequence:<width$}  {}  ",
            readable(record.committed_at),
            width = width + 1
        );
        let line = [
            Piece::plain(before),
            Piece::faint(format!("{branch}  ")),
            Piece::strong(render::listed_uri(record)),
            Piece::plain(format!("  {}", what_it_did(record))),
        ];
        app.out.pieces(&line, LOG_INDENT)?;
    }
    Ok(())
}

fn what_it_did(record: &Record) -> String {
    let event_type = record.text.split(' ').next().unwrap_or_default();
    if let Some(words) =
        render::event_in_words(event_type, &record.metadata).filter(|_| record.system)
    {
        return words;
    }
    let by = record
        .origin
        .as_ref()
        .map(|origin| format!(" ({})", render::decision(origin)))
        .unwrap_or_default();
    match (record.purged, record.tombstone, &record.alias) {
        (true, ..) => "(erased)".to_string(),
        (_, true, _) => format!("(forgotten){by}"),
        (.., Some(target)) => format!("stands for {}", escape::line(target.short())),
        _ => format!("{}{by}", headline(record)),
    }
}

/// `kapsa blame`.
pub(crate) fn blame(app: &mut App, args: &OneUri) -> Result<()> {
    let uri = app::uri(&args.uri)?;
    let lives = history::blame(&app.owner_reader()?, &uri)?;
    if app.out.is_json() {
        return app.out.json(&BlameOut::of(&uri, &lives));
    }
    lives.iter().try_for_each(|life| life_for_people(app, life))
}

fn life_for_people(app: &mut App, life: &Blame) -> Result<()> {
    let record = &life.record;
    app.out.text(if life.current { "* " } else { "  " })?;
    app.out.strong(&format!("#{}", record.sequence))?;
    app.out.line(&format!(
        "  {}  on {}{}",
        readable(record.committed_at),
        escape::line(&life.branch),
        writer_of(record)
    ))?;
    let text = match (record.purged, record.tombstone, &record.alias) {
        (true, ..) => "(erased)".to_string(),
        (_, true, _) => "(forgotten)".to_string(),
        (.., Some(target)) => format!("stands for {}", escape::line(target.short())),
        _ => headline(record),
    };
    app.out.line(&format!("      {text}"))?;
    if let (Some(origin), Some((branch, from))) = (&record.origin, &life.from) {
        let merge = life
            .checkpoint
            .as_ref()
            .map(|at| format!(", checkpoint {} {}", at.id, at.label))
            .unwrap_or_default();
        let said = format!(
            "{} {}#{}{}{merge}",
            render::decision(origin),
            branch,
            from.sequence,
            writer_of(from)
        );
        app.out.line(&format!("      {}", escape::line(&said)))?;
        if !origin.note.is_empty() {
            app.out.line(&format!("      because: {}", escape::line(&origin.note)))?;
        }
    }
    if !record.conflicts_with.is_empty() {
        let rivals: Vec<String> =
            record.conflicts_with.iter().map(|sequence| format!("#{sequence}")).collect();
        app.out.line(&format!("      contested with {}", rivals.join(", ")))?;
    }
    if let Some(source) = &record.source {
        app.out.line(&format!("      read from {}", escape::line(&render::place(source))))?;
    }
    Ok(())
}

fn writer_of(record: &Record) -> String {
    let agent = if record.agent.is_empty() {
        String::new()
    } else {
        format!(" by {}", escape::line(&record.agent))
    };
    let run = if record.run.is_empty() {
        String::new()
    } else {
        format!(" in run {}", escape::line(&record.run))
    };
    format!("{agent}{run}")
}

/// `kapsa revert`.
pub(crate) fn revert(app: &mut App, args: Revert) -> Result<()> {
    let path = app.capsule()?;
    let what = args.what;
    let undo = match (what.run, what.source, what.commit) {
        (Some(run), ..) => Undo::Run(run),
        (_, Some(source), _) => Undo::Source(source),
        (.., Some(commit)) => match typed_time::as_of(&commit) {
            AsOf::Sequence(sequence) => Undo::Commit(sequence),
            _ => Undo::Commit(checkpoint::named(&app.owner_reader()?, &commit)?.sequence),
        },
        _ => {
            return Err(
                CliError::usage("nothing to revert").hint("give a sequence, --run or --source")
            );
        }
    };
    let undone = history::revert(
        &mut app.owner_writer(&path, None)?,
        &undo,
        &args.why.by.unwrap_or_default(),
        &args.why.note.unwrap_or_default(),
    )?;
    let changes = undone.restored.len() + undone.removed.len();
    did(
        app,
        (changes > 0).then(|| Done::new(format!("undid {}", counted(changes as u64, "change")))),
    );
    if app.out.is_json() {
        return app.out.json(&RevertOut::of(&undone));
    }
    for (what, uris) in [
        ("restored", &undone.restored),
        ("removed", &undone.removed),
        ("kept (changed since)", &undone.kept),
    ] {
        for uri in uris {
            app.out.line(&format!("{what}  {}", escape::line(uri.short())))?;
        }
    }
    app.out.line(&format!("undid {}", counted(changes as u64, "change")))
}

/// `kapsa cherry-pick`.
pub(crate) fn cherry_pick(app: &mut App, args: CherryPick) -> Result<()> {
    let uri = app::uri(&args.uri)?;
    let path = app.capsule()?;
    let (by, note) = (args.why.by.unwrap_or_default(), args.why.note.unwrap_or_default());
    let put =
        merge::cherry_pick(&mut app.owner_writer(&path, None)?, &uri, &args.from, &by, &note)?;
    records::wrote(app, &put)
}

/// `kapsa alias`.
pub(crate) fn alias(app: &mut App, args: &Alias) -> Result<()> {
    let path = app.capsule()?;
    let (old, new) = (app::uri(&args.old)?, app::uri(&args.new)?);
    let put = app.owner_writer(&path, None)?.alias(&old, &new)?;
    records::wrote(app, &put)
}

/// `kapsa resolve-uri`.
pub(crate) fn resolve_uri(app: &mut App, args: &ResolveUri) -> Result<()> {
    let out = args.out.as_deref().filter(|out| !is_standard_output(out));
    let uri = app::uri(&args.uri)?;
    let (reader, record) = app.record(&uri, &args.when)?;
    let bytes = Bytes::of(&reader, &record);
    if let Some(out) = out {
        bytes.write(&OutFile::at(out, &app.capsule()?)?)?;
    }
    if app.out.is_json() {
        let output_path = out.map(|out| out.display().to_string());
        let as_of = args.when.as_of.as_deref();
        return app.out.json(&Resolved {
            uri: record.uri.as_str(),
            asked: uri.as_str(),
            as_of,
            sequence: record.sequence,
            size_bytes: bytes.len(),
            preview: &bytes.preview(PREVIEW_BYTES)?,
            output_path,
            versions: wire::Versions::OURS,
        });
    }
    if out.is_some() { Ok(()) } else { bytes.print(app) }
}
