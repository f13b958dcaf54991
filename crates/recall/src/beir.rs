//! Reads a folder in BEIR's format: `corpus.jsonl`, `queries.jsonl`, and graded judgements in
//! `qrels/test.tsv`.

use std::collections::HashMap;
use std::path::Path;

use serde::Deserialize;

use crate::collection::{Collection, Doc, Question, Relevant, Result, Scope, read};

#[derive(Deserialize)]
struct Line {
    #[serde(rename = "_id")]
    id: String,
    #[serde(default)]
    title: String,
    text: String,
}

/// Reads the folder; questions without a judgement above 0 are left out.
///
/// # Errors
/// What the system says, or which line is not what it should be.
pub(crate) fn load(folder: &Path) -> Result<Collection> {
    let paths = ["corpus.jsonl", "queries.jsonl", "qrels/test.tsv"].map(|name| folder.join(name));
    let (texts, hash) = read(&paths.each_ref().map(|path| path.as_path()))?;
    let name = folder
        .file_name()
        .map_or_else(|| "BEIR".to_string(), |name| name.to_string_lossy().into_owned());
    let (scope, asked) = scope(&texts[0], &texts[1], &texts[2])?;
    Ok(Collection { name, hash, asked, scopes: vec![scope] })
}

/// One scope of all documents, and how many questions have judgements.
fn scope(corpus: &str, queries: &str, judgements: &str) -> Result<(Scope, usize)> {
    let documents: Vec<Doc> = lines(corpus)?.into_iter().map(document).collect();
    let places: HashMap<&str, usize> =
        documents.iter().enumerate().map(|(at, document)| (document.id.as_str(), at)).collect();
    let mut judged = judged(judgements, &places)?;
    let asked = judged.len();
    judged.retain(|_, relevant| !relevant.is_empty());
    let half = judged.len() / 2;
    let mut questions = Vec::new();
    for query in lines(queries)? {
        if let Some(relevant) = judged.remove(&query.id) {
            let itself = places.get(query.id.as_str()).copied();
            let half = usize::from(questions.len() >= half);
            questions.push(Question { text: query.text, category: 0, half, relevant, itself });
        }
    }
    if let Some(missing) = judged.keys().next() {
        return Err(format!("query {missing:?} is judged but not among the queries").into());
    }
    Ok((Scope { name: "all".to_string(), documents, questions }, asked))
}

fn lines(text: &str) -> Result<Vec<Line>> {
    let filled = text.lines().filter(|line| !line.trim().is_empty());
    filled
        .map(|line| {
            serde_json::from_str(line).map_err(|error| format!("{line:.80}: {error}").into())
        })
        .collect()
}

fn document(line: Line) -> Doc {
    let text = [line.title, line.text]
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join("\n");
    Doc { group: line.id.clone(), id: line.id, text, ..Doc::default() }
}

/// Relevant documents by the id of the query; a query whose judgements are all 0 has none.
fn judged(
    judgements: &str,
    places: &HashMap<&str, usize>,
) -> Result<HashMap<String, Vec<Relevant>>> {
    let mut judged: HashMap<String, Vec<Relevant>> = HashMap::new();
    for line in judgements.lines().skip(1).filter(|line| !line.trim().is_empty()) {
        let parts: Vec<&str> = line.split('\t').map(str::trim).collect();
        let [query, document, score] = parts[..] else {
            return Err(format!("{line:?} has no three columns").into());
        };
        let gain: f64 = score.parse().map_err(|_| format!("{line:?} ends in no number"))?;
        let relevant = judged.entry(query.to_string()).or_default();
        if gain > 0.0 {
            let item = *places
                .get(document)
                .ok_or_else(|| format!("{line:?} names no document of the corpus"))?;
            relevant.push(Relevant { item, gain });
        }
    }
    Ok(judged)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CORPUS: &str = "{\"_id\": \"a\", \"title\": \"T\", \"text\": \"one\"}\n{\"_id\": \"q1\", \"title\": \"\", \"text\": \"two\"}\n";
    const QUERIES: &str =
        "{\"_id\": \"q1\", \"text\": \"what?\"}\n{\"_id\": \"q2\", \"text\": \"who?\"}\n";

    #[test]
    fn judgements_are_graded() {
        let judgements = "query-id\tcorpus-id\tscore\nq1\ta\t2\nq1\tq1\t0\nq2\ta\t0\n";
        let (scope, asked) = scope(CORPUS, QUERIES, judgements).expect("it is well formed");
        assert_eq!(
            (scope.documents[0].text.as_str(), scope.documents[1].text.as_str()),
            ("T\none", "two")
        );
        assert_eq!((asked, scope.questions.len()), (2, 1));
        assert_eq!(scope.questions[0].relevant, [Relevant { item: 0, gain: 2.0 }]);
        assert_eq!(
            scope.questions[0].itself,
            Some(1),
            "a document with the query's id is the query"
        );
    }

    #[test]
    fn what_is_missing_is_an_error() {
        let failure =
            |judgements| scope(CORPUS, QUERIES, judgements).expect_err("it is not").to_string();
        assert!(failure("h\nq1\tz\t1\n").contains("no document"));
        assert!(failure("h\nq9\ta\t1\n").contains("q9"));
        assert!(failure("h\nq1\ta\n").contains("three columns"));
    }
}
