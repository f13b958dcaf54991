//! Reads sessions of agents with questions about them: JSON Lines, an object a session with
//! `session`, `group` (searched together, such as a repository), `turns` (each with `speaker`:
//! user, assistant or tool, and `text`) and `questions` (each with `question` and the places of its
//! `answers` among the turns). `crates/recall/turns.py` makes it out of labelled traces.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

use crate::collection::{Collection, Doc, Question, Relevant, Result, Scope, read};

#[derive(Deserialize)]
struct Session {
    session: String,
    group: String,
    turns: Vec<SessionTurn>,
    questions: Vec<SessionQuestion>,
}

#[derive(Deserialize)]
struct SessionTurn {
    speaker: String,
    text: String,
}

#[derive(Deserialize)]
struct SessionQuestion {
    question: String,
    answers: Vec<usize>,
}

/// Reads the file; every second group is of the second half.
///
/// # Errors
/// What the system says, or where the file is not what it should be.
pub(crate) fn load(path: &Path) -> Result<Collection> {
    let (texts, hash) = read(&[path])?;
    parse(&texts[0], hash)
}

fn parse(text: &str, hash: String) -> Result<Collection> {
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let mut groups: BTreeMap<String, Vec<Session>> = BTreeMap::new();
    let mut asked = 0;
    for line in lines {
        let session: Session = serde_json::from_str(line)?;
        asked += session.questions.len();
        groups.entry(session.group.clone()).or_default().push(session);
    }
    let groups = groups.into_iter().enumerate();
    let scopes = groups.map(|(number, (name, sessions))| scope(name, sessions, number % 2));
    Ok(Collection {
        name: "sessions of agents".to_string(),
        hash,
        asked,
        scopes: scopes.filter(|scope| !scope.questions.is_empty()).collect(),
    })
}

fn scope(name: String, sessions: Vec<Session>, half: usize) -> Scope {
    let mut scope = Scope { name, documents: Vec::new(), questions: Vec::new() };
    for Session { session, turns, questions, .. } in sessions {
        let first = scope.documents.len();
        let documents = turns.into_iter().enumerate().map(|(at, turn)| Doc {
            id: format!("{session}/{at}"),
            group: session.clone(),
            role: turn.speaker,
            text: turn.text,
            ..Doc::default()
        });
        scope.documents.extend(documents);
        scope.questions.extend(questions.into_iter().map(|asked| {
            let items = asked.answers.into_iter().map(|at| first + at);
            let items = items.filter(|at| *at < scope.documents.len());
            Question {
                text: asked.question,
                category: 0,
                half,
                relevant: items.map(|item| Relevant { item, gain: 1.0 }).collect(),
                itself: None,
            }
        }));
    }
    scope.questions.retain(|question| !question.relevant.is_empty());
    scope
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_of_a_group_are_searched_together() {
        let text = r#"{"session": "a", "group": "g", "turns": [{"speaker": "user", "text": "Keep it dry."}], "questions": []}
{"session": "b", "group": "g", "turns": [{"speaker": "assistant", "text": "Done."}, {"speaker": "user", "text": "No!"}],
 "questions": [{"question": "Who said no?", "answers": [1, 9]}]}"#
            .replace(",\n ", ", ");
        let collection = parse(&text, String::new()).expect("it is well formed");
        assert_eq!((collection.asked, collection.scopes.len()), (1, 1));
        let scope = &collection.scopes[0];
        let ids: Vec<&str> = scope.documents.iter().map(|document| document.id.as_str()).collect();
        assert_eq!(ids, ["a/0", "b/0", "b/1"]);
        assert_eq!(scope.documents[2].role, "user");
        let items: Vec<usize> = scope.questions[0].relevant.iter().map(|one| one.item).collect();
        assert_eq!(items, [2]);
    }
}
