//! Events: records that nobody revises, each with a type and a payload that is checked before it is
//! written.

use std::collections::BTreeMap;

use kapsa_index::Sequences;
use serde_json::{Map, Value};

use crate::error::{Error, Result, misuse};
use crate::records::branch::{run_name, run_spellings};
use crate::records::codec::Envelope;
use crate::records::kinds::EVENT;
use crate::records::record::{BranchId, Micros, NewRecord, Record};
use crate::records::request::LIMIT_NONE;
use crate::records::uri::{self, Uri};
use crate::search::reader::Reader;
use crate::tables::branch_table::Class;
use crate::tables::lineage::Lineage;
use crate::view::{View, branches};
use crate::write::pending::{Name, Pending, What};
use crate::write::whole;
use crate::write::writer::Writer;

/// Stands for what a run works on where that is not known.
pub const SPEC_NONE: &str = "_global";
/// Stands for the run where there is none.
pub const RUN_NONE: &str = "_manual";
/// Merges of merges that a listing of events follows.
const MERGES_DEEP_MAX: usize = 32;

/// Declares every type with its name, whether audits need it, and the shape of its payload:
/// `name:type`, with `?` when it may be missing; types are `s` text, `n` number, `b` yes or no, `a`
/// list, `o` object, `*` anything, or one of several texts.
macro_rules! event_types {
    ($($(#[$doc:meta])* $name:ident $audit:literal $shape:literal)*) => {
        /// What an event reports.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum EventType { $($(#[$doc])* $name),* }

        impl EventType {
            /// All of them.
            pub const ALL: &'static [EventType] = &[$(EventType::$name),*];

            /// Its name, as it is stored and shown.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(EventType::$name => stringify!($name)),* }
            }

            /// Whether an audit of a run cannot do without it.
            #[must_use]
            pub fn is_audit_critical(self) -> bool {
                match self { $(EventType::$name => $audit),* }
            }

            fn shape(self) -> &'static str {
                match self { $(EventType::$name => $shape),* }
            }
        }
    };
}

event_types! {
    /// A stage of a run ended.
    StageTransition true "stage:s checkpoint_id:s policy_id:s? policy_hash:s? policy_uri:s?"
    /// The rules that hold from here on.
    PolicySnapshotRef true "policy_uri:s policy_id:s policy_hash:s"
    /// What was asked for is understood.
    IntakeCompleted true ""
    /// Which model was chosen for a role, and why.
    RoutingDecision true "mode:s stage:s role:s is_fallback:b fallback_reason:s?"
    /// A branch was merged.
    BranchMerged true "from_branch:s to_branch:s mode:curated|full merge_checkpoint_id:s uris_merged:n events_merged:n spec_id:s? run_id:s?"
    /// A detail for whoever looks for a fault.
    DebugTrace false ""
    /// A search.
    RetrievalRequest false "request_id:s query:s config:* source:s stage:s? role:s?"
    /// What a search found.
    RetrievalResponse false "request_id:s hit_uris:a fused_scores:*? explainability:*? latency_ms:n? error:s?"
    /// A tool was called.
    ToolCall false "call_id:s tool_name:s input:* stage:s? role:s?"
    /// What a tool answered.
    ToolResult false "call_id:s tool_name:s success:b output:*? error:s? duration_ms:n?"
    /// A file was changed.
    PatchApply false "patch_id:s file_path:s patch_type:create|modify|delete diff:s? before_hash:s? after_hash:s? stage:s? success:b error:s?"
    /// A gate let something through, or not.
    GateDecision true "gate_name:s outcome:Pass|Fail|Warn|Skip stage:s confidence:n? reason:s? details:*? blocking:b"
    /// Something failed.
    ErrorEvent true "error_code:s message:s severity:Warning|Error|Fatal stage:s? component:s? stack_trace:s? related_uris:a? recoverable:b"
    /// A call of a model.
    ModelCallEnvelope false "call_id:s model:s routing_mode:s capture_mode:s prompt_hash:s response_hash:s prompt:s? response:s? tokens:*? latency:*? success:b error:s?"
    /// The capsule, or a part of it, was exported.
    CapsuleExported true "destination_type:s destination:s? format:s checkpoints_included:* sanitized:b encrypted:b exported_at:s content_hash:s?"
    /// A capsule was imported.
    CapsuleImported true "source_type:s source:s? format:s original_capsule_id:s? checkpoints_imported:* imported_at:s content_hash:s? mount_name:s? verification_passed:b?"
    /// A breaker opened or closed.
    BreakerStateChanged true "breaker_id:s current_state:s previous_state:s reason:s?"
    /// Which phase of leaving another store holds.
    LocalMemorySunsetPhaseResolved true "policy_phase:* env_phase:*? effective_phase:* resolution_source:s"
    /// Another store took over.
    FallbackActivated true "from_backend:s to_backend:s reason:s operation:s spec_id:s? run_id:s? checkpoint_id:s?"
}

impl EventType {
    /// The type with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<EventType> {
        EventType::ALL.iter().copied().find(|known| known.name() == name)
    }

    /// Whether it is shown on a branch that got it by a curated merge.
    #[must_use]
    pub fn is_curated_eligible(self) -> bool {
        !matches!(self, EventType::DebugTrace | EventType::ModelCallEnvelope)
    }
}

/// Types that a curated merge leaves out, as exact terms.
fn uncurated_terms() -> Vec<String> {
    EventType::ALL
        .iter()
        .filter(|known| !known.is_curated_eligible())
        .map(|known| type_term(*known))
        .collect()
}

fn type_term(event_type: EventType) -> String {
    format!("tag:type={}", event_type.name())
}

/// What of a model call is kept, by the names of today and of before.
const CAPTURE_MODES: [(&str, &str); 8] = [
    ("none", "none"),
    ("off", "none"),
    ("prompts_only", "prompts_only"),
    ("hash", "prompts_only"),
    ("summary", "prompts_only"),
    ("prompts", "prompts_only"),
    ("full_io", "full_io"),
    ("full", "full_io"),
];

/// What the caller knows of an event.
#[derive(Clone, Debug, PartialEq)]
pub struct NewEvent {
    /// What it reports.
    pub event_type: EventType,
    /// What the run works on; empty means none.
    pub spec: String,
    /// The run; empty means none.
    pub run: String,
    /// Stage of the run, may be empty.
    pub stage: String,
    /// Who reports it, may be empty.
    pub agent: String,
    /// When it happened; the time of the commit when absent.
    pub timestamp: Option<Micros>,
    /// The rest, as its type asks for.
    pub payload: Map<String, Value>,
}

/// An event as listed.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Its URI, `mv2://default/<spec>/<run>/event/<sequence>`.
    pub uri: Uri,
    /// Its place in the capsule's order.
    pub sequence: u64,
    /// What it reports.
    pub event_type: EventType,
    /// When it happened.
    pub timestamp: Micros,
    /// What the run works on.
    pub spec: String,
    /// The run.
    pub run: String,
    /// Stage of the run, may be empty.
    pub stage: String,
    /// The rest.
    pub payload: Map<String, Value>,
    /// Branch that it is on.
    pub branch: String,
}

/// Which events to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventRequest {
    /// One of these types; none allows all.
    pub types: Vec<EventType>,
    /// Only of this spec.
    pub spec: Option<String>,
    /// Only of this run.
    pub run: Option<String>,
    /// Only of this stage.
    pub stage: Option<String>,
    /// Only after the sequence.
    pub after: Option<u64>,
    /// Only what audits need.
    pub audit_only: bool,
    /// Only what a curated merge shows.
    pub curated_only: bool,
    /// Of every branch, not only this one and what was merged into it.
    pub all_branches: bool,
    /// The newest so many, all by default.
    pub limit: Option<usize>,
}

impl NewEvent {
    /// An event of no run, without payload.
    #[must_use]
    pub fn new(event_type: EventType) -> NewEvent {
        NewEvent {
            event_type,
            spec: String::new(),
            run: String::new(),
            stage: String::new(),
            agent: String::new(),
            timestamp: None,
            payload: Map::new(),
        }
    }

    /// Checks the payload against what the type asks for, and brings old names up to date.
    ///
    /// # Errors
    /// `InvalidOperation` naming the field.
    pub(crate) fn checked(mut self) -> Result<NewEvent> {
        let name = self.event_type.name();
        for field in self.event_type.shape().split_whitespace() {
            let (field, optional) =
                field.strip_suffix('?').map_or((field, false), |field| (field, true));
            let (field, kind) = field.split_once(':').expect("a shape is written `name:type`");
            match self.payload.get(field).filter(|value| !value.is_null()) {
                None if optional => {}
                None => {
                    return Err(misuse(&format!(
                        "the payload of {name} needs `{field}` ({})",
                        described(kind)
                    )));
                }
                Some(value) if !fits(kind, value) => {
                    return Err(misuse(&format!(
                        "`{field}` in the payload of {name} must be {}",
                        described(kind)
                    )));
                }
                Some(_) => {}
            }
        }
        if self.event_type == EventType::ModelCallEnvelope {
            self.check_capture()?;
        }
        Ok(self)
    }

    /// A call is captured as its mode says, and never more.
    fn check_capture(&mut self) -> Result<()> {
        let given = self.payload.get("capture_mode").and_then(Value::as_str).unwrap_or_default();
        let mode = CAPTURE_MODES.iter().find(|(name, _)| *name == given).map(|(_, mode)| *mode);
        let mode = mode.ok_or_else(|| {
            misuse(&format!("`{given}` is not a capture mode: use none, prompts_only or full_io"))
        })?;
        if mode == "none" {
            return Err(misuse("with the capture mode `none` a call of a model leaves no event"));
        }
        if mode == "prompts_only" && self.payload.contains_key("response") {
            return Err(misuse("with the capture mode `prompts_only` the response is not kept"));
        }
        self.payload.insert("capture_mode".to_string(), mode.into());
        Ok(())
    }

    pub(crate) fn pending(self, branch: BranchId) -> Result<Pending> {
        let event = self.checked()?;
        let or = |text: &str, none: &str| {
            if text.is_empty() { none.to_string() } else { text.to_string() }
        };
        let (spec, run) = (or(&event.spec, SPEC_NONE), or(run_name(&event.run), RUN_NONE));
        uri::check_component(&spec)?;
        uri::check_component(&run)?;
        let stage =
            if event.stage.is_empty() { String::new() } else { format!(" {}", event.stage) };
        let record = NewRecord {
            kind: EVENT.to_string(),
            run: run.clone(),
            agent: event.agent,
            tags: tags(&[
                ("type", event.event_type.name()),
                ("stage", &event.stage),
                ("spec", &spec),
            ]),
            metadata: event.payload,
            created_at: event.timestamp,
            ..NewRecord::text(format!("{}{stage}", event.event_type.name()))
        };
        record.check_fields()?;
        let envelope = Envelope { branch, system: true, ..Envelope::default() };
        Ok(Pending { name: Name::Event { spec, run }, what: What::Put(Box::new(record)), envelope })
    }
}

/// Tags of those that are not empty.
pub(crate) fn tags(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs
        .iter()
        .filter(|(_, value)| !value.is_empty())
        .map(|(name, value)| ((*name).to_string(), (*value).to_string()))
        .collect()
}

fn fits(kind: &str, value: &Value) -> bool {
    match kind {
        "s" => value.is_string(),
        "n" => value.is_number(),
        "b" => value.is_boolean(),
        "a" => value.is_array(),
        "o" => value.is_object(),
        "*" => true,
        choices => {
            value.as_str().is_some_and(|text| choices.split('|').any(|choice| choice == text))
        }
    }
}

fn described(kind: &str) -> String {
    match kind {
        "s" => "a text".to_string(),
        "n" => "a number".to_string(),
        "b" => "true or false".to_string(),
        "a" => "a list".to_string(),
        "o" => "an object".to_string(),
        "*" => "anything".to_string(),
        choices => format!("one of {}", choices.replace('|', ", ")),
    }
}

/// Records that something happened, on the current branch; all in one commit.
///
/// # Errors
/// `InvalidOperation` when a payload is not what its type asks for; then nothing is written.
pub fn emit(writer: &mut Writer, events: Vec<NewEvent>) -> Result<Vec<Event>> {
    let branch = writer.branch_id();
    let all = events.into_iter().map(|event| event.pending(branch)).collect::<Result<_>>()?;
    let on = writer.branch()?;
    whole::write(writer, all)?.into_iter().map(|record| of(record, on.clone())).collect()
}

/// A merge, as its event describes it.
struct PastMerge {
    from: BranchId,
    /// First sequence of that branch that was not merged.
    below: u64,
    curated: bool,
}

/// Events of the branch that is seen and of those merged into it, oldest first.
///
/// # Errors
/// What the disk or a damaged file reports.
pub fn list(reader: &Reader, request: &EventRequest) -> Result<Vec<Event>> {
    seen(reader.view(), request)
}

/// The event that the record `sequence` is.
fn at(view: &View, sequence: u64) -> Result<Event> {
    let record = view.store().record(sequence)?;
    let branch = branches::name_of(view.store(), record.branch)?;
    of(record, branch)
}

/// The event that a record on this branch is.
fn of(record: Record, branch: String) -> Result<Event> {
    let sequence = record.sequence;
    let tag = |name: &str| record.tags.get(name).cloned().unwrap_or_default();
    let unknown = Error::DamagedRecord { sequence, reason: "its type of event is unknown" };
    Ok(Event {
        sequence,
        event_type: EventType::named(&tag("type")).ok_or(unknown)?,
        timestamp: record.created_at,
        spec: tag("spec"),
        stage: tag("stage"),
        branch,
        uri: record.uri,
        run: record.run,
        payload: record.metadata,
    })
}

/// Events of this branch and of those merged into it, oldest first.
pub(crate) fn seen(view: &View, request: &EventRequest) -> Result<Vec<Event>> {
    let below = view.lineage().below();
    let mut whole = vec![];
    let mut curated = vec![];
    if request.all_branches {
        whole.extend_from_slice(
            view.store().sequences(&Lineage::all().before(below), Class::System)?.ranges(),
        );
    } else {
        gather(
            view,
            view.lineage().own(),
            below,
            false,
            MERGES_DEEP_MAX,
            &mut whole,
            &mut curated,
        )?;
    }
    let mut filter = request.filter();
    let limit = request.limit.unwrap_or(LIMIT_NONE);
    let mut found = listed(view, &filter, whole, request.after, limit)?;
    filter.none.extend(uncurated_terms());
    found.extend(listed(view, &filter, curated, request.after, limit)?);
    found.sort_unstable();
    found.dedup();
    let first = found.len().saturating_sub(limit);
    found[first..].iter().map(|&sequence| at(view, sequence)).collect()
}

fn listed(
    view: &View,
    filter: &kapsa_index::Filter,
    ranges: Vec<std::ops::Range<u64>>,
    after: Option<u64>,
    limit: usize,
) -> Result<Vec<u64>> {
    let first = after.map_or(0, |after| after.saturating_add(1));
    let seqs = Sequences::new(ranges).difference(&Sequences::from(0..first));
    let filter = kapsa_index::Filter { seqs: Some(seqs), ..filter.clone() };
    Ok(view.store().searcher()?.newest(&filter, limit, None, &mut |_| true)?)
}

/// Sequences of what the capsule wrote on a branch, and on those merged into it.
fn gather(
    view: &View,
    branch: BranchId,
    below: u64,
    is_curated: bool,
    depth: usize,
    whole: &mut Vec<std::ops::Range<u64>>,
    curated: &mut Vec<std::ops::Range<u64>>,
) -> Result<()> {
    let seqs = view.store().sequences(&Lineage::alone(branch).before(below), Class::System)?;
    let target = if is_curated { &mut *curated } else { &mut *whole };
    target.extend_from_slice(seqs.ranges());
    if depth == 0 {
        return Ok(());
    }
    for merged in merges(view, seqs)? {
        gather(
            view,
            merged.from,
            merged.below,
            is_curated || merged.curated,
            depth - 1,
            whole,
            curated,
        )?;
    }
    Ok(())
}

/// The merges that events at `seqs` record. A later merge of the same branch brings all that an
/// earlier one did.
fn merges(view: &View, seqs: Sequences) -> Result<Vec<PastMerge>> {
    let all = vec![vec![format!("kind:{EVENT}")], vec![type_term(EventType::BranchMerged)]];
    let filter = kapsa_index::Filter { all, seqs: Some(seqs), ..kapsa_index::Filter::default() };
    let mut merges = Vec::new();
    for sequence in view.store().searcher()?.oldest(&filter, LIMIT_NONE, None, &mut |_| true)? {
        let body = view.store().body(sequence)?;
        // Of a merge in another capsule the events came with it, and a branch that is called so
        // here is another.
        if body.identity.is_some() {
            continue;
        }
        let payload = body.record.metadata;
        let from = payload.get("from_branch").and_then(Value::as_str).unwrap_or_default();
        let Some(from) = branches::find(view.store(), from)? else { continue };
        let below =
            payload.get("from_sequence").and_then(Value::as_u64).map_or(sequence, |last| last + 1);
        let curated = payload.get("mode").and_then(Value::as_str) != Some("full");
        merges.push(PastMerge { from: from.id, below, curated });
    }
    Ok(merges)
}

impl EventRequest {
    fn filter(&self) -> kapsa_index::Filter {
        let mut all = vec![vec![format!("kind:{EVENT}")]];
        let mut types: Vec<EventType> =
            if self.types.is_empty() { EventType::ALL.to_vec() } else { self.types.clone() };
        types.retain(|known| !self.audit_only || known.is_audit_critical());
        types.retain(|known| !self.curated_only || known.is_curated_eligible());
        if types.len() < EventType::ALL.len() {
            all.push(types.into_iter().map(type_term).collect());
        }
        all.extend(self.spec.iter().map(|spec| vec![format!("tag:spec={spec}")]));
        let of_run =
            |run: &String| run_spellings(run).iter().map(|name| format!("run:{name}")).collect();
        all.extend(self.run.iter().map(of_run));
        all.extend(self.stage.iter().map(|stage| vec![format!("tag:stage={stage}")]));
        kapsa_index::Filter { all, ..kapsa_index::Filter::default() }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn event(event_type: EventType, payload: Value) -> Result<NewEvent> {
        let Value::Object(payload) = payload else { panic!("an object") };
        NewEvent { payload, ..NewEvent::new(event_type) }.checked()
    }

    #[test]
    fn there_are_nineteen_types_and_twelve_that_audits_need() {
        assert_eq!(EventType::ALL.len(), 19);
        assert_eq!(EventType::ALL.iter().filter(|known| known.is_audit_critical()).count(), 12);
        assert_eq!(EventType::ALL.iter().filter(|known| !known.is_curated_eligible()).count(), 2);
        assert!(EventType::ALL.iter().all(|known| EventType::named(known.name()) == Some(*known)));
    }

    #[test]
    fn payloads_are_checked_field_by_field() {
        let gate = |outcome: &str| json!({"gate_name": "g", "outcome": outcome, "stage": "s", "blocking": true});
        assert!(event(EventType::GateDecision, gate("Pass")).is_ok());
        assert!(event(EventType::GateDecision, gate("Perhaps")).is_err());
        assert!(event(EventType::GateDecision, json!({"gate_name": "g"})).is_err());
        assert!(
            event(EventType::ToolCall, json!({"call_id": "c", "tool_name": 3, "input": {}}))
                .is_err()
        );
        assert!(event(EventType::DebugTrace, json!({"anything": [1]})).is_ok());
    }

    #[test]
    fn a_model_call_is_captured_as_its_mode_says() {
        let call = |mode: &str, response: bool| {
            let mut payload = json!({"call_id": "c", "model": "m", "routing_mode": "r", "capture_mode": mode,
                "prompt_hash": "p", "response_hash": "q", "success": true});
            if response {
                payload["response"] = "text".into();
            }
            event(EventType::ModelCallEnvelope, payload)
        };
        assert!(
            call("none", false).is_err()
                && call("off", false).is_err()
                && call("everything", false).is_err()
        );
        assert!(call("prompts_only", true).is_err());
        assert_eq!(call("full", true).expect("allowed").payload["capture_mode"], "full_io");
        assert_eq!(call("hash", false).expect("allowed").payload["capture_mode"], "prompts_only");
    }
}
