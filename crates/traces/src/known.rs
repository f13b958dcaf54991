//! A candidate on its way to the memory, and what is known, in the form in which the two are
//! compared. Plain values; nothing here stores anything.

use kapsa_agents::{EVIDENCE_MAX, Evidence, Fact, RESTATED_RISE};
use kapsa_extract::{BODY_CHARS_MAX, Candidate, MemoryType, legible};
use kapsa_ingest::Speaker;
use kapsa_memory::{Micros, Trust};
use kapsa_redact::redact;

use crate::decide::TRUST_DECIDED_MAX;
use crate::overlap::Words;

/// What a session offers to the memory: a candidate, and whose it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Offer {
    /// Id of the fact that it becomes; the same statement of the same session has the same.
    pub id: String,
    /// What it is.
    pub kind: MemoryType,
    /// It in one line.
    pub title: String,
    /// The rule, why, and how to apply it; empty where the title says it all.
    pub body: String,
    /// How sure it is, 0 to 1.
    pub confidence: f64,
    /// Whose words it rests on.
    pub said_by: Speaker,
    /// When it was said.
    pub at: Micros,
    /// `agent/session`: of a sub-agent, the session that started it.
    pub source: String,
    /// The file with its lines.
    pub place: String,
    /// The repository, may be empty.
    pub repository: String,
    /// Tags besides its type.
    pub tags: Vec<String>,
}

/// Whose words are to be redacted and compared: the session, its repository and its file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin<'a> {
    pub(crate) source: &'a str,
    pub(crate) repository: &'a str,
    pub(crate) path: &'a str,
    /// When the session began, for what says no time itself.
    pub(crate) at: Micros,
}

/// Prefix of the ids of what came from traces.
const ID_PREFIX: &str = "t_";

impl Offer {
    pub(crate) fn of(candidate: &Candidate, origin: &Origin<'_>) -> Offer {
        // Candidates are redacted where they are found; what is stored is looked at once more.
        let title = one_line(&legible(&redact(&candidate.title).text));
        let body = legible(&redact(candidate.body.trim()).text).into_owned();
        let body = without_title(&title, body.trim());
        let places: Vec<String> = candidate.evidence.iter().map(ToString::to_string).collect();
        let place = match places.is_empty() {
            true => origin.path.to_string(),
            false => format!("{}:{}", origin.path, places.join(",")),
        };
        let mut offer = Offer {
            id: String::new(),
            kind: candidate.kind,
            title,
            body,
            confidence: candidate.confidence.clamp(0.0, 1.0),
            said_by: candidate.said_by,
            at: candidate.at.unwrap_or(origin.at),
            source: origin.source.to_string(),
            place,
            repository: origin.repository.to_string(),
            tags: candidate.tags.clone(),
        };
        offer.id = id_of(&offer);
        offer
    }

    /// Its text as a fact has it.
    pub(crate) fn content(&self) -> String {
        content(&self.title, &self.body)
    }

    pub(crate) fn words(&self) -> Words {
        Words::of(&self.content())
    }

    /// The piece of evidence that it is.
    pub(crate) fn evidence(&self) -> Evidence {
        Evidence {
            text: self.content(),
            source: self.source.clone(),
            tags: vec![self.kind.name().to_string(), speaker_name(self.said_by).to_string()],
            at: self.at,
            place: self.place.clone(),
            ..Evidence::default()
        }
    }

    /// The fact that it becomes where nothing like it is known.
    pub(crate) fn fact(&self) -> Fact {
        let kind = self.kind.name();
        let mut tags = vec![kind.to_string()];
        tags.extend(self.tags.iter().filter(|tag| *tag != kind).cloned());
        Fact {
            entity: self.repository.clone(),
            tags,
            confidence: self.confidence,
            source: self.source.clone(),
            trust: Trust::Trace,
            evidence: vec![self.evidence()],
            ..Fact::new(self.id.clone(), self.content(), self.at)
        }
    }
}

/// What is said, by whom and where decides the id, so that a run which is repeated makes no second
/// one.
fn id_of(offer: &Offer) -> String {
    let mut hasher = blake3::Hasher::new();
    for part in [&offer.source, offer.kind.name(), &offer.title, &offer.body] {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    const DIGITS: usize = 16;
    format!("{ID_PREFIX}{}", &hasher.finalize().to_hex()[..DIGITS])
}

/// How a title ends that was cut.
const CUT: char = '…';

/// A body without the sentence that its title says already. Where the title was cut, the body goes
/// on where the title ends.
fn without_title(title: &str, body: &str) -> String {
    let (first, rest) = body.split_once('\n').unwrap_or((body, ""));
    let (stem, is_cut) = match title.strip_suffix(CUT) {
        Some(stem) => (stem, true),
        None => (title, false),
    };
    let first = one_line(first);
    let Some(at) = first.find(stem).filter(|_| !stem.is_empty()) else { return body.to_string() };
    let (before, after) = (&first[..at], &first[at + stem.len()..]);
    let is_apart = |text: &str| text.is_empty() || text.starts_with(' ') || text.ends_with(' ');
    if !is_apart(before) || !(is_cut || is_apart(after)) {
        return body.to_string();
    }
    let (before, after) = (before.trim(), after.trim());
    let goes_on = match (is_cut, after.is_empty()) {
        (true, false) => format!("{CUT}{}", after.trim_start_matches(CUT)),
        _ => after.to_string(),
    };
    // A sentence that goes on stands next to its beginning.
    let kept = match is_cut {
        true => [goes_on.as_str(), before],
        false => [before, goes_on.as_str()],
    };
    let first = kept.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ");
    let lines = [first.as_str(), rest.trim()];
    lines.into_iter().filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The text of a fact: the title, and the body below it.
pub(crate) fn content(title: &str, body: &str) -> String {
    if body.is_empty() { title.to_string() } else { format!("{title}\n{body}") }
}

/// The name of a speaker, as evidence has it.
pub(crate) fn speaker_name(speaker: Speaker) -> &'static str {
    match speaker {
        Speaker::User => "user",
        Speaker::Tool => "tool",
        Speaker::Assistant => "assistant",
        Speaker::Injected => "injected",
    }
}

/// How much a speaker's word counts: a person's before a tool's, a tool's before the assistant's.
pub(crate) fn standing_of(speaker: &str) -> u8 {
    match speaker {
        "user" => 3,
        "tool" => 2,
        "assistant" => 1,
        _ => 0,
    }
}

/// Share of a line's words that a text must have for the line to be no news.
const LINE_KNOWN: f64 = 0.72;

/// A fact with more evidence: it is surer for each session that it did not know.
pub(crate) fn with_evidence(fact: &Fact, more: &[Evidence]) -> Fact {
    let mut fact = fact.clone();
    for one in more {
        if fact.evidence.contains(one) {
            continue;
        }
        let is_witness = fact.source != one.source
            && fact.evidence.iter().all(|known| known.source != one.source);
        if is_witness {
            fact.evidence_count = fact.evidence_count.saturating_add(1);
            fact.confidence = (fact.confidence + RESTATED_RISE).min(1.0);
        }
        fact.evidence.push(one.clone());
    }
    // In the order of time, whatever the order of reading; what is left out is the oldest.
    fact.evidence.sort_by_key(|one| one.at);
    let surplus = fact.evidence.len().saturating_sub(EVIDENCE_MAX);
    fact.evidence.drain(..surplus);
    fact
}

/// What is known, as it is compared.
#[derive(Clone, Debug)]
pub struct Known {
    /// The fact.
    pub fact: Fact,
    pub(crate) title: String,
    pub(crate) body: String,
    pub(crate) words: Words,
}

impl Known {
    /// A fact as it is compared.
    #[must_use]
    pub fn of(fact: Fact) -> Known {
        let (title, body) = match fact.content.split_once('\n') {
            Some((title, body)) => (title.trim().to_string(), body.trim().to_string()),
            None => (fact.content.trim().to_string(), String::new()),
        };
        let words = Words::of(&fact.content);
        Known { fact, title, body, words }
    }

    /// Its type, where it came from a trace.
    pub(crate) fn kind(&self) -> Option<MemoryType> {
        self.fact.tags.iter().find_map(|tag| MemoryType::named(tag))
    }

    /// Whether it may be the same kind of memory: a decision or a learning.
    pub(crate) fn has_primitive(&self, primitive: &str) -> bool {
        self.kind().is_none_or(|kind| kind.primitive() == primitive)
    }

    /// When it was said last.
    pub(crate) fn said_at(&self) -> Micros {
        let evidence = self.fact.evidence.iter().map(|one| one.at).max();
        evidence.unwrap_or(self.fact.updated_at)
    }

    /// How much its word counts; what somebody wrote by hand as much as a person's.
    pub(crate) fn standing(&self) -> u8 {
        if self.fact.trust > TRUST_DECIDED_MAX {
            return standing_of("user");
        }
        let of_evidence =
            self.fact.evidence.iter().flat_map(|one| &one.tags).map(|tag| standing_of(tag));
        of_evidence.max().unwrap_or_else(|| standing_of("user"))
    }

    /// Whether this session said this before, or a copy of it did.
    pub(crate) fn was_told(&self, offer: &Offer) -> bool {
        let told = Words::of(&offer.content());
        self.fact.evidence.iter().any(|one| {
            let says_so = || one.text == offer.content() || Words::of(&one.text) == told;
            (one.source == offer.source || one.at == offer.at) && says_so()
        })
    }

    /// Whether the same message of a session says both.
    pub(crate) fn is_of_message(&self, offer: &Offer) -> bool {
        let lines = |place: &str| -> Vec<String> {
            let (_, lines) = place.rsplit_once(':').unwrap_or_default();
            lines.split(',').filter(|line| !line.is_empty()).map(str::to_string).collect()
        };
        let said = lines(&offer.place);
        self.fact.evidence.iter().any(|one| {
            let is_here = one.source == offer.source && one.at == offer.at;
            is_here && lines(&one.place).iter().any(|line| said.contains(line))
        })
    }

    /// Its text, with those lines of another one below that it does not hold yet; none where they
    /// do not fit.
    pub(crate) fn with_news(&self, title: &str, body: &str) -> Option<String> {
        let lines = std::iter::once(title).chain(body.lines()).map(str::trim);
        let is_new =
            |line: &&str| !line.is_empty() && Words::of(line).within(&self.words) < LINE_KNOWN;
        let news: Vec<&str> = lines.filter(is_new).collect();
        if news.is_empty() {
            return Some(self.fact.content.clone());
        }
        let body = Some(self.body.as_str()).filter(|body| !body.is_empty());
        let body = body.into_iter().chain(news).collect::<Vec<_>>().join("\n");
        (body.chars().count() <= BODY_CHARS_MAX).then(|| content(&self.title, &body))
    }

    /// Whether this session is among its evidence.
    pub(crate) fn has_witness(&self, source: &str) -> bool {
        self.fact.source == source || self.fact.evidence.iter().any(|one| one.source == source)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_does_not_say_again_what_its_title_says() {
        for (title, body, want) in [
            ("Use Postgres.", "Use Postgres.", ""),
            ("Use Postgres.", "Use Postgres.\nWhy: joins.", "Why: joins."),
            ("Use Postgres.", "Use Postgres. It has joins.\nWhy: x", "It has joins.\nWhy: x"),
            ("Use it.", "It is fast. Use it. Always.", "It is fast. Always."),
            ("Never edit the files…", "Never edit the files by hand.", "…by hand."),
            ("Never edit files…", "Never edit files, ever. Ask.\nWhy: x", "…, ever. Ask.\nWhy: x"),
            ("Never edit…", "Ask first. Never edit it. Stop.", "…it. Stop. Ask first."),
            ("Use Postgres.", "Because of joins.", "Because of joins."),
            ("Use it", "Use items first. Use it", "Use items first. Use it"),
            ("…", "Because of joins.", "Because of joins."),
            ("Use Postgres.", "", ""),
        ] {
            assert_eq!(without_title(title, body), want, "{title} | {body}");
        }
    }
}
