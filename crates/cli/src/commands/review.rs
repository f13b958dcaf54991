//! `review`: what waits is listed, shown, let in, changed or discarded, and rules say what waits.

use kapsa_memory::review::{self, PendingRecord};
use kapsa_memory::{Admission, Error, Reader, ReviewRule, ReviewScope, Trust, Uri};

use crate::app::{App, did};
use crate::args::{REVIEW_LIMIT_DEFAULT, ReviewDecide, ReviewEdit, ReviewScopeArgs, ReviewVerb};
use crate::commands::embed::New;
use crate::editor;
use crate::error::{CliError, Done, Result};
use crate::escape;
use crate::render;
use crate::wire;
use crate::wire::review::{DecidedOut, PendingRecordOut, PendingRecordsOut, RulesOut, kind_of};

/// `kapsa review`.
pub(crate) fn run(app: &mut App, verb: Option<ReviewVerb>) -> Result<()> {
    match verb {
        None => list(app, REVIEW_LIMIT_DEFAULT),
        Some(ReviewVerb::List { limit }) => list(app, limit),
        Some(ReviewVerb::Show { id }) => show(app, &id),
        Some(ReviewVerb::Accept(args)) => accept(app, &args),
        Some(ReviewVerb::Reject(args)) => reject(app, &args),
        Some(ReviewVerb::Edit(args)) => edit(app, args),
        Some(ReviewVerb::Rules) => rules(app),
        Some(ReviewVerb::Rule { admission, scope }) => {
            let rule = ReviewRule { scope: scope_of(scope), admission: admission.into() };
            let path = app.capsule()?;
            review::set_rule(&mut app.owner_writer(&path, None)?, rule.clone())?;
            did(app, Done::new(format!("stored the rule: {}", in_words(&rule))));
            rules(app)
        }
        Some(ReviewVerb::RemoveRule { scope }) => {
            let scope = scope_of(scope);
            let path = app.capsule()?;
            if !review::remove_rule(&mut app.owner_writer(&path, None)?, &scope)? {
                return Err(CliError::user("rule_not_found", "there is no rule for exactly this")
                    .hint("kapsa review rules lists the rules"));
            }
            did(app, Done::new("removed the rule"));
            rules(app)
        }
    }
}

/// A number, or a URI.
fn named(id: &str) -> Result<Uri> {
    let number = id.trim_start_matches('#');
    if !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()) {
        return Ok(Uri::parse(&format!("kapsa/pending/{number}"))?);
    }
    crate::app::uri(id)
}

fn item(reader: &Reader, id: &str) -> Result<PendingRecord> {
    review::item(reader, &named(id)?).map_err(|error| match error {
        Error::UriNotFound { .. } => {
            CliError::user("not_pending", format!("nothing waits under {id}"))
                .hint("kapsa review lists what waits")
                .field("id", id)
        }
        other => other.into(),
    })
}

fn list(app: &mut App, limit: usize) -> Result<()> {
    let mut items = review::list(&app.owner_reader()?, limit.saturating_add(1))?;
    let more = wire::cut(&mut items, limit);
    if app.out.is_json() {
        return app.out.json(&PendingRecordsOut::of(&items, more));
    }
    if items.is_empty() {
        app.out.note("nothing waits for review");
    }
    for item in &items {
        line(app, item)?;
    }
    if more {
        app.out.note("there is more: kapsa review list --limit N");
    }
    Ok(())
}

/// `17  fact/f_1  cro  instruction: tells the reader to …` and the text below.
fn line(app: &mut App, item: &PendingRecord) -> Result<()> {
    let record = &item.record;
    app.out.strong(&record.sequence.to_string())?;
    let target = item.brought.uri.as_ref().map_or(kind_of(item), Uri::short);
    let by = render::brought_by(&record.provenance).unwrap_or_default();
    let flags: Vec<String> =
        item.reasons.iter().map(|reason| format!("{}: {}", reason.flag, reason.reason)).collect();
    app.out.line(&escape::line(&format!("  {target}  {by}  {}", flags.join("; "))))?;
    app.out.line(&format!("    {}", render::headline(record)))
}

fn show(app: &mut App, id: &str) -> Result<()> {
    let reader = app.owner_reader()?;
    let item = item(&reader, id)?;
    let there = match item.brought.uri.as_ref().map(|uri| reader.get(uri)) {
        Some(Ok(record)) => Some(record.text),
        None | Some(Err(Error::UriNotFound { .. })) => None,
        Some(Err(error)) => return Err(error.into()),
    };
    if app.out.is_json() {
        return app.out.json(&PendingRecordOut::from(&item).replacing(there));
    }
    line(app, &item)?;
    for (name, value) in render::fields(&item.record) {
        if name != "metadata" {
            app.out.line(&escape::line(&format!("{name:<11}{value}")))?;
        }
    }
    app.out.text("\n")?;
    app.out.body(&item.record.text)?;
    if let Some(there) = there {
        app.out.line("\nIt would replace:")?;
        app.out.body(&there)?;
    }
    Ok(())
}

fn accept(app: &mut App, args: &ReviewDecide) -> Result<()> {
    let by = args.by.clone().unwrap_or_default();
    for id in &args.ids {
        let item = item(&app.owner_reader()?, id)?;
        let_in(app, &item, &by, None)?;
    }
    Ok(())
}

fn edit(app: &mut App, args: ReviewEdit) -> Result<()> {
    let item = item(&app.owner_reader()?, &args.id)?;
    let text = match args.text {
        Some(text) => text,
        None => editor::edit(&item.record.text)?,
    };
    let_in(app, &item, &args.by.unwrap_or_default(), Some(text))
}

fn let_in(app: &mut App, item: &PendingRecord, by: &str, text: Option<String>) -> Result<()> {
    let new = New::begin(app, None)?;
    let path = app.capsule()?;
    let stored = kapsa_agents::accept(&app.location()?, item, by, text.clone())?;
    let uri = match stored {
        Some(uri) => {
            review::close(&mut app.owner_writer(&path, None)?, &item.record.uri, by)?;
            uri
        }
        None => {
            review::accept(&mut app.owner_writer(&path, None)?, &item.record.uri, by, text)?.uri
        }
    };
    did(app, Done::new(format!("stored {}", uri.short())).field("uri", uri.as_str()));
    new.end(app);
    decided(app, item, "accepted", Some(&uri), by)
}

fn reject(app: &mut App, args: &ReviewDecide) -> Result<()> {
    let by = args.by.clone().unwrap_or_default();
    let path = app.capsule()?;
    for id in &args.ids {
        let item = item(&app.owner_reader()?, id)?;
        review::close(&mut app.owner_writer(&path, None)?, &item.record.uri, &by)?;
        did(app, Done::new(format!("rejected {}", item.record.uri.short())));
        decided(app, &item, "rejected", None, &by)?;
    }
    Ok(())
}

fn decided(
    app: &mut App,
    item: &PendingRecord,
    decision: &'static str,
    uri: Option<&Uri>,
    by: &str,
) -> Result<()> {
    if app.out.is_json() {
        let uri = uri.map(|uri| uri.as_str().to_string());
        return app.out.json(&DecidedOut { pending: item.record.uri.as_str(), decision, uri, by });
    }
    let to = uri.map_or_else(String::new, |uri| format!(" as {}", uri.short()));
    app.out.line(&escape::line(&format!("{}  {decision}{to}", item.record.sequence)))
}

fn scope_of(args: ReviewScopeArgs) -> ReviewScope {
    ReviewScope {
        trust: args.of_trust.map(|trust| Trust::from(trust).name().to_string()),
        principal: args.of_principal,
        domain: args.domain,
        kind: args.kind,
    }
}

fn rules(app: &mut App) -> Result<()> {
    let rules = review::rules(&app.owner_reader()?)?;
    if app.out.is_json() {
        return app.out.json(&RulesOut::of(&rules));
    }
    if rules.is_empty() {
        app.out.note("no rules: what is flagged waits, and nothing else");
    }
    rules.iter().try_for_each(|rule| app.out.line(&escape::line(&in_words(rule))))
}

/// `review  trust <= tool, kind note`.
fn in_words(rule: &ReviewRule) -> String {
    let about = rule.scope.in_words();
    let what = match rule.admission {
        Admission::Direct => "direct ",
        Admission::Flagged => "flagged",
        Admission::Review => "review ",
    };
    format!("{what}  {about}")
}
