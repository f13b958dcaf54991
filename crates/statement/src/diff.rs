//! What two statements have in common, and what only one of them has.

use std::collections::HashSet;

use super::align::align;
use super::statement::{Item, Kind, Statement, is_joining};
use super::tables::{exclude_each_other, is_indefinite, is_modifier, number, stem};
use super::token::tokens;
use super::value::Value;

/// Letters that two forms of a word share at their beginning.
const FORM_PREFIX_MIN: usize = 5;

/// How the values of two statements compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Values {
    /// Neither has any.
    None,
    /// Both have the same.
    Equal,
    /// The new one leaves some out, or says them less exactly.
    Less,
    /// The new one has further ones, or says them more exactly.
    More,
    /// Each has one that the other has another of.
    Differ,
    /// They are of different kinds.
    Disjoint,
    /// Only the old one has some.
    OnlyOld,
    /// Only the new one has some.
    OnlyNew,
}

/// The difference of two statements, without the words of what they are about.
#[derive(Debug)]
pub(crate) struct Diff<'a> {
    pub(crate) values: Values,
    pub(crate) shared: Vec<&'a Item>,
    pub(crate) only_old: Vec<&'a Item>,
    pub(crate) only_new: Vec<&'a Item>,
    /// Places where words of one stand for words of the other.
    pub(crate) regions: usize,
    /// Share of the content of both that both have.
    pub(crate) likeness: f64,
    /// Whether the same words stand in another order, so that names change places.
    pub(crate) is_swapped: bool,
    /// Whether all small words are the same, too.
    pub(crate) has_same_frame: bool,
    /// Whether the new one has all words of the old one in their order, and further ones.
    pub(crate) is_insertion: bool,
    /// Whether the new one has no word that the old one has not.
    pub(crate) is_part: bool,
    /// Whether the old one says what something is: `the gate is`, `its colour is`.
    pub(crate) is_definite: bool,
    /// Whether the new one says that something went away from what the old one names.
    pub(crate) is_left: bool,
    /// Whether both say what was done, or what can be done.
    is_event: bool,
}

/// Keys of the words that two statements are about.
pub(crate) fn topic(names: &[&str]) -> HashSet<String> {
    let words = names.iter().flat_map(|name| {
        let spelled = name.replace(['-', '_', '.', '/', '@'], " ");
        tokens(&spelled).into_iter().chain(tokens(name)).map(|word| word.folded).collect::<Vec<_>>()
    });
    words
        .flat_map(|word| {
            let amount = number(&word).map(|amount| amount.to_string());
            [Some(stem(&word)), amount, Some(word)].into_iter().flatten()
        })
        .collect()
}

impl<'a> Diff<'a> {
    pub(crate) fn of(old: &'a Statement, new: &'a Statement, topic: &HashSet<String>) -> Diff<'a> {
        let content = |statement: &'a Statement| -> Vec<&'a Item> {
            let is_topic = |item: &Item| {
                topic.contains(&item.key) || topic.contains(&item.folded) || is_stem_of(item, topic)
            };
            let other = if std::ptr::eq(statement, old) { new } else { old };
            let parts = written_apart(statement, other, topic);
            let placed = statement.items.iter().zip(parts);
            let kept = placed.filter(|(item, part)| item.is_content() && !part && !is_topic(item));
            kept.map(|(item, _)| item).collect()
        };
        let (old_items, new_items) = (content(old), content(new));
        let (shared, only_old, only_new) = bags(&old_items, &new_items);
        let all = shared.len() + only_old.len() + only_new.len();
        let likeness = if all == 0 { 0.0 } else { shared.len() as f64 / all as f64 };
        Diff {
            values: values(&old_items, &new_items),
            regions: regions(old, new, topic),
            is_swapped: is_swapped(old, new),
            has_same_frame: frame(old) == frame(new),
            is_insertion: is_subsequence(&old.order, &new.order),
            is_part: new.order.iter().all(|word| old.order.contains(word)),
            is_definite: is_definite(old),
            is_event: is_event(old) && is_event(new),
            is_left: shared.iter().any(|item| is_left(item, new) && !is_left(item, old)),
            shared,
            only_old,
            only_new,
            likeness,
        }
    }

    /// Whether two words of the one and of the other name states that exclude each other.
    pub(crate) fn excludes(&self) -> bool {
        self.only_old
            .iter()
            .any(|old| self.only_new.iter().any(|new| exclude_each_other(&old.folded, &new.folded)))
    }

    /// Whether nothing but values differs, in sentences that are built alike.
    pub(crate) fn replaces_only_values(&self) -> bool {
        let are_values = |items: &[&Item]| !items.is_empty() && items.iter().all(|i| is_count(i));
        self.has_same_frame && are_values(&self.only_old) && are_values(&self.only_new)
    }

    /// Whether the old one leaves unnamed what the new one names.
    pub(crate) fn names_unnamed(&self) -> bool {
        let are_unnamed = self.only_old.iter().all(|item| is_indefinite(&item.folded));
        !self.only_old.is_empty() && are_unnamed && !Diff::is_nothing(&self.only_new)
    }

    /// Whether only one has a word that turns another one into something else.
    pub(crate) fn modifies(&self) -> bool {
        self.only_old.iter().chain(&self.only_new).any(|item| is_modifier(&item.folded))
    }

    /// Whether each names another thing that was done, or can be done: both are so.
    pub(crate) fn adds_up(&self) -> bool {
        self.is_event && self.regions == 1 && self.values == Values::None
    }

    /// Whether one has a measure where the other has another one of the same dimension.
    pub(crate) fn replaces_measure(&self) -> bool {
        let is_measured = |item: &&Item| match item.value() {
            Some(Value::Amount { dimension, .. }) => !dimension.is_empty(),
            _ => false,
        };
        self.values == Values::Differ && self.only_new.iter().any(is_measured)
    }

    /// Whether one has an address where the other has another one of the same form.
    pub(crate) fn replaces_address(&self) -> bool {
        let forms =
            |items: &[&Item]| -> Vec<u8> { items.iter().filter_map(|item| form(item)).collect() };
        let (old, new) = (forms(&self.only_old), forms(&self.only_new));
        old.iter().any(|form| new.contains(form))
    }

    /// Words that only one has and that say something.
    pub(crate) fn words(items: &[&'a Item]) -> usize {
        items.iter().filter(|item| item.kind == Kind::Word).count()
    }

    pub(crate) fn names(items: &[&'a Item]) -> usize {
        items.iter().filter(|item| item.is_name()).count()
    }

    pub(crate) fn replaces_words(&self) -> bool {
        Diff::words(&self.only_old) > 0 && Diff::words(&self.only_new) > 0
    }

    pub(crate) fn replaces_names(&self) -> bool {
        Diff::names(&self.only_old) > 0 && Diff::names(&self.only_new) > 0
    }

    /// Whether the one has nothing that the other has not, small words apart.
    pub(crate) fn is_nothing(items: &[&'a Item]) -> bool {
        items.iter().all(|item| item.kind == Kind::Light)
    }

    /// Words and names, but no values, that both have.
    pub(crate) fn overlap(&self) -> usize {
        self.shared.iter().filter(|item| item.value().is_none()).count()
    }
}

/// Letters of a word that begins one of the topic, or is begun by it: `pay` of `payment`.
const TOPIC_PREFIX_MIN: usize = 3;

fn is_stem_of(item: &Item, topic: &HashSet<String>) -> bool {
    let begins = |a: &str, b: &str| a.len() >= TOPIC_PREFIX_MIN && b.starts_with(a);
    let key = item.key.as_str();
    item.kind == Kind::Word && topic.iter().any(|word| begins(key, word) || begins(word, key))
}

/// Which items are parts of one word of the topic or of another statement that is written apart
/// here, or that word itself where the other one writes it apart: `backs up` and `backup`.
fn written_apart(statement: &Statement, other: &Statement, topic: &HashSet<String>) -> Vec<bool> {
    let is_word = |item: &Item| matches!(item.kind, Kind::Word | Kind::Light | Kind::Stop);
    let is_joined = |pair: &[Item], word: &str| {
        let [first, second] = pair else { return false };
        let joins = |first: &str| word.strip_prefix(first) == Some(second.folded.as_str());
        pair.iter().all(is_word) && (joins(&first.key) || joins(&first.folded))
    };
    let has = |pair: &[Item]| {
        topic.iter().any(|word| is_joined(pair, word))
            || other.items.iter().any(|item| is_joined(pair, &item.folded))
    };
    let mut parts = vec![false; statement.items.len()];
    for (at, pair) in statement.items.windows(2).enumerate() {
        if has(pair) {
            (parts[at], parts[at + 1]) = (true, true);
        }
    }
    for (item, part) in statement.items.iter().zip(&mut parts) {
        *part |= other.items.windows(2).any(|pair| is_joined(pair, &item.folded));
    }
    parts
}

/// Whether an item says how much or at what time, and not which one: `3`, but not `3rd` or `third`.
fn is_count(item: &Item) -> bool {
    let is_ordinal = ["st", "nd", "rd", "th"].iter().any(|end| item.folded.ends_with(end));
    matches!(item.value(), Some(Value::Amount { .. } | Value::Time(_)))
        && item.folded.contains(|c: char| c.is_ascii_digit())
        && !is_ordinal
}

/// Whether a statement names something as what was left: `moved away from Rome`.
fn is_left(item: &Item, statement: &Statement) -> bool {
    let mut pairs = statement.items.windows(2);
    let leaves = |pair: &[Item]| pair[0].folded == "from" && is_same(&pair[1], item);
    pairs.any(leaves) && (item.is_name() || item.value().is_some())
}

/// The items along which two statements are laid side by side: all but those of the topic and of
/// cues. Small words are among them, as they separate what is said from what it is said of.
fn aligned<'a>(statement: &'a Statement, topic: &HashSet<String>) -> Vec<&'a Item> {
    let is_topic = |item: &Item| topic.contains(&item.key) || topic.contains(&item.folded);
    let is_joint = |item: &Item| item.kind == Kind::Stop && is_joining(&item.folded);
    let kept = |item: &&Item| item.kind != Kind::Cue && !is_topic(item) && !is_joint(item);
    statement.items.iter().filter(kept).take(ALIGNED_MAX).collect()
}

/// Places where the one has words that the other has others for.
fn regions(old: &Statement, new: &Statement, topic: &HashSet<String>) -> usize {
    let (old, new) = (aligned(old, topic), aligned(new, topic));
    align(&old, &new, |old, new| is_same(old, new), |item| says(item)).replaced
}

/// Items of a statement that are laid side by side with those of another.
const ALIGNED_MAX: usize = 64;

/// The form of an address: of the web, of mail, of a host, of a file.
fn form(item: &Item) -> Option<u8> {
    let Kind::Value(Value::Code(code)) = &item.kind else { return None };
    if code.contains("://") {
        Some(0)
    } else if code.contains('@') {
        Some(1)
    } else if code.split('.').count() == 4 && code.chars().all(|c| c == '.' || c.is_ascii_digit()) {
        Some(2)
    } else {
        code.starts_with(['/', '~']).then_some(3)
    }
}

/// Whether two items are one.
fn is_same(a: &Item, b: &Item) -> bool {
    match (&a.kind, &b.kind) {
        (Kind::Value(a), Kind::Value(b)) => a.is_same(b),
        _ => a.key == b.key || a.folded == b.folded || is_form(a, b),
    }
}

/// Whether two are forms of one word, such as `allergic` and `allergy`.
fn is_form(a: &Item, b: &Item) -> bool {
    let is_word = |item: &Item| matches!(item.kind, Kind::Word | Kind::Light);
    let first = |item: &Item| item.key.as_bytes().first().copied();
    if first(a) != first(b) || !is_word(a) || !is_word(b) {
        return false;
    }
    let common = a.key.chars().zip(b.key.chars()).take_while(|(a, b)| a == b).count();
    let (a, b) = (a.key.chars().count(), b.key.chars().count());
    let (shorter, longer) = (a.min(b), a.max(b));
    let begins = common == shorter && shorter >= FORM_PREFIX_MIN - 1 && longer <= shorter + 2;
    common >= FORM_PREFIX_MIN && shorter <= common + 1 || begins
}

type Bags<'a> = (Vec<&'a Item>, Vec<&'a Item>, Vec<&'a Item>);

/// What both have, and what only the one or only the other has.
fn bags<'a>(old: &[&'a Item], new: &[&'a Item]) -> Bags<'a> {
    let (mut shared, mut only_old) = (Vec::new(), Vec::new());
    for item in old {
        let is_shared = new.iter().any(|other| is_same(item, other));
        if is_shared { shared.push(*item) } else { only_old.push(*item) }
    }
    let only_new = new.iter().filter(|item| !old.iter().any(|other| is_same(item, other)));
    let only_new = only_new.copied().collect();
    (shared, only_old, only_new)
}

fn values(old: &[&Item], new: &[&Item]) -> Values {
    let of = |items: &[&Item]| -> Vec<Value> {
        items.iter().filter_map(|item| item.value()).cloned().collect()
    };
    let (old, new) = (of(old), of(new));
    match (old.is_empty(), new.is_empty()) {
        (true, true) => return Values::None,
        (true, false) => return Values::OnlyNew,
        (false, true) => return Values::OnlyOld,
        (false, false) => {}
    }
    let is_in = |value: &Value, all: &[Value]| all.iter().any(|other| value.is_same(other));
    let is_within = |value: &Value, all: &[Value]| {
        is_in(value, all) || all.iter().any(|other| value.is_coarser_than(other))
    };
    let is_part = |these: &[Value], all: &[Value]| these.iter().all(|value| is_in(value, all));
    let is_covered =
        |these: &[Value], all: &[Value]| these.iter().all(|value| is_within(value, all));
    if is_part(&old, &new) && is_part(&new, &old) {
        Values::Equal
    } else if is_covered(&new, &old) {
        Values::Less
    } else if is_covered(&old, &new) {
        Values::More
    } else {
        let left = |these: &[Value], all: &[Value]| -> Vec<Value> {
            these.iter().filter(|value| !is_in(value, all)).cloned().collect()
        };
        let (old, new) = (left(&old, &new), left(&new, &old));
        let meet = old.iter().any(|value| new.iter().any(|other| value.is_comparable(other)));
        if meet { Values::Differ } else { Values::Disjoint }
    }
}

/// Whether an item says something of its own.
fn says(item: &Item) -> bool {
    item.is_content() && item.kind != Kind::Light
}

/// Whether names have changed places in a sentence that is the same otherwise.
fn is_swapped(old: &Statement, new: &Statement) -> bool {
    let sorted = |statement: &Statement| {
        let mut words = statement.order.clone();
        words.sort_unstable();
        words
    };
    let moves = old.items.iter().zip(&new.items).filter(|(old, new)| old.folded != new.folded);
    let mut moves = moves.peekable();
    let has_moved = moves.peek().is_some();
    has_moved
        && old.items.len() == new.items.len()
        && moves.all(|(old, new)| says(old) && says(new) && old.value().is_none())
        && sorted(old) == sorted(new)
}

fn is_subsequence(part: &[String], whole: &[String]) -> bool {
    let mut rest = whole.iter();
    part.iter().all(|word| rest.any(|other| other == word))
}

const BEING: [&str; 10] = ["is", "are", "was", "were", "ist", "sind", "est", "es", "è", "é"];

/// Whether a statement says what one certain thing is: one noun, then a form of "to be", then what
/// it is, and no participle.
fn is_definite(statement: &Statement) -> bool {
    let items = &statement.items;
    let Some(at) = items.iter().position(|item| BEING.contains(&item.folded.as_str())) else {
        return false;
    };
    let is_done = items[at + 1..].iter().any(|item| {
        item.kind == Kind::Word && (item.folded.ends_with("ed") || item.folded.ends_with("en"))
    });
    at > 0 && !is_done
}

/// Whether a statement says what was done once, or what can be done.
fn is_event(statement: &Statement) -> bool {
    let items = &statement.items;
    let is_ability =
        items.iter().any(|item| ["can", "kann", "peut", "puede"].contains(&item.folded.as_str()));
    let is_past = |(at, item): (usize, &Item)| {
        let before = at.checked_sub(1).map_or("", |at| items[at].folded.as_str());
        let is_passive = BEING.contains(&before) || ["be", "been", "being"].contains(&before);
        item.kind == Kind::Word && item.folded.ends_with("ed") && at > 0 && !is_passive
    };
    is_ability || items.iter().enumerate().any(is_past)
}

/// The small words of a statement.
fn frame(statement: &Statement) -> Vec<&str> {
    let small = |item: &&Item| item.kind == Kind::Stop;
    statement.items.iter().filter(small).map(|item| item.folded.as_str()).collect()
}
