//! What an agent should know before its next step, within a number of tokens: what it learned, what
//! the team knows, and what it did last, the most valuable first, one thing a line.
//!
//! Invariants: what may not be known, was superseded, has retired or does not hold now is never
//! shown; the same memory at the same moment gives the same text; a line is whole or not there; a
//! text stays on its line, whatever the text holds.

use std::cmp::{Ordering, Reverse};
use std::fmt;

use kapsa_memory::query::{Query, plain_query, terms_in};

use super::memory::AgentMemory;
use super::records;
use super::secrets::Secrets;
use super::stores::{EpisodeQuery, FactQuery, InsightQuery};
use super::types::{Episode, Fact, Insight, Note};
use super::workspace::WorkspaceMemory;
use kapsa_memory::access::{Classification, ClearanceProfile};
use kapsa_memory::record::Micros;
use kapsa_memory::tokens::{estimate, first_bytes, first_chars, flowed, one_line};
use kapsa_memory::uri::Uri;
use kapsa_memory::{LOGIT, RERANKED, Result, Trust};
use kapsa_model::Reranker;

/// Tokens of a context by default, by the estimate of [`kapsa_memory::tokens`].
pub const CONTEXT_TOKENS_DEFAULT: usize = 2000;
/// Most insights of a context.
pub const CONTEXT_INSIGHTS_MAX: usize = 5;
/// Most facts of a context.
pub const CONTEXT_FACTS_MAX: usize = 10;
/// Most notes of a context.
pub const CONTEXT_NOTES_MAX: usize = 5;
/// Longest part of a note that a context holds, in characters; all of it is at its URI.
const NOTE_CHARS_MAX: usize = 320;
/// Most episodes of a context.
pub const CONTEXT_EPISODES_MAX: usize = 3;
/// Insights and facts that are weighed: so many that have most words of the query, and so many that
/// were written last.
pub const LIKELY_MAX: usize = 32;

/// Bytes of each of them in which words are counted.
const SEARCHED_BYTES_MAX: usize = 4096;

/// Bytes of each of them that a re-ranker reads.
const RERANKED_BYTES_MAX: usize = 600;

/// A part of a memory. Each part that is empty asks for anything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    /// About this entity.
    pub entity: String,
    /// Of this field of knowledge.
    pub domain: String,
    /// With one of these tags.
    pub tags: Vec<String>,
    /// What has words of this text comes first, the more the earlier. It leaves nothing out.
    pub query: String,
    /// Of the facts that were taken from sessions, only those about one of these repositories or
    /// about nothing; all when none.
    pub sessions_about: Option<Vec<String>>,
}

impl Scope {
    fn entity(&self) -> Option<String> {
        Some(self.entity.clone()).filter(|entity| !entity.is_empty())
    }

    /// The entity of what is about the whole domain: none, where there is an entity and a domain to
    /// be wider than.
    fn whole_domain(&self) -> Option<String> {
        (self.entity().is_some() && self.domain().is_some()).then(String::new)
    }

    fn domain(&self) -> Option<String> {
        Some(self.domain.clone()).filter(|domain| !domain.is_empty())
    }
}

/// How a context is written.
#[derive(Clone, Copy, Debug)]
pub struct ContextOptions<'a> {
    /// Most tokens of its text, by the estimate of [`kapsa_memory::tokens`]; default
    /// [`CONTEXT_TOKENS_DEFAULT`].
    pub tokens_max: usize,
    /// Whether each line ends with where it comes from; default no.
    pub uris: bool,
    /// The moment at which facts must hold; default now, by the clock.
    pub valid_at: Option<Micros>,
    /// With a query, puts the best [`RERANKED`] insights and facts in order; default none.
    pub reranker: Option<Reranks<'a>>,
}

impl Default for ContextOptions<'_> {
    fn default() -> Self {
        ContextOptions {
            tokens_max: CONTEXT_TOKENS_DEFAULT,
            uris: false,
            valid_at: None,
            reranker: None,
        }
    }
}

/// A re-ranker for a context.
#[derive(Clone, Copy)]
pub struct Reranks<'a>(pub &'a dyn Reranker);

impl fmt::Debug for Reranks<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Reranks").field(&self.0.model().name).finish()
    }
}

/// A part of a context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Section {
    /// What the agent learned.
    Insights,
    /// What the team knows.
    Facts,
    /// What was written down.
    Notes,
    /// What the agent did last.
    Activity,
}

impl Section {
    /// What stands above its lines.
    #[must_use]
    pub fn heading(self) -> &'static str {
        match self {
            Section::Insights => "Insights",
            Section::Facts => "Context",
            Section::Notes => "Notes",
            Section::Activity => "Recent Activity",
        }
    }
}

/// One line of a context.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContextLine {
    /// Where it stands.
    pub section: Section,
    /// Its id: a fact's, or that of the agent's insight or episode.
    pub id: String,
    /// The line, as it stands in the text.
    pub text: String,
    /// Where all of it can be read.
    pub uri: Uri,
    /// Its field of knowledge.
    pub domain: String,
    /// How far it may spread.
    pub level: Classification,
    /// Whether something that counts says otherwise.
    pub contested: bool,
    /// Whether somebody has to decide what it is to another fact.
    pub pending: bool,
    /// What it is about, such as the repository of the session that it was taken from.
    pub entity: String,
    /// Who or what stated it; of what the agent remembers itself, the agent.
    pub source: String,
    /// How far it is believed; none where that is not known.
    pub trust: Option<Trust>,
}

/// What an agent should know.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Context {
    /// The lines, section by section, of each the most valuable first.
    pub lines: Vec<ContextLine>,
    /// Lines that had no room.
    pub left_out: usize,
    /// The re-ranker that put the best insights and facts in order.
    pub reranked: Option<String>,
    /// Why one that was given did not.
    pub rerank_error: Option<String>,
}

/// What an agent finds under a URI.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "a context holds a few dozen of them")]
pub enum Found {
    /// A fact of the team.
    Fact(Fact),
    /// An insight of its own.
    Insight(Insight),
    /// An episode of its own.
    Episode(Episode),
}

impl Context {
    /// The lines under their headings, without a line break at the end; empty when there are no
    /// lines.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        let mut above = None;
        for line in &self.lines {
            if above != Some(line.section) {
                let gap = if above.is_some() { "\n\n" } else { "" };
                text.push_str(&format!("{gap}## {}", line.section.heading()));
                above = Some(line.section);
            }
            text.push('\n');
            text.push_str(&line.text);
        }
        text
    }

    /// The highest level of its lines: what comes of it should spread no further.
    #[must_use]
    pub fn level(&self) -> Classification {
        self.secrets().level()
    }

    /// How far what comes of it may spread, in each domain.
    #[must_use]
    pub fn secrets(&self) -> Secrets {
        let mut secrets = Secrets::default();
        self.lines.iter().for_each(|line| secrets.add(&line.domain, line.level));
        secrets
    }

    /// Estimate of the tokens of its text.
    #[must_use]
    pub fn tokens(&self) -> usize {
        estimate(&self.text())
    }

    /// What of the lines fits. A line that has no room even alone is passed over; else the last
    /// ones go, of the lowest section first.
    fn within(mut lines: Vec<ContextLine>, tokens_max: usize) -> Context {
        let all = lines.len();
        let alone =
            |line: &ContextLine| Context { lines: vec![line.clone()], ..Context::default() };
        lines.retain(|line| alone(line).tokens() <= tokens_max);
        let mut context = Context { lines, ..Context::default() };
        while context.tokens() > tokens_max {
            context.lines.pop();
        }
        context.left_out = all - context.lines.len();
        context
    }
}

impl AgentMemory {
    /// What the agent should know in this scope: up to [`CONTEXT_INSIGHTS_MAX`] insights,
    /// [`CONTEXT_FACTS_MAX`] facts and [`CONTEXT_NOTES_MAX`] notes of the team that its clearance
    /// allows, and its [`CONTEXT_EPISODES_MAX`] newest episodes. What a part of the scope asks for,
    /// all of them have.
    ///
    /// With a query, what has most of its words comes first; with a re-ranker too, what has the
    /// greatest sum of the share of the words and [`LOGIT`] for each unit of the logit. After that
    /// insights go by confidence, by how often they were seen, and the newest first; facts by
    /// importance times confidence, and the newest first; notes the newest first. Facts that hold
    /// at another time than is asked for, are left out; contested ones are marked.
    ///
    /// It reads, and counts nothing as read. In a capsule the index finds [`LIKELY_MAX`] facts and
    /// as many insights by their words and as many that were written last, and no others are read
    /// and weighed: without a query that costs the same however many there are, with one it is a
    /// ranked search of the few words that say most, and of all of them where those find little. So
    /// of more than that without a word of the query, an older one is not shown however important
    /// it is. The agent's episodes in the scope are put in order by their times, all of them,
    /// within the index.
    ///
    /// # Errors
    /// What the stores say.
    pub fn context(&self, scope: &Scope, options: &ContextOptions<'_>) -> Result<Context> {
        let mut words = Words::of(&scope.query, options)?;
        let mut lines = insights(self, scope, &mut words)?;
        if let Some(workspace) = self.workspace() {
            let learned: Vec<String> = lines.iter().map(|line| line.content.clone()).collect();
            let is_own = |fact: &Fact| {
                fact.source == self.agent_id() && learned.contains(&flowed(&fact.content))
            };
            lines.extend(facts(
                workspace,
                Some(self.clearance()),
                scope,
                &mut words,
                options.valid_at,
                &is_own,
            )?);
            lines.extend(notes(workspace, Some(self.clearance()), scope, &mut words)?);
        }
        lines.extend(episodes(self, scope)?);
        words.report(finished(lines, options))
    }

    /// What stands under a URI, as far as the agent may know it: a fact of the team, which counts
    /// as read, or an insight or episode of its own. None for everything else.
    ///
    /// # Errors
    /// What the stores say.
    pub fn look_up(&self, uri: &Uri) -> Result<Option<Found>> {
        let Some((kind, ids)) = records::named(uri) else { return Ok(None) };
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        match (kind.as_str(), ids.as_slice(), self.workspace()) {
            (records::FACT, [id], Some(workspace)) => {
                Ok(workspace.get(self.clearance(), id)?.map(Found::Fact))
            }
            (records::INSIGHT, [agent, id], _) if *agent == self.agent_id() => {
                Ok(self.insight(id)?.map(Found::Insight))
            }
            (records::EPISODE, [agent, id], _) if *agent == self.agent_id() => {
                Ok(self.episode(id)?.map(Found::Episode))
            }
            _ => Ok(None),
        }
    }

    /// Counts the facts of a context as read.
    ///
    /// # Errors
    /// What the store says.
    pub fn count_as_read(&self, context: &Context) -> Result<()> {
        let Some(workspace) = self.workspace() else { return Ok(()) };
        let facts = context
            .lines
            .iter()
            .filter(|line| line.section == Section::Facts)
            .map(|line| line.id.as_str());
        workspace.store().touch(&facts.collect::<Vec<_>>(), self.clock.now())
    }
}

impl WorkspaceMemory {
    /// What of it matters in this scope to a profile, or to the owner who knows everything: the
    /// facts and notes of [`AgentMemory::context`].
    ///
    /// # Errors
    /// What the store says.
    pub fn context(
        &self,
        clearance: Option<&ClearanceProfile>,
        scope: &Scope,
        options: &ContextOptions<'_>,
    ) -> Result<Context> {
        let mut words = Words::of(&scope.query, options)?;
        let mut lines = facts(self, clearance, scope, &mut words, options.valid_at, &|_| false)?;
        lines.extend(notes(self, clearance, scope, &mut words)?);
        words.report(finished(lines, options))
    }
}

/// What is asked for.
struct Words<'a> {
    text: &'a str,
    plain: String,
    query: Query,
    reranker: Option<&'a dyn Reranker>,
    reranked: bool,
    rerank_error: Option<String>,
}

impl<'a> Words<'a> {
    fn of(text: &'a str, options: &ContextOptions<'a>) -> Result<Words<'a>> {
        let plain = plain_query(text, "");
        let query = Query::parse(&plain)?;
        let reranker = options.reranker.map(|Reranks(reranker)| reranker);
        let reranker = reranker.filter(|_| !text.trim().is_empty());
        Ok(Words { text, plain, query, reranker, reranked: false, rerank_error: None })
    }

    /// Puts the best in the order that the re-ranker gives them, where there is one. One that fails
    /// is not asked again.
    fn rerank<T>(&mut self, weighed: &mut Vec<(usize, T)>, said: impl Fn(&T) -> String) {
        let Some(reranker) = self.reranker.filter(|_| weighed.len() > 1) else { return };
        let best = weighed.len().min(RERANKED);
        let texts: Vec<String> = weighed[..best].iter().map(|(_, entry)| said(entry)).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let logits = match reranker.score(self.text, &texts) {
            Ok(logits) => logits,
            Err(error) => {
                self.rerank_error = Some(error.message);
                self.reranker = None;
                return;
            }
        };
        self.reranked = true;
        let asked = self.query.terms().count().max(1) as f32;
        let score = |(words, entry): (usize, T), logit: f32| Scored {
            score: words as f32 / asked + LOGIT * logit,
            words,
            entry,
        };
        let rest = weighed.split_off(best);
        let scored = weighed.drain(..).zip(logits).map(|(entry, logit)| score(entry, logit));
        let mut scored: Vec<Scored<T>> = scored.collect();
        scored.sort_by(|a, b| b.score.total_cmp(&a.score));
        weighed.extend(scored.into_iter().map(|Scored { words, entry, .. }| (words, entry)));
        weighed.extend(rest);
    }

    /// Says what the re-ranker did.
    fn report(self, context: Result<Context>) -> Result<Context> {
        let name = self.reranker.filter(|_| self.reranked).map(|model| model.model().name.clone());
        Ok(Context { reranked: name, rerank_error: self.rerank_error, ..context? })
    }

    /// How many of them a text about this has, in its first [`SEARCHED_BYTES_MAX`] bytes.
    fn in_text(&self, entity: &str, text: &str) -> usize {
        if self.plain.is_empty() {
            return 0;
        }
        terms_in(&format!("{entity} {}", first_bytes(text, SEARCHED_BYTES_MAX)), &self.query).len()
    }
}

/// An entry as a re-ranker sees it.
struct Scored<T> {
    score: f32,
    words: usize,
    entry: T,
}

/// A line in the making, without where it comes from.
struct LineDraft {
    section: Section,
    id: String,
    content: String,
    /// Stands after the content.
    note: String,
    uri: Uri,
    domain: String,
    level: Classification,
    contested: bool,
    pending: bool,
    entity: String,
    source: String,
    trust: Option<Trust>,
}

fn finished(drafts: Vec<LineDraft>, options: &ContextOptions<'_>) -> Result<Context> {
    let line = |draft: LineDraft| {
        let mark = match (draft.contested, draft.pending) {
            (true, _) => " (contested)",
            (_, true) => " (pending)",
            _ => "",
        };
        let place = if options.uris { format!(" [{}]", draft.uri.short()) } else { String::new() };
        let text = format!("- {}{}{mark}{place}", draft.content, draft.note);
        ContextLine {
            section: draft.section,
            id: draft.id,
            text,
            uri: draft.uri,
            domain: draft.domain,
            level: draft.level,
            contested: draft.contested,
            pending: draft.pending,
            entity: draft.entity,
            source: draft.source,
            trust: draft.trust,
        }
    };
    Ok(Context::within(drafts.into_iter().map(line).collect(), options.tokens_max))
}

/// What there is about the entity, at most `count_max`, and after it what is said of its whole
/// domain, where that is asked for as well.
fn from_near_to_far(
    scope: &Scope,
    count_max: usize,
    about: &mut dyn FnMut(Option<String>) -> Result<Vec<LineDraft>>,
) -> Result<Vec<LineDraft>> {
    let mut all = about(scope.entity())?;
    if let Some(nothing) = scope.whole_domain().filter(|_| all.len() < count_max) {
        all.extend(about(Some(nothing))?);
        all.truncate(count_max);
    }
    Ok(all)
}

fn insights(memory: &AgentMemory, scope: &Scope, words: &mut Words<'_>) -> Result<Vec<LineDraft>> {
    from_near_to_far(scope, CONTEXT_INSIGHTS_MAX, &mut |entity| {
        insights_about(memory, scope, entity, words)
    })
}

fn insights_about(
    memory: &AgentMemory,
    scope: &Scope,
    entity: Option<String>,
    words: &mut Words<'_>,
) -> Result<Vec<LineDraft>> {
    let query = InsightQuery {
        entity,
        domain: scope.domain(),
        tags: scope.tags.clone(),
        limit: LIKELY_MAX,
        ..memory.insight_query()
    };
    let weighed = memory.insights.likely(&query, &words.plain)?.into_iter();
    let mut weighed: Vec<(usize, Insight)> = weighed
        .map(|insight| (words.in_text(&insight.entity, &insight.content), insight))
        .collect();
    weighed.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| surer(&a.1, &b.1)));
    words.rerank(&mut weighed, |insight| said(&insight.entity, &insight.content));
    let draft = |(_, insight): (usize, Insight)| {
        Ok(LineDraft {
            section: Section::Insights,
            content: flowed(&insight.content),
            note: format!(" (confidence: {:.1})", insight.confidence),
            uri: records::agent_uri(records::INSIGHT, memory.agent_id(), &insight.id)?,
            domain: insight.domain,
            level: insight.classification,
            id: insight.id,
            entity: insight.entity,
            contested: false,
            pending: false,
            source: memory.agent_id().to_string(),
            trust: None,
        })
    };
    weighed.into_iter().take(CONTEXT_INSIGHTS_MAX).map(draft).collect()
}

/// At most `limit` insights of an agent that still count and have words of `text` in them: those
/// with most of them first.
///
/// # Errors
/// What the store says.
pub fn matching_insights(memory: &AgentMemory, text: &str, limit: usize) -> Result<Vec<Insight>> {
    let words = Words::of(text, &ContextOptions::default())?;
    let query = InsightQuery { limit: LIKELY_MAX, ..memory.insight_query() };
    let weighed = memory.insights.likely(&query, &words.plain)?.into_iter();
    let mut weighed: Vec<(usize, Insight)> = weighed
        .map(|insight| (words.in_text(&insight.entity, &insight.content), insight))
        .filter(|(words, _)| *words > 0)
        .collect();
    weighed.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| surer(&a.1, &b.1)));
    Ok(weighed.into_iter().take(limit).map(|(_, insight)| insight).collect())
}

/// What a re-ranker reads of an entry.
fn said(entity: &str, content: &str) -> String {
    let content = first_bytes(content, RERANKED_BYTES_MAX);
    if entity.is_empty() { content.to_string() } else { format!("{entity}: {content}") }
}

fn surer(a: &Insight, b: &Insight) -> Ordering {
    let by_confidence = b.confidence.total_cmp(&a.confidence);
    let seen = |insight: &Insight| {
        (insight.evidence_count, insight.last_confirmed.unwrap_or(insight.created_at))
    };
    by_confidence.then_with(|| seen(b).cmp(&seen(a))).then_with(|| a.id.cmp(&b.id))
}

/// The facts about the entity, and after them those of its whole domain, but for what the agent
/// published itself and is shown as its own insight.
fn facts(
    workspace: &WorkspaceMemory,
    clearance: Option<&ClearanceProfile>,
    scope: &Scope,
    words: &mut Words<'_>,
    valid_at: Option<Micros>,
    is_own: &dyn Fn(&Fact) -> bool,
) -> Result<Vec<LineDraft>> {
    from_near_to_far(scope, CONTEXT_FACTS_MAX, &mut |entity| {
        facts_about(workspace, clearance, scope, entity, words, valid_at, is_own)
    })
}

fn facts_about(
    workspace: &WorkspaceMemory,
    clearance: Option<&ClearanceProfile>,
    scope: &Scope,
    entity: Option<String>,
    words: &mut Words<'_>,
    valid_at: Option<Micros>,
    is_own: &dyn Fn(&Fact) -> bool,
) -> Result<Vec<LineDraft>> {
    let query = FactQuery {
        entity,
        domain: scope.domain(),
        tags: scope.tags.clone(),
        sessions_about: scope.sessions_about.clone(),
        valid_at: Some(valid_at.unwrap_or_else(|| workspace.clock.now())),
        clearance: clearance.cloned(),
        limit: LIKELY_MAX,
        ..FactQuery::default()
    };
    let weighed = workspace.store().likely(&query, &words.plain)?.into_iter();
    let weighed = weighed.filter(|fact| !is_own(fact));
    let mut weighed: Vec<(usize, Fact)> =
        weighed.map(|fact| (words.in_text(&fact.entity, &fact.content), fact)).collect();
    weighed.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| weightier(&a.1, &b.1)));
    words.rerank(&mut weighed, |fact| said(&fact.entity, &fact.content));
    let draft = |(_, fact): (usize, Fact)| {
        Ok(LineDraft {
            section: Section::Facts,
            content: flowed(&fact.content),
            note: String::new(),
            uri: records::fact_uri(&fact.id)?,
            level: fact.classification,
            contested: is_contested(workspace, clearance, &fact)?,
            pending: !fact.pending_with.is_empty(),
            entity: fact.entity,
            source: fact.source,
            trust: Some(fact.trust),
            domain: fact.domain,
            id: fact.id,
        })
    };
    weighed.into_iter().take(CONTEXT_FACTS_MAX).map(draft).collect()
}

/// What was written down.
fn notes(
    workspace: &WorkspaceMemory,
    clearance: Option<&ClearanceProfile>,
    scope: &Scope,
    words: &mut Words<'_>,
) -> Result<Vec<LineDraft>> {
    from_near_to_far(scope, CONTEXT_NOTES_MAX, &mut |entity| {
        notes_about(workspace, clearance, scope, entity, words)
    })
}

fn notes_about(
    workspace: &WorkspaceMemory,
    clearance: Option<&ClearanceProfile>,
    scope: &Scope,
    entity: Option<String>,
    words: &mut Words<'_>,
) -> Result<Vec<LineDraft>> {
    let query = FactQuery {
        entity,
        domain: scope.domain(),
        tags: scope.tags.clone(),
        sessions_about: scope.sessions_about.clone(),
        clearance: clearance.cloned(),
        limit: LIKELY_MAX,
        ..FactQuery::default()
    };
    let mut weighed: Vec<(usize, Note)> = workspace
        .store()
        .likely_notes(&query, &words.plain)?
        .into_iter()
        .map(|note| (words.in_text(&note.entity, &note.content), note))
        .collect();
    weighed.sort_by_key(|(words, note)| (Reverse((*words, note.created_at)), note.uri.clone()));
    words.rerank(&mut weighed, |note| said(&note.entity, &note.content));
    let draft = |(_, note): (usize, Note)| {
        let whole = flowed(&note.content);
        let content = first_chars(&whole, NOTE_CHARS_MAX);
        let cut = if content.len() < whole.len() { "…" } else { "" };
        LineDraft {
            section: Section::Notes,
            id: note.uri.short().to_string(),
            content: format!("{content}{cut}"),
            note: String::new(),
            uri: note.uri,
            domain: note.domain,
            level: note.classification,
            contested: false,
            pending: false,
            entity: note.entity,
            source: note.source,
            trust: Some(note.trust),
        }
    };
    Ok(weighed.into_iter().take(CONTEXT_NOTES_MAX).map(draft).collect())
}

/// Whether something that counts, and that the profile may know, says otherwise.
fn is_contested(
    workspace: &WorkspaceMemory,
    clearance: Option<&ClearanceProfile>,
    fact: &Fact,
) -> Result<bool> {
    let counts = |other: &Fact| {
        other.superseded_by.is_none() && clearance.is_none_or(|profile| profile.can_access(other))
    };
    for id in &fact.contested_with {
        if *id == fact.id || workspace.store().get(id)?.as_ref().is_some_and(counts) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn weightier(a: &Fact, b: &Fact) -> Ordering {
    let weight = |fact: &Fact| fact.importance * fact.confidence;
    weight(b)
        .total_cmp(&weight(a))
        .then_with(|| Reverse(a.updated_at).cmp(&Reverse(b.updated_at)))
        .then_with(|| a.id.cmp(&b.id))
}

fn episodes(memory: &AgentMemory, scope: &Scope) -> Result<Vec<LineDraft>> {
    let query = EpisodeQuery {
        entity: scope.entity(),
        domain: scope.domain(),
        tags: scope.tags.clone(),
        limit: CONTEXT_EPISODES_MAX,
        ..memory.episode_query()
    };
    let draft = |episode: Episode| {
        Ok(LineDraft {
            section: Section::Activity,
            content: if episode.action.is_empty() {
                one_line(&episode.output_summary)
            } else {
                format!("{}: {}", one_line(&episode.action), one_line(&episode.output_summary))
            },
            note: String::new(),
            uri: records::agent_uri(records::EPISODE, memory.agent_id(), &episode.id)?,
            domain: episode.domain,
            level: episode.classification,
            id: episode.id,
            entity: episode.entity,
            contested: false,
            pending: false,
            source: memory.agent_id().to_string(),
            trust: None,
        })
    };
    memory.recall_episodes(&query)?.into_iter().map(draft).collect()
}
