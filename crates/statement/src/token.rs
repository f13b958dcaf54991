//! Cuts a text into words. Knows no values and no languages, but how scripts write words, and the
//! words of the calendar by which a run of Chinese characters is cut.

use super::tables::calendar;

/// Characters of a run of Chinese characters from which on it is cut into pairs.
const HAN_RUN_MAX: usize = 4;

/// Letters of the longest word after which a point is taken for that of a title: `Mr.`, `Prof.`
const TITLE_CHARS_MAX: usize = 3;

/// A word as it stands in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    /// As it is written, without what encloses it.
    pub(crate) written: String,
    /// In lower case.
    pub(crate) folded: String,
    /// Whether it begins a sentence.
    pub(crate) is_initial: bool,
    /// Whether a comma or a semicolon stands before it.
    pub(crate) after_comma: bool,
    /// Whether a comma or a semicolon stands after it.
    pub(crate) before_comma: bool,
}

impl Token {
    /// Whether its first letter is a capital.
    pub(crate) fn is_capital(&self) -> bool {
        self.written.chars().next().is_some_and(char::is_uppercase)
    }

    /// Whether it has a capital that does not begin it.
    pub(crate) fn has_inner_capital(&self) -> bool {
        self.written.chars().skip(1).any(char::is_uppercase)
    }
}

/// The words of a text.
pub(crate) fn tokens(text: &str) -> Vec<Token> {
    let text = text.replace(['’', 'ʼ', '‘'], "'");
    let mut all = Vec::new();
    let (mut is_initial, mut after_comma) = (true, false);
    for part in text.split_whitespace() {
        let bare = part
            .trim_start_matches(is_opening)
            .trim_end_matches(|c: char| is_closing(c) || is_ending(c));
        let bare =
            if is_abbreviation(part, bare) { part.trim_end_matches([',', ';']) } else { bare };
        let tail = &part[part.find(bare).map_or(0, |at| at + bare.len())..];
        let from = all.len();
        for word in pieces(bare) {
            all.push(Token {
                folded: word.to_lowercase(),
                written: word,
                is_initial: std::mem::take(&mut is_initial),
                after_comma: std::mem::take(&mut after_comma),
                before_comma: false,
            });
        }
        let pauses = tail.contains([',', ';', '、', '，', '；']) || is_dash(part);
        if let Some(last) = all[from..].last_mut() {
            last.before_comma = pauses;
        }
        after_comma = pauses;
        let is_title = bare.chars().count() <= TITLE_CHARS_MAX && tail.starts_with('.');
        let ends = tail.contains(['.', '!', '?', '。', '！', '？', ':']);
        is_initial = ends && !is_title;
    }
    all
}

/// `a.m.`, `U.S.`: dots that are part of a word.
fn is_abbreviation(part: &str, bare: &str) -> bool {
    let letters = bare.split('.').all(|letter| letter.chars().count() == 1);
    bare.contains('.')
        && letters
        && !bare.contains(|c: char| c.is_ascii_digit())
        && part.contains('.')
}

fn is_dash(part: &str) -> bool {
    ["-", "–", "—"].contains(&part)
}

fn is_opening(c: char) -> bool {
    matches!(c, '"' | '\'' | '(' | '[' | '{' | '“' | '„' | '«' | '*' | '`' | '「' | '¿' | '¡')
}

fn is_closing(c: char) -> bool {
    matches!(c, '"' | '\'' | ')' | ']' | '}' | '”' | '“' | '»' | '*' | '`' | '」')
}

fn is_ending(c: char) -> bool {
    matches!(
        c,
        '.' | ','
            | ';'
            | ':'
            | '!'
            | '?'
            | '…'
            | '。'
            | '、'
            | '，'
            | '！'
            | '？'
            | '–'
            | '—'
            | '；'
    )
}

/// The words of what stands between two spaces.
fn pieces(part: &str) -> Vec<String> {
    let mut all = Vec::new();
    for run in runs_of_script(part) {
        if run.chars().next().is_some_and(is_han) {
            all.extend(cut_at_dates(&run).into_iter().flat_map(pairs));
        } else {
            elided(&run, &mut all);
        }
    }
    all
}

/// `n't`, `'s`, `l'` and words that hyphens join, each by itself.
fn elided(word: &str, all: &mut Vec<String>) {
    let lower = word.to_lowercase();
    if let Some(stem) = lower.strip_suffix("n't").filter(|stem| !stem.is_empty()) {
        // What is written may be longer or shorter than its lower case, but not the end.
        let written = word.get(..word.len().saturating_sub("n't".len())).unwrap_or(stem);
        let stem = if stem == "ca" { "can" } else { written };
        all.extend([stem.to_string(), "n't".to_string()]);
        return;
    }
    if let Some((before, after)) = word.split_once('\'').filter(|(before, _)| !before.is_empty()) {
        let is_elision = before.chars().count() <= 2 && after.chars().count() > 2;
        if is_elision || lower.starts_with("qu'") {
            all.push(format!("{before}'"));
            return elided(after, all);
        }
        if after.chars().count() <= 2 {
            all.push(before.to_string());
            all.extend((!after.is_empty() && after != "s").then(|| after.to_string()));
            return;
        }
    }
    let parts: Vec<&str> = word.split('-').collect();
    if parts.len() > 1 && joins_words(&parts) {
        all.extend(parts.iter().map(ToString::to_string));
    } else if !word.is_empty() && word.chars().any(|c| c.is_alphanumeric() || is_sign(c)) {
        all.push(word.to_string());
    }
}

/// Whether a character other than a letter says something where it stands alone.
fn is_sign(c: char) -> bool {
    let is_punctuation = matches!(
        c,
        '-' | '–'
            | '—'
            | '…'
            | '.'
            | ','
            | '"'
            | '\''
            | '*'
            | '•'
            | '/'
            | '|'
            | '_'
            | '#'
            | '~'
            | '!'
            | '?'
            | ':'
            | ';'
    );
    !c.is_whitespace() && !c.is_alphanumeric() && !is_punctuation
}

/// Whether hyphens join words: `short-sighted`, `seven-year-old`, `30-day`, but not `eu-west-1`.
fn joins_words(parts: &[&str]) -> bool {
    let is_word = |part: &&str| !part.is_empty() && part.chars().all(char::is_alphabetic);
    let is_number = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_digit());
    let (first, rest) = (parts[0], &parts[1..]);
    rest.iter().all(&is_word) && (is_word(&first) || is_number(first))
}

/// Runs of one script: Chinese characters and katakana, hiragana, all else.
fn runs_of_script(part: &str) -> Vec<String> {
    let class = |c: char| match c {
        c if is_han(c) => 1,
        'ぁ'..='ゟ' => 2,
        _ => 0,
    };
    let mut all: Vec<(u8, String)> = Vec::new();
    for c in part.chars() {
        match all.last_mut() {
            Some((last, run)) if *last == class(c) => run.push(c),
            _ => all.push((class(c), c.to_string())),
        }
    }
    all.into_iter().map(|(_, run)| run).collect()
}

/// Whether a character is one of Chinese, or of katakana, which writes names.
pub(crate) fn is_han(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{9fff}' | '\u{30a0}'..='\u{30ff}' | '\u{f900}'..='\u{faff}')
}

/// A run cut before and after words of the calendar, which are values.
fn cut_at_dates(run: &str) -> Vec<&str> {
    const WORDS: [&str; 8] = ["毎日", "毎週", "毎月", "毎年", "每天", "每周", "每月", "每年"];
    let chars: Vec<(usize, char)> = run.char_indices().collect();
    let (mut all, mut begin, mut at) = (Vec::new(), 0, 0);
    while at < chars.len() {
        let from = chars[at].0;
        // The longest first: a day of the week has two or three characters.
        let found = [3, 2].into_iter().find_map(|count| {
            let end = chars.get(at + count).map_or(run.len(), |(end, _)| *end);
            let word = &run[from..end];
            let is_date = WORDS.contains(&word) || calendar(word).is_some();
            (at + count <= chars.len() && is_date).then_some((count, end))
        });
        let Some((count, end)) = found else {
            at += 1;
            continue;
        };
        all.extend(
            [&run[begin..from], &run[from..end]].into_iter().filter(|part| !part.is_empty()),
        );
        (begin, at) = (end, at + count);
    }
    all.extend((begin < run.len()).then(|| &run[begin..]));
    all
}

/// A long run in pairs, as nothing says where its words end.
fn pairs(run: &str) -> Vec<String> {
    let chars: Vec<char> = run.chars().collect();
    if chars.len() <= HAN_RUN_MAX {
        return vec![run.to_string()];
    }
    chars.windows(2).map(|pair| pair.iter().collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        tokens(text).into_iter().map(|token| token.folded).collect()
    }

    #[test]
    fn words_are_cut_as_scripts_write_them() {
        assert_eq!(words("Mia’s lamp isn't on."), ["mia", "lamp", "is", "n't", "on"]);
        assert_eq!(
            words("L'hôtel n'est plus ouvert"),
            ["l'", "hôtel", "n'", "est", "plus", "ouvert"]
        );
        assert_eq!(
            words("a three-legged stool, rack-7 (spare)"),
            ["a", "three", "legged", "stool", "rack-7", "spare"]
        );
        assert_eq!(words("工場は神戸にあります"), ["工場", "は", "神戸", "にあります"]);
        assert_eq!(words("at 6 p.m. or 12%"), ["at", "6", "p.m.", "or", "12%"]);
    }
}
