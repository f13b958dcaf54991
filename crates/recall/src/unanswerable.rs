//! Measures whether a search says that nothing is known: questions put to the collection that
//! answers them, and to another one, which does not.

use std::fmt::Write as _;

use kapsa_memory::Found;

use crate::collection::{Collection, Result};
use crate::rankers::Kapsa;

/// Answerable questions that may be taken for unanswerable.
const FALSE_ALARMS: f64 = 0.05;

/// What a search said of one question.
struct Said {
    /// Half of the collection, 0 or 1.
    half: usize,
    is_answerable: bool,
    /// Strength of the strongest hit.
    strength: f32,
    is_good: bool,
    /// What the strength is made of.
    features: String,
}

/// Asks every question of its own scope and of the next one; a table of what came out, and, for
/// whoever fits weights, everything that the strengths are made of.
///
/// # Errors
/// What the search reports.
pub(crate) fn measure(ranker: &mut Kapsa, collection: &Collection) -> Result<(String, String)> {
    let mut said = Vec::new();
    let scopes = &collection.scopes;
    for (at, scope) in scopes.iter().enumerate() {
        eprintln!("{}, {} documents", scope.name, scope.documents.len());
        ranker.ready(scope)?;
        for (other, is_answerable) in [(at, true), ((at + 1) % scopes.len(), false)] {
            for question in &scopes[other].questions {
                let found = ranker.ask(&question.text)?;
                said.push(Said {
                    // Of the scope that is searched: halves share no records.
                    half: scope.questions.first().map_or(0, |question| question.half),
                    is_answerable,
                    strength: found.hits.iter().map(|hit| hit.strength).fold(0.0, f32::max),
                    is_good: found.grade == kapsa_memory::Grade::Good,
                    features: features(&found),
                });
            }
        }
    }
    let mut table = String::from(
        "| questions | AUC | seen at 5% false alarms | false alarms as it is | seen as it is |\n\
         |---|--:|--:|--:|--:|\n",
    );
    for (name, half) in [("all", None), ("first half", Some(0)), ("second half", Some(1))] {
        let part: Vec<&Said> =
            said.iter().filter(|said| half.is_none_or(|half| said.half == half)).collect();
        table += &row(name, &part);
    }
    let mut csv = String::from("half,answerable,strength,share5,hits\n");
    for Said { half, is_answerable, strength, features, .. } in &said {
        writeln!(csv, "{half},{},{strength},{features}", u8::from(*is_answerable))?;
    }
    Ok((table, csv))
}

/// The share of the words that the best hits have together, then of each of them the share, whether
/// it has the rarest word, the likeness and the BM25 score.
fn features(found: &Found) -> String {
    let of_hits: Vec<String> = found
        .hits
        .iter()
        .map(|hit| {
            let why = &hit.why;
            let (likeness, words) =
                (why.likeness.unwrap_or(0.0), why.words.map_or(0.0, |(_, score)| score));
            format!("{}/{}/{likeness}/{words}", why.share, why.rarest)
        })
        .collect();
    format!("{},{}", found.share, of_hits.join(" "))
}

fn row(name: &str, said: &[&Said]) -> String {
    let strengths = |is_answerable: bool| {
        let mut all: Vec<f32> = said
            .iter()
            .filter(|said| said.is_answerable == is_answerable)
            .map(|said| said.strength)
            .collect();
        all.sort_unstable_by(f32::total_cmp);
        all
    };
    let (answerable, unanswerable) = (strengths(true), strengths(false));
    let share = |count: usize, of: &[f32]| count as f64 / of.len().max(1) as f64;
    let alarms = (answerable.len() as f64 * FALSE_ALARMS) as usize;
    let threshold = answerable.get(alarms).copied().unwrap_or_default();
    let seen = unanswerable.partition_point(|strength| *strength < threshold);
    let weak = |is_answerable: bool| {
        said.iter().filter(|said| said.is_answerable == is_answerable && !said.is_good).count()
    };
    format!(
        "| {name} | {:.3} | {:.3} (below {threshold:.3}) | {:.3} | {:.3} |\n",
        area(&answerable, &unanswerable),
        share(seen, &unanswerable),
        share(weak(true), &answerable),
        share(weak(false), &unanswerable)
    )
}

/// How often an answerable question is stronger than an unanswerable one, both sorted; ties count
/// half.
fn area(answerable: &[f32], unanswerable: &[f32]) -> f64 {
    let mut sum = 0.0;
    for strength in answerable {
        let below = unanswerable.partition_point(|other| other < strength);
        let up_to = unanswerable.partition_point(|other| other <= strength);
        sum += below as f64 + (up_to - below) as f64 / 2.0;
    }
    sum / (answerable.len() * unanswerable.len()).max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_area_counts_pairs_in_the_right_order() {
        assert!((area(&[0.5, 0.9], &[0.1, 0.5]) - 0.875).abs() < 1e-9);
        assert!((area(&[0.9], &[0.1]) - 1.0).abs() < 1e-9);
    }
}
