//! Documents and the questions about them: the one shape that every data set is loaded into.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use sha2::{Digest, Sha256};

/// Whatever goes wrong, with a message for people.
pub(crate) type Error = Box<dyn std::error::Error>;
/// Result of this crate.
pub(crate) type Result<T, E = Error> = std::result::Result<T, E>;

/// A data set.
#[derive(Clone, Debug)]
pub(crate) struct Collection {
    /// Its name.
    pub(crate) name: String,
    /// SHA-256 of the bytes of its files, 64 hexadecimal digits.
    pub(crate) hash: String,
    /// Questions that the file holds, those without any known answer included.
    pub(crate) asked: usize,
    /// Parts that are searched apart from each other.
    pub(crate) scopes: Vec<Scope>,
}

/// Documents that are searched together, and what is asked of them.
#[derive(Clone, Debug)]
pub(crate) struct Scope {
    /// Its name, unique in the collection.
    pub(crate) name: String,
    /// The documents; elsewhere a document is its index here.
    pub(crate) documents: Vec<Doc>,
    /// The questions, each with at least one relevant document.
    pub(crate) questions: Vec<Question>,
}

/// One document.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Doc {
    /// Name of the document, unique in its scope; parts are separated by slashes.
    pub(crate) id: String,
    /// Session that it belongs to, or its own id.
    pub(crate) group: String,
    /// Who speaks, may be empty.
    pub(crate) speaker: String,
    /// What the speaker is in a session of an agent: user, assistant or tool; may be empty.
    pub(crate) role: String,
    /// Date as the data set writes it, may be empty.
    pub(crate) date: String,
    /// Microseconds since the Unix epoch, UTC; none when unknown.
    pub(crate) time: Option<i64>,
    /// What is said; the caption of a picture follows in brackets.
    pub(crate) text: String,
}

/// One question.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Question {
    /// What is asked.
    pub(crate) text: String,
    /// Category, from 1; 0 when the data set has none.
    pub(crate) category: u8,
    /// Which half of the collection it belongs to: 0 or 1. Tune on one, report the other.
    pub(crate) half: usize,
    /// Documents that answer it, each once.
    pub(crate) relevant: Vec<Relevant>,
    /// The document that is the question itself and not an answer to it.
    pub(crate) itself: Option<usize>,
}

/// A document that answers a question.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Relevant {
    /// Index of the document, or of the group, in its scope.
    pub(crate) item: usize,
    /// How well it answers, above 0; 1 where the data set does not grade.
    pub(crate) gain: f64,
}

impl Collection {
    /// Questions that can be measured.
    pub(crate) fn question_count(&self) -> usize {
        self.scopes.iter().map(|scope| scope.questions.len()).sum()
    }

    /// Documents in all scopes.
    pub(crate) fn document_count(&self) -> usize {
        self.scopes.iter().map(|scope| scope.documents.len()).sum()
    }

    /// Whether documents belong to groups larger than themselves.
    pub(crate) fn has_groups(&self) -> bool {
        self.scopes
            .iter()
            .flat_map(|scope| &scope.documents)
            .any(|document| document.group != document.id)
    }

    /// The same with at most `limit` questions, taken evenly from all of them.
    pub(crate) fn limited(mut self, limit: usize) -> Collection {
        let count = self.question_count();
        let mut number = 0;
        for scope in &mut self.scopes {
            scope.questions.retain(|_| {
                number += 1;
                number * limit / count > (number - 1) * limit / count || limit >= count
            });
        }
        self
    }

    /// All scopes in one; ids and groups begin with the name of the scope that they come from.
    pub(crate) fn pooled(&self) -> Collection {
        let mut pool =
            Scope { name: "pooled".to_string(), documents: Vec::new(), questions: Vec::new() };
        for scope in &self.scopes {
            let offset = pool.documents.len();
            pool.documents.extend(scope.documents.iter().map(|document| Doc {
                id: format!("{}/{}", scope.name, document.id),
                group: format!("{}/{}", scope.name, document.group),
                ..document.clone()
            }));
            pool.questions.extend(scope.questions.iter().map(|question| {
                Question {
                    relevant: question
                        .relevant
                        .iter()
                        .map(|one| Relevant { item: one.item + offset, ..*one })
                        .collect(),
                    itself: question.itself.map(|own| own + offset),
                    ..question.clone()
                }
            }));
        }
        Collection { scopes: vec![pool], ..self.without_scopes() }
    }

    /// The same with whole groups as documents.
    pub(crate) fn of_groups(&self) -> Collection {
        Collection {
            scopes: self.scopes.iter().map(Scope::of_groups).collect(),
            ..self.without_scopes()
        }
    }

    fn without_scopes(&self) -> Collection {
        Collection {
            name: self.name.clone(),
            hash: self.hash.clone(),
            asked: self.asked,
            scopes: Vec::new(),
        }
    }
}

impl Scope {
    /// Index of the group of each document, in order of first appearance.
    pub(crate) fn groups(&self) -> Vec<usize> {
        let mut known = HashMap::new();
        let number = |document: &Doc| {
            let next = known.len();
            *known.entry(document.group.clone()).or_insert(next)
        };
        self.documents.iter().map(number).collect()
    }

    fn of_groups(&self) -> Scope {
        let groups = self.groups();
        let mut documents: Vec<Doc> = Vec::new();
        for (document, &group) in self.documents.iter().zip(&groups) {
            if group == documents.len() {
                documents.push(Doc {
                    id: document.group.clone(),
                    speaker: String::new(),
                    role: String::new(),
                    ..document.clone()
                });
            } else {
                documents[group].text.push('\n');
                documents[group].text.push_str(&document.text);
            }
        }
        let questions = self.questions.iter().map(|question| Question {
            relevant: in_groups(&question.relevant, &groups),
            itself: None,
            ..question.clone()
        });
        Scope { name: self.name.clone(), documents, questions: questions.collect() }
    }
}

/// The groups that hold relevant documents, each once, with the best gain of its documents.
pub(crate) fn in_groups(relevant: &[Relevant], groups: &[usize]) -> Vec<Relevant> {
    let mut found: Vec<Relevant> = Vec::new();
    for one in relevant {
        let group = groups[one.item];
        match found.iter_mut().find(|known| known.item == group) {
            Some(known) => known.gain = known.gain.max(one.gain),
            None => found.push(Relevant { item: group, gain: one.gain }),
        }
    }
    found
}

/// Reads files whole, and names their bytes: SHA-256 of one after the other.
pub(crate) fn read(paths: &[&Path]) -> Result<(Vec<String>, String)> {
    let mut hash = Sha256::new();
    let mut texts = Vec::new();
    for path in paths {
        let text = fs::read_to_string(path)
            .map_err(|error| format!("failed to read {}: {error}", path.display()))?;
        hash.update(text.as_bytes());
        texts.push(text);
    }
    Ok((texts, base16ct::lower::encode_string(&hash.finalize())))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn doc(id: &str, group: &str, text: &str) -> Doc {
        Doc {
            id: id.to_string(),
            group: group.to_string(),
            text: text.to_string(),
            ..Doc::default()
        }
    }

    pub(crate) fn question(text: &str, relevant: &[usize]) -> Question {
        let relevant = relevant.iter().map(|&item| Relevant { item, gain: 1.0 }).collect();
        Question { text: text.to_string(), category: 1, half: 0, relevant, itself: None }
    }

    fn collection() -> Collection {
        let scope = |name: &str| Scope {
            name: name.to_string(),
            documents: vec![doc("1/a", "1", "A"), doc("1/b", "1", "B"), doc("2/c", "2", "C")],
            questions: vec![question("x", &[0, 1]), question("y", &[1, 2])],
        };
        Collection {
            name: "t".to_string(),
            hash: String::new(),
            asked: 4,
            scopes: vec![scope("p"), scope("q")],
        }
    }

    fn items(question: &Question) -> Vec<usize> {
        question.relevant.iter().map(|one| one.item).collect()
    }

    #[test]
    fn a_pool_keeps_what_is_relevant() {
        let pool = collection().pooled().scopes.remove(0);
        assert_eq!(pool.documents.len(), 6);
        assert_eq!(
            (pool.documents[3].id.as_str(), pool.documents[3].group.as_str()),
            ("q/1/a", "q/1")
        );
        assert_eq!(
            pool.questions.iter().map(items).collect::<Vec<_>>(),
            [vec![0, 1], vec![1, 2], vec![3, 4], vec![4, 5]]
        );
        assert_eq!(pool.groups(), [0, 0, 1, 2, 2, 3]);
    }

    #[test]
    fn groups_become_documents() {
        let groups = collection().of_groups();
        let scope = &groups.scopes[0];
        assert_eq!(
            scope.documents.iter().map(|d| d.text.as_str()).collect::<Vec<_>>(),
            ["A\nB", "C"]
        );
        assert_eq!(scope.questions.iter().map(items).collect::<Vec<_>>(), [vec![0], vec![0, 1]]);
        assert!(collection().has_groups());
        assert!(!groups.has_groups());
    }

    #[test]
    fn a_limit_takes_evenly() {
        let count = |limit| {
            collection().limited(limit).scopes.iter().map(|s| s.questions.len()).collect::<Vec<_>>()
        };
        assert_eq!(count(2), [1, 1]);
        assert_eq!(count(3), [1, 2]);
        assert_eq!(count(9), [2, 2]);
        assert_eq!(count(0), [0, 0]);
    }
}
