//! `events` and `event emit`: what happened.

use kapsa_memory::{Event, EventRequest, EventType, NewEvent, checkpoint, event};

use crate::app::{App, did};
use crate::args::{Emit, EventVerb, EventsArgs};
use crate::error::{CliError, Done, Result, after};
use crate::escape;
use crate::moment::readable;
use crate::output::{self, ErrorStyle};
use crate::wire::versions::{EventFilters, EventOut, EventsOut, stands_for_none};

/// `kapsa events`.
pub(crate) fn list(app: &mut App, args: EventsArgs) -> Result<()> {
    let reader = app.owner_reader_when(&args.when)?;
    let after = match &args.since_checkpoint {
        Some(name) => Some(checkpoint::named(&reader, name)?.sequence),
        None => None,
    };
    let request = EventRequest {
        types: args.types.iter().map(|name| event_type(name)).collect::<Result<_>>()?,
        spec: args.spec.clone(),
        run: args.run.clone(),
        stage: args.stage.clone(),
        after,
        audit_only: args.audit_only,
        curated_only: args.curated_only,
        all_branches: args.all,
        limit: args.limit.map(|limit| limit.saturating_add(1)),
    };
    let mut events = event::list(&reader, &request)?;
    // The newest are wanted: what is too many is the first.
    let beyond = args.limit.map_or(0, |limit| events.len().saturating_sub(limit));
    events.drain(..beyond);
    if app.out.is_json() {
        return app.out.json(&EventsOut::of(&events, beyond > 0, EventFilters::of(&args)));
    }
    if events.is_empty() {
        app.out.note("no events match");
    }
    events.iter().try_for_each(|event| line(app, event))
}

/// One line of a list of events.
pub(super) fn line(app: &mut App, event: &Event) -> Result<()> {
    app.out.text(&format!("#{:<6} {}  ", event.sequence, readable(event.timestamp)))?;
    app.out.strong(event.event_type.name())?;
    let words = crate::render::event_in_words(event.event_type.name(), &event.payload);
    let mut rest = String::new();
    for (name, value) in
        [("stage", &event.stage), ("spec", &event.spec), ("run", &event.run), ("on", &event.branch)]
    {
        // The stage of a merge only marks that it is over.
        let says_nothing = stands_for_none(name, value) || name == "stage" && words.is_some();
        if !value.is_empty() && !says_nothing {
            rest.push_str(&format!("  {name} {}", escape::line(value)));
        }
    }
    let words = words.unwrap_or_else(|| {
        let payload = serde_json::Value::Object(event.payload.clone()).to_string();
        crate::render::shortened(&payload, 100)
    });
    app.out.line(&format!("{rest}  {}", escape::line(&words)))
}

/// The type that a name means.
pub(super) fn event_type(name: &str) -> Result<EventType> {
    EventType::named(name).ok_or_else(|| {
        let valid: Vec<&str> = EventType::ALL.iter().map(|known| known.name()).collect();
        CliError::user("unknown_event_type", format!("`{name}` is not an event type"))
            .hint(format!("one of {}", valid.join(", ")))
            .field("valid_types", valid)
    })
}

/// `kapsa event`.
pub(crate) fn event(app: &mut App, verb: EventVerb) -> Result<()> {
    match verb {
        EventVerb::Emit(args) => emit(app, *args),
    }
}

/// `kapsa event emit`.
fn emit(app: &mut App, args: Emit) -> Result<()> {
    let (best_effort, style) =
        (args.best_effort, if app.out.is_json() { ErrorStyle::Json } else { ErrorStyle::People });
    match try_emit(app, args) {
        Err(error) if best_effort => {
            output::error(&after(app.done.take(), error), style);
            Ok(())
        }
        ended => ended,
    }
}

fn try_emit(app: &mut App, args: Emit) -> Result<()> {
    let event_type = event_type(&args.event_type)?;
    let path = app.capsule()?;
    app.spec.clone_from(&args.spec);
    let event = NewEvent {
        spec: args.spec.unwrap_or_default(),
        run: args.run.unwrap_or_default(),
        stage: args.stage.unwrap_or_default(),
        agent: args.agent.unwrap_or_default(),
        payload: args.payload.unwrap_or_default(),
        ..NewEvent::new(event_type)
    };
    let events = event::emit(&mut app.owner_writer(&path, Some(&event.run))?, vec![event])?;
    for event in &events {
        let sequence = event.sequence;
        did(app, Done::new(format!("stored as #{sequence}")).field("sequence", sequence));
        if app.out.is_json() {
            app.out.json(&EventOut::from(event))?;
        } else {
            app.out.line(&format!("{}  #{}", event.uri.short(), event.sequence))?;
        }
    }
    Ok(())
}
