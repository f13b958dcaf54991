//! The cost of questions about facts in one process, and of hiding half of them.
//!
//! Beside it in the same run: SQLite with an index on each field and a trigram index of the text,
//! which answers the same questions for parts of words. Kapsa looks before every question whether
//! something was committed since; SQLite keeps its connection and does so too.

use std::fs;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Result, ensure};
use kapsa_agents::{
    AgentMemory, CapsuleEpisodicStore, CapsuleFactStore, CapsuleInsightStore, ContextOptions,
    Episode, EpisodicStore, Fact, FactQuery, FactStore, Insight, InsightStore, Scope,
    StoreLocation, WorkspaceMemory,
};
use kapsa_memory::access::{Classification, ClearanceProfile};
use kapsa_memory::request::FindRequest;
use kapsa_memory::{Reader, SearchMode, WriteOptions, optimize};
use rusqlite::{Connection, params_from_iter};

use crate::corpus::Pool;
use crate::rng::Rng;
use crate::stats::Samples;
use crate::table::{Table, count, figure, ratio};

/// Facts of one commit while the capsule is made.
const BATCH_FACTS: u64 = 10_000;
/// Words of a fact.
const WORDS: usize = 12;
/// Facts about each entity, on average.
const PER_ENTITY: u64 = 20;
const DOMAINS: usize = 20;
const TAGS: usize = 200;
const ATTRIBUTES: usize = 10;
const AGENT: &str = "reader";
/// Questions of each row; each is asked twice, and the second time counts.
const QUESTIONS: usize = 200;
/// A row that takes longer has fewer.
const ROW_TIME_MAX: Duration = Duration::from_secs(20);
/// Facts that a question wants.
const LIMIT: usize = 10;
/// What the agent did and learned whose contexts are put together.
const EPISODES: u64 = 2_000;
const INSIGHTS: u64 = 500;
const MICROS_PER_DAY: i64 = 86_400_000_000;

/// What a question asks for.
#[derive(Clone, Debug, Default)]
struct Ask {
    entity: Option<String>,
    domain: Option<String>,
    tag: Option<String>,
    text: String,
}

impl Ask {
    fn query(&self, clearance: Option<&ClearanceProfile>) -> FactQuery {
        FactQuery {
            entity: self.entity.clone(),
            domain: self.domain.clone(),
            tags: self.tag.iter().cloned().collect(),
            text: self.text.clone(),
            clearance: clearance.cloned(),
            limit: LIMIT,
            ..FactQuery::default()
        }
    }

    /// SQL, and what fills it in.
    fn sql(&self, guarded: bool) -> (String, Vec<String>) {
        let (mut clauses, mut values) = (Vec::new(), Vec::new());
        let fields = [("f.entity", &self.entity), ("f.domain", &self.domain)];
        for (field, value) in fields {
            if let Some(value) = value {
                clauses.push(format!("{field} = ?"));
                values.push(value.clone());
            }
        }
        if let Some(tag) = &self.tag {
            clauses.push("f.id IN (SELECT id FROM tag WHERE tag = ?)".to_owned());
            values.push(tag.clone());
        }
        if !self.text.is_empty() {
            clauses.push("f.id IN (SELECT rowid FROM trigram WHERE content MATCH ?)".to_owned());
            values.push(format!("\"{}\"", self.text.replace('"', "\"\"")));
        }
        if guarded {
            clauses.push("f.level <= 1".to_owned());
        }
        let wanted = if clauses.is_empty() { "1".to_owned() } else { clauses.join(" AND ") };
        (format!("SELECT f.* FROM fact f WHERE {wanted} ORDER BY f.id LIMIT {LIMIT}"), values)
    }
}

/// The facts, one after the other.
struct Facts<'a> {
    pool: &'a Pool,
    seed: u64,
    n: u64,
}

impl Facts<'_> {
    fn fact(&self, index: u64) -> Fact {
        let mut rng = Rng::new(self.seed, index);
        let domain = rng.below(DOMAINS);
        let mut tags =
            vec![format!("tag-{:03}", rng.below(TAGS)), format!("tag-{:03}", rng.below(TAGS))];
        tags.sort();
        tags.dedup();
        let hidden = rng.chance(0.5);
        Fact {
            entity: format!("entity-{:06}", rng.below((self.n / PER_ENTITY).max(1) as usize)),
            attribute: format!("attribute-{}", rng.below(ATTRIBUTES)),
            domain: format!("domain-{domain:02}"),
            tags,
            confidence: (50 + rng.below(50)) as f64 / 100.0,
            classification: if hidden {
                Classification::Confidential
            } else {
                Classification::Internal
            },
            source: format!("agent-{}", rng.below(10)),
            ..Fact::new(format!("f{index:07}"), self.text(&mut rng), MICROS_PER_DAY + index as i64)
        }
    }

    /// Some words in a row of a paragraph.
    fn text(&self, rng: &mut Rng) -> String {
        loop {
            let words: Vec<&str> =
                self.pool.paragraph(rng.below(self.pool.len())).split_whitespace().collect();
            if words.len() >= WORDS {
                let start = rng.below(words.len() - WORDS + 1);
                return words[start..start + WORDS].join(" ");
            }
        }
    }

    fn episode(&self, index: u64) -> Episode {
        let about = self.fact(index * 7 % self.n);
        Episode {
            action: "look_into".to_owned(),
            output_summary: self.text(&mut Rng::new(self.seed ^ 0xE, index)),
            entity: about.entity,
            domain: about.domain,
            ..Episode::new(format!("ep{index}"), AGENT, MICROS_PER_DAY + index as i64)
        }
    }

    fn insight(&self, index: u64) -> Insight {
        let about = self.fact(index * 11 % self.n);
        let text = self.text(&mut Rng::new(self.seed ^ 0x1, index));
        Insight {
            domain: about.domain,
            ..Insight::new(format!("ins{index}"), AGENT, text, MICROS_PER_DAY)
        }
    }

    fn all(&self) -> impl Iterator<Item = Fact> + '_ {
        (0..self.n).map(|index| self.fact(index))
    }
}

/// Times questions about `n` facts; what is made of them is kept in `folder` and used again.
pub fn measure(pool: &Pool, folder: &Path, seed: u64, n: u64, rebuild: bool) -> Result<Vec<Table>> {
    ensure!(n >= PER_ENTITY, "at least {PER_ENTITY} facts are needed");
    let facts = Facts { pool, seed, n };
    let folder = folder.join(format!("facts-{seed}-{n}"));
    if rebuild && folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    let (capsule, tables) = (in_capsule(&facts, &folder)?, in_sqlite(&facts, &folder)?);
    let location = StoreLocation::new(&capsule, WriteOptions::new(now));
    let sqlite = Connection::open(&tables)?;
    let profile = (0..DOMAINS).fold(ClearanceProfile::new(AGENT), |profile, domain| {
        profile.with(format!("domain-{domain:02}"), Classification::Internal)
    });
    Ok(vec![
        questions(&facts, &location, &sqlite, &profile)?,
        searches(&facts, &capsule, &profile)?,
        writes(&facts, &location)?,
        contexts(&facts, &location, &profile)?,
        additions(&facts, &folder, &capsule, &tables)?,
    ])
}

fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_micros() as i64
}

fn in_capsule(facts: &Facts<'_>, folder: &Path) -> Result<PathBuf> {
    let (path, partial) = (folder.join("facts.kapsa"), folder.join("partial.kapsa"));
    if path.exists() {
        return Ok(path);
    }
    eprintln!("making a capsule of {} facts", facts.n);
    let _old = fs::remove_file(&partial);
    let store = CapsuleFactStore::new(StoreLocation::new(&partial, WriteOptions::new(now)));
    let mut all = facts.all().peekable();
    while all.peek().is_some() {
        store.store_many(&all.by_ref().take(BATCH_FACTS as usize).collect::<Vec<_>>())?;
    }
    drop(store);
    let location = StoreLocation::new(&partial, WriteOptions::new(now));
    let (episodes, insights) =
        (CapsuleEpisodicStore::new(location.clone()), CapsuleInsightStore::new(location));
    (0..EPISODES).try_for_each(|index| episodes.store(&facts.episode(index)))?;
    (0..INSIGHTS).try_for_each(|index| insights.store(&facts.insight(index)))?;
    optimize(&partial, &WriteOptions::new(now), &mut |_, _| {})?;
    fs::rename(partial, &path)?;
    Ok(path)
}

const SCHEMA: &str = "
    CREATE TABLE fact(id INTEGER PRIMARY KEY, name TEXT, content TEXT, entity TEXT, attribute TEXT, domain TEXT, tags TEXT,
        confidence REAL, level INTEGER, source TEXT, created_at INTEGER);
    CREATE TABLE tag(tag TEXT, id INTEGER, PRIMARY KEY(tag, id)) WITHOUT ROWID;
    CREATE INDEX by_entity ON fact(entity, id);
    CREATE INDEX by_domain ON fact(domain, id);
    CREATE VIRTUAL TABLE trigram USING fts5(content, content='fact', content_rowid='id', tokenize='trigram');";

fn in_sqlite(facts: &Facts<'_>, folder: &Path) -> Result<PathBuf> {
    let (path, partial) = (folder.join("facts.sqlite"), folder.join("partial.sqlite"));
    if path.exists() {
        return Ok(path);
    }
    eprintln!("making a SQLite file of {} facts", facts.n);
    let _old = fs::remove_file(&partial);
    let mut connection = Connection::open(&partial)?;
    connection.execute_batch(SCHEMA)?;
    let transaction = connection.transaction()?;
    (1i64..).zip(facts.all()).try_for_each(|(id, fact)| insert(&transaction, id, &fact))?;
    transaction.commit()?;
    connection.execute_batch("ANALYZE;")?;
    connection.close().map_err(|(_, error)| error)?;
    fs::rename(partial, &path)?;
    Ok(path)
}

/// Questions of one sort, each about a fact that is there.
fn asks(facts: &Facts<'_>, sort: &str) -> Vec<Ask> {
    let about = |index: usize| {
        let mut rng = Rng::new(facts.seed ^ 0xA5, index as u64);
        let fact = facts.fact(rng.below(facts.n as usize) as u64);
        let words: Vec<&str> = fact.content.split(' ').collect();
        let at = rng.below(WORDS - 3);
        let phrase = words[at..at + 3].join(" ");
        let part: String = fact.content.chars().skip(rng.below(20)).take(8).collect();
        let (entity, domain, tag) =
            (Some(fact.entity.clone()), Some(fact.domain.clone()), fact.tags.first().cloned());
        match sort {
            "entity" => Ask { entity, ..Ask::default() },
            "entity, domain" => Ask { entity, domain, ..Ask::default() },
            "domain, tag" => Ask { domain, tag, ..Ask::default() },
            "tag" => Ask { tag, ..Ask::default() },
            "entity, text" => Ask { entity, text: part, ..Ask::default() },
            "domain, three words" => Ask { domain, text: phrase, ..Ask::default() },
            "three words" => Ask { text: phrase, ..Ask::default() },
            _ => Ask { text: part, ..Ask::default() },
        }
    };
    (0..QUESTIONS).map(about).collect()
}

const SORTS: [&str; 8] = [
    "entity",
    "entity, domain",
    "domain, tag",
    "tag",
    "entity, text",
    "domain, three words",
    "three words",
    "eight letters",
];

fn questions(
    facts: &Facts<'_>,
    location: &StoreLocation,
    sqlite: &Connection,
    profile: &ClearanceProfile,
) -> Result<Table> {
    let head = [
        "facts by",
        "facts",
        "p50 ms",
        "p90",
        "p99",
        "to SQLite (p50)",
        "half hidden, to all seen (p50)",
        "SQLite: the same",
    ];
    let mut table = Table::new(head);
    let store = CapsuleFactStore::new(location.clone());
    for sort in SORTS {
        let mut samples: [Samples; 4] = Default::default();
        let begun = Instant::now();
        for ask in asks(facts, sort).into_iter().take_while(|_| begun.elapsed() < ROW_TIME_MAX) {
            for round in 0..2 {
                for (guarded, at) in [(false, 0), (true, 1)] {
                    let query = ask.query(guarded.then_some(profile));
                    let (ms, found) = timed(|| Ok(store.query(&query)?.len()))?;
                    let (sql_ms, sql_found) = timed(|| rows(sqlite, &ask.sql(guarded)))?;
                    if round == 1 {
                        samples[at].push(ms);
                        samples[at + 2].push(sql_ms);
                        // Trigrams know no text of fewer than three letters, and fold letters
                        // otherwise outside ASCII.
                        ensure!(
                            found == sql_found || !ask.text.is_ascii(),
                            "{ask:?}: {found} facts, SQLite {sql_found}"
                        );
                    }
                }
            }
        }
        let [all, half, sql_all, sql_half] = &samples;
        let figures = [
            figure(all.p50()),
            figure(all.p90()),
            figure(all.p99()),
            ratio(all.p50(), sql_all.p50()),
            ratio(half.p50(), all.p50()),
            ratio(sql_half.p50(), sql_all.p50()),
        ];
        table.row([sort.to_owned(), count(facts.n)].into_iter().chain(figures));
    }
    Ok(table)
}

fn rows(sqlite: &Connection, (sql, values): &(String, Vec<String>)) -> Result<usize> {
    let mut statement = sqlite.prepare_cached(sql)?;
    let mut rows = statement.query(params_from_iter(values))?;
    let mut found = 0;
    while let Some(row) = rows.next()? {
        for column in 1..=10 {
            black_box(row.get_ref(column)?);
        }
        found += 1;
    }
    Ok(found)
}

/// The same search with and without a clearance that hides half of the records.
fn searches(facts: &Facts<'_>, capsule: &Path, profile: &ClearanceProfile) -> Result<Table> {
    let mut table = Table::new([
        "find, top 10",
        "facts",
        "p50 ms",
        "p90",
        "p99",
        "half hidden, to all seen (p50)",
    ]);
    let reader = Reader::open(capsule)?;
    let guarded = reader.as_principal(profile.clone());
    for (name, words) in [("two words", 2), ("five words", 5)] {
        let mut samples: [Samples; 2] = Default::default();
        for index in 0..QUESTIONS {
            let mut rng = Rng::new(facts.seed ^ 0x5A, index as u64);
            let fact = facts.fact(rng.below(facts.n as usize) as u64);
            let query = fact.content.split(' ').take(words).collect::<Vec<_>>().join(" ");
            let request = FindRequest { mode: SearchMode::Words, ..FindRequest::new(query) };
            for round in 0..2 {
                let (all, _) = timed(|| Ok(reader.find(&request)?))?;
                let (half, _) = timed(|| Ok(guarded.find(&request)?))?;
                if round == 1 {
                    samples[0].push(all);
                    samples[1].push(half);
                }
            }
        }
        let [all, half] = &samples;
        let figures =
            [figure(all.p50()), figure(all.p90()), figure(all.p99()), ratio(half.p50(), all.p50())];
        table.row([name.to_owned(), count(facts.n)].into_iter().chain(figures));
    }
    Ok(table)
}

/// What is looked up before a fact is written.
fn writes(facts: &Facts<'_>, location: &StoreLocation) -> Result<Table> {
    let mut table = Table::new(["what is near a fact", "facts", "p50 ms", "p90", "p99"]);
    let workspace = WorkspaceMemory::in_capsule(location.clone(), now);
    let samples: Samples = (0..QUESTIONS as u64)
        .map(|index| {
            let fact =
                facts.fact(Rng::new(facts.seed ^ 0xC3, index).below(facts.n as usize) as u64);
            let (ms, near) = timed(|| Ok(workspace.store().near(&fact)?))?;
            ensure!(near.iter().any(|near| near.id == fact.id), "{} is not near itself", fact.id);
            Ok(ms)
        })
        .collect::<Result<_>>()?;
    table.row([
        "before it is written".to_owned(),
        count(facts.n),
        figure(samples.p50()),
        figure(samples.p90()),
        figure(samples.p99()),
    ]);
    Ok(table)
}

/// Facts that are added one at a time, each compared and committed, to copies of what was made.
fn additions(facts: &Facts<'_>, folder: &Path, capsule: &Path, tables: &Path) -> Result<Table> {
    let head = ["a fact is added", "facts", "p50 ms", "p90", "p99", "to a row in SQLite (p50)"];
    let mut table = Table::new(head);
    let (mine, theirs) = (folder.join("added.kapsa"), folder.join("added.sqlite"));
    fs::copy(capsule, &mine)?;
    fs::copy(tables, &theirs)?;
    let workspace =
        WorkspaceMemory::in_capsule(StoreLocation::new(&mine, WriteOptions::new(now)), now);
    let sqlite = Connection::open(&theirs)?;
    sqlite.execute_batch("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;")?;
    let (mut samples, mut rows): (Samples, Samples) = Default::default();
    for index in 0..QUESTIONS as u64 {
        // New words about an entity that has facts already.
        let about = Rng::new(facts.seed ^ 0xAD, index).below(facts.n as usize) as u64;
        let fact = Fact {
            entity: facts.fact(about).entity,
            id: format!("added{index}"),
            ..facts.fact(facts.n + index)
        };
        let (ms, _) = timed(|| Ok(workspace.remember(fact.clone())?))?;
        samples.push(ms);
        let id = (facts.n + index) as i64 + 1;
        let (ms, ()) = timed(|| add_row(&sqlite, id, &fact))?;
        rows.push(ms);
    }
    table.row([
        "compared and committed".to_owned(),
        count(facts.n),
        figure(samples.p50()),
        figure(samples.p90()),
        figure(samples.p99()),
        ratio(samples.p50(), rows.p50()),
    ]);
    drop((workspace, sqlite));
    for copy in [mine, theirs] {
        fs::remove_file(copy)?;
    }
    Ok(table)
}

/// One row with its tags and its text, committed and compared with nothing.
fn add_row(sqlite: &Connection, id: i64, fact: &Fact) -> Result<()> {
    let transaction = sqlite.unchecked_transaction()?;
    insert(&transaction, id, fact)?;
    Ok(transaction.commit()?)
}

fn insert(connection: &Connection, id: i64, fact: &Fact) -> Result<()> {
    let mut put =
        connection.prepare_cached("INSERT INTO fact VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11)")?;
    put.execute((
        id,
        &fact.id,
        &fact.content,
        &fact.entity,
        &fact.attribute,
        &fact.domain,
        fact.tags.join(" "),
        fact.confidence,
        fact.classification.rank(),
        &fact.source,
        fact.created_at,
    ))?;
    connection
        .prepare_cached("INSERT INTO trigram(rowid, content) VALUES(?1,?2)")?
        .execute((id, &fact.content))?;
    let mut put_tag = connection.prepare_cached("INSERT INTO tag VALUES(?1,?2)")?;
    fact.tags.iter().try_for_each(|tag| Ok(put_tag.execute((tag, id)).map(drop)?))
}

/// What an agent should know: 2,000 tokens at most.
fn contexts(
    facts: &Facts<'_>,
    location: &StoreLocation,
    profile: &ClearanceProfile,
) -> Result<Table> {
    let mut table = Table::new([
        "context, 2,000 tokens at most",
        "facts",
        "p50 ms",
        "p90",
        "p99",
        "tokens (median)",
    ]);
    let workspace = WorkspaceMemory::in_capsule(location.clone(), now);
    let memory = AgentMemory::in_capsule(AGENT, location, now)
        .with_workspace(Arc::new(workspace))
        .with_clearance(profile.clone());
    for sort in ["domain, query", "entity, query", "query", "nothing"] {
        let (mut times, mut tokens) = (Samples::default(), Samples::default());
        for index in 0..QUESTIONS as u64 {
            let fact =
                facts.fact(Rng::new(facts.seed ^ 0x77, index).below(facts.n as usize) as u64);
            let query = fact.content.split(' ').take(6).collect::<Vec<_>>().join(" ");
            let scope = match sort {
                "domain, query" => Scope { domain: fact.domain, query, ..Scope::default() },
                "entity, query" => Scope { entity: fact.entity, query, ..Scope::default() },
                "query" => Scope { query, ..Scope::default() },
                _ => Scope::default(),
            };
            let options = ContextOptions::default();
            let (ms, context) = timed(|| Ok(memory.context(&scope, &options)?))?;
            times.push(ms);
            tokens.push(context.tokens() as f64);
        }
        let figures =
            [figure(times.p50()), figure(times.p90()), figure(times.p99()), figure(tokens.p50())];
        table.row([sort.to_owned(), count(facts.n)].into_iter().chain(figures));
    }
    Ok(table)
}

fn timed<T>(work: impl FnOnce() -> Result<T>) -> Result<(f64, T)> {
    let start = Instant::now();
    let done = black_box(work()?);
    Ok((start.elapsed().as_secs_f64() * 1e3, done))
}
