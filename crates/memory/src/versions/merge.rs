//! Merges what a branch learned into its parent. Three-way, URI by URI, against what both once had
//! in common.
//!
//! A merge writes new revisions that name what they stand for; nothing else moves. The base of a
//! URI is the revision that both sides agreed on last: what the branch saw when it left, or the
//! newest that was brought over since. A side has changed when it says something else than the
//! base. Changed on one side wins; changed on both is a conflict, which a rule or a reviewer
//! decides, and the decision is kept with the revision.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use wildmatch::WildMatch;

use crate::error::{Error, Result, misuse, not_found};
use crate::records::branch::{Made, run_of_branch};
use crate::records::codec::{Body, Envelope, Operation};
use crate::records::record::{BranchId, Decision, Origin, Record};
use crate::records::request::Put;
use crate::records::uri::Uri;
use crate::search::reader::Reader;
use crate::tables::branch_table::Class;
use crate::tables::lineage::Lineage;
use crate::versions::checkpoint::{MERGE_LABEL_PREFIX, NewCheckpoint};
use crate::versions::event::{self, EventRequest, EventType, NewEvent};
use crate::versions::follow;
use crate::view::{View, branches};
use crate::write::pending::{Name, Pending, What};
use crate::write::writer::{Writer, fresh_id};

/// Stage that a merge's checkpoint is of.
pub const MERGE_STAGE: &str = "Unlock";
/// Kinds that a curated merge leaves on the branch.
pub const UNCURATED_KINDS: [&str; 4] = ["debug", "debug_trace", "model_call", "scratch"];
/// Most records that one merge brings over.
pub const MERGE_RECORDS_MAX: usize = 1 << 20;

/// How much of a branch is merged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// What is worth keeping: not [`UNCURATED_KINDS`], nor events that only help to find faults.
    #[default]
    Curated,
    /// Everything.
    Full,
}

impl Mode {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Mode::Curated => "curated",
            Mode::Full => "full",
        }
    }
}

/// How one conflict is decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// What is here stays.
    Ours,
    /// What the branch has is taken.
    Theirs,
    /// Both stay visible, each marked as contested.
    Contested,
    /// A reviewer's text takes the place of both.
    Edited(String),
    /// Nothing is decided: this URI is left as it is, and comes up again at the next merge.
    Skip,
}

/// A decision about one URI, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ruling {
    /// The decision.
    pub choice: Choice,
    /// The reason, may be empty.
    pub note: String,
    /// Sequences that it was made for, ours and theirs: it holds for nothing newer. None holds for
    /// whatever is there.
    pub seen: Option<(Option<u64>, u64)>,
}

/// Which records a selector means: a URI with `*` and `?`, `kind:<kind>` or `label:<label>`.
#[derive(Clone, Debug, PartialEq)]
pub enum Selector {
    /// URIs, canonical or short.
    Uri(WildMatch),
    /// Records of a kind.
    Kind(String),
    /// Records with a label.
    Label(String),
}

impl Selector {
    /// Reads a selector.
    #[must_use]
    pub fn parse(text: &str) -> Selector {
        match text.split_once(':') {
            Some(("kind", kind)) => Selector::Kind(kind.to_string()),
            Some(("label", label)) => Selector::Label(label.to_string()),
            _ => Selector::Uri(WildMatch::new(text)),
        }
    }

    /// Whether a record is meant.
    #[must_use]
    pub fn matches(&self, record: &Record) -> bool {
        match self {
            Selector::Uri(pattern) => {
                pattern.matches(record.uri.short()) || pattern.matches(record.uri.as_str())
            }
            Selector::Kind(kind) => record.kind == *kind,
            Selector::Label(label) => record.label == *label,
        }
    }
}

/// A merge that is asked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MergeRequest {
    /// Branch to merge.
    pub from: String,
    /// Branch to merge into: the one that `from` left.
    pub to: String,
    /// How much.
    pub mode: Mode,
    /// Only what one of these means; everything when empty.
    pub include: Vec<Selector>,
    /// Nothing that one of these means.
    pub exclude: Vec<Selector>,
    /// How conflicts are decided that have no ruling of their own.
    pub rule: Option<Choice>,
    /// How single conflicts are decided.
    pub rulings: BTreeMap<Uri, Ruling>,
    /// Whether nothing is merged but what has a ruling, or is in conflict: for a review that
    /// listed everything.
    pub only_listed: bool,
    /// Who decides, may be empty.
    pub by: String,
    /// Why, may be empty.
    pub note: String,
    /// What the merged branch worked on, may be empty.
    pub spec: String,
}

/// What happens to one URI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeOutcome {
    /// New to the target.
    Added,
    /// Changed on the branch only.
    Changed,
    /// Forgotten on the branch only.
    Forgotten,
    /// Changed on both sides, and differently.
    Conflict,
}

/// One URI of a merge.
#[derive(Clone, Debug, PartialEq)]
pub struct MergeItem {
    /// The URI.
    pub uri: Uri,
    /// What happens.
    pub outcome: MergeOutcome,
    /// The branch's newest revision; a tombstone when the branch forgot it.
    pub theirs: Record,
    /// The target's newest revision.
    pub ours: Option<Record>,
    /// What both had in common last.
    pub base: Option<Record>,
    /// How a conflict is decided.
    pub choice: Option<Choice>,
    /// Why.
    pub note: String,
    conflicts_with: Vec<Record>,
    ours_heads: Vec<u64>,
}

impl MergeItem {
    /// One of a branch that follows another: what both once had in common, nobody asks.
    pub(crate) fn followed(
        uri: Uri,
        outcome: MergeOutcome,
        theirs: Record,
        ours: Option<Record>,
    ) -> MergeItem {
        let (note, conflicts_with, ours_heads) = (String::new(), Vec::new(), Vec::new());
        let (base, choice) = (None, None);
        MergeItem { uri, outcome, theirs, ours, base, choice, note, conflicts_with, ours_heads }
    }
}

/// What a merge would do.
#[derive(Clone, Debug, PartialEq)]
pub struct MergePlan {
    /// Branch to merge.
    pub from: String,
    /// Branch to merge into.
    pub to: String,
    /// How much.
    pub mode: Mode,
    /// Newest sequence of the capsule when this was worked out.
    pub sequence: u64,
    /// URIs to merge, in order.
    pub items: Vec<MergeItem>,
    /// URIs that were left out by mode or selectors.
    pub left_out: u64,
    /// URIs that both sides have already, or that the branch has as it had them before.
    pub same: u64,
    /// Events of the branch that its parent will show from then on.
    pub events: u64,
}

impl MergePlan {
    /// Conflicts that nothing decides.
    pub fn conflicts(&self) -> impl Iterator<Item = &MergeItem> {
        self.items
            .iter()
            .filter(|item| item.outcome == MergeOutcome::Conflict && item.choice.is_none())
    }
}

/// A merge that was done.
#[derive(Clone, Debug, PartialEq)]
pub struct Merged {
    /// What it did.
    pub plan: MergePlan,
    /// The checkpoint that it left; none where the branch follows another capsule.
    pub checkpoint: Option<String>,
    /// The event that records it; none where the branch follows another capsule, or two capsules
    /// that merge each other would never be done.
    pub event: Option<Uri>,
    /// Sequence of the newest of what was written.
    pub sequence: u64,
    /// Revisions written.
    pub written: u64,
}

/// What became of a merge.
#[derive(Clone, Debug, PartialEq)]
pub enum MergeResult {
    /// Done.
    Done(Box<Merged>),
    /// Nothing was written: there are conflicts that nothing decides.
    Conflicts(MergePlan),
}

/// The two sides of a merge.
struct Sides {
    from: View,
    to: View,
    from_id: BranchId,
    /// First sequence of the target that the branch does not see.
    fork: u64,
}

impl Sides {
    fn new(view: &View, request: &MergeRequest) -> Result<Sides> {
        let from = branches::named(view.store(), &request.from)?;
        let to = branches::named(view.store(), &request.to)?;
        check_direction(request, &from, &to)?;
        let from_lines = view.store().lineage_of(from.id)?;
        let fork = from_lines.below_on(to.id);
        Ok(Sides {
            fork,
            from_id: from.id,
            to: view.with(view.store().lineage_of(to.id)?),
            from: view.with(from_lines),
        })
    }

    /// The newest own revision of every URI that the branch wrote.
    fn theirs(&self) -> Result<BTreeMap<Uri, Body>> {
        let mut newest = BTreeMap::new();
        let seqs = self.from.store().sequences(&Lineage::alone(self.from_id), Class::Memory)?;
        for sequence in seqs.ranges().iter().flat_map(std::clone::Clone::clone) {
            let body = self.from.store().body(sequence)?;
            if !body.record.purged {
                newest.insert(body.record.uri.clone(), body);
            }
        }
        newest.retain(|_, body| body.operation != Operation::Purge);
        if newest.len() > MERGE_RECORDS_MAX {
            return Err(misuse(&format!(
                "a merge brings over at most {MERGE_RECORDS_MAX} records"
            )));
        }
        Ok(newest)
    }

    /// What is to happen to a URI; none when both sides say the same, or the branch what it said
    /// before.
    fn item(&self, uri: Uri, tip: Body) -> Result<Option<MergeItem>> {
        let newest = match self.to.newest(&uri)? {
            Some(head) => Some(self.to.store().body(head.sequence)?),
            None => None,
        };
        let theirs = self.from.store().counting_with(&tip)?;
        let ours = newest
            .as_ref()
            .map_or(Ok(Vec::new()), |newest| self.to.store().counting_with(newest))?;
        let is_newer = newest.as_ref().is_some_and(|newest| newest.record.sequence >= self.fork);
        let base = if is_newer { &self.base(&uri)? } else { &ours };
        if same(&theirs, &ours) || same(&theirs, base) {
            return Ok(None);
        }
        let outcome = if !same(&ours, base) {
            MergeOutcome::Conflict
        } else if theirs.is_empty() {
            MergeOutcome::Forgotten
        } else if ours.is_empty() {
            MergeOutcome::Added
        } else {
            MergeOutcome::Changed
        };
        let base = base.last().map(|body| body.record.clone());
        let ours_heads = ours.iter().map(|body| body.record.sequence).collect();
        let others = theirs.into_iter().map(|body| body.record);
        let conflicts_with =
            others.filter(|record| record.sequence != tip.record.sequence).collect();
        let (theirs, ours) = (tip.record, newest.map(|newest| newest.record));
        Ok(Some(MergeItem {
            uri,
            outcome,
            theirs,
            ours,
            base,
            choice: None,
            note: String::new(),
            conflicts_with,
            ours_heads,
        }))
    }

    /// What both sides had last: the newest of the branch's revisions that the target was brought
    /// or decided about, or else what the branch saw when it left.
    fn base(&self, uri: &Uri) -> Result<Vec<Body>> {
        let mut agreed = None;
        for sequence in
            self.to.revisions(uri)?.into_iter().rev().take_while(|&sequence| sequence >= self.fork)
        {
            let origin = self
                .to
                .store()
                .record(sequence)?
                .origin
                .filter(|origin| origin.branch == self.from_id);
            agreed = agreed
                .max(origin.map(|origin| origin.sequence).filter(|&origin| origin < sequence));
        }
        match agreed {
            Some(agreed) if self.from.store().is_purged(uri, agreed)? => Ok(Vec::new()),
            Some(agreed) => self.from.store().counting_with(&self.from.store().body(agreed)?),
            None => self.to.with(self.to.lineage().before(self.fork)).counting(uri),
        }
    }

    fn events(&self, mode: Mode) -> Result<u64> {
        let curated_only = mode == Mode::Curated;
        let events =
            event::seen(&self.from, &EventRequest { curated_only, ..EventRequest::default() })?;
        Ok(events.len() as u64)
    }
}

fn check_direction(request: &MergeRequest, from: &Made, to: &Made) -> Result<()> {
    if from.id == BranchId::MAIN || from.parent != to.id {
        let reason = format!(
            "{} did not leave {}: a branch is merged into the one that it left",
            request.from, request.to
        );
        return Err(Error::InvalidOperation { reason });
    }
    if to.archived {
        return Err(misuse(&format!(
            "branch {} is archived: nothing can be merged into it",
            request.to
        )));
    }
    Ok(())
}

/// Whether what counts on two sides says the same: the newest, and in any order those that contest
/// it.
pub(crate) fn same(a: &[Body], b: &[Body]) -> bool {
    let (Some((a, a_beside)), Some((b, b_beside))) = (a.split_last(), b.split_last()) else {
        return a.is_empty() && b.is_empty();
    };
    let within = |some: &[Body], all: &[Body]| {
        some.iter().all(|one| all.iter().any(|other| says_the_same(one, other)))
    };
    says_the_same(a, b) && within(a_beside, b_beside) && within(b_beside, a_beside)
}

/// Whether two revisions say the same, whoever wrote them.
pub(crate) fn says_the_same(a: &Body, b: &Body) -> bool {
    let (x, y) = (&a.record, &b.record);
    a.operation == b.operation
        && (&x.title, &x.text, &x.kind, &x.label, &x.tags)
            == (&y.title, &y.text, &y.kind, &y.label, &y.tags)
        && (&x.metadata, &x.entity, &x.domain, x.confidence)
            == (&y.metadata, &y.entity, &y.domain, y.confidence)
        && x.source == y.source
        && x.content == y.content
}

/// What merging would do now, and where it would conflict.
///
/// # Errors
/// `BranchNotFound`; `InvalidOperation` for a wrong direction.
pub fn plan(reader: &Reader, request: &MergeRequest) -> Result<MergePlan> {
    plan_in(reader.view(), request)
}

/// As [`plan`], in a view.
pub(crate) fn plan_in(view: &View, request: &MergeRequest) -> Result<MergePlan> {
    if follows(view, request)? {
        return Ok(follow::plan(view, request)?.plan);
    }
    let sides = Sides::new(view, request)?;
    let mut plan = MergePlan {
        from: branches::name_of(view.store(), sides.from_id)?,
        to: request.to.clone(),
        mode: request.mode,
        sequence: view.store().snapshot().commit().next_sequence - 1,
        items: Vec::new(),
        left_out: 0,
        same: 0,
        events: sides.events(request.mode)?,
    };
    for (uri, theirs) in sides.theirs()? {
        if !wanted(request, &theirs.record) {
            plan.left_out += 1;
            continue;
        }
        match sides.item(uri, theirs)? {
            Some(item) if is_unlisted(request, &item) => plan.left_out += 1,
            Some(item) => plan.items.push(decided(item, request)?),
            None => plan.same += 1,
        }
    }
    Ok(plan)
}

pub(crate) fn wanted(request: &MergeRequest, theirs: &Record) -> bool {
    let matched =
        |selectors: &[Selector]| selectors.iter().any(|selector| selector.matches(theirs));
    let kept = request.mode == Mode::Full || !UNCURATED_KINDS.contains(&theirs.kind.as_str());
    kept && (request.include.is_empty() || matched(&request.include)) && !matched(&request.exclude)
}

/// What came after the review is not part of it.
fn is_unlisted(request: &MergeRequest, item: &MergeItem) -> bool {
    request.only_listed
        && item.outcome != MergeOutcome::Conflict
        && !request.rulings.contains_key(&item.uri)
}

pub(crate) fn decided(mut item: MergeItem, request: &MergeRequest) -> Result<MergeItem> {
    let ruling = request.rulings.get(&item.uri);
    if let Some(Ruling { seen: Some((ours, theirs)), .. }) = ruling
        && (*ours, *theirs) != (item.ours.as_ref().map(|ours| ours.sequence), item.theirs.sequence)
    {
        let reason =
            format!("{} has changed since it was reviewed; plan the merge again", item.uri);
        return Err(Error::InvalidOperation { reason });
    }
    let skipped = ruling.filter(|ruling| ruling.choice == Choice::Skip);
    if item.outcome == MergeOutcome::Conflict || skipped.is_some() {
        item.choice = ruling.map(|ruling| ruling.choice.clone()).or_else(|| request.rule.clone());
    }
    item.note = ruling
        .map(|ruling| ruling.note.clone())
        .filter(|note| !note.is_empty())
        .unwrap_or_else(|| request.note.clone());
    Ok(item)
}

/// Merges a branch into the one that it left, in one commit: the revisions, a checkpoint and a
/// `BranchMerged` event. Writes nothing when there are conflicts that nothing decides.
///
/// # Errors
/// `BranchNotFound`; `InvalidOperation` for a wrong direction, an archived target, or a ruling for
/// what has changed meanwhile.
pub fn merge(writer: &mut Writer, request: &MergeRequest) -> Result<MergeResult> {
    if follows(writer.view()?, request)? {
        return merge_following(writer, request);
    }
    let plan = plan_in(writer.view()?, request)?;
    if plan.conflicts().next().is_some() {
        return Ok(MergeResult::Conflicts(plan));
    }
    let view = writer.view()?;
    let (from, to) = (
        branches::named(view.store(), &request.from)?.id,
        branches::named(view.store(), &request.to)?.id,
    );
    let next = view.store().snapshot().commit().next_sequence;
    let mut all = Vec::new();
    for item in &plan.items {
        let merged = Merging { item, from, to, by: &request.by, next: next + all.len() as u64 };
        all.extend(merged.pending());
    }
    let written = all.len() as u64;
    let id = fresh_id(writer, &plan.from)?;
    all.push(checkpoint(&plan, request, to, &id)?);
    all.push(event(&plan, request, &id, next - 1, written).pending(to)?);
    let puts = writer.write(all)?;
    let Put { uri: event, sequence, .. } =
        puts.into_iter().next_back().expect("the event is written");
    let (checkpoint, event) = (Some(id), Some(event));
    Ok(MergeResult::Done(Box::new(Merged { plan, checkpoint, event, sequence, written })))
}

/// As [`merge`], of a branch that follows one of another capsule.
fn merge_following(writer: &mut Writer, request: &MergeRequest) -> Result<MergeResult> {
    let following = follow::plan(writer.view()?, request)?;
    if following.plan.conflicts().next().is_some() {
        return Ok(MergeResult::Conflicts(following.plan));
    }
    let (plan, written, sequence) = follow::write(writer, following, request)?;
    let merged = Merged { plan, checkpoint: None, event: None, sequence, written };
    Ok(MergeResult::Done(Box::new(merged)))
}

/// Whether a branch follows one of another capsule, and `to` can take it.
fn follows(view: &View, request: &MergeRequest) -> Result<bool> {
    let from = branches::named(view.store(), &request.from)?;
    if !from.tracks {
        return Ok(false);
    }
    let to = branches::named(view.store(), &request.to)?;
    if to.archived || to.tracks {
        return Err(misuse(&format!("nothing can be merged into branch {}", request.to)));
    }
    Ok(true)
}

/// Copies what another branch has under a URI to the current one, all of it when that is contested.
/// Returns the newest.
///
/// # Errors
/// `BranchNotFound`, `UriNotFound`.
pub fn cherry_pick(
    writer: &mut Writer,
    uri: &Uri,
    from: &str,
    by: &str,
    note: &str,
) -> Result<Put> {
    let view = writer.view()?;
    let source = view.with(branches::lineage_of(view.store(), from)?);
    let picked = source.counting(uri)?;
    let next = view.store().snapshot().commit().next_sequence;
    let branch = writer.branch_id();
    let of = |record: &Record| Envelope {
        branch,
        origin: Some(Origin {
            branch: record.branch,
            sequence: record.sequence,
            decision: Decision::Picked,
            by: by.to_string(),
            note: note.to_string(),
        }),
        ..Envelope::default()
    };
    let puts =
        writer.write(together(picked.iter().map(|body| &body.record), next, Vec::new(), of))?;
    let change = puts.first().map(|first| first.change);
    let newest = puts.into_iter().next_back().zip(change);
    newest.map(|(put, change)| Put { change, ..put }).ok_or_else(|| not_found(uri))
}

fn checkpoint(plan: &MergePlan, request: &MergeRequest, to: BranchId, id: &str) -> Result<Pending> {
    let new = NewCheckpoint {
        label: format!("{MERGE_LABEL_PREFIX}{}", plan.from),
        stage: MERGE_STAGE.to_string(),
        run: run_of_branch(&plan.from).unwrap_or_default().to_string(),
        spec: request.spec.clone(),
        ..NewCheckpoint::default()
    };
    new.pending(id, false, to)
}

fn event(
    plan: &MergePlan,
    request: &MergeRequest,
    checkpoint: &str,
    last: u64,
    written: u64,
) -> NewEvent {
    let mut payload = Map::new();
    let mut put = |name: &str, value: Value| payload.insert(name.to_string(), value);
    put("from_branch", plan.from.clone().into());
    put("to_branch", plan.to.clone().into());
    put("mode", plan.mode.name().into());
    put("merge_checkpoint_id", checkpoint.into());
    put("uris_merged", written.into());
    put("events_merged", plan.events.into());
    put("from_sequence", last.into());
    let count = |choice: fn(&Choice) -> bool| {
        plan.items.iter().filter(|item| item.choice.as_ref().is_some_and(choice)).count()
    };
    put("conflicts_decided", count(|choice| *choice != Choice::Skip).into());
    put("skipped", count(|choice| *choice == Choice::Skip).into());
    if !request.note.is_empty() {
        put("note", request.note.clone().into());
    }
    let run = run_of_branch(&plan.from).unwrap_or_default().to_string();
    for (name, value) in [("run_id", &run), ("spec_id", &request.spec)] {
        if !value.is_empty() {
            put(name, value.clone().into());
        }
    }
    NewEvent {
        run,
        spec: request.spec.clone(),
        stage: MERGE_STAGE.to_string(),
        agent: request.by.clone(),
        payload,
        ..NewEvent::new(EventType::BranchMerged)
    }
}

/// One URI on its way to the target.
struct Merging<'a> {
    item: &'a MergeItem,
    from: BranchId,
    to: BranchId,
    by: &'a str,
    /// Sequence that its first revision will have.
    next: u64,
}

impl Merging<'_> {
    fn pending(&self) -> Vec<Pending> {
        let item = self.item;
        let live = |record: &&Record| !record.tombstone;
        match &item.choice {
            Some(Choice::Skip) => Vec::new(),
            Some(Choice::Ours) => {
                vec![self.stays(item.ours.as_ref().unwrap_or(&item.theirs), Decision::Ours)]
            }
            Some(Choice::Edited(text)) => {
                let like = if item.theirs.tombstone {
                    item.ours.as_ref().unwrap_or(&item.theirs)
                } else {
                    &item.theirs
                };
                vec![copy(
                    &Record { text: text.clone(), ..like.clone() },
                    self.envelope(Decision::Edited, Vec::new()),
                )]
            }
            Some(Choice::Contested)
                if item.ours.as_ref().is_some_and(|ours| live(&ours)) && live(&&item.theirs) =>
            {
                self.all(Decision::Contested, item.ours_heads.clone())
            }
            // There is nothing to contest where one side forgot: what is alive stays.
            Some(Choice::Contested) => match item.ours.as_ref().filter(live) {
                Some(ours) => vec![self.stays(ours, Decision::Contested)],
                None => self.all(Decision::Contested, Vec::new()),
            },
            Some(Choice::Theirs) => self.all(Decision::Theirs, Vec::new()),
            None => self.all(Decision::Merged, Vec::new()),
        }
    }

    /// What is here once more, for the decision's sake, conflicts_with all that it was
    /// conflicts_with.
    fn stays(&self, ours: &Record, decision: Decision) -> Pending {
        copy(ours, self.envelope(decision, ours.conflicts_with.clone()))
    }

    /// The branch's revision, with those that contest it there, conflicts_with what stays here.
    fn all(&self, decision: Decision, conflicts_with: Vec<u64>) -> Vec<Pending> {
        let records = self.item.conflicts_with.iter().chain([&self.item.theirs]);
        together(records, self.next, conflicts_with, |_| self.envelope(decision, Vec::new()))
    }

    fn envelope(&self, decision: Decision, conflicts_with: Vec<u64>) -> Envelope {
        let origin = Origin {
            branch: self.from,
            sequence: self.item.theirs.sequence,
            decision,
            by: self.by.to_string(),
            note: self.item.note.clone(),
        };
        Envelope { branch: self.to, conflicts_with, origin: Some(origin), ..Envelope::default() }
    }
}

/// Revisions that say what `records` say, each conflicts_with those before it and conflicts_with
/// `conflicts_with`; the first will have the sequence `next`.
pub(crate) fn together<'a>(
    records: impl Iterator<Item = &'a Record>,
    next: u64,
    mut conflicts_with: Vec<u64>,
    envelope: impl Fn(&Record) -> Envelope,
) -> Vec<Pending> {
    let mut pending = Vec::new();
    for (record, sequence) in records.zip(next..) {
        pending.push(copy(
            record,
            Envelope { conflicts_with: conflicts_with.clone(), ..envelope(record) },
        ));
        conflicts_with.push(sequence);
    }
    pending
}

/// A revision that says what `record` says, of whoever wrote that.
pub(crate) fn copy(record: &Record, envelope: Envelope) -> Pending {
    let envelope = Envelope { provenance: record.provenance.clone(), ..envelope };
    let name = Name::Given(record.uri.clone());
    let what = if record.tombstone {
        What::Bury { operation: Operation::Tombstone, agent: record.agent.clone() }
    } else if let Some(target) = &record.alias {
        What::Alias(target.clone())
    } else {
        What::Put(Box::new(record.as_new()))
    };
    Pending { name, what, envelope }
}
