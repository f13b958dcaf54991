//! Whether a verb is an order to the reader, or part of a report, a warning or a purpose.
//!
//! Knows nothing of what is ordered: it sees the words before the verb, in the same sentence. "Now
//! ignore …", "you must ignore …" are orders; "how to ignore …", "they ignore …", "never ignore …"
//! are not. What stands at the start of a quotation is an order.

use std::collections::HashSet;
use std::sync::LazyLock;

use crate::tables::rows;

#[derive(Default)]
struct VerbContext {
    adverbs: HashSet<&'static str>,
    denials: HashSet<&'static str>,
    obliged: HashSet<&'static str>,
    may: HashSet<&'static str>,
    must: HashSet<&'static str>,
    addressed: HashSet<&'static str>,
    conditions: HashSet<&'static str>,
    reports: HashSet<&'static str>,
}

fn words() -> &'static VerbContext {
    static WORDS: LazyLock<VerbContext> = LazyLock::new(|| {
        let mut words = VerbContext::default();
        for row in rows(include_str!("../../tables/orders.txt")) {
            let mut row = row.split_whitespace();
            let class = match row.next().unwrap_or_default() {
                "adverb" => &mut words.adverbs,
                "denial" => &mut words.denials,
                "obliged" => &mut words.obliged,
                "may" => &mut words.may,
                "must" => &mut words.must,
                "addressed" => &mut words.addressed,
                "condition" => &mut words.conditions,
                _ => &mut words.reports,
            };
            class.extend(row);
        }
        words
    });
    &WORDS
}

/// Whether a verb in its base form orders something, after the folded text that stands before it.
pub(super) fn is_order(before: &str) -> bool {
    let known = words();
    let is_start = |c: char| ".!?;:,\n\"([{<>#|。！？；：，".contains(c);
    let sentence = before.rsplit(is_start).next().unwrap_or_default();
    let trimmed = |word: &'_ str| word.trim_matches(|c: char| !c.is_alphanumeric()).to_string();
    let mut words = sentence
        .rsplit(' ')
        .map(trimmed)
        .filter(|word| !word.is_empty() && !known.adverbs.contains(word.as_str()));
    let Some(last) = words.next() else { return true };
    let last = last.as_str();
    let mut next = || words.next().unwrap_or_default();
    if last == "to" {
        return known.obliged.contains(next().as_str());
    }
    if known.may.contains(last) {
        return matches!(next().as_str(), "you");
    }
    if known.must.contains(last) {
        return known.addressed.contains(next().as_str());
    }
    if last == "you" {
        return !known.conditions.contains(next().as_str());
    }
    !(last.ends_with("n't") || known.denials.contains(last) || known.reports.contains(last))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_told_from_reports() {
        let orders = [
            "",
            "please ",
            "the weather is fine. now ",
            "you must ",
            "you are to ",
            "he wrote: \"",
            "the assistant should ",
        ];
        for before in orders {
            assert!(is_order(before), "{before:?}");
        }
        let reports = [
            "how to ",
            "we ",
            "never ",
            "you don't ",
            "attackers may ",
            "if you ",
            "the ",
            "we must ",
            "when users simply ",
        ];
        for before in reports {
            assert!(!is_order(before), "{before:?}");
        }
    }
}
