//! `put --text`, `find` and `get` where another store than a capsule serves them. What it cannot do
//! is refused, not left out.

use crate::app::{App, did};
use crate::args::{self, Fields, Verb};
use crate::backend_kind::BackendKind;
use crate::backends::{self, Backend, BackendSettings, Note, StoredText, unsupported};
use crate::error::{CliError, Done, Result};
use crate::wire::backend::{FoundElsewhereOut, HitElsewhereOut, StoredElsewhereOut};

/// `kapsa put`.
pub(super) fn put(app: &mut App, args: args::Put) -> Result<()> {
    match backends::instead(app, "put")? {
        Some(backend) => put_there(app, &*backend, &args),
        None => super::put::run(app, args),
    }
}

/// `kapsa find`.
pub(super) fn find(app: &mut App, args: args::Find) -> Result<()> {
    match backends::instead(app, "find")? {
        Some(backend) => find_there(app, &*backend, &args),
        None => super::find::run(app, args),
    }
}

/// `kapsa get`.
pub(super) fn get(app: &mut App, args: &args::Get) -> Result<()> {
    match backends::instead(app, "get")? {
        Some(backend) => get_there(app, &*backend, args),
        None => super::records::get(app, args),
    }
}

/// Refuses a verb that only a capsule can serve, where the file names another store.
pub(crate) fn expect_capsule(verb: &Verb, name: impl FnOnce() -> String) -> Result<()> {
    if serves_any(verb) {
        return Ok(());
    }
    let settings = BackendSettings::find()?;
    match settings.backend {
        BackendKind::Capsule => Ok(()),
        backend => Err(unsupported(backend, format!("{} cannot serve {}", backend.name(), name()))),
    }
}

/// Whether a verb is served by any store, names its store itself, or has to do with none.
fn serves_any(verb: &Verb) -> bool {
    matches!(
        verb,
        Verb::Put(_)
            | Verb::Find(_)
            | Verb::Get(_)
            | Verb::Stats(_)
            | Verb::Doctor
            | Verb::Init(_)
            | Verb::Create(_)
            | Verb::Import(_)
            | Verb::Export(_)
            | Verb::Svc(_)
            | Verb::Backend(_)
            | Verb::Setup(_)
            | Verb::Key(_)
            | Verb::Model(_)
            | Verb::Completions(_)
            | Verb::Man(_)
            | Verb::Redact(_)
            | Verb::Tour
            | Verb::Shell(_)
            | Verb::Run(_)
            | Verb::Hook(_)
    )
}

fn put_there(app: &mut App, backend: &dyn Backend, args: &args::Put) -> Result<()> {
    let Some(text) = &args.text else {
        return Err(refused(backend, "takes one text at a time, with --text"));
    };
    if !is_plain(&args.fields) || args.on_conflict.is_some() || args.if_new {
        return Err(refused(backend, "keeps a text with its title, and no other field"));
    }
    if text.trim().is_empty() {
        return Err(CliError::user("invalid_record", "the text is empty"));
    }
    let note = Note {
        uri: args.fields.uri.as_deref().map(app_uri).transpose()?,
        title: args.fields.title.clone().unwrap_or_default(),
        text: text.clone(),
    };
    let id = backend.put(&note)?;
    did(app, Done::new(format!("stored in {}", backend.kind().name())));
    if app.out.is_json() {
        let name = backend.kind().name();
        return app.out.json(&StoredElsewhereOut {
            backend: name,
            id: &id,
            title: None,
            text: None,
        });
    }
    app.out.line(&format!("{id}  stored in {}", backend.kind().name()))
}

fn app_uri(uri: &str) -> Result<String> {
    Ok(crate::app::uri(uri)?.as_str().to_string())
}

/// Whether a put says no more than a plain store keeps. Who writes it, and in which run, is said by
/// the environment, and is lost without harm.
fn is_plain(fields: &Fields) -> bool {
    fields.kind.is_none()
        && fields.label.is_none()
        && fields.tags.is_empty()
        && fields.meta.is_none()
        && fields.entity.is_none()
        && fields.domain.is_none()
        && fields.confidence.is_none()
        && fields.created_at.is_none()
        && fields.classification.is_none()
}

fn find_there(app: &mut App, backend: &dyn Backend, args: &args::Find) -> Result<()> {
    if args.when.as_of.is_some() || args.when.mount.is_some() || app.global.branch.is_some() {
        return Err(refused(backend, "has no past, branches or mounts"));
    }
    let query = args.query.join(" ");
    let hits = backend.find(&query, args.k)?;
    if app.out.is_json() {
        let shown = hits.iter().map(hit).collect();
        return app.out.json(&FoundElsewhereOut::of(backend.kind().name(), &query, shown));
    }
    if hits.is_empty() {
        app.out.note(&format!("{} finds nothing", backend.kind().name()));
    }
    for (at, hit) in hits.iter().enumerate() {
        let title = if hit.title.is_empty() { String::new() } else { format!("  {}", hit.title) };
        headline(app, &format!("{}. {}{title}", at + 1, hit.id))?;
        app.out.line(hit.text.trim_end())?;
    }
    Ok(())
}

fn hit(stored: &StoredText) -> HitElsewhereOut<'_> {
    HitElsewhereOut {
        id: &stored.id,
        title: &stored.title,
        text: &stored.text,
        score: stored.score,
    }
}

fn get_there(app: &mut App, backend: &dyn Backend, args: &args::Get) -> Result<()> {
    if args.seq.is_some() || args.when.as_of.is_some() || args.when.mount.is_some() {
        return Err(refused(backend, "has no past and no mounts"));
    }
    let mut found = backend.get(&args.uri)?;
    if found.is_none()
        && let Ok(canonical) = app_uri(&args.uri)
    {
        found = backend.get(&canonical)?;
    }
    let found = found.ok_or_else(|| {
        let message = format!("{} has nothing of the id {}", backend.kind().name(), args.uri);
        CliError::user("uri_not_found", message)
    })?;
    if args.raw {
        return app.out.exact(&found.text);
    }
    if app.out.is_json() {
        return app.out.json(&StoredElsewhereOut {
            backend: backend.kind().name(),
            id: &found.id,
            title: Some(&found.title),
            text: Some(&found.text),
        });
    }
    if !found.title.is_empty() {
        headline(app, &found.title)?;
    }
    app.out.line(found.text.trim_end())
}

/// Prints what stands above a text, on a line of its own.
fn headline(app: &mut App, text: &str) -> Result<()> {
    app.out.strong(text)?;
    app.out.line("")
}

fn refused(backend: &dyn Backend, what: &str) -> CliError {
    let kind = backend.kind();
    unsupported(kind, format!("{} {what}", kind.name()))
}
