//! Describes the JSON of each verb: as a JSON Schema for programs and as a reference for people,
//! both generated from the types of this folder. Knows nothing of what the verbs do.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use clap::{Command, CommandFactory};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::access::{ClearanceOut, ClearancesOut};
use super::agent::{
    AttributeOut, AttributesOut, ContextOut, EntitiesOut, EntityOut, EpisodeOut, EpisodesOut,
    FactOut, FactsOut, InsightOut, InsightsOut, ReflectedOut, RememberedOut,
};
use super::backend::{ComparedOut, FindAnswer, GetAnswer};
use super::care::{DoctorOut, MaintenanceOut, PurgeOut, SalvageOut, StatsOut, VerifyOut};
use super::error::ErrorOut;
use super::exchange::{ExchangedOut, RemoteOut, RemotesOut};
use super::fs::{FileOut, FilesFoundOut, FsOut, ListingOut, WrittenOut};
use super::hook::{HookContextOut, NothingOut, PreToolUseOut};
use super::key::KeyOut;
use super::knowledge::{
    CapturedOut, PoliciesOut, PolicyDiffOut, PolicyOut, ReplayOut, ReplayVerifyOut, ValidOut,
};
use super::memory_tool::MemoryToolOut;
use super::merge::MergeAnswer;
use super::model::{EmbeddedOut, ModelInfoOut, ModelsOut, RemovedModel};
use super::put::{Made, PutAnswer, PutOut};
use super::record::{HistoryOut, Records};
use super::redact::RedactOut;
use super::review::{DecidedOut, PendingRecordOut, PendingRecordsOut, RulesOut};
use super::role::{AnsweredOut, PermissionOut, RanOut, RoleOut, RolesOut, ScheduleOut};
use super::run::{
    self, ConfigOut, FinishedOut, RecordedOut, RunsOut, StartedOut, StatusOut, StepAnswer,
};
use super::setup::SetupAnswer;
use super::shell::{CompletionsOut, ManOut, ShellOut};
use super::svc;
use super::tour::TourOut;
use super::traces::{
    ConnectOut, ExtractedOut, KeptSessionOut, MaintainOut, SummarisedOut, SyncAnswer, SyncStatusOut,
};
use super::transfer::{CloneOut, ExportOut, GcOut, ImportAnswer, MountsOut};
use super::versions::{
    ArchivedBranch, BlameOut, BranchesOut, CheckpointsOut, DiffOut, EventOut, EventsOut, LogOut,
    MadeBranch, MadeCheckpoint, Resolved, RevertOut, SwitchedBranch,
};
use super::warning::WarningOut;
use crate::args::Cli;

/// Makes the schema of one type.
type Make = fn() -> Value;

/// The type of what each verb prints with `--json`.
const ANSWERS: &[(&str, Make)] = &[
    ("alias", of::<PutOut<'_>>),
    ("backend compare", of::<ComparedOut>),
    ("blame", of::<BlameOut<'_>>),
    ("branch archive", of::<ArchivedBranch<'_>>),
    ("branch create", of::<MadeBranch<'_>>),
    ("branch list", of::<BranchesOut<'_>>),
    ("branch switch", of::<SwitchedBranch<'_>>),
    ("checkpoint", of::<MadeCheckpoint<'_>>),
    ("checkpoints", of::<CheckpointsOut<'_>>),
    ("cherry-pick", of::<PutOut<'_>>),
    ("clearance list", of::<ClearancesOut<'_>>),
    ("clearance remove", of::<ClearanceOut<'_>>),
    ("clearance set", of::<ClearanceOut<'_>>),
    ("clearance show", of::<ClearanceOut<'_>>),
    ("clone", of::<CloneOut>),
    ("compact", of::<MaintenanceOut>),
    ("completions", of::<CompletionsOut<'_>>),
    ("connect", of::<ConnectOut>),
    ("context", of::<ContextOut<'_>>),
    ("create", of::<Made>),
    ("diff", of::<DiffOut<'_>>),
    ("doctor", of::<DoctorOut<'_>>),
    ("embed", of::<EmbeddedOut<'_>>),
    ("entity alias", of::<EntityOut<'_>>),
    ("entity list", of::<EntitiesOut<'_>>),
    ("entity show", of::<EntityOut<'_>>),
    ("entity unalias", of::<EntityOut<'_>>),
    ("episode add", of::<EpisodeOut<'_>>),
    ("episode list", of::<EpisodesOut<'_>>),
    ("event emit", of::<EventOut<'_>>),
    ("events", of::<EventsOut<'_>>),
    ("export", of::<ExportOut>),
    ("fact add", of::<RememberedOut<'_>>),
    ("fact attribute", of::<AttributeOut<'_>>),
    ("fact attributes", of::<AttributesOut<'_>>),
    ("fact contest", of::<FactsOut<'_>>),
    ("fact get", of::<FactOut<'_>>),
    ("fact list", of::<FactsOut<'_>>),
    ("fact query", of::<FactsOut<'_>>),
    ("fact resolve", of::<FactsOut<'_>>),
    ("fact supersede", of::<RememberedOut<'_>>),
    ("fetch", of::<ExchangedOut>),
    ("find", of::<FindAnswer<'_>>),
    ("forget", of::<PutOut<'_>>),
    ("fs cat", of::<FsOut<'_, FileOut<'_>>>),
    ("fs ls", of::<FsOut<'_, ListingOut<'_>>>),
    ("fs search", of::<FsOut<'_, FilesFoundOut<'_>>>),
    ("fs tree", of::<FsOut<'_, ListingOut<'_>>>),
    ("fs write", of::<FsOut<'_, WrittenOut<'_>>>),
    ("gc", of::<GcOut>),
    ("get", of::<GetAnswer<'_>>),
    ("graph add-card", of::<PutOut<'_>>),
    ("graph add-edge", of::<PutOut<'_>>),
    ("graph query", of::<Records<'_>>),
    ("history", of::<HistoryOut<'_>>),
    ("hook pre-compact", of::<NothingOut>),
    ("hook pre-tool-use", of::<PreToolUseOut>),
    ("hook session-end", of::<NothingOut>),
    ("hook session-start", of::<HookContextOut<'_>>),
    ("hook stop", of::<NothingOut>),
    ("hook subagent-stop", of::<NothingOut>),
    ("hook user-prompt-submit", of::<HookContextOut<'_>>),
    ("hook write-guard", of::<PreToolUseOut>),
    ("import", of::<ImportAnswer<'_>>),
    ("init", of::<Made>),
    ("insight add", of::<InsightOut<'_>>),
    ("insight confirm", of::<InsightOut<'_>>),
    ("insight list", of::<InsightsOut<'_>>),
    ("insight publish", of::<FactsOut<'_>>),
    ("insight reflect", of::<ReflectedOut<'_>>),
    ("insight retire", of::<InsightOut<'_>>),
    ("insight weaken", of::<InsightOut<'_>>),
    ("key init", of::<KeyOut<'_>>),
    ("key show", of::<KeyOut<'_>>),
    ("log", of::<LogOut<'_>>),
    ("maintain", of::<MaintainOut<'_>>),
    ("man", of::<ManOut<'_>>),
    ("memory-tool", of::<MemoryToolOut<'_>>),
    ("merge", of::<MergeAnswer<'_>>),
    ("model add", of::<ModelsOut<'_>>),
    ("model info", of::<ModelInfoOut<'_>>),
    ("model list", of::<ModelsOut<'_>>),
    ("model remove", of::<RemovedModel<'_>>),
    ("mounts", of::<MountsOut<'_>>),
    ("optimize", of::<MaintenanceOut>),
    ("policy capture", of::<CapturedOut<'_>>),
    ("policy diff", of::<PolicyDiffOut<'_>>),
    ("policy list", of::<PoliciesOut<'_>>),
    ("policy show", of::<PolicyOut<'_>>),
    ("policy validate", of::<ValidOut<'_>>),
    ("pull", of::<ExchangedOut>),
    ("purge", of::<PurgeOut<'_>>),
    ("push", of::<ExchangedOut>),
    ("put", of::<PutAnswer<'_>>),
    ("redact", of::<RedactOut<'_>>),
    ("reembed", of::<EmbeddedOut<'_>>),
    ("remote add", of::<RemoteOut<'_>>),
    ("remote list", of::<RemotesOut<'_>>),
    ("remote remove", of::<RemoteOut<'_>>),
    ("remote rename", of::<RemoteOut<'_>>),
    ("replay run", of::<ReplayOut<'_>>),
    ("replay verify", of::<ReplayVerifyOut<'_>>),
    ("resolve-uri", of::<Resolved<'_>>),
    ("revert", of::<RevertOut<'_>>),
    ("review accept", of::<DecidedOut<'_>>),
    ("review edit", of::<DecidedOut<'_>>),
    ("review list", of::<PendingRecordsOut<'_>>),
    ("review reject", of::<DecidedOut<'_>>),
    ("review remove-rule", of::<RulesOut<'_>>),
    ("review rule", of::<RulesOut<'_>>),
    ("review rules", of::<RulesOut<'_>>),
    ("review show", of::<PendingRecordOut<'_>>),
    ("role can", of::<PermissionOut<'_>>),
    ("role list", of::<RolesOut<'_>>),
    ("role publish", of::<FactsOut<'_>>),
    ("role reflect", of::<ReflectedOut<'_>>),
    ("role respond", of::<AnsweredOut<'_>>),
    ("role run", of::<RanOut<'_>>),
    ("role schedule", of::<ScheduleOut>),
    ("role show", of::<RoleOut<'_>>),
    ("run archive", of::<StepAnswer<'_, run::ArchivedOut<'_>>>),
    ("run config", of::<ConfigOut>),
    ("run context", of::<StepAnswer<'_, run::RunContextOut<'_>>>),
    ("run finish", of::<StepAnswer<'_, FinishedOut<'_>>>),
    ("run list", of::<RunsOut<'_>>),
    ("run record", of::<StepAnswer<'_, RecordedOut<'_>>>),
    ("run start", of::<StepAnswer<'_, StartedOut<'_>>>),
    ("run status", of::<StatusOut<'_>>),
    ("run task start", of::<StepAnswer<'_, StartedOut<'_>>>),
    ("salvage", of::<SalvageOut<'_>>),
    ("setup", of::<SetupAnswer>),
    ("shell", of::<ShellOut>),
    ("stats", of::<StatsOut<'_>>),
    ("status", of::<SyncStatusOut<'_>>),
    ("svc create", of::<svc::CreatedOut<'_>>),
    ("svc find", of::<svc::ResultsOut>),
    ("svc info", of::<svc::InfoOut<'_>>),
    ("svc put", of::<svc::StoredOut>),
    ("svc timeline", of::<svc::EntriesOut<'_>>),
    ("sync", of::<SyncAnswer<'_>>),
    ("timeline", of::<Records<'_>>),
    ("tour", of::<TourOut<'_>>),
    ("trace extract", of::<ExtractedOut<'_>>),
    ("trace show", of::<KeptSessionOut<'_>>),
    ("trace summarise", of::<SummarisedOut>),
    ("verify", of::<VerifyOut<'_>>),
];

/// What the names of verbs begin with whose answers hold no warnings: their contract is fixed.
const WITHOUT_WARNINGS: [&str; 3] = ["hook ", "memory-tool", "svc "];
/// Name of the schema of failures, beside those of the verbs.
const ERROR: &str = "error";
/// Most columns of a line of the reference.
const COLUMNS_MAX: usize = 120;

/// What stands at the top of the reference.
const INTRODUCTION: &str = "\
# JSON of the command line

<!-- Generated by `cargo xtask schema` from the types in crates/cli/src/wire. Do not edit. -->

With `--json` every verb prints its answer as one JSON object on one line of standard output. A verb that prints several answers \
prints one on each line. A failure is one object on standard error. The schemas are in [schema/](schema/), one for each verb. They \
allow only the fields listed here. Later versions may add fields.

## Names

A thing has one name in all answers, except in those of `svc`, which has a contract of its own.

- `text`: the text of a record, fact, episode, insight, file or answer.
- `created_at`: when it came about. `committed_at`: when it was committed to the capsule. `updated_at`: when it last changed.
- `run`, `task`, `branch`, `spec`, `agent`, `role`: the name of it.
- `uri`: a canonical URI, such as `mv2://default/note/locks`. `sequence`: the place of a revision in the order of the capsule.
- `count`: the number of items in a list. `more`: whether there are items beyond them. `total`: the number of items in all, where \
known.
- `conflicts_with`: what contradicts it, while nothing says which one holds.
- A plural is a list. A name that ends in `_count` is a number of things, one that ends in `_bytes` a size in bytes, one that ends \
in `_at` a time, one that ends in `_ms` a duration in milliseconds, and one that ends in `_path` a path.

Times are RFC 3339 in UTC, such as `2026-11-27T09:30:00.25Z`. A field that would be empty or is not known is left out. Characters \
that could act on a terminal are escaped, as in `\\u001b`.

## Warnings

A call can succeed and yet lose something, leave something out or do it in a lesser way: a search by words only, a put without \
vectors, a file or a mount that was skipped. People read a line on standard error that begins with `warning:`. Programs read the same in \
`warnings`, a list of objects with a stable `code` and a `message` for people. It stands in the answer, in one of them \
where a verb prints several, or beside `error` where there is none; it is left out if there are no warnings. Any answer may hold it, except those of \
`svc`.

- `code` (string): A stable name of the warning, such as `searched_by_words`.
- `message` (string): The warning in one line, for people.

A failure after a commit is no failure of the commit: `error` then has `\"stored\": true`, its `message` begins with what was stored, and \
`sequence` or `branch` names it.

";

/// The schema of a type, as it is printed: no other fields than those described, and what is left
/// out is never null.
fn of<T: JsonSchema>() -> Value {
    let mut generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let mut schema = generator.root_schema_for::<T>().to_value();
    close(&mut schema);
    schema
}

fn close(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            close_object(object);
            object.values_mut().for_each(close);
        }
        Value::Array(items) => items.iter_mut().for_each(close),
        _ => {}
    }
}

fn close_object(object: &mut Map<String, Value>) {
    if object.get("format").is_some_and(|format| format.is_string() && format != "date-time") {
        object.remove("format");
    }
    if let Some(Value::String(text)) = object.get_mut("description") {
        *text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    }
    let required = names(object.get("required"));
    if let Some(Value::Object(properties)) = object.get_mut("properties") {
        let optional = properties.iter_mut().filter(|(name, _)| !required.contains(name));
        optional.for_each(|(_, schema)| drop_null(schema));
        object.insert("additionalProperties".to_string(), false.into());
    }
}

fn names(list: Option<&Value>) -> Vec<String> {
    let list = list.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    list.iter().filter_map(Value::as_str).map(str::to_string).collect()
}

/// A field that is left out when there is nothing is never null.
fn drop_null(schema: &mut Value) {
    let Value::Object(object) = schema else { return };
    if let Some(Value::Array(types)) = object.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = &types[..] {
            let only = only.clone();
            object.insert("type".to_string(), only);
        }
    }
    let Some(Value::Array(either)) = object.get_mut("anyOf") else { return };
    either.retain(|schema| schema["type"] != "null");
    if let [Value::Object(only)] = &either[..] {
        let only = only.clone();
        object.remove("anyOf");
        object.extend(only);
    }
}

/// What it says is another's protocol, which describes itself.
const OF_A_PROTOCOL: &str = "mcp";

/// Every verb whose answers are this program's own, as it is typed, in order: those without verbs
/// of their own.
#[must_use]
pub fn verbs() -> Vec<String> {
    let mut command = Cli::command();
    command.build();
    let mut found = Vec::new();
    leaves(&command, "", &mut found);
    found.retain(|verb| verb != OF_A_PROTOCOL);
    found.sort();
    found
}

fn leaves(command: &Command, before: &str, found: &mut Vec<String>) {
    for verb in
        command.get_subcommands().filter(|verb| verb.get_name() != "help" && !verb.is_hide_set())
    {
        let name = format!("{before}{}", verb.get_name());
        if verb.has_subcommands() {
            leaves(verb, &format!("{name} "), found)
        } else {
            found.push(name)
        }
    }
}

/// The schema of what each verb prints, by the verb as it is typed; and that of failures, under
/// `error`.
#[must_use]
pub fn schemas() -> BTreeMap<String, Value> {
    let mut all = without_warnings();
    let warned = all.iter_mut().filter(|(name, _)| !is_fixed(name));
    warned.for_each(|(_, schema)| admit_warnings(schema));
    all
}

/// Whether the answers of a verb have the shape that others agreed on.
fn is_fixed(verb: &str) -> bool {
    WITHOUT_WARNINGS.iter().any(|start| verb.starts_with(start))
}

/// Lets an answer hold warnings, whichever of several objects it is.
fn admit_warnings(schema: &mut Value) {
    let mut warning = of::<WarningOut>();
    if let Some(warning) = warning.as_object_mut() {
        warning.remove("$schema");
    }
    let description = "What was lost, left out or done in a lesser way.";
    let warnings = json!({ "type": "array", "description": description, "items": warning });
    let mut objects = vec![String::new()];
    while let Some(at) = objects.pop() {
        let Some(object) = schema.pointer_mut(&at) else { continue };
        if let Some(Value::Object(properties)) = object.get_mut("properties") {
            properties.insert("warnings".to_string(), warnings.clone());
        }
        for choices in ["anyOf", "oneOf"] {
            let all = object[choices].as_array().into_iter().flatten().enumerate();
            objects.extend(all.map(|(number, choice)| match choice["$ref"].as_str() {
                Some(name) => name.trim_start_matches('#').to_string(),
                None => format!("{at}/{choices}/{number}"),
            }));
        }
    }
}

/// As [`schemas`], without what all answers have in common.
fn without_warnings() -> BTreeMap<String, Value> {
    let answers = ANSWERS.iter().map(|(verb, make)| (*verb, make()));
    let all = answers.chain([(ERROR, of::<ErrorOut<'_>>())]);
    all.map(|(name, mut schema)| {
        let title = if name == ERROR {
            "failure of kapsa".to_string()
        } else {
            format!("kapsa {name} --json")
        };
        schema["title"] = title.into();
        (name.to_string(), schema)
    })
    .collect()
}

/// The files that describe the JSON, by their path in the repository.
#[must_use]
pub fn files() -> BTreeMap<String, String> {
    let schemas = schemas();
    let reference = reference(&without_warnings());
    let mut files = BTreeMap::from([("docs/json.md".to_string(), reference)]);
    for (name, schema) in &schemas {
        files.insert(format!("docs/{}", file_name(name)), format!("{schema:#}\n"));
    }
    files
}

fn file_name(name: &str) -> String {
    format!("schema/{}.json", name.replace(' ', "-"))
}

/// The reference for people: a section for each verb, then one for each object that they have in
/// common.
fn reference(schemas: &BTreeMap<String, Value>) -> String {
    let mut text = String::new();
    INTRODUCTION.split('\n').for_each(|line| wrapped(&mut text, "", line));
    text.truncate(text.trim_end().len());
    let mut types = BTreeMap::new();
    section(&mut text, "Failures", &schemas[ERROR], &file_name(ERROR));
    for (name, schema) in schemas {
        types.extend(schema["$defs"].as_object().into_iter().flatten());
        if name != ERROR {
            section(&mut text, &format!("`{name}`"), schema, &file_name(name));
        }
    }
    text.push_str("\n\n## Objects\n\nObjects that the answers above consist of.");
    for (name, schema) in types {
        write!(text, "\n\n### Object {name}\n\n").expect("writing to a String cannot fail");
        described(&mut text, schema);
        text.truncate(text.trim_end().len());
    }
    text.push('\n');
    text
}

fn section(text: &mut String, heading: &str, schema: &Value, file: &str) {
    write!(text, "\n\n## {heading}\n\n").expect("writing to a String cannot fail");
    let described_by = format!("Schema: [{file}]({file}).");
    let description = schema["description"].as_str().unwrap_or_default();
    wrapped(text, "", format!("{description} {described_by}").trim_start());
    fields(text, schema);
    text.truncate(text.trim_end().len());
}

/// A description, and the fields below it.
fn described(text: &mut String, schema: &Value) {
    wrapped(text, "", schema["description"].as_str().unwrap_or_default());
    fields(text, schema);
}

/// The fields of an object, those that are always there first; or those of each object that it can
/// be.
fn fields(text: &mut String, schema: &Value) {
    let choices = ["anyOf", "oneOf"].into_iter().filter_map(|key| schema[key].as_array()).flatten();
    let (named, inline): (Vec<&Value>, Vec<&Value>) =
        choices.partition(|choice| choice["$ref"].is_string());
    if !named.is_empty() {
        wrapped(
            text,
            "\n",
            &format!("One of {}.", named.into_iter().map(kind).collect::<Vec<_>>().join(", ")),
        );
    }
    for choice in inline {
        wrapped(
            text,
            "\n",
            &format!("Either: {}", choice["description"].as_str().unwrap_or_default()),
        );
        fields(text, choice);
    }
    let Some(properties) = schema["properties"].as_object() else { return };
    let required = names(schema.get("required"));
    text.push('\n');
    for needed in [true, false] {
        for (name, field) in properties.iter().filter(|(name, _)| required.contains(name) == needed)
        {
            let optional = if needed { "" } else { ", optional" };
            let meaning = field["description"].as_str().unwrap_or_default();
            let line = format!("- `{name}` ({}{optional}): {meaning}", kind(field));
            wrapped(text, "", line.trim_end().trim_end_matches(':'));
        }
    }
}

/// The type of a value, in words.
fn kind(schema: &Value) -> String {
    if let Some(name) = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next()) {
        return format!("[{name}](#object-{})", name.to_lowercase());
    }
    let either = schema["anyOf"].as_array().or(schema["oneOf"].as_array());
    if let Some(either) = either {
        return either.iter().map(kind).collect::<Vec<_>>().join(" or ");
    }
    if let Some(only) = schema["const"].as_str() {
        return format!("`{only}`");
    }
    if schema["enum"].is_array() {
        let values: Vec<String> =
            names(schema.get("enum")).into_iter().map(|value| format!("`{value}`")).collect();
        return values.join(", ");
    }
    match &schema["type"] {
        Value::Array(_) => names(schema.get("type")).join(" or "),
        Value::String(name) => kind_named(name, schema),
        _ => "any JSON value".to_string(),
    }
}

fn kind_named(name: &str, schema: &Value) -> String {
    match name {
        "array" => format!("list of {}", plural(kind(&schema["items"]))),
        "string" if schema["format"] == "date-time" => "time".to_string(),
        "object" if schema["additionalProperties"].is_object() => {
            format!("object with values: {}", kind(&schema["additionalProperties"]))
        }
        _ => name.to_string(),
    }
}

/// More than one of a type: of those that have a name in words.
fn plural(kind: String) -> String {
    match kind.as_str() {
        "string" | "integer" | "number" | "boolean" | "object" | "time" => format!("{kind}s"),
        _ => {
            kind.strip_prefix("list ").map_or_else(|| kind.clone(), |rest| format!("lists {rest}"))
        }
    }
}

/// Appends a line, broken between words so that it fits; what follows a bullet is indented.
fn wrapped(text: &mut String, before: &str, line: &str) {
    text.push_str(before);
    let indent = if line.starts_with("- ") { "  " } else { "" };
    let mut column = 0;
    for word in line.split(' ') {
        let width = word.chars().count();
        if column > 0 && column + 1 + width > COLUMNS_MAX {
            write!(text, "\n{indent}").expect("writing to a String cannot fail");
            column = indent.len();
        } else if column > 0 {
            text.push(' ');
            column += 1;
        }
        text.push_str(word);
        column += width;
    }
    text.push('\n');
}
