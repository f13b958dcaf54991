//! Are these the vectors that were asked for?

use std::fmt;
use std::marker::PhantomData;

use kapsa_model::DIMENSION_MAX;
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, SeqAccess, Visitor};

use super::BATCH_TEXTS;

/// The numbers of a vector; none for what is no number.
pub(super) type Numbers = Bounded<Option<f64>, { DIMENSION_MAX as usize }>;

/// The first items of a list, and how many there were: an endless list takes no memory.
pub(super) struct Bounded<T, const MAX: usize> {
    items: Vec<T>,
    count: usize,
}

impl<'de, T: Deserialize<'de>, const MAX: usize> Deserialize<'de> for Bounded<T, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(BoundedVisitor(PhantomData))
    }
}

struct BoundedVisitor<T, const MAX: usize>(PhantomData<T>);

impl<'de, T: Deserialize<'de>, const MAX: usize> Visitor<'de> for BoundedVisitor<T, MAX> {
    type Value = Bounded<T, MAX>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut items = Vec::new();
        while items.len() < MAX {
            let Some(item) = list.next_element()? else {
                return Ok(Bounded { count: items.len(), items });
            };
            items.push(item);
        }
        let mut count = items.len();
        while list.next_element::<IgnoredAny>()?.is_some() {
            count += 1;
        }
        Ok(Bounded { items, count })
    }
}

/// What a server that speaks as OpenAI's does answers.
#[derive(Deserialize)]
pub(super) struct OpenAiAnswer {
    data: Bounded<Entry, BATCH_TEXTS>,
}

#[derive(Deserialize)]
struct Entry {
    index: Option<usize>,
    embedding: Numbers,
}

impl OpenAiAnswer {
    /// The vectors of `asked` texts in the order of the texts; an answer without places is taken to be in order.
    pub(super) fn in_order(self, asked: usize) -> Result<Vec<Numbers>, String> {
        counted(self.data.count, asked)?;
        let mut entries = self.data.items;
        if entries.iter().any(|entry| entry.index.is_some()) {
            entries.sort_by_key(|entry| entry.index);
            if let Some((at, entry)) = entries.iter().enumerate().find(|(at, entry)| entry.index != Some(*at)) {
                let index = entry.index.map_or_else(|| "none".to_owned(), |index| index.to_string());
                return Err(format!("answers with index {index} where {at} is to be"));
            }
        }
        Ok(entries.into_iter().map(|entry| entry.embedding).collect())
    }
}

/// What Ollama answers.
#[derive(Deserialize)]
pub(super) struct OllamaAnswer {
    embeddings: Bounded<Numbers, BATCH_TEXTS>,
}

impl OllamaAnswer {
    /// The vectors of `asked` texts.
    pub(super) fn in_order(self, asked: usize) -> Result<Vec<Numbers>, String> {
        counted(self.embeddings.count, asked)?;
        Ok(self.embeddings.items)
    }
}

fn counted(count: usize, asked: usize) -> Result<(), String> {
    if count == asked { Ok(()) } else { Err(format!("answers with {count} vectors for {asked} texts")) }
}

/// The vector of length 1 in the same direction, or what is wrong with it.
pub(super) fn unit(numbers: &Numbers, dimension: Option<u32>) -> Result<Vec<f32>, String> {
    let count = numbers.count;
    if count > DIMENSION_MAX as usize {
        return Err(format!("has {count} numbers, more than {DIMENSION_MAX}"));
    }
    if let Some(dimension) = dimension.filter(|&dimension| dimension as usize != count) {
        return Err(format!("has {count} numbers, not {dimension}"));
    }
    let values = numbers.items.iter().enumerate().map(|(at, number)| match number {
        Some(value) if value.is_finite() => Ok(*value),
        _ => Err(format!("has no finite number at place {}", at + 1)),
    });
    let values = values.collect::<Result<Vec<f64>, String>>()?;
    // Divided by the largest first: the squares of very large and very small numbers are none.
    let largest = values.iter().fold(0.0, |largest: f64, value| largest.max(value.abs()));
    if largest == 0.0 {
        return Err(if count == 0 { "has no numbers".to_owned() } else { "has no direction: all is 0".to_owned() });
    }
    let length = values.iter().map(|value| (value / largest).powi(2)).sum::<f64>().sqrt();
    Ok(values.iter().map(|value| (value / largest / length) as f32).collect())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn of(json: &str, dimension: Option<u32>) -> Result<Vec<f32>, String> {
        unit(&serde_json::from_str(json).unwrap(), dimension)
    }

    #[test]
    fn vectors_have_length_one() {
        assert_eq!(of("[3, 4]", Some(2)).unwrap(), [0.6, 0.8]);
        assert_eq!(of("[1e300, 0, -1e300]", None).unwrap(), of("[1e-300, 0, -1e-300]", None).unwrap());
        let long = of(&format!("[{}1]", "0.1,".repeat(4095)), None).unwrap();
        let length = long.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>();
        assert!((length - 1.0).abs() < 1e-6, "{length}");
    }

    #[test]
    fn what_is_no_vector_is_refused() {
        assert_eq!(of("[]", None).unwrap_err(), "has no numbers");
        assert_eq!(of("[0, -0.0]", None).unwrap_err(), "has no direction: all is 0");
        assert_eq!(of("[1, null]", None).unwrap_err(), "has no finite number at place 2");
        assert_eq!(of("[1, 2]", Some(3)).unwrap_err(), "has 2 numbers, not 3");
        assert_eq!(of(&format!("[{}1]", "1,".repeat(4096)), None).unwrap_err(), "has 4097 numbers, more than 4096");
        let infinite = Numbers { items: vec![Some(f64::INFINITY)], count: 1 };
        assert_eq!(unit(&infinite, None).unwrap_err(), "has no finite number at place 1");
        for no_json in ["[1, NaN]", "[1, 1e999]", "[-Infinity]", "[1,", "\"AAAA\"", "[[1]]"] {
            assert!(serde_json::from_str::<Numbers>(no_json).is_err(), "{no_json}");
        }
    }

    fn ordered(json: &str, asked: usize) -> Result<Vec<f64>, String> {
        let answer: OpenAiAnswer = serde_json::from_str(json).unwrap();
        Ok(answer.in_order(asked)?.iter().map(|numbers| numbers.items[0].unwrap()).collect())
    }

    #[test]
    fn places_are_each_named_once_or_not_at_all() {
        let data = |rows: &str| format!("{{\"data\":[{rows}]}}");
        let row = |index: u64, number: u64| format!("{{\"index\":{index},\"embedding\":[{number}]}}");
        let bare = "{\"embedding\":[9]}";
        assert_eq!(ordered(&data(&format!("{},{}", row(1, 7), row(0, 8))), 2).unwrap(), [8.0, 7.0]);
        assert_eq!(ordered(&data(&format!("{bare},{bare}")), 2).unwrap(), [9.0, 9.0]);
        let twice = ordered(&data(&format!("{},{}", row(0, 7), row(0, 8))), 2);
        assert_eq!(twice.unwrap_err(), "answers with index 0 where 1 is to be");
        let mixed = ordered(&data(&format!("{bare},{}", row(0, 8))), 2);
        assert_eq!(mixed.unwrap_err(), "answers with index none where 0 is to be");
        assert_eq!(ordered(&data(bare), 2).unwrap_err(), "answers with 1 vectors for 2 texts");
        let many = vec![bare; 70].join(",");
        assert_eq!(ordered(&data(&many), 2).unwrap_err(), "answers with 70 vectors for 2 texts");
    }
}
