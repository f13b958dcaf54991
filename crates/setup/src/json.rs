//! Edits of JSON and JSONC that keep comments, order and layout. Texts only; knows no file.
//!
//! A document is edited as a tree of its tokens. Afterwards it is read again: but for our own
//! entries it says what it said before, with the same comments.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstArray, CstInputValue, CstNode, CstObject, CstObjectProp, CstRootNode};
use serde_json::Value;

use crate::content::{Edited, Prune};
use crate::error::{EditError, line_at};
use crate::hooks::{Hook, own_commands, own_event};
use crate::server::{Form, SERVER_NAME, Server};

/// The key that hooks are kept under.
const HOOKS: &str = "hooks";
/// Most bytes of a foreign entry in a message.
const SHOWN_BYTES_MAX: usize = 200;

/// The text with the server in it.
pub(crate) fn add_server(
    text: &str,
    form: Form,
    server: &Server,
    program: &str,
    force: bool,
) -> Result<Edited, EditError> {
    let root = parse(text)?;
    let top = top(&root, text)?;
    let mut made = Vec::new();
    let servers = object_of(&top, form.key(), form.key(), &mut made)?;
    match property(&servers, SERVER_NAME)? {
        None => drop(servers.append(SERVER_NAME, form.entry(server))),
        Some(entry) => {
            let value = entry.to_serde_value().unwrap_or_default();
            let found = form.server(&value);
            match found.filter(|found| found.is_own(program)) {
                Some(found) => update(&entry, form, &found, server),
                None if force => entry.set_value(form.entry(server)),
                None => return Err(foreign(&value.to_string())),
            }
        }
    }
    let edited = finish(text, &root, made)?;
    let now = read_server(&edited.text, form)?;
    if now.is_none_or(|now| now.command != server.command)
        || without_server(text, form, program)
            .is_ok_and(|before| !force && without_server(&edited.text, form, program) != Ok(before))
    {
        return Err(EditError::TooMuch);
    }
    Ok(edited)
}

/// Only the command is ours: what a person added to the entry stays.
fn update(entry: &CstObjectProp, form: Form, found: &Server, server: &Server) {
    let Some(entry) = entry.object_value() else { return };
    if found.command == server.command {
        return;
    }
    // Arguments that a person added stay.
    let wanted = Server { args: found.args.clone(), ..server.clone() };
    for (key, value) in form.command_fields(&wanted) {
        match entry.get(key) {
            Some(_) if key == "args" => {}
            Some(field) => field.set_value(value),
            None => drop(entry.append(key, value)),
        }
    }
}

/// The server that a document starts under our name.
pub(crate) fn read_server(text: &str, form: Form) -> Result<Option<Server>, EditError> {
    let value = parse(text)?.to_serde_value().unwrap_or_default();
    let entry = value.get(form.key()).and_then(|servers| servers.get(SERVER_NAME));
    Ok(entry.and_then(|entry| form.server(entry)))
}

/// The text without the server; none where there is none of ours.
pub(crate) fn remove_server(
    text: &str,
    form: Form,
    program: &str,
    prune: Prune<'_>,
) -> Result<Option<String>, EditError> {
    let root = parse(text)?;
    let Some(servers) = root.object_value().and_then(|top| top.object_value(form.key())) else {
        return Ok(None);
    };
    let Some(entry) = property(&servers, SERVER_NAME)? else { return Ok(None) };
    let value = entry.to_serde_value().unwrap_or_default();
    if !form.server(&value).is_some_and(|found| found.is_own(program)) {
        return Ok(None);
    }
    entry.remove();
    if servers.properties().is_empty()
        && prune.takes(form.key())
        && let Some(container) = root.object_value().and_then(|top| top.get(form.key()))
    {
        container.remove();
    }
    let removed = root.to_string();
    match without_server(text, form, program)? == without_server(&removed, form, program)? {
        true => Ok(Some(removed)),
        false => Err(EditError::TooMuch),
    }
}

/// What a document says besides the server.
pub(crate) fn without_server(text: &str, form: Form, program: &str) -> Result<Value, EditError> {
    let mut value =
        parse(text)?.to_serde_value().unwrap_or_else(|| Value::Object(Default::default()));
    let Some(top) = value.as_object_mut() else { return Ok(value) };
    if let Some(servers) = top.get_mut(form.key()).and_then(Value::as_object_mut) {
        let own = servers.get(SERVER_NAME).and_then(|entry| form.server(entry));
        if own.is_some_and(|own| own.is_own(program)) {
            servers.remove(SERVER_NAME);
        }
        if servers.is_empty() {
            top.remove(form.key());
        }
    }
    Ok(value)
}

/// The text with the hooks in it, each once.
pub(crate) fn add_hooks(text: &str, hooks: &[Hook], program: &str) -> Result<Edited, EditError> {
    let root = parse(text)?;
    let top = top(&root, text)?;
    let mut made = Vec::new();
    let events = object_of(&top, HOOKS, HOOKS, &mut made)?;
    for hook in hooks {
        let groups = array_of(&events, hook.event.name, &mut made)?;
        if !keep_one(&groups, hook, program) {
            groups.append(group(hook));
        }
    }
    let edited = finish(text, &root, made)?;
    match without_hooks(text, program)? == without_hooks(&edited.text, program)? {
        true => Ok(edited),
        false => Err(EditError::TooMuch),
    }
}

fn group(hook: &Hook) -> CstInputValue {
    let command = CstInputValue::Object(vec![
        ("type".to_string(), "command".into()),
        ("command".to_string(), hook.command.as_str().into()),
        ("timeout".to_string(), hook.event.timeout_seconds.into()),
    ]);
    CstInputValue::Object(vec![(HOOKS.to_string(), CstInputValue::Array(vec![command]))])
}

/// Brings the first hook of ours up to date, and takes out any other. Whether there is one.
fn keep_one(groups: &CstArray, hook: &Hook, program: &str) -> bool {
    let mut kept = false;
    for own in own_hooks(groups, program) {
        if own.verb != hook.event.verb {
            continue;
        }
        if kept {
            own.remove();
            continue;
        }
        kept = true;
        if own.command != hook.command
            && let Some(field) = own.entry.get("command")
        {
            field.set_value(hook.command.as_str().into());
        }
    }
    kept
}

/// A hook of ours in a document.
struct OwnHook {
    /// The group that it is in, an element of the event's array.
    group: CstNode,
    hooks: CstArray,
    entry: CstObject,
    command: String,
    verb: &'static str,
}

impl OwnHook {
    /// With its group, where nothing else is in it.
    fn remove(self) {
        if self.hooks.elements().len() > 1 {
            self.entry.remove();
        } else {
            self.group.remove();
        }
    }
}

fn own_hooks(groups: &CstArray, program: &str) -> Vec<OwnHook> {
    let mut own = Vec::new();
    for group in groups.elements() {
        let Some(hooks) = group.as_object().and_then(|group| group.array_value(HOOKS)) else {
            continue;
        };
        for entry in hooks.elements().iter().filter_map(CstNode::as_object) {
            let command = entry.get("command").and_then(|command| command.to_serde_value());
            let Some(Value::String(command)) = command else { continue };
            let Some(event) = own_event(&command, program) else { continue };
            let (group, hooks) = (group.clone(), hooks.clone());
            own.push(OwnHook { group, hooks, entry, command, verb: event.verb });
        }
    }
    own
}

/// The commands of our hooks, by event.
pub(crate) fn read_hooks(text: &str, program: &str) -> Result<Vec<(String, String)>, EditError> {
    let value = parse(text)?.to_serde_value().unwrap_or_default();
    let events = value.get(HOOKS).and_then(Value::as_object);
    let mut found = Vec::new();
    for (event, groups) in events.into_iter().flatten() {
        for group in groups.as_array().into_iter().flatten() {
            let commands = own_commands(group, program).into_iter();
            found.extend(commands.map(|command| (event.clone(), command)));
        }
    }
    Ok(found)
}

/// The text without our hooks; none where there are none.
pub(crate) fn remove_hooks(
    text: &str,
    program: &str,
    prune: Prune<'_>,
) -> Result<Option<String>, EditError> {
    let root = parse(text)?;
    let Some(top) = root.object_value() else { return Ok(None) };
    let Some(events) = top.object_value(HOOKS) else { return Ok(None) };
    let mut removed = false;
    for event in events.properties() {
        let Some(groups) = event.array_value() else { continue };
        let own = own_hooks(&groups, program);
        if own.is_empty() {
            continue;
        }
        removed = true;
        own.into_iter().for_each(OwnHook::remove);
        let name = event.decoded_name().unwrap_or_default();
        if groups.elements().is_empty() && prune.takes(&made_name(&name)) {
            event.remove();
        }
    }
    if !removed {
        return Ok(None);
    }
    if events.properties().is_empty()
        && prune.takes(HOOKS)
        && let Some(container) = top.get(HOOKS)
    {
        container.remove();
    }
    let removed = root.to_string();
    match without_hooks(text, program)? == without_hooks(&removed, program)? {
        true => Ok(Some(removed)),
        false => Err(EditError::TooMuch),
    }
}

/// What a document says besides our hooks.
pub(crate) fn without_hooks(text: &str, program: &str) -> Result<Value, EditError> {
    let mut value =
        parse(text)?.to_serde_value().unwrap_or_else(|| Value::Object(Default::default()));
    let Some(top) = value.as_object_mut() else { return Ok(value) };
    let Some(events) = top.get_mut(HOOKS).and_then(Value::as_object_mut) else {
        return Ok(value);
    };
    for groups in events.values_mut().filter_map(Value::as_array_mut) {
        groups.retain_mut(|group| {
            let own = own_commands(group, program);
            let Some(hooks) = group.get_mut(HOOKS).and_then(Value::as_array_mut) else {
                return true;
            };
            let is_own = |hook: &Value| {
                let command = hook.get("command").and_then(Value::as_str);
                command.is_some_and(|command| own.iter().any(|own| own == command))
            };
            hooks.retain(|hook| !is_own(hook));
            own.is_empty() || !hooks.is_empty()
        });
    }
    events.retain(|_, groups| groups.as_array().is_none_or(|groups| !groups.is_empty()));
    if events.is_empty() {
        top.remove(HOOKS);
    }
    Ok(value)
}

fn parse(text: &str) -> Result<CstRootNode, EditError> {
    let options = ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    CstRootNode::parse(text, &options).map_err(|error| {
        EditError::at(line_at(text, error.range().start), error.kind().to_string())
    })
}

/// The object that a document is; an empty document becomes one.
fn top(root: &CstRootNode, text: &str) -> Result<CstObject, EditError> {
    if let Some(value) = root.value() {
        return value.as_object().ok_or_else(|| {
            let begins = text.len() - text.trim_start().len();
            EditError::at(line_at(text, begins), "the document is no object `{…}`")
        });
    }
    root.set_value(CstInputValue::Object(Vec::new()));
    root.object_value().ok_or(EditError::TooMuch)
}

/// The only property of a name.
fn property(object: &CstObject, name: &str) -> Result<Option<CstObjectProp>, EditError> {
    let mut found = object
        .properties()
        .into_iter()
        .filter(|property| property.decoded_name().as_deref() == Some(name));
    let first = found.next();
    match found.next() {
        Some(_) => Err(EditError::whole(format!("the key `{name}` is there twice"))),
        None => Ok(first),
    }
}

fn made_name(event: &str) -> String {
    format!("{HOOKS}/{event}")
}

fn object_of(
    parent: &CstObject,
    name: &str,
    path: &str,
    made: &mut Vec<String>,
) -> Result<CstObject, EditError> {
    let property = match property(parent, name)? {
        Some(property) => property,
        None => {
            made.push(path.to_string());
            parent.append(name, CstInputValue::Object(Vec::new()))
        }
    };
    property
        .object_value()
        .ok_or_else(|| EditError::whole(format!("the value of `{path}` is no object")))
}

fn array_of(parent: &CstObject, name: &str, made: &mut Vec<String>) -> Result<CstArray, EditError> {
    let path = made_name(name);
    let property = match property(parent, name)? {
        Some(property) => property,
        None => {
            made.push(path.clone());
            parent.append(name, CstInputValue::Array(Vec::new()))
        }
    };
    property
        .array_value()
        .ok_or_else(|| EditError::whole(format!("the value of `{path}` is no array")))
}

/// The document as text, which ends as it did; it has the comments that it had.
fn finish(before: &str, root: &CstRootNode, made: Vec<String>) -> Result<Edited, EditError> {
    let mut text = root.to_string();
    if before.trim().is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    match comments(&parse(before)?) == comments(&parse(&text)?) {
        true => Ok(Edited { text, made }),
        false => Err(EditError::TooMuch),
    }
}

fn comments(root: &CstRootNode) -> Vec<String> {
    let mut found = Vec::new();
    let mut waiting = root.children();
    while let Some(node) = waiting.pop() {
        if let Some(comment) = node.as_comment() {
            found.push(comment.raw_value());
        }
        waiting.extend(node.children());
    }
    found.sort_unstable();
    found
}

/// An entry that setup did not write, on one line of bounded length.
pub(crate) fn foreign(found: &str) -> EditError {
    let mut found: String = found.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    if found.len() > SHOWN_BYTES_MAX {
        let mut end = SHOWN_BYTES_MAX;
        while !found.is_char_boundary(end) {
            end -= 1;
        }
        found.truncate(end);
        found.push('…');
    }
    EditError::Foreign { found }
}
