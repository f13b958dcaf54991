//! The words of a text, for the rankers of this crate: lower case, without common words, lightly
//! stemmed.

/// Words too common to distinguish texts, and what is left of contracted words.
const STOP_WORDS: &str = "a about after again all am an and any are as at be because been before being both but by can could \
    d did didn do does doesn doing don down during each few for from further had has have having he her here hers him his \
    how i if in into is isn it its just ll m me more most my no nor not now of off on once only or other our out over own re s \
    same she should so some such t than that the their them then there these they this those through to too under until up ve \
    very was wasn we were what when where which while who whom why will with would you your";

/// Shortest stem that an ending is taken from, in bytes.
const STEM_MIN: usize = 3;

/// Words in lower case, in order: runs of letters and digits.
pub(crate) fn words(text: &str) -> Vec<String> {
    let lower = text.to_lowercase();
    lower
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_string)
        .collect()
}

/// Whether a word in lower case is too common to count.
pub(crate) fn is_common(word: &str) -> bool {
    STOP_WORDS.split_ascii_whitespace().any(|common| common == word)
}

/// A word in lower case without its plainest English endings: plural, `-ing`, `-ed`, `-ly`, and a
/// final `e` or `y`.
pub(crate) fn stem(word: &str) -> String {
    if !word.is_ascii() {
        return word.to_string();
    }
    let singular = without_plural(word);
    let bare = ["ingly", "edly", "ing", "ed", "ly"].iter().find_map(|ending| {
        let bare = singular.strip_suffix(ending)?;
        (bare.len() >= STEM_MIN && bare.contains(['a', 'e', 'i', 'o', 'u', 'y']))
            .then(|| single_end(bare))
    });
    let bare = bare.unwrap_or(singular);
    let end = bare
        .strip_suffix('e')
        .or_else(|| bare.strip_suffix('y').filter(|rest| !rest.ends_with(['a', 'e', 'o', 'u'])));
    match end {
        Some(rest) if rest.len() >= STEM_MIN && bare.ends_with('y') => format!("{rest}i"),
        Some(rest) if rest.len() >= STEM_MIN => rest.to_string(),
        _ if bare.len() > STEM_MIN && bare.ends_with("ie") => bare[..bare.len() - 1].to_string(),
        _ => bare.to_string(),
    }
}

fn without_plural(word: &str) -> &str {
    match word {
        _ if word.len() <= STEM_MIN
            || word.ends_with("ss")
            || word.ends_with("us")
            || word.ends_with("is") =>
        {
            word
        }
        _ if ["sses", "shes", "ches", "xes", "zes"].iter().any(|ending| word.ends_with(ending)) => {
            &word[..word.len() - 2]
        }
        _ => word.strip_suffix('s').unwrap_or(word),
    }
}

/// `runn` becomes `run`, but `fall` and `pass` stay.
fn single_end(bare: &str) -> &str {
    let mut end = bare.bytes().rev();
    match (end.next(), end.next()) {
        (Some(last), Some(before)) if last == before && !b"aeioulsz".contains(&last) => {
            &bare[..bare.len() - 1]
        }
        _ => bare,
    }
}

/// Stems of the words that are not common; of all words when all are.
pub(crate) fn stems(text: &str) -> Vec<String> {
    let words = words(text);
    let telling: Vec<String> =
        words.iter().filter(|word| !is_common(word)).map(|word| stem(word)).collect();
    if telling.is_empty() { words.iter().map(|word| stem(word)).collect() } else { telling }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_a_word_share_a_stem() {
        for forms in [
            &["hike", "hikes", "hiked", "hiking"][..],
            &["run", "runs", "running"],
            &["study", "studies", "studied", "studying"],
            &["pass", "passes", "passed", "passing"],
            &["party", "parties"],
            &["box", "boxes"],
            &["fall", "falls", "falling"],
            &["quick", "quickly"],
        ] {
            let stems: Vec<String> = forms.iter().map(|form| stem(form)).collect();
            assert!(stems.iter().all(|one| *one == stems[0]), "{stems:?}");
        }
    }

    #[test]
    fn short_words_stay() {
        for word in ["sing", "bed", "red", "gas", "yes", "bus", "this", "fly", "été"] {
            assert_eq!(stem(word), word);
        }
    }

    #[test]
    fn common_words_count_only_alone() {
        assert_eq!(stems("What did Caroline's dogs do?"), ["carolin", "dog"]);
        assert_eq!(stems("Who are you?"), ["who", "are", "you"]);
    }
}
