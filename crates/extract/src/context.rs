//! What a sentence needs around it to be understood later: the reply that took it up, what was
//! pasted with it, the option that it picks. Knows nothing of what is kept.

use serde_json::Value;

use crate::acts::weigh;
use crate::people::Message;
use crate::words::{content, shared};

/// Sentences of a reply that are looked at.
const REPLY_SENTENCES_MAX: usize = 40;
/// Longest sentence of a reply that is taken, in characters.
const REPLY_CHARS_MAX: usize = 260;
/// Most characters of an option.
const OPTION_CHARS_MAX: usize = 320;

/// How an assistant begins a sentence that announces work and says nothing.
const FILLER: &[&str] = &[
    "let me",
    "let's",
    "now ",
    "i'll",
    "i will",
    "i need to",
    "i'm going",
    "first",
    "next",
    "great",
    "perfect",
    "sure",
    "excellent",
    "certainly",
    "here",
    "done",
    "i've",
    "looking",
    "the user",
];

/// The sentence of the reply that says most plainly what was meant; where the message states
/// something else as well (not `is_one`), of those that have a word of the rule.
pub(crate) fn reply(message: &Message<'_>, rule: &str, is_one: bool) -> Option<String> {
    let about = content(rule);
    let mut best: Option<(f64, String)> = None;
    for sentence in reply_sentences(message) {
        let lower = sentence.to_lowercase();
        let is_filler = FILLER.iter().any(|start| lower.starts_with(start));
        let words = content(&sentence);
        if is_filler || words.len() < 3 || sentence.chars().count() > REPLY_CHARS_MAX {
            continue;
        }
        let takes_up = ["you're right", "you are right", "i understand", "i see", "good catch"];
        let agrees = takes_up.iter().any(|start| lower.starts_with(start));
        let common = shared(&about, &words);
        let states = weigh(&sentence).weight.clamp(0.0, 2.0);
        let score = common as f64 + states + if agrees { 2.0 } else { 0.0 };
        let is_about = is_one || common > 0;
        if is_about && score >= 2.0 && best.as_ref().is_none_or(|(highest, _)| score > *highest) {
            best = Some((score, sentence));
        }
    }
    best.map(|(_, sentence)| sentence)
}

fn reply_sentences(message: &Message<'_>) -> Vec<String> {
    let text: Vec<String> =
        message.replies.iter().map(|turn| without_thoughts(&turn.text)).collect();
    text.iter()
        .flat_map(|text| crate::prose::paragraphs(text))
        .flat_map(|paragraph| paragraph.sentences)
        .take(REPLY_SENTENCES_MAX)
        .collect()
}

/// A text without what a model thought aloud.
pub(crate) fn without_thoughts(text: &str) -> String {
    match (text.find("<think>"), text.find("</think>")) {
        (Some(start), Some(end)) if start < end => {
            format!("{}{}", &text[..start], &text[end + "</think>".len()..])
        }
        _ => text.to_owned(),
    }
}

/// What a message picks among the options that the assistant laid out before.
pub(crate) fn option(message: &Message<'_>, rule: &str) -> Option<String> {
    let text = message.before.iter().map(|turn| turn.text.as_str()).collect::<Vec<_>>().join("\n");
    let lines: Vec<&str> = text.lines().collect();
    let (start, end) = match picked_number(rule) {
        Some(number) => {
            let start = lines.iter().position(|line| is_option(line, number))?;
            let next = lines[start + 1..].iter().position(|line| is_option(line, number + 1));
            (start, next.map_or(lines.len(), |length| start + 1 + length))
        }
        None => {
            let name = picked_name(rule)?;
            let is_head = |line: &&str| {
                line.trim().starts_with(['#', '*', '-']) && line.to_lowercase().contains(&name)
            };
            let start = lines.iter().position(is_head)?;
            (start, (start + OPTION_LINES_MAX).min(lines.len()))
        }
    };
    let mut out = String::new();
    let mut fenced = false;
    for line in &lines[start..end] {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced && !line.trim().is_empty() && out.chars().count() < OPTION_CHARS_MAX {
            let line = line.trim().trim_start_matches(['#', '*', '-', ' ']).replace("**", "");
            out.push_str(&line);
            out.push(' ');
        }
    }
    Some(out.trim_end().to_owned()).filter(|out| !out.is_empty())
}

/// Lines of an option that was picked by its name.
const OPTION_LINES_MAX: usize = 8;

/// The name between `the` and `approach`, `option` and the like.
fn picked_name(rule: &str) -> Option<String> {
    let lower = rule.to_lowercase();
    let words: Vec<&str> = lower.split(|c: char| !c.is_alphanumeric() && c != '-').collect();
    let kinds = ["approach", "option", "solution", "variant", "version"];
    let at = words.iter().position(|word| kinds.contains(word))?;
    let name = at.checked_sub(1).map(|before| words[before])?;
    let says = name.len() > 3 && !["this", "that", "same", "second", "first"].contains(&name);
    says.then(|| name.to_owned())
}

/// The number after `option`, `approach`, `#` and the like.
fn picked_number(rule: &str) -> Option<u32> {
    let lower = rule.to_lowercase();
    ["option ", "approach ", "option #", "approach #", "solution ", "number ", "#"].iter().find_map(
        |word| {
            let after = &lower[lower.find(word)? + word.len()..];
            let digits: String = after.chars().take_while(char::is_ascii_digit).take(2).collect();
            digits.parse().ok()
        },
    )
}

/// Whether a line begins the option with this number.
fn is_option(line: &str, number: u32) -> bool {
    let line = line.trim().trim_start_matches(['#', '*', '-', ' ']).to_lowercase();
    ["option ", "approach ", "solution ", ""].iter().any(|word| {
        let head = format!("{word}{number}");
        line.strip_prefix(&head).is_some_and(|rest| rest.starts_with(['.', ')', ':', ' ', '*']))
    })
}

/// How picks begin that say what to do next, not what is chosen.
const OF_THE_MOMENT: [&str; 14] = [
    "yes", "no", "wait", "run ", "continue", "proceed", "cancel", "skip", "later", "start", "stop",
    "commit", "push", "go ahead",
];

/// What a person answered to the question of a tool: the question, the pick with its description,
/// and what was not picked.
pub(crate) fn answer(asked: &Value, picked: &str) -> Option<(String, String)> {
    let questions = asked.get("questions")?.as_array()?;
    for question in questions {
        let options = question.get("options").and_then(Value::as_array)?;
        let label = |option: &Value| option.get("label")?.as_str().map(str::to_owned);
        let Some(at) = options.iter().position(|option| label(option).as_deref() == Some(picked))
        else {
            continue;
        };
        let lower = picked.to_lowercase();
        if OF_THE_MOMENT.iter().any(|start| lower.starts_with(start)) {
            return None;
        }
        let asked = question.get("question").and_then(Value::as_str).unwrap_or_default();
        let picked = picked.trim_end_matches("(Recommended)").trim_end();
        let why = options[at].get("description").and_then(Value::as_str).unwrap_or_default();
        let others: Vec<String> = options
            .iter()
            .enumerate()
            .filter(|(other, _)| *other != at)
            .filter_map(|(_, option)| label(option))
            .collect();
        let mut body = format!("Chosen: {picked}. {why}\nQuestion: {asked}");
        if !others.is_empty() {
            body.push_str(&format!("\nNot chosen: {}", others.join("; ")));
        }
        return Some((picked.to_owned(), body));
    }
    None
}
