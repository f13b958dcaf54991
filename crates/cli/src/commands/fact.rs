//! `fact`: facts are added, looked up and resolved.

use kapsa_agents::{
    Answer, AttributeDeclared, CapsuleFactStore, Fact, FactQuery, FactStore, Preset, Resolution,
    Verdict, VocabularyStore, WorkspaceMemory, fresh_id,
};
use kapsa_memory::access::Classification;

use crate::app::{App, did, refuse_field, refuse_other, refuse_own_tags};
use crate::args::{Compare, FactAdd, FactAttribute, FactFilters, FactValue, FactVerb, Level};
use crate::commands::embed::New;
use crate::commands::text::typed_text;
use crate::error::{CliError, Done, Result};
use crate::escape;
use crate::moment::{self, readable};
use crate::wire::agent::{AttributeOut, AttributesOut, FactOut, FactsOut, RememberedOut};

/// Why a principal does not say how sure a fact is that its team shares.
const CONFIDENCE: &str = "the memory finds out how sure a shared fact is";

/// `kapsa fact`.
pub(crate) fn run(app: &mut App, verb: FactVerb) -> Result<()> {
    match verb {
        FactVerb::Add(args) => add(app, *args),
        FactVerb::Get(args) => {
            let store = CapsuleFactStore::new(app.location_when(args.as_of.as_deref())?);
            let fact = store.get(&args.id)?.ok_or_else(|| missing(&args.id))?;
            show(app, &fact)?;
            count_read(app, args.as_of.as_deref(), std::slice::from_ref(&fact));
            Ok(())
        }
        FactVerb::List(args) => list(app, "", args.filters),
        FactVerb::Query(args) => list(app, &args.text.join(" "), args.filters),
        FactVerb::Supersede(args) => {
            let new = New::begin(app, args.embed)?;
            refuse_own_tags(app, &args.tags)?;
            let old = CapsuleFactStore::new(app.location()?)
                .get(&args.old)?
                .ok_or_else(|| missing(&args.old))?;
            let tags = if args.tags.is_empty() { old.tags } else { args.tags };
            let (told, _) = told(app, args.id, &args.text, &args.value)?;
            let fact = workspace(app)?.supersede(&args.old, Fact { tags, ..told })?;
            stored(app, &[&fact]);
            let embedding = new.end(app);
            let (verdict, reason) = ("supersedes", "as requested");
            answer(
                app,
                &RememberedOut {
                    verdict,
                    reason,
                    proposed: None,
                    other: Some(&args.old),
                    similarity: None,
                    fact: (&fact).into(),
                    embedding,
                },
                &fact,
            )
        }
        FactVerb::Contest(args) => {
            let new = New::begin(app, None)?;
            let pair = workspace(app)?.contest(&args.id, &args.other)?;
            stored(app, &pair.each_ref());
            new.end(app);
            tell_all(app, &pair)
        }
        FactVerb::Resolve(args) if args.answer().is_some() => {
            let new = New::begin(app, None)?;
            refuse_other(app, "by", args.by.as_deref())?;
            let by = app.principal().or(args.by.as_deref()).unwrap_or_default().to_string();
            let answer = args.answer().unwrap_or(Answer::Accept);
            let changed = workspace(app)?.decide(&args.id, answer, &by)?;
            stored(app, &changed.iter().collect::<Vec<_>>());
            new.end(app);
            tell_all(app, &changed)
        }
        FactVerb::Resolve(args) => {
            let resolution = if args.all_hold { Resolution::AllHold } else { Resolution::Holds };
            let new = New::begin(app, None)?;
            let changed = workspace(app)?.resolve(&args.id, resolution)?;
            stored(app, &changed.iter().collect::<Vec<_>>());
            new.end(app);
            tell_all(app, &changed)
        }
        FactVerb::Attribute(args) => declare(app, args),
        FactVerb::Attributes => attributes(app),
    }
}

fn attributes(app: &mut App) -> Result<()> {
    let attributes = VocabularyStore::new(app.location()?).attributes()?;
    if app.out.is_json() {
        return app.out.json(&AttributesOut::of(&attributes));
    }
    if attributes.is_empty() {
        app.out.note("no attribute is declared");
    }
    attributes.iter().try_for_each(|attribute| attribute_line(app, attribute))
}

fn declare(app: &mut App, args: FactAttribute) -> Result<()> {
    let domain = args.domain.unwrap_or_default();
    let attribute = AttributeDeclared { name: args.name, domain, many: args.many };
    VocabularyStore::new(app.location()?).declare(&attribute)?;
    let done = format!("declared attribute {}", attribute.name);
    did(app, Done::new(done).field("attribute", attribute.name.as_str()));
    if app.out.is_json() {
        return app.out.json(&AttributeOut::from(&attribute));
    }
    attribute_line(app, &attribute)
}

/// `language  many values  [hr]`.
fn attribute_line(app: &mut App, attribute: &AttributeDeclared) -> Result<()> {
    app.out.strong(&escape::line(&attribute.name))?;
    app.out.text(if attribute.many { "  many values" } else { "  one value" })?;
    let domain = &attribute.domain;
    let domain = if domain.is_empty() { String::new() } else { format!("  [{domain}]") };
    app.out.faint(&escape::line(&domain))?;
    app.out.line("")
}

/// Notes that facts were stored: the first is what the call is about.
fn stored(app: &mut App, facts: &[&Fact]) {
    let Some(first) = facts.first() else { return };
    did(app, Done::new(format!("stored fact {}", first.id)).field("id", first.id.as_str()));
}

/// The id of the one fact that a call is about.
pub(super) fn named(verb: &FactVerb) -> Option<&str> {
    match verb {
        FactVerb::Add(args) => args.id.as_deref(),
        FactVerb::Get(args) => Some(&args.id),
        FactVerb::Supersede(args) => Some(&args.old),
        FactVerb::Contest(args) => Some(&args.id),
        FactVerb::Resolve(args) => Some(&args.id),
        FactVerb::List(_) | FactVerb::Query(_) | FactVerb::Attribute(_) | FactVerb::Attributes => {
            None
        }
    }
}

fn workspace(app: &App) -> Result<WorkspaceMemory> {
    Ok(WorkspaceMemory::in_capsule(app.location()?, moment::now))
}

fn missing(id: &str) -> CliError {
    let hint =
        "kapsa fact list --all includes superseded facts; kapsa fact query searches their text";
    CliError::user("fact_not_found", format!("no fact {id}")).hint(hint).field("id", id)
}

/// A fact as it was typed; what is not said of one that is known stays as it is.
fn told(app: &App, id: Option<String>, text: &[String], value: &FactValue) -> Result<(Fact, bool)> {
    let known = match &id {
        Some(id) => CapsuleFactStore::new(app.location()?).get(id)?,
        None => None,
    };
    let now = moment::now();
    let is_known = known.is_some();
    let fact = known.unwrap_or_else(|| Fact::new(id.unwrap_or_else(|| fresh_id("f_")), "", now));
    refuse_other(app, "source", value.source.as_deref())?;
    refuse_field(app, "confidence", value.confidence.is_some(), CONFIDENCE)?;
    let source = app.principal().or(value.source.as_deref()).map(str::to_string);
    let fact = Fact {
        content: typed_text(text)?,
        source: source.unwrap_or(fact.source),
        confidence: value.confidence.unwrap_or(fact.confidence),
        importance: value.importance.unwrap_or(fact.importance),
        valid_from: value.valid_from.or(fact.valid_from),
        valid_to: value.valid_to.or(fact.valid_to),
        updated_at: now,
        ..fact
    };
    if let (Some(from), Some(to)) = (fact.valid_from, fact.valid_to)
        && to <= from
    {
        return Err(CliError::usage("--valid-to must be later than --valid-from"));
    }
    Ok((fact, is_known))
}

fn add(app: &mut App, args: FactAdd) -> Result<()> {
    refuse_own_tags(app, &args.about.tags)?;
    let new = New::begin(app, args.embed)?;
    let (fact, is_known) = told(app, args.id, &args.text, &args.value)?;
    let classification = args.classification.map_or(fact.classification, Level::into);
    let mut named = if args.named.is_empty() { fact.named } else { args.named };
    if classification == Classification::Restricted {
        // The store names the principal who writes it; what is answered says so too.
        let writer = app.principal().filter(|writer| !named.iter().any(|name| name == writer));
        named.extend(writer.map(str::to_owned));
        if named.is_empty() {
            let message = "restricted to nobody: name who may read it with --named";
            app.out.warn("restricted_to_nobody", message);
        }
    }
    let fact = Fact {
        entity: args.about.entity.unwrap_or(fact.entity),
        attribute: args.attribute.unwrap_or(fact.attribute),
        domain: args.about.domain.unwrap_or(fact.domain),
        tags: if args.about.tags.is_empty() { fact.tags } else { args.about.tags },
        classification,
        named,
        ..fact
    };
    let preset = match args.compare {
        Compare::Exact => Preset::Exact,
        Compare::Near => Preset::Near,
        Compare::Wide => Preset::Wide,
        Compare::None => {
            workspace(app)?.store_fact(&fact)?;
            stored(app, &[&fact]);
            let embedding = new.end(app);
            let (verdict, reason) = ("stored", "it was not compared with anything");
            return answer(
                app,
                &RememberedOut {
                    verdict,
                    reason,
                    proposed: None,
                    other: None,
                    similarity: None,
                    fact: (&fact).into(),
                    embedding,
                },
                &fact,
            );
        }
    };
    let remembered = workspace(app)?.with_preset(preset).remember(fact)?;
    stored(app, &[&remembered.fact]);
    let embedding = new.end(app);
    let mut told = RememberedOut::of(&remembered.comparison, &remembered.fact, embedding);
    if is_known && remembered.comparison.verdict == Verdict::New {
        (told.verdict, told.reason) =
            ("revised", "the id exists: its previous content is in its history");
    }
    answer(app, &told, &remembered.fact)
}

fn answer(app: &mut App, told: &RememberedOut<'_>, fact: &Fact) -> Result<()> {
    if app.out.is_json() {
        return app.out.json(told);
    }
    let other = told.other.map_or_else(String::new, |other| match told.verdict {
        "new" => format!(" (nearest: {})", escape::line(other)),
        _ => format!(" {}", escape::line(other)),
    });
    // What is told again has the id of what is known already.
    let other = if told.other == Some(fact.id.as_str()) { String::new() } else { other };
    app.out.strong(told.verdict)?;
    app.out.line(&format!("{other}: {}", told.reason))?;
    line(app, fact)
}

fn list(app: &mut App, text: &str, filters: FactFilters) -> Result<()> {
    let store = CapsuleFactStore::new(app.location_when(filters.as_of.as_deref())?);
    let found = store.query(&FactQuery {
        entity: filters.within.entity,
        attribute: filters.attribute,
        domain: filters.within.domain,
        tags: filters.within.tags,
        text: text.to_string(),
        confidence_min: filters.min_confidence,
        valid_at: filters.valid_at,
        superseded: filters.all,
        contested: filters.contested,
        pending: filters.pending,
        limit: filters.limit.saturating_add(1),
        ..FactQuery::default()
    })?;
    let more = found.len() > filters.limit;
    let found = &found[..found.len().min(filters.limit)];
    if app.out.is_json() {
        app.out.json(&FactsOut::of(found, more))?;
    } else {
        tell_all(app, found)?;
        if found.is_empty() {
            app.out.note("no facts");
        } else if more {
            app.out.note("there are more; show them with --limit N");
        }
    }
    // A list is looked through; what is asked for is read.
    if !text.is_empty() {
        count_read(app, filters.as_of.as_deref(), found);
    }
    Ok(())
}

/// Counts that facts were read, once they are shown: at once or not at all, since a read neither
/// waits for a writer nor makes a file. What was read of the past does not count.
fn count_read(app: &App, as_of: Option<&str>, facts: &[Fact]) {
    let Ok(path) = app.capsule() else { return };
    if as_of.is_some() || facts.is_empty() || !kapsa_memory::lock_path(&path).exists() {
        return;
    }
    let Ok(location) = app.location() else { return };
    let store = CapsuleFactStore::new(location.impatient());
    let ids: Vec<&str> = facts.iter().map(|fact| fact.id.as_str()).collect();
    // A count is a hint: what was read was read, whether it can be counted or not.
    let _uncounted = store.touch(&ids, moment::now()).and_then(|()| store.flush());
}

fn tell_all(app: &mut App, all: &[Fact]) -> Result<()> {
    if app.out.is_json() {
        return app.out.json(&FactsOut::of(all, false));
    }
    all.iter().try_for_each(|fact| line(app, fact))
}

/// `f_1f0c  Acme pays within 30 days  [acme · payment · revenue]`, with whatever limits it.
fn line(app: &mut App, fact: &Fact) -> Result<()> {
    app.out.strong(&escape::line(&fact.id))?;
    app.out.text(&format!("  {}", escape::line(&fact.content)))?;
    app.out.faint(&escape::line(&about(fact)))?;
    app.out.line("")
}

fn about(fact: &Fact) -> String {
    let names: Vec<&str> = [&fact.entity, &fact.attribute, &fact.domain]
        .into_iter()
        .map(String::as_str)
        .filter(|name| !name.is_empty())
        .collect();
    let mut parts = Vec::new();
    parts.extend((!names.is_empty()).then(|| names.join(" · ")));
    parts.extend(
        (fact.classification.name() != "internal").then(|| fact.classification.to_string()),
    );
    parts.extend((fact.confidence < 1.0).then(|| format!("confidence {:.2}", fact.confidence)));
    parts.extend((fact.evidence_count > 1).then(|| format!("seen {} times", fact.evidence_count)));
    parts.extend(fact.valid_from.map(|from| format!("from {}", readable(from))));
    parts.extend(fact.valid_to.map(|to| format!("until {}", readable(to))));
    parts.extend(fact.superseded_by.as_ref().map(|by| format!("superseded by {by}")));
    parts.extend((!fact.source.is_empty()).then(|| format!("by {}", fact.source)));
    parts.extend(
        (!fact.contested_with.is_empty())
            .then(|| format!("CONTESTED with {}", fact.contested_with.join(", "))),
    );
    parts.extend(fact.pending.as_ref().map(|pending| {
        format!("PENDING: {} {}?", pending.verdict.name(), fact.pending_with.join(", "))
    }));
    parts.extend(
        (fact.pending.is_none() && !fact.pending_with.is_empty())
            .then(|| format!("PENDING: {}", fact.pending_with.join(", "))),
    );
    if parts.is_empty() { String::new() } else { format!("  [{}]", parts.join("; ")) }
}

fn show(app: &mut App, fact: &Fact) -> Result<()> {
    if app.out.is_json() {
        return app.out.json(&FactOut::from(fact));
    }
    app.out.strong(&escape::line(&fact.id))?;
    app.out.line(&format!("  {}", escape::line(&fact.content)))?;
    let opt = |value: &Option<String>| value.clone().unwrap_or_default();
    let rows = [
        ("entity", fact.entity.clone()),
        ("attribute", fact.attribute.clone()),
        ("domain", fact.domain.clone()),
        ("tags", fact.tags.join(", ")),
        ("level", fact.classification.to_string()),
        ("named", fact.named.join(", ")),
        ("source", fact.source.clone()),
        (
            "confidence",
            format!(
                "{:.2}, seen {}",
                fact.confidence,
                crate::render::counted(fact.evidence_count, "time")
            ),
        ),
        (
            "importance",
            if fact.importance > 0.0 { format!("{:.2}", fact.importance) } else { String::new() },
        ),
        ("valid from", fact.valid_from.map(readable).unwrap_or_default()),
        ("valid until", fact.valid_to.map(readable).unwrap_or_default()),
        ("recorded", readable(fact.created_at)),
        (
            "changed",
            if fact.updated_at == fact.created_at {
                String::new()
            } else {
                readable(fact.updated_at)
            },
        ),
        ("supersedes", opt(&fact.supersedes)),
        (
            "superseded",
            fact.superseded_by.as_ref().map(|by| format!("by {by}")).unwrap_or_default(),
        ),
        ("contested", fact.contested_with.join(", ")),
        (
            "read",
            if fact.access_count > 0 {
                crate::render::counted(fact.access_count, "time")
            } else {
                String::new()
            },
        ),
    ];
    for (name, value) in rows.iter().filter(|(_, value)| !value.is_empty()) {
        app.out.faint(&format!("{name:<12}"))?;
        app.out.line(&escape::line(value))?;
    }
    Ok(())
}
