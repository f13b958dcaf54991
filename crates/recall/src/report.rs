//! Shows outcomes as Markdown tables for people, as JSON for programs.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};

use crate::collection::Collection;
use crate::measure::{DEPTHS, Measures};
use crate::run::{Answer, Level, Outcome};

/// Questions that a row is the mean of.
struct Part {
    name: String,
    /// None for every category.
    categories: Option<Vec<u8>>,
    /// None for both halves.
    half: Option<usize>,
}

impl Part {
    fn holds(&self, answer: &Answer) -> bool {
        let category =
            self.categories.as_ref().is_none_or(|categories| categories.contains(&answer.category));
        category && self.half.is_none_or(|half| half == answer.half)
    }

    /// Measures of its questions.
    fn of<'a>(&self, level: &'a Level) -> Vec<&'a Measures> {
        level
            .answers
            .iter()
            .filter(|answer| self.holds(answer))
            .map(|answer| &answer.measures)
            .collect()
    }
}

/// All, categories 1 to 4, each category; with `halves` all of that for each half as well.
fn parts(outcomes: &[Outcome], halves: bool) -> Vec<Part> {
    let answers =
        outcomes.iter().flat_map(|outcome| &outcome.levels).flat_map(|level| &level.answers);
    let known: BTreeSet<u8> =
        answers.map(|answer| answer.category).filter(|&category| category > 0).collect();
    let mut groups = vec![("all".to_string(), None)];
    if !known.is_empty() {
        groups.push(("categories 1-4".to_string(), Some(vec![1, 2, 3, 4])));
        groups.extend(
            known.iter().map(|&category| (format!("category {category}"), Some(vec![category]))),
        );
    }
    let mut parts = Vec::new();
    let half_names = [(None, ""), (Some(0), ", first half"), (Some(1), ", second half")];
    for (half, suffix) in half_names.into_iter().take(if halves { 3 } else { 1 }) {
        parts.extend(groups.iter().map(|(name, categories)| Part {
            name: format!("{name}{suffix}"),
            categories: categories.clone(),
            half,
        }));
    }
    parts
}

/// Everything, as tables: one of times and sizes, then one for each level and part.
pub(crate) fn tables(collection: &Collection, outcomes: &[Outcome], halves: bool) -> String {
    let mut text = format!(
        "{}: {} documents in {} scopes, {} of {} questions measured, sha256 {}\n\n",
        collection.name,
        collection.document_count(),
        collection.scopes.len(),
        collection.question_count(),
        collection.asked,
        collection.hash
    );
    text +=
        "| ranker | model | p50 ms | p99 ms | index MB | made in s |\n|---|---|--:|--:|--:|--:|\n";
    for outcome in outcomes {
        let (p50, p99) = (milliseconds(&outcome.times, 0.5), milliseconds(&outcome.times, 0.99));
        let (megabytes, seconds) =
            (outcome.index_bytes as f64 / 1e6, outcome.prepare.as_secs_f64());
        let model = if outcome.model.is_empty() { "–" } else { &outcome.model };
        text += &format!(
            "| {} | {model} | {p50:.3} | {p99:.3} | {megabytes:.2} | {seconds:.2} |\n",
            outcome.name
        );
    }
    let level_count = outcomes.iter().map(|outcome| outcome.levels.len()).max().unwrap_or_default();
    for level in 0..level_count {
        for part in parts(outcomes, halves) {
            text += &table(outcomes, level, &part);
        }
    }
    text
}

/// One row for each ranker; empty when no question belongs to the part.
fn table(outcomes: &[Outcome], level: usize, part: &Part) -> String {
    let levels: Vec<(&Outcome, &Level)> =
        outcomes.iter().filter_map(|one| Some((one, one.levels.get(level)?))).collect();
    let Some((_, first)) = levels.first() else { return String::new() };
    let count = part.of(first).len();
    if count == 0 {
        return String::new();
    }
    let heads = |name: &str| DEPTHS.map(|k| format!("{name}@{k}")).join(" | ");
    let columns = 3 * DEPTHS.len() + 2;
    let mut text = format!("\n**{}**, {}, {count} questions\n\n", first.name, part.name);
    text += &format!(
        "| ranker | {} | {} | {} | MRR@10 | nDCG@10 |\n",
        heads("any"),
        heads("all"),
        heads("frac")
    );
    text += &format!("|---|{}\n", "--:|".repeat(columns));
    for (outcome, level) in levels {
        if let Some(mean) = Measures::mean(part.of(level)) {
            let gains = [mean.reciprocal_rank, mean.ndcg];
            let cells = mean
                .any
                .iter()
                .chain(&mean.all)
                .chain(&mean.share)
                .chain(&gains)
                .map(|value| format!("{value:.3}"));
            text += &format!("| {} | {} |\n", outcome.name, cells.collect::<Vec<_>>().join(" | "));
        }
    }
    text
}

/// Everything, as one JSON object; times in milliseconds, sizes in bytes.
pub(crate) fn json(collection: &Collection, outcomes: &[Outcome], halves: bool) -> Value {
    let parts = parts(outcomes, halves);
    let ranker = |outcome: &Outcome| {
        let levels: Vec<Value> =
            outcome.levels.iter().map(|level| json_of_level(level, &parts)).collect();
        json!({
            "name": outcome.name,
            "model": outcome.model,
            "index_bytes": outcome.index_bytes,
            "prepare_ms": outcome.prepare.as_secs_f64() * 1e3,
            "query_ms": {"p50": milliseconds(&outcome.times, 0.5), "p99": milliseconds(&outcome.times, 0.99)},
            "levels": levels,
        })
    };
    json!({
        "collection": {
            "name": collection.name,
            "sha256": collection.hash,
            "scopes": collection.scopes.len(),
            "documents": collection.document_count(),
            "questions": collection.question_count(),
            "asked": collection.asked,
        },
        "rankers": outcomes.iter().map(ranker).collect::<Vec<_>>(),
    })
}

fn json_of_level(level: &Level, parts: &[Part]) -> Value {
    let by_depth = |values: [f64; DEPTHS.len()]| {
        DEPTHS
            .iter()
            .zip(values)
            .map(|(k, value)| (k.to_string(), json!(value)))
            .collect::<serde_json::Map<_, _>>()
    };
    let rows = parts.iter().filter_map(|part| {
        let answers = part.of(level);
        let count = answers.len();
        let mean = Measures::mean(answers)?;
        Some(json!({
            "part": part.name,
            "questions": count,
            "any": by_depth(mean.any),
            "all": by_depth(mean.all),
            "frac": by_depth(mean.share),
            "mrr_10": mean.reciprocal_rank,
            "ndcg_10": mean.ndcg,
        }))
    });
    json!({"level": level.name, "rows": rows.collect::<Vec<_>>()})
}

/// The time that at least `fraction` of the ascending `times` do not exceed, in milliseconds; 0
/// when there is none.
fn milliseconds(times: &[Duration], fraction: f64) -> f64 {
    let rank = (fraction * times.len() as f64).ceil() as usize;
    times.get(rank.max(1) - 1).map_or(0.0, |time| time.as_secs_f64() * 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome() -> Outcome {
        let good = Measures { reciprocal_rank: 1.0, ..Measures::default() };
        let answer = |category, half, measures| Answer { category, half, measures };
        let answers = vec![
            answer(1, 0, good),
            answer(5, 0, Measures::default()),
            answer(5, 1, Measures::default()),
        ];
        Outcome {
            name: "r".to_string(),
            model: String::new(),
            index_bytes: 2_000_000,
            prepare: Duration::from_secs(1),
            times: (1..=100).map(Duration::from_millis).collect(),
            levels: vec![Level { name: "documents", answers }],
        }
    }

    fn collection() -> Collection {
        Collection { name: "t".to_string(), hash: "ab".to_string(), asked: 3, scopes: Vec::new() }
    }

    #[test]
    fn parts_are_means_of_their_own() {
        let shown = json(&collection(), &[outcome()], true);
        let rows =
            shown["rankers"][0]["levels"][0]["rows"].as_array().expect("rows are a list").clone();
        let expected = [
            "all: 3 0.333",
            "categories 1-4: 1 1.000",
            "category 1: 1 1.000",
            "category 5: 2 0.000",
            "all, first half: 2 0.500",
            "categories 1-4, first half: 1 1.000",
            "category 1, first half: 1 1.000",
            "category 5, first half: 1 0.000",
            "all, second half: 1 0.000",
            "category 5, second half: 1 0.000",
        ];
        let shown_rows = |row: &Value| {
            let rank = row["mrr_10"].as_f64().unwrap_or(f64::NAN);
            format!("{}: {} {rank:.3}", row["part"].as_str().unwrap_or("?"), row["questions"])
        };
        assert_eq!(rows.iter().map(shown_rows).collect::<Vec<_>>(), expected);
        assert_eq!(shown["rankers"][0]["query_ms"], json!({"p50": 50.0, "p99": 99.0}));
    }

    #[test]
    fn tables_have_as_many_cells_as_heads() {
        let text = tables(&collection(), &[outcome()], false);
        assert!(text.contains("| r | – | 50.000 | 99.000 | 2.00 | 1.00 |"), "{text}");
        let wide: Vec<usize> = text
            .lines()
            .filter(|line| line.contains("MRR"))
            .map(|line| line.matches('|').count())
            .collect();
        assert_eq!(wide, [16; 4], "{text}");
        assert!(
            text.lines()
                .filter(|line| line.starts_with("| r | 0"))
                .all(|line| line.matches('|').count() == 16)
        );
    }
}
