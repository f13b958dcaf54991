//! What a person wrote in a message, without what they pasted: paragraphs of sentences.
//!
//! People paste logs, tracebacks, tables, code and whole files. None of that is theirs, and a rule
//! that stands in it is not one of theirs. Knows nothing of what a sentence means.

use std::sync::LazyLock;

use regex_automata::meta::Regex;

/// Longest line that can be prose rather than something pasted, in bytes.
const LINE_BYTES_MAX: usize = 4000;
/// Most lines of a message that are looked at, from its start and as many from its end: what is
/// longer was not typed.
const LINES_MAX: usize = 60;
/// Share of characters that are letters or spaces, in percent, below which a line is not prose.
const LETTERS_PERCENT_MIN: usize = 68;
/// Lines in a row without prose between two lines of prose that make both of them pasted.
const PASTED_RUN: usize = 12;

/// How much of something pasted is kept to show what a sentence is about, in bytes.
const PASTED_SHOWN_MAX: usize = 200;

/// Sentences that stand together.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Paragraph {
    /// In their order.
    pub(crate) sentences: Vec<String>,
    /// Lines into the message at which it begins, counted from 0.
    pub(crate) line: usize,
    /// How what was pasted right before it begins; empty when nothing was.
    pub(crate) pasted: String,
}

/// What a person wrote in a message.
pub(crate) fn paragraphs(text: &str) -> Vec<Paragraph> {
    let lines: Vec<&str> = text.lines().collect();
    let kinds = kinds(&lines);
    let mut out: Vec<Paragraph> = Vec::new();
    let mut open: Option<(String, Paragraph)> = None;
    let mut pasted = String::new();
    for (number, (line, kind)) in lines.iter().zip(&kinds).enumerate() {
        match kind {
            Line::Prose => {
                let (words, is_item) = unmarked(line);
                let (text, _) = open.get_or_insert_with(|| {
                    let pasted = std::mem::take(&mut pasted);
                    (String::new(), Paragraph { line: number, pasted, ..Paragraph::default() })
                });
                if !text.is_empty() {
                    // An item of a list is a sentence of its own.
                    text.push(if is_item { '\n' } else { ' ' });
                }
                text.push_str(words);
            }
            Line::Blank => close(&mut open, &mut out),
            Line::Pasted => {
                close(&mut open, &mut out);
                let words = line.split_whitespace().collect::<Vec<_>>().join(" ");
                if pasted.len() + words.len() <= PASTED_SHOWN_MAX {
                    pasted.push_str(&words);
                    pasted.push(' ');
                }
            }
        }
    }
    close(&mut open, &mut out);
    out
}

fn close(open: &mut Option<(String, Paragraph)>, out: &mut Vec<Paragraph>) {
    let Some((text, mut paragraph)) = open.take() else { return };
    paragraph.sentences = text.split('\n').flat_map(sentences).collect();
    // A list belongs to the line that announces it.
    let announces =
        |last: &Paragraph| last.sentences.last().is_some_and(|one| one.ends_with([':', ';']));
    match out.last_mut().filter(|last| announces(last) && paragraph.pasted.is_empty()) {
        Some(last) => last.sentences.append(&mut paragraph.sentences),
        None if paragraph.sentences.is_empty() => {}
        None => out.push(paragraph),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Line {
    Prose,
    Blank,
    Pasted,
}

fn kinds(lines: &[&str]) -> Vec<Line> {
    let mut fenced = false;
    let mut kinds: Vec<Line> = lines
        .iter()
        .enumerate()
        .map(|(number, line)| {
            let trimmed = line.trim();
            if trimmed.starts_with("```") || trimmed.starts_with("~~~") {
                fenced = !fenced;
                return Line::Pasted;
            }
            let far = number >= LINES_MAX && number + LINES_MAX < lines.len();
            if fenced || far {
                return Line::Pasted;
            }
            kind_of(line)
        })
        .collect();
    drown(&mut kinds);
    kinds
}

/// Prose inside of a long run of pasted lines was pasted with them.
fn drown(kinds: &mut [Line]) {
    let mut start = 0;
    while start < kinds.len() {
        if kinds[start] != Line::Pasted {
            start += 1;
            continue;
        }
        let mut end = start;
        let mut pasted = 0;
        let mut last = start;
        while end < kinds.len() && end - last <= 3 {
            if kinds[end] == Line::Pasted {
                pasted += 1;
                last = end;
            }
            end += 1;
        }
        if pasted >= PASTED_RUN {
            kinds[start..=last].fill(Line::Pasted);
        }
        start = last + 1;
    }
}

/// How lines begin that programs print and people paste.
static PASTED: LazyLock<Regex> = LazyLock::new(|| {
    let patterns = [
        r"^\[?\d{2,4}[-/]\d\d[-/]\d\d",
        r"^\[?\d\d:\d\d:\d\d",
        r"^(Traceback|File \x22|at \S+ ?\(|panic|error\[E|npm (ERR|error)|warning: |error: |fatal: )",
        r"^[EF>] {2,}",
        r"^>",
        r"^[|+]",
        r"^(\$|%|PS [A-Z]:)\s",
        r"^[\[{}\]<\x22']|[{;]$|^\)",
        r"^(INFO|DEBUG|WARN|WARNING|ERROR|FATAL)\b",
        r"^[A-Za-z]*(Error|Exception|Warning): ",
        r"^(\+\+\+|---|@@|diff --git|index [0-9a-f]{7})",
        r"^[ MADRCU?]{1,2} \S+$",
        r"^\S*[/\\]\S*:\d+(:\d+)?\b",
        r"^(import|from|const|let|var|def|class|func|fn|return|public|private|#include) .*[;({:=]",
        r"^[\w.]+ ?(=|:=) ?\S",
        r"^[-\w./]+\.(py|js|ts|go|rs|md|json)$",
        r"^(python3?|pip|npm|pnpm|yarn|git|cargo|go|docker|uv|node|make|curl|cd|ls|cat) (-|[\w./]+( -|$))",
        r"^[A-Z][A-Za-z ]{2,30}: +(0x)?[0-9A-Fa-f.:-]{2,}",
    ];
    crate::patterns::built(&patterns)
});

/// What tables and prompts of shells are drawn with.
const DRAWN: [char; 16] =
    ['│', '┃', '┏', '┗', '┡', '└', '┌', '├', '━', '─', '╭', '╰', '❯', '➜', '✗', '⎿'];

fn kind_of(line: &str) -> Line {
    let trimmed = line.trim();
    if trimmed.is_empty() {
        return Line::Blank;
    }
    let indented = line.len() - line.trim_start().len();
    let is_item = unmarked(trimmed).1;
    let is_drawn = trimmed.starts_with(DRAWN);
    if is_drawn
        || trimmed.len() > LINE_BYTES_MAX
        || indented >= 4 && !is_item
        || PASTED.is_match(trimmed)
    {
        return Line::Pasted;
    }
    // Emphasis is not code.
    let all = trimmed.chars().filter(|c| !matches!(c, '!' | '?' | '.' | ',' | '"' | '\'')).count();
    let letters = trimmed.chars().filter(|c| c.is_alphabetic() || c.is_whitespace()).count();
    // Code in backticks is quoted on purpose.
    let quoted = trimmed.split('`').skip(1).step_by(2).map(|code| code.chars().count() + 2);
    let plain = all.saturating_sub(quoted.sum());
    if letters * 100 < plain * LETTERS_PERCENT_MIN { Line::Pasted } else { Line::Prose }
}

/// A line without the mark of a list, a heading or a mention before it, and whether it is an item.
fn unmarked(line: &str) -> (&str, bool) {
    let line = line.trim();
    for mark in ["- ", "* ", "• ", "# ", "## ", "### ", "#### "] {
        if let Some(rest) = line.strip_prefix(mark) {
            return (rest.trim_start().trim_start_matches("[ ] "), true);
        }
    }
    let digits = line.len() - line.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let rest = &line[digits..];
    if (1..=2).contains(&digits) && (rest.starts_with(". ") || rest.starts_with(") ")) {
        return (rest[2..].trim_start(), true);
    }
    (without_mentions(line), false)
}

/// `/ask `, `@agent ` and mentions of files that lead a line.
fn without_mentions(line: &str) -> &str {
    let mut line = line;
    loop {
        let Some(first) = line.split_whitespace().next() else { return line };
        let is_mention = first.len() > 1 && first.starts_with('@')
            || first.starts_with("#file:")
            || ["/ask", "/code", "/architect"].contains(&first);
        if !is_mention {
            return line;
        }
        line = line[first.len()..].trim_start();
    }
}

/// Words that end with a point and no sentence.
const SHORTENED: [&str; 9] =
    ["e.g.", "i.e.", "etc.", "vs.", "cf.", "incl.", "no.", "approx.", "Mr."];

/// A text in sentences; code in backticks and quotes in double quotes are never cut.
pub(crate) fn sentences(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut start = 0;
    let mut quoted = None;
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        match (c, quoted) {
            ('`' | '"', None) if text[at + 1..].contains(c) => quoted = Some(c),
            (c, Some(mark)) if c == mark => quoted = None,
            ('.' | '!' | '?' | '…' | '。' | '！' | '？', None) => {
                let next = chars.peek().map(|(_, next)| *next);
                let ends = next.is_none_or(char::is_whitespace) || matches!(c, '。' | '！' | '？');
                let end = at + c.len_utf8();
                let word = text[start..end].rsplit(char::is_whitespace).next().unwrap_or("");
                if ends && !SHORTENED.iter().any(|short| short.eq_ignore_ascii_case(word)) {
                    push(&text[start..end], &mut out);
                    start = end;
                }
            }
            _ => {}
        }
    }
    push(&text[start..], &mut out);
    out
}

fn push(sentence: &str, out: &mut Vec<String>) {
    let sentence = sentence.trim();
    if sentence.chars().any(char::is_alphanumeric) {
        out.push(sentence.split_whitespace().collect::<Vec<_>>().join(" "));
    }
}
