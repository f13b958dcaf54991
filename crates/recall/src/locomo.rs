//! Reads LoCoMo: ten long conversations, and questions that name the turns which answer them.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use crate::collection::{Collection, Doc, Question, Relevant, Result, Scope, read};

/// Name of the file in its folder.
pub(crate) const FILE: &str = "locomo10.json";

#[derive(Deserialize)]
struct Sample {
    sample_id: String,
    conversation: BTreeMap<String, Value>,
    qa: Vec<Asked>,
}

#[derive(Deserialize)]
struct Turn {
    speaker: String,
    dia_id: String,
    text: String,
    blip_caption: Option<String>,
}

#[derive(Deserialize)]
struct Asked {
    question: String,
    category: u8,
    evidence: Vec<String>,
}

/// Session and turn, both from 1.
type Place = (u32, u32);

/// Reads the file at `path`.
///
/// # Errors
/// What the system says, or where the file is not what it should be.
pub(crate) fn load(path: &Path) -> Result<Collection> {
    let (texts, hash) = read(&[path])?;
    parse(&texts[0], hash)
}

fn parse(text: &str, hash: String) -> Result<Collection> {
    let samples: Vec<Sample> = serde_json::from_str(text)?;
    let asked = samples.iter().map(|sample| sample.qa.len()).sum();
    let first_half = samples.len() / 2;
    let scopes = samples
        .into_iter()
        .enumerate()
        .map(|(number, sample)| scope(sample, usize::from(number >= first_half)));
    Ok(Collection {
        name: "LoCoMo-10".to_string(),
        hash,
        asked,
        scopes: scopes.collect::<Result<_>>()?,
    })
}

fn scope(sample: Sample, half: usize) -> Result<Scope> {
    let mut documents = Vec::new();
    let mut places: HashMap<Place, usize> = HashMap::new();
    for (number, turns) in sessions(&sample.conversation)? {
        let date = sample
            .conversation
            .get(&format!("session_{number}_date_time"))
            .and_then(Value::as_str)
            .unwrap_or_default();
        let time = time_of(date).ok_or_else(|| format!("{date:?} is not a date"))?;
        for turn in turns {
            let place = places_in(&turn.dia_id)
                .first()
                .copied()
                .ok_or_else(|| format!("{:?} is not a turn", turn.dia_id))?;
            places.insert(place, documents.len());
            documents.push(document(turn, number, date, time));
        }
    }
    let questions = sample.qa.into_iter().map(|asked| {
        let mut items: Vec<usize> = Vec::new();
        for place in asked.evidence.iter().flat_map(|evidence| places_in(evidence)) {
            items.extend(
                places.get(&place).filter(|&item| !items.contains(item)).copied().as_slice(),
            );
        }
        let relevant = items.into_iter().map(|item| Relevant { item, gain: 1.0 }).collect();
        Question { text: asked.question, category: asked.category, half, relevant, itself: None }
    });
    let questions = questions.filter(|question| !question.relevant.is_empty()).collect();
    Ok(Scope { name: sample.sample_id, documents, questions })
}

/// The sessions by number.
fn sessions(conversation: &BTreeMap<String, Value>) -> Result<BTreeMap<u32, Vec<Turn>>> {
    let mut sessions = BTreeMap::new();
    for (key, value) in conversation {
        if let Some(number) = key.strip_prefix("session_").and_then(|rest| rest.parse().ok()) {
            sessions.insert(number, Vec::<Turn>::deserialize(value)?);
        }
    }
    Ok(sessions)
}

fn document(turn: Turn, session: u32, date: &str, time: i64) -> Doc {
    let group = format!("session-{session}");
    let id = format!("{group}/{}", turn.dia_id.replace(':', "-"));
    let text = match turn.blip_caption {
        Some(caption) => format!("{} [{caption}]", turn.text),
        None => turn.text,
    };
    Doc {
        id,
        group,
        speaker: turn.speaker,
        date: date.to_string(),
        time: Some(time),
        text,
        ..Doc::default()
    }
}

/// The turns that an evidence names: `D1:3`, but also `D8:6; D9:17`, `D9:1 D4:4`, `D:11:26` and
/// `D30:05`.
fn places_in(evidence: &str) -> Vec<Place> {
    let words = evidence.split(|c: char| !c.is_ascii_alphanumeric() && c != ':');
    let place = |word: &str| {
        let (session, turn) = word.strip_prefix('D')?.trim_start_matches(':').split_once(':')?;
        Some((session.parse().ok()?, turn.parse().ok()?))
    };
    words.filter_map(place).collect()
}

/// Microseconds since the Unix epoch of a date such as `1:56 pm on 8 May, 2023`, taken as UTC.
fn time_of(date: &str) -> Option<i64> {
    let (clock, day) = date.split_once(" on ")?;
    let (time, half) = clock.split_once(' ')?;
    let (hour, minute) = time.split_once(':')?;
    let (hour, minute) = (hour.parse::<i64>().ok()? % 12, minute.parse::<i64>().ok()?);
    let hour = if half.eq_ignore_ascii_case("pm") { hour + 12 } else { hour };
    let mut words = day.split([' ', ',']).filter(|word| !word.is_empty());
    let (day, month, year) = (words.next()?, words.next()?, words.next()?);
    let days = days_since_epoch(year.parse().ok()?, month_number(month)?, day.parse().ok()?);
    Some(((days * 24 + hour) * 60 + minute) * 60 * 1_000_000)
}

/// Month from 1.
fn month_number(name: &str) -> Option<i64> {
    let months =
        ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    let start = name.get(..3)?.to_ascii_lowercase();
    months.iter().position(|month| *month == start).map(|at| at as i64 + 1)
}

/// Days from 1 January 1970 to a day of the Gregorian calendar, for years after 0.
fn days_since_epoch(year: i64, month: i64, day: i64) -> i64 {
    // Years begin in March, so that the leap day is the last of its year.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leap_days = year / 4 - year / 100 + year / 400;
    year * 365 + leap_days + (153 * month + 2) / 5 + day - 1 - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn malformed_evidence_is_read() {
        let check =
            |evidence, expected: &[Place]| assert_eq!(places_in(evidence), expected, "{evidence}");
        check("D1:3", &[(1, 3)]);
        check("D8:6; D9:17", &[(8, 6), (9, 17)]);
        check("D9:1 D4:4 D4:6", &[(9, 1), (4, 4), (4, 6)]);
        check("D:11:26", &[(11, 26)]);
        check("D30:05", &[(30, 5)]);
        check("D", &[]);
        check("", &[]);
    }

    #[test]
    fn dates_are_read() {
        let check = |date, seconds: Option<i64>| {
            assert_eq!(time_of(date), seconds.map(|s| s * 1_000_000), "{date}")
        };
        check("12:00 am on 1 January, 1970", Some(0));
        check("1:56 pm on 8 May, 2023", Some(1_683_554_160));
        check("12:48 am on 29 February, 2024", Some(1_709_167_680));
        check("12:05 pm on 1 March, 2024", Some(1_709_294_700));
        check("8 May, 2023", None);
        check("", None);
    }

    #[test]
    fn a_sample_becomes_a_scope() {
        let text = r#"[{"sample_id": "conv-1", "conversation": {
            "speaker_a": "Ann", "session_2_date_time": "12:00 am on 2 January, 1970", "session_3_date_time": "",
            "session_10_date_time": "12:00 am on 1 January, 1970",
            "session_10": [{"speaker": "Bob", "dia_id": "D10:1", "text": "Look!", "blip_caption": "a red boat"}],
            "session_2": [{"speaker": "Ann", "dia_id": "D2:1", "text": "Hello."}]},
          "qa": [{"question": "Where?", "answer": 7, "category": 2, "evidence": ["D10:01; D2:1", "D2:1", "D9:9"]},
                 {"question": "Why?", "category": 5, "adversarial_answer": "x", "evidence": ["D"]}]}]"#;
        let collection = parse(text, String::new()).expect("it is well formed");
        assert_eq!((collection.asked, collection.question_count()), (2, 1));
        let scope = &collection.scopes[0];
        let ids: Vec<&str> = scope.documents.iter().map(|document| document.id.as_str()).collect();
        assert_eq!(ids, ["session-2/D2-1", "session-10/D10-1"]);
        let last = &scope.documents[1];
        assert_eq!((last.text.as_str(), last.speaker.as_str()), ("Look! [a red boat]", "Bob"));
        assert_eq!((last.group.as_str(), last.time), ("session-10", Some(0)));
        let items: Vec<usize> = scope.questions[0].relevant.iter().map(|one| one.item).collect();
        assert_eq!((items, scope.questions[0].category), (vec![1, 0], 2));
    }
}
