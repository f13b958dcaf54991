//! Reads the words of a text into items: which of them give values, and which ones.

use super::{Item, Kind, Placed, capitals_name, key_of, kind_of};
use crate::tables::{CalendarWord, calendar, is_stop, number, unit};
use crate::token::Token;
use crate::value::Value;

/// Seconds of what `daily`, `every week` and the like stand for.
const ADVERBS: [(&str, f64); 17] = [
    ("hourly", 3600.0),
    ("daily", 86_400.0),
    ("nightly", 86_400.0),
    ("weekly", 604_800.0),
    ("fortnightly", 1_209_600.0),
    ("monthly", 2_629_746.0),
    ("quarterly", 7_889_238.0),
    ("yearly", 31_556_952.0),
    ("annually", 31_556_952.0),
    ("毎日", 86_400.0),
    ("每天", 86_400.0),
    ("毎週", 604_800.0),
    ("每周", 604_800.0),
    ("毎月", 2_629_746.0),
    ("每月", 2_629_746.0),
    ("毎年", 31_556_952.0),
    ("每年", 31_556_952.0),
];
const WEEK_SECONDS: f64 = 604_800.0;
const YEAR_SECONDS: f64 = 31_556_952.0;
/// Years that a number of four digits can be.
const YEARS: std::ops::RangeInclusive<i16> = 1500..=2199;

/// The items of a text. Words of a cue and those that only say when it holds give no value.
pub(super) fn items(words: &[Token], taken: &[bool], dated: &[bool]) -> Vec<Placed> {
    let capitals = capitals_name(words);
    let mut all = Vec::new();
    let mut at = 0;
    while at < words.len() {
        let free = words[at..].iter().enumerate().take_while(|(n, _)| !dated[at + n]).count();
        let (kind, count) = if dated[at] {
            (Kind::Cue, 1)
        } else if let Some(read) = value(&words[at..at + free], before(words, at)) {
            (Kind::Value(read.value), read.words)
        } else if taken[at] {
            (Kind::Cue, 1)
        } else {
            (kind_of(words, at, capitals), 1)
        };
        let folded = words[at].folded.clone();
        let key = match &kind {
            Kind::Value(value) => value.to_string(),
            _ => key_of(&folded),
        };
        let kind = if follows_name(&all, &kind) { as_code(kind, &folded) } else { kind };
        let item = Item { kind, key, folded, is_listed: false };
        all.push(Placed { item, until: at + count });
        at += count;
    }
    drop_implied(&mut all);
    all
}

/// Whether a plain number stands right after a name, whose part it then is: `ISO 9001`.
fn follows_name(all: &[Placed], kind: &Kind) -> bool {
    let is_plain =
        matches!(kind, Kind::Value(Value::Amount { dimension, .. }) if dimension.is_empty());
    is_plain && all.last().is_some_and(|last| last.item.kind == Kind::Name)
}

fn as_code(kind: Kind, folded: &str) -> Kind {
    match kind {
        Kind::Value(Value::Amount { digits, .. }) if !digits.is_empty() => {
            Kind::Value(Value::Code(digits))
        }
        _ => Kind::Value(Value::Code(folded.to_string())),
    }
}

/// Leaves out intervals that a date or a day of the week implies: `on Mondays every week`.
fn drop_implied(all: &mut [Placed]) {
    let has = |test: fn(&Value) -> bool| {
        all.iter().any(|placed| matches!(&placed.item.kind, Kind::Value(value) if test(value)))
    };
    let dated = has(|value| matches!(value, Value::Date { .. }));
    let weekly = has(|value| matches!(value, Value::Weekday(_)));
    for placed in all {
        let Kind::Value(Value::Amount { dimension, amount, .. }) = &placed.item.kind else {
            continue;
        };
        let is_implied = dated && *amount == YEAR_SECONDS || weekly && *amount == WEEK_SECONDS;
        if dimension == "time" && is_implied {
            placed.item.kind = Kind::Light;
        }
    }
}

fn before(words: &[Token], at: usize) -> &str {
    at.checked_sub(1).map_or("", |at| words[at].folded.as_str())
}

/// A value, and how many words it takes.
pub(crate) struct Read {
    pub(crate) value: Value,
    pub(crate) words: usize,
}

fn read(value: Value, words: usize) -> Option<Read> {
    Some(Read { value, words })
}

/// The value that these words begin with.
pub(crate) fn value(words: &[Token], before: &str) -> Option<Read> {
    let first = words.first()?;
    let folded = first.folded.as_str();
    moment_of_day(words, before)
        .or_else(|| date(words, before))
        .or_else(|| interval(words))
        .or_else(|| money_first(words))
        .or_else(|| amount(words, before))
        .or_else(|| match calendar(folded) {
            Some(CalendarWord::Weekday(day)) => read(Value::Weekday(day), 1),
            _ => None,
        })
        .or_else(|| is_code(&first.written).then(|| code(folded)))
}

fn code(folded: &str) -> Read {
    let is_version =
        folded.starts_with('v') && folded[1..].starts_with(|c: char| c.is_ascii_digit());
    let bare = if is_version { &folded[1..] } else { folded };
    Read { value: Value::Code(bare.trim_end_matches('/').to_string()), words: 1 }
}

/// A word with digits or signs in it that make it a name: an address, an identifier, a version.
fn is_code(word: &str) -> bool {
    let has_digit = word.contains(|c: char| c.is_numeric());
    let has_sign = word.trim_matches('.').contains(['@', '_', '/', ':', '.', '\\']);
    has_sign && word.contains(char::is_alphanumeric) && word.len() > 4 && !is_initials(word)
        || has_digit
}

/// `e.g.`, `U.S.A`.
fn is_initials(word: &str) -> bool {
    word.split('.').all(|part| part.chars().count() <= 1)
}

/// `15:00`, `3 pm`, `9 o'clock`, noon.
fn moment_of_day(words: &[Token], before: &str) -> Option<Read> {
    let folded = words[0].folded.as_str();
    match folded {
        "noon" | "midday" | "mittag" | "midi" | "mediodía" | "mezzogiorno" => {
            return read(Value::Time(720), 1);
        }
        "midnight" | "mitternacht" | "minuit" | "medianoche" | "mezzanotte" => {
            return read(Value::Time(0), 1);
        }
        _ => {}
    }
    let (digits, attached) = split_half(folded);
    let (hour, minute) = clock(digits).or_else(|| hour_in_words(digits))?;
    let word = |n: usize| words.get(n).map_or("", |word| word.folded.trim_end_matches('\''));
    let next = word(1);
    let half = half_of_day(if attached.is_empty() { next } else { attached });
    let count = 1 + usize::from(attached.is_empty() && half.is_some());
    let has_minutes = digits.contains(':');
    let is_hour = ["o'clock", "o", "uhr", "heures", "h"].contains(&next) && minute == 0;
    let ranged = is_joining_times(next)
        && words.get(2).and_then(|word| clock(split_half(&word.folded).0)).is_some();
    let after = word(3);
    let is_range = ranged
        && (["o'clock", "o", "uhr", "h"].contains(&after)
            || half_of_day(after).is_some()
            || words.get(2).is_some_and(|word| !split_half(&word.folded).1.is_empty()));
    let hour = match half {
        Some(true) if hour < 12 => hour + 12,
        Some(false) if hour == 12 => 0,
        _ => hour,
    };
    let is_after = says_hour(before) && !has_minutes && (next.is_empty() || is_stop(next));
    let is_time =
        has_minutes && attached.is_empty() || half.is_some() || is_hour || is_range || is_after;
    let is_clocklike = next == "o" && word(2) == "clock";
    let count = count + usize::from(is_hour && half.is_none()) + usize::from(is_clocklike);
    if !is_time || hour > 24 { None } else { read(Value::Time(hour * 60 + minute), count) }
}

/// Whether what follows is an hour, where it is a number and nothing that could be counted.
fn says_hour(before: &str) -> bool {
    ["las", "alle", "às"].contains(&before)
}

fn hour_in_words(word: &str) -> Option<(u16, u16)> {
    let hour = number(word).filter(|hour| hour.fract() == 0.0 && (0.0..=24.0).contains(hour))?;
    Some((hour as u16, 0))
}

fn is_joining_times(word: &str) -> bool {
    ["to", "-", "–", "until", "till", "and", "bis", "à", "a"].contains(&word)
}

/// `3pm` as `3` and `pm`.
fn split_half(word: &str) -> (&str, &str) {
    let end = word.find(|c: char| !c.is_ascii_digit() && c != ':').unwrap_or(word.len());
    let (digits, rest) = word.split_at(end);
    if half_of_day(rest).is_some() { (digits, rest) } else { (word, "") }
}

/// Whether a word says that it is after noon.
fn half_of_day(word: &str) -> Option<bool> {
    match word {
        "am" | "a.m." | "a.m" => Some(false),
        "pm" | "p.m." | "p.m" => Some(true),
        _ => None,
    }
}

fn clock(digits: &str) -> Option<(u16, u16)> {
    let (hour, minute) = digits.split_once(':').unwrap_or((digits, "0"));
    let (hour, minute) = (hour.parse().ok()?, minute.get(..2).unwrap_or(minute).parse().ok()?);
    (hour <= 24 && minute < 60).then_some((hour, minute))
}

/// A date in one of the usual forms, or a month, or a year after a word that says so.
pub(crate) fn date(words: &[Token], before: &str) -> Option<Read> {
    let word = |n: usize| words.get(n).map_or("", |word| word.folded.as_str());
    let with = |year, month, day, words| read(Value::Date { year, month, day }, words);
    if let Some((year, month, day)) = numeric_date(word(0)) {
        return with(Some(year), Some(month), Some(day), 1);
    }
    let year_at = |n: usize| year(word(n));
    let count = |n: usize, year: Option<i16>| n + usize::from(year.is_some());
    if let Some(day) = day_of_month(word(0)) {
        let skip = usize::from(["of", "de", "."].contains(&word(1)));
        let month = month(words.get(1 + skip)?, true)?;
        let year = year_at(2 + skip);
        return with(year, Some(month), Some(day), count(2 + skip, year));
    }
    let is_dated = day_of_month(word(1)).is_some() || year_at(1).is_some();
    if let Some(month) = month(&words[0], is_dated) {
        if let Some(day) = day_of_month(word(1)) {
            let year = year_at(2);
            return with(year, Some(month), Some(day), count(2, year));
        }
        let year = year_at(1);
        return with(year, Some(month), None, count(1, year));
    }
    let says_year =
        ["in", "since", "of", "year", "from", "until", "by", "seit", "bis", "en", "depuis"];
    let year = year_at(0).filter(|_| says_year.contains(&before))?;
    with(Some(year), None, None, 1)
}

/// `2031-05-04`, `4.5.2031`, `04/05/2031` with the day first.
fn numeric_date(word: &str) -> Option<(i16, i8, i8)> {
    let parts: Vec<&str> = word.split(['-', '.', '/']).collect();
    let [a, b, c] = parts.as_slice() else { return None };
    let (year, month, day) = if a.len() == 4 { (a, b, c) } else { (c, b, a) };
    if year.len() != 4 || word.matches(['-', '.', '/']).count() != 2 {
        return None;
    }
    let (year, month, day) =
        (year.parse().ok()?, month.parse().ok()?, day.get(..2).unwrap_or(day).parse().ok()?);
    let is_day = |month: i8, day: i8| (1..=12).contains(&month) && (1..=31).contains(&day);
    if is_day(month, day) {
        Some((year, month, day))
    } else {
        is_day(day, month).then_some((year, day, month))
    }
}

fn year(word: &str) -> Option<i16> {
    let year = word.parse().ok().filter(|_| word.len() == 4)?;
    YEARS.contains(&year).then_some(year)
}

/// A month; one that is a word of its own as well counts with a capital, or beside a day.
fn month(word: &Token, is_dated: bool) -> Option<i8> {
    let folded = word.folded.trim_end_matches('.');
    let Some(CalendarWord::Month(month)) = calendar(folded) else { return None };
    let is_sure = is_dated
        || word.is_capital() && !word.is_initial && folded.len() > 3
        || ![
            "may", "march", "mar", "set", "mai", "dec", "sep", "jan", "jun", "jul", "oct", "nov",
            "apr", "feb", "aug",
        ]
        .contains(&folded)
            && folded.len() > 3;
    let is_month = is_sure || word.is_capital() && !word.is_initial;
    is_month.then_some(month)
}

/// `4`, `4th`, `4.` as a day of a month.
fn day_of_month(word: &str) -> Option<i8> {
    let end = word.find(|c: char| !c.is_ascii_digit()).unwrap_or(word.len());
    let (digits, rest) = word.split_at(end);
    let is_ordinal = ["", "st", "nd", "rd", "th", ".", "er", "º"].contains(&rest);
    digits.parse().ok().filter(|day| is_ordinal && (1..=31).contains(day) && digits.len() <= 2)
}

/// `daily`, `once a week`, `every minute`.
fn interval(words: &[Token]) -> Option<Read> {
    let word = |n: usize| words.get(n).map_or("", |word| word.folded.as_str());
    if let Some((_, seconds)) = ADVERBS.iter().find(|(adverb, _)| *adverb == word(0)) {
        return read(Value::of("time", *seconds), 1);
    }
    let (times, skip) = match word(0) {
        "once" => (1.0, 1),
        "twice" => (2.0, 1),
        "every" | "each" | "jede" | "jeden" | "jedes" | "chaque" | "cada" | "ogni" => (1.0, 0),
        _ => return None,
    };
    if skip == 1 && ADVERBS.iter().any(|(adverb, _)| *adverb == word(1)) {
        let rest = interval(&words[1..])?;
        let Value::Amount { amount, .. } = rest.value else { return None };
        return read(Value::of("time", amount / times), 2);
    }
    let at =
        if skip == 1 && ["a", "an", "per", "every", "each"].contains(&word(1)) { 2 } else { 1 };
    let unit = unit(&words.get(at)?.written).filter(|unit| unit.dimension == "time")?;
    read(Value::of("time", unit.factor / times), at + 1)
}

/// `EUR 12`, `$ 12`: the currency before the number.
fn money_first(words: &[Token]) -> Option<Read> {
    let unit = unit(&words[0].written).filter(|unit| unit.dimension.starts_with("money"))?;
    let first = words.get(1)?;
    let number = Digits::of(&first.folded)?;
    let (amount, more) = magnitude(number.amount(true), &words[2..]);
    read(Value::of(unit.dimension, amount * number.times), 2 + more + rate(&words[2 + more..]))
}

/// A number in digits or words, with its unit.
fn amount(words: &[Token], before: &str) -> Option<Read> {
    let first = &words[0];
    if let Some((sign, rest)) = currency_sign(&first.written) {
        let rest = rest.to_lowercase();
        let number = Digits::of(&rest)?;
        let (amount, more) = magnitude(number.amount(true), &words[1..]);
        return read(Value::of(sign, amount * number.times), 1 + more + rate(&words[1 + more..]));
    }
    if first.folded == "half" || first.folded == "halb" {
        let of_unit = words.get(1).filter(|word| ["a", "an"].contains(&word.folded.as_str()));
        let unit = of_unit.and_then(|_| unit(&words.get(2)?.written));
        if let Some(unit) = unit {
            return read(Value::of(unit.dimension, unit.factor / 2.0), 3);
        }
        return read(Value::of("ratio", 0.5), 1);
    }
    let (number, count) = match Digits::of(&first.folded) {
        Some(number) => (number, 1),
        None => in_words(words, before)?,
    };
    let rest = &words[count..];
    let attached = unit(number.suffix).map(|unit| (unit, 0));
    if !number.suffix.is_empty() && attached.is_none() && !number.is_plain() {
        return None;
    }
    let (half, rest) = match rest {
        [and, a, half, rest @ ..]
            if [&and.folded, &a.folded, &half.folded] == ["and", "a", "half"] =>
        {
            (0.5, rest)
        }
        _ => (0.0, rest),
    };
    let count = words.len() - rest.len();
    let (factor, more) = magnitude(1.0, rest);
    let next = || rest.get(more).and_then(|word| unit(&word.written)).map(|unit| (unit, 1));
    let unit = attached.or_else(next).or_else(|| per_cent(&rest[more..]));
    let is_money = unit.is_some_and(|(unit, _)| unit.dimension.starts_with("money"));
    let amount = (number.amount(is_money) + half) * number.times * factor;
    match unit {
        Some((unit, words)) => {
            let count = count + more + words;
            let rate = if is_money { rate(&rest[more + words..]) } else { 0 };
            read(Value::of(unit.dimension, amount * unit.factor), count + rate)
        }
        None => read(Value::plain(amount, &number.written), count + more),
    }
}

fn per_cent(words: &[Token]) -> Option<(crate::tables::Unit, usize)> {
    let word = |n: usize| words.get(n).map_or("", |word| word.folded.as_str());
    let name = match (word(0), word(1)) {
        ("per", "cent") => "%",
        ("per", "mille") => "‰",
        _ => return None,
    };
    unit(name).map(|unit| (unit, 2))
}

/// Words of `a year`, `per month` after an amount.
fn rate(words: &[Token]) -> usize {
    let word = |n: usize| words.get(n).map_or("", |word| word.written.as_str());
    let joins = ["a", "an", "per", "each", "every", "pro", "par", "por", "al", "im"];
    let is_time = unit(word(1)).is_some_and(|unit| unit.dimension == "time");
    if joins.contains(&word(0)) && is_time { 2 } else { 0 }
}

fn currency_sign(word: &str) -> Option<(&'static str, &str)> {
    let sign = word.chars().next().filter(|c| !c.is_alphanumeric())?;
    let rest = &word[sign.len_utf8()..];
    let unit = unit(&word[..sign.len_utf8()]).filter(|unit| unit.dimension.starts_with("money"))?;
    rest.starts_with(|c: char| c.is_ascii_digit()).then_some((unit.dimension, rest))
}

/// The amount times `million` and the like, and how many words that takes.
fn magnitude(amount: f64, words: &[Token]) -> (f64, usize) {
    let Some(word) = words.first() else { return (amount, 0) };
    let times =
        number(&word.folded).filter(|times| *times >= 100.0 && !word.folded.contains("ième"));
    times.map_or((amount, 0), |times| (amount * times, 1))
}

/// A number in words: `twenty one`, `three hundred`.
fn in_words(words: &[Token], before: &str) -> Option<(Digits<'static>, usize)> {
    let first = words[0].folded.as_str();
    let is_single = first == "single" && ["a", "one"].contains(&before);
    let is_second = first == "second" && before == "the";
    let value = if is_second {
        2.0
    } else if is_single {
        1.0
    } else {
        number(first)?
    };
    let next = words.get(1).map_or("", |word| word.folded.as_str());
    let is_pronoun = first == "one"
        && (["no", "the", "this", "that", "which", "any", "new", "every"].contains(&before)
            || next == "of");
    if is_pronoun {
        return None;
    }
    let unit = number(next).filter(|unit| (20.0..100.0).contains(&value) && *unit < 10.0);
    let (amount, count) = unit.map_or((value, 1), |unit| (value + unit, 2));
    let written = amount.to_string();
    Some((Digits { written, suffix: "", times: 1.0, in_words: Some(amount) }, count))
}

/// A number as it is written.
struct Digits<'a> {
    written: String,
    suffix: &'a str,
    times: f64,
    in_words: Option<f64>,
}

impl<'a> Digits<'a> {
    fn of(word: &'a str) -> Option<Digits<'a>> {
        let signed = word.strip_prefix(['+', '-', '−', '~', '<', '>', '≤', '≥']).unwrap_or(word);
        let is_part = |c: char| c.is_ascii_digit() || matches!(c, '.' | ',' | '\'');
        let end = signed.find(|c: char| !is_part(c)).unwrap_or(signed.len());
        let (digits, suffix) = signed.split_at(end);
        let digits = digits.trim_end_matches(['.', ',', '\'']);
        if !digits.starts_with(|c: char| c.is_ascii_digit()) || !is_number(digits) {
            return None;
        }
        let (suffix, times) = match suffix {
            "k" => ("", 1e3),
            "mn" | "mio" => ("", 1e6),
            "bn" => ("", 1e9),
            "st" | "nd" | "rd" | "th" | "x" => ("", 1.0),
            _ => (suffix, 1.0),
        };
        let is_unit = suffix.is_empty() || unit(suffix).is_some();
        let negative = word.starts_with(['-', '−']);
        let written = if negative { format!("-{digits}") } else { digits.to_string() };
        is_unit.then_some(Digits { written, suffix, times, in_words: None })
    }

    fn is_plain(&self) -> bool {
        self.suffix.is_empty()
    }

    /// The number. A point before three digits separates thousands in sums of money.
    fn amount(&self, is_money: bool) -> f64 {
        if let Some(amount) = self.in_words {
            return amount;
        }
        let bare = self.written.replace('\'', "");
        let thousands = |sign: char| {
            let mut groups = bare.trim_start_matches('-').split(sign);
            groups.next().is_some_and(|first| first.len() <= 3 && !first.starts_with('0'))
                && groups.clone().count() > 0
                && groups.all(|group| group.split('.').next().is_some_and(|group| group.len() == 3))
        };
        let dots = bare.matches('.').count();
        let plain = if bare.contains(',')
            && (thousands(',') || dots == 1 && bare.find(',') < bare.find('.'))
        {
            bare.replace(',', "")
        } else if dots > 1 || dots == 1 && !bare.contains(',') && is_money && thousands('.') {
            bare.replace('.', "")
        } else if bare.contains(',') {
            bare.replace('.', "").replace(',', ".")
        } else {
            bare
        };
        plain.parse().unwrap_or(0.0)
    }
}

/// Digits with at most one point, or points that separate thousands; not a version or an address.
fn is_number(digits: &str) -> bool {
    let points = digits.matches('.').count();
    points <= 1 || digits.split('.').skip(1).all(|group| group.len() == 3)
}
