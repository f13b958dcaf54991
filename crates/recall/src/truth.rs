//! Measures how a memory keeps truth over time, on labelled pairs of statements: JSON Lines with
//! `id`, `class`, `gold`, `existing` (a list) and `new`, each with `text`, `entity`, and perhaps
//! `attribute`, `source`, `valid_from` and `valid_to`; `d+N` is the day N days from now, and
//! `{d+N|...}` in a text as well. `gold` is one of same, update, correction, retract, refine,
//! contest, coexist and future.
//!
//! What counts is the state after the new one was added: which of them is current, and whether it
//! is marked.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use kapsa_agents::{Fact, FactQuery, Verdict, WorkspaceMemory};
use serde_json::Value;

use super::collection::Result;

/// Microseconds of a day.
const DAY: i64 = 86_400_000_000;

/// What became of the pairs of a class.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    all: usize,
    right: usize,
    flagged: usize,
    /// A later reader is shown what is not so, or not shown what is.
    harmful: usize,
}

impl Count {
    fn add(&mut self, outcome: &Judgement) {
        self.all += 1;
        self.right += usize::from(outcome.right);
        self.flagged += usize::from(outcome.flagged);
        self.harmful += usize::from(outcome.harmful);
    }
}

/// Measures the pairs of a file, with the attribute and without it, and prints what came out; of
/// its odd and of its even lines as well when `halves` is set, and the pairs that came out wrong or
/// undecided when `failures` is.
pub(crate) fn measure(path: &Path, halves: bool, failures: bool) -> Result<()> {
    let text = std::fs::read_to_string(path)?;
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let pairs: Vec<Value> =
        lines.map(serde_json::from_str).collect::<std::result::Result<_, _>>()?;
    for with_attribute in [true, false] {
        let mut classes: BTreeMap<&str, Count> = BTreeMap::new();
        let mut by_half = [Count::default(); 2];
        let mut all = Count::default();
        for (n, pair) in pairs.iter().enumerate() {
            let outcome = outcome(pair, with_attribute)?;
            let class = pair["class"].as_str().unwrap_or("-");
            for count in [&mut all, &mut by_half[n % 2], classes.entry(class).or_default()] {
                count.add(&outcome);
            }
            if failures && !outcome.right {
                println!("  {}: {}", pair["id"].as_str().unwrap_or("-"), outcome.verdict.name());
            }
        }
        let given = if with_attribute { "entity and attribute given" } else { "entity given" };
        println!("{given}: {} pairs", all.all);
        for (class, count) in classes {
            line(class, count);
        }
        if halves {
            line("odd lines", by_half[0]);
            line("even lines", by_half[1]);
        }
        line("all", all);
    }
    Ok(())
}

fn line(class: &str, count: Count) {
    let share = |n: usize| 100.0 * n as f64 / count.all.max(1) as f64;
    let Count { all, right, flagged, harmful } = count;
    println!(
        "  {class:20} {all:4}  right {:5.1}%  flagged {:5.1}%  shown wrong {:5.1}%",
        share(right),
        share(flagged),
        share(harmful)
    );
}

struct Judgement {
    verdict: Verdict,
    right: bool,
    flagged: bool,
    harmful: bool,
}

fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_micros() as i64
}

fn outcome(pair: &Value, with_attribute: bool) -> Result<Judgement> {
    let memory = WorkspaceMemory::new(now);
    let mut olds = Vec::new();
    for old in pair["existing"].as_array().into_iter().flatten() {
        let fact = fact(old, format!("old-{}", olds.len()), with_attribute);
        olds.push(memory.remember(fact)?.fact.id);
    }
    let new = fact(&pair["new"], "new".to_string(), with_attribute);
    let told = memory.remember(new)?;
    let query = |at: Option<i64>| {
        let query = FactQuery { valid_at: at, limit: usize::MAX, ..FactQuery::default() };
        memory.store().query(&query)
    };
    let (last, id) = (olds.last().cloned().unwrap_or_default(), told.fact.id.clone());
    let held = query(Some(now() + 1_000_000))?;
    let has = |facts: &[Fact], id: &str| facts.iter().any(|fact| fact.id == id);
    let (new_now, old_now) = (has(&held, &id), has(&held, &last));
    let is_contested = held.iter().any(|fact| fact.id == id && !fact.contested_with.is_empty());
    let flagged = told.comparison.verdict == Verdict::Pending;
    let merged = olds.contains(&id);
    let gold = pair["gold"].as_str().unwrap_or_default();
    let replaced = new_now && !old_now && !merged;
    let right = match gold {
        "same" => merged && id == last,
        "contest" => new_now && old_now && is_contested,
        "coexist" => new_now && old_now && !is_contested && !merged,
        "future" => match told.fact.valid_from {
            Some(from) => {
                let then = query(Some(from))?;
                let after = told.fact.valid_to.map(|to| query(Some(to + DAY))).transpose()?;
                let returns = after.is_none_or(|after| has(&after, &last));
                has(&then, &id) && !has(&then, &last) && old_now && returns
            }
            None => new_now && old_now && !merged,
        },
        "retract" => !old_now && !merged,
        _ => replaced,
    };
    let right = right && !flagged;
    let noise = gold == "same" && !merged || is_contested && gold != "contest";
    let verdict = told.comparison.verdict;
    Ok(Judgement { verdict, right, flagged, harmful: !right && !flagged && !noise })
}

fn fact(value: &Value, id: String, with_attribute: bool) -> Fact {
    let text = |name: &str| value[name].as_str().unwrap_or_default();
    let moment = |name: &str| day(text(name)).map(|day| day * DAY);
    let attribute = if with_attribute { text("attribute") } else { "" };
    Fact {
        entity: text("entity").to_string(),
        attribute: attribute.to_string(),
        source: text("source").to_string(),
        valid_from: moment("valid_from"),
        valid_to: moment("valid_to"),
        ..Fact::new(id, filled(text("text")), now())
    }
}

/// `d+N` as the number of a day; nothing else is read.
fn day(text: &str) -> Option<i64> {
    let ahead: i64 = text.strip_prefix("d+")?.parse().ok()?;
    Some(now().div_euclid(DAY) + ahead)
}

/// A text with its `{d+N|...}` as dates.
fn filled(text: &str) -> String {
    let Some((before, rest)) = text.split_once("{d+") else { return text.to_string() };
    let Some((inside, after)) = rest.split_once('}') else { return text.to_string() };
    let ahead = inside.split('|').next().unwrap_or_default();
    let date = day(&format!("d+{ahead}")).map(civil).unwrap_or_default();
    format!("{before}{date}{}", filled(after))
}

/// The date of a day since 1970.
fn civil(days: i64) -> String {
    let stamp = jiff::Timestamp::from_microsecond(days * DAY).unwrap_or_default();
    jiff::tz::TimeZone::UTC.to_datetime(stamp).date().to_string()
}
