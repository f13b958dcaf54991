//! Measures a ranker on a collection: every question once at each level, with its time.

use std::time::{Duration, Instant};

use crate::collection::{Collection, Question, Result, Scope, in_groups};
use crate::measure::{Measures, ranked_groups};
use crate::rankers::Ranker;

/// Documents asked for where documents are measured: the deepest that a measure looks.
const DOCUMENTS: usize = 20;

/// What was measured of one ranker.
pub(crate) struct Outcome {
    /// Name of the ranker.
    pub(crate) name: String,
    /// Model that it uses, may be empty.
    pub(crate) model: String,
    /// Size of what it made of all scopes, in bytes.
    pub(crate) index_bytes: u64,
    /// Time to make it.
    pub(crate) prepare: Duration,
    /// Time of each search for 20 documents in a scope of its own, ascending.
    pub(crate) times: Vec<Duration>,
    /// One for each level.
    pub(crate) levels: Vec<Level>,
}

/// Measures of every question at one level.
pub(crate) struct Level {
    /// What is ranked, and among what.
    pub(crate) name: &'static str,
    /// One for each question.
    pub(crate) answers: Vec<Answer>,
}

/// Measures of one question, and what they are summed up by.
pub(crate) struct Answer {
    /// Category of the question, 0 for none.
    pub(crate) category: u8,
    /// Half of the collection, 0 or 1.
    pub(crate) half: usize,
    /// How good the list was.
    pub(crate) measures: Measures,
}

/// Measures `ranker` on every level that the collection has, or on documents alone.
///
/// # Errors
/// What the ranker says.
pub(crate) fn run(
    ranker: &mut dyn Ranker,
    collection: &Collection,
    with_groups: bool,
) -> Result<Outcome> {
    let with_groups = with_groups && collection.has_groups();
    let (name, model) = (ranker.name(), ranker.model());
    let mut outcome = Outcome {
        name,
        model,
        index_bytes: 0,
        prepare: Duration::ZERO,
        times: Vec::new(),
        levels: Vec::new(),
    };
    let (mut documents, mut groups) = (Vec::new(), Vec::new());
    for scope in &collection.scopes {
        eprintln!(
            "{}: {}, {} documents, {} questions",
            outcome.name,
            scope.name,
            scope.documents.len(),
            scope.questions.len()
        );
        let start = Instant::now();
        outcome.index_bytes += ranker.prepare(scope)?;
        outcome.prepare += start.elapsed();
        documents.extend(ask_documents(ranker, scope, &mut outcome.times)?);
        if with_groups {
            groups.extend(ask_groups(ranker, scope)?);
        }
    }
    outcome.times.sort_unstable();
    outcome.levels.push(Level { name: "documents", answers: documents });
    if with_groups {
        outcome.levels.push(Level { name: "sessions, by their turns", answers: groups });
        let pooled = collection.pooled();
        let pooled_groups = collection.of_groups().pooled();
        eprintln!(
            "{}: pooled, {} documents, {} sessions",
            outcome.name,
            pooled.document_count(),
            pooled_groups.document_count()
        );
        ranker.prepare(&pooled.scopes[0])?;
        let answers = ask_groups(ranker, &pooled.scopes[0])?;
        outcome.levels.push(Level { name: "sessions pooled, by their turns", answers });
        ranker.prepare(&pooled_groups.scopes[0])?;
        let answers = ask_documents(ranker, &pooled_groups.scopes[0], &mut Vec::new())?;
        outcome.levels.push(Level { name: "sessions pooled, whole", answers });
    }
    Ok(outcome)
}

/// Measures the documents found, and how long it took to find them.
fn ask_documents(
    ranker: &mut dyn Ranker,
    scope: &Scope,
    times: &mut Vec<Duration>,
) -> Result<Vec<Answer>> {
    let mut answers = Vec::new();
    for question in &scope.questions {
        let start = Instant::now();
        let ranked = ask(ranker, scope, question, DOCUMENTS)?;
        times.push(start.elapsed());
        answers.push(answer(question, Measures::of(&ranked, &question.relevant)));
    }
    Ok(answers)
}

/// Measures the groups of the documents found; a group stands where its first document stands.
fn ask_groups(ranker: &mut dyn Ranker, scope: &Scope) -> Result<Vec<Answer>> {
    let groups = scope.groups();
    let mut answers = Vec::new();
    for question in &scope.questions {
        let mut ranked = ranker.rank_groups(scope, &question.text, DOCUMENTS)?;
        ranked.retain(|&document| Some(document) != question.itself);
        let ranked = ranked_groups(&ranked, &groups);
        answers
            .push(answer(question, Measures::of(&ranked, &in_groups(&question.relevant, &groups))));
    }
    Ok(answers)
}

/// At most `k` documents; one that is the question itself does not count.
fn ask(
    ranker: &mut dyn Ranker,
    scope: &Scope,
    question: &Question,
    k: usize,
) -> Result<Vec<usize>> {
    let mut ranked =
        ranker.rank(scope, &question.text, k + usize::from(question.itself.is_some()))?;
    ranked.retain(|&document| Some(document) != question.itself);
    ranked.truncate(k);
    Ok(ranked)
}

fn answer(question: &Question, measures: Measures) -> Answer {
    Answer { category: question.category, half: question.half, measures }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collection::tests::{doc, question};

    /// Ranks documents in a fixed order.
    struct Fixed(Vec<usize>);

    impl Ranker for Fixed {
        fn name(&self) -> String {
            "fixed".to_string()
        }

        fn prepare(&mut self, _scope: &Scope) -> Result<u64> {
            Ok(7)
        }

        fn rank(&mut self, _scope: &Scope, _query: &str, k: usize) -> Result<Vec<usize>> {
            Ok(self.0.iter().copied().take(k).collect())
        }
    }

    fn collection(groups: [&str; 3]) -> Collection {
        let documents =
            ["a", "b", "c"].iter().zip(groups).map(|(id, group)| doc(id, group, id)).collect();
        let scope =
            Scope { name: "s".to_string(), documents, questions: vec![question("q", &[2])] };
        Collection { name: "t".to_string(), hash: String::new(), asked: 1, scopes: vec![scope] }
    }

    fn ranks(outcome: &Outcome) -> Vec<f64> {
        outcome.levels.iter().map(|level| level.answers[0].measures.reciprocal_rank).collect()
    }

    #[test]
    fn every_level_is_measured() {
        let outcome = run(&mut Fixed(vec![0, 1, 2]), &collection(["x", "x", "y"]), true)
            .expect("it cannot fail");
        // Third turn; its session is the second, but `Fixed` puts the whole session `y`, document
        // 1, second as well.
        assert_eq!(ranks(&outcome), [1.0 / 3.0, 0.5, 0.5, 0.5]);
        assert_eq!((outcome.index_bytes, outcome.times.len()), (7, 1));
    }

    #[test]
    fn without_groups_there_is_one_level() {
        let outcome = run(&mut Fixed(vec![0, 2]), &collection(["a", "b", "c"]), true)
            .expect("it cannot fail");
        assert_eq!(ranks(&outcome), [0.5]);
    }

    #[test]
    fn the_question_itself_takes_no_place() {
        let mut collection = collection(["a", "b", "c"]);
        collection.scopes[0].questions[0].itself = Some(0);
        assert_eq!(
            ranks(&run(&mut Fixed(vec![0, 2]), &collection, true).expect("it cannot fail")),
            [1.0]
        );
    }
}
