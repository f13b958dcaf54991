//! Checks that vectors are the ones that were asked for. Knows no protocol.

use std::fmt;
use std::marker::PhantomData;

use kapsa_model::DIMENSION_MAX;
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, SeqAccess, Visitor};

/// The numbers of a vector; none for what is not a number.
pub(super) type Numbers = Bounded<Option<f64>, { DIMENSION_MAX as usize }>;

/// The first items of a list, and how many there were: an endless list takes no memory.
pub(super) struct Bounded<T, const MAX: usize> {
    pub(super) items: Vec<T>,
    pub(super) count: usize,
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

/// A vector, and the place of its text where the service says so.
pub(super) struct Row {
    pub(super) index: Option<usize>,
    pub(super) numbers: Numbers,
}

/// What a service answered.
pub(super) struct Rows {
    /// How many vectors there were, including those that were not kept.
    pub(super) count: usize,
    pub(super) rows: Vec<Row>,
}

impl Rows {
    /// The vectors of `asked` texts in the order of the texts; an answer without places is taken to
    /// be in order.
    pub(super) fn for_texts(self, asked: usize) -> Result<Vec<Numbers>, String> {
        if self.count != asked {
            return Err(format!("answers with {} vectors for {asked} texts", self.count));
        }
        let mut rows = self.rows;
        if rows.iter().any(|row| row.index.is_some()) {
            rows.sort_by_key(|row| row.index);
            let misplaced = rows.iter().enumerate().find(|(at, row)| row.index != Some(*at));
            if let Some((at, row)) = misplaced {
                let index = row.index.map_or_else(|| "none".to_owned(), |index| index.to_string());
                return Err(format!("answers with index {index} instead of {at}"));
            }
        }
        Ok(rows.into_iter().map(|row| row.numbers).collect())
    }
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
        _ => Err(format!("has no finite number at position {}", at + 1)),
    });
    let values = values.collect::<Result<Vec<f64>, String>>()?;
    // Divided by the largest first: the squares of very large and very small numbers overflow or
    // vanish.
    let largest = values.iter().fold(0.0, |largest: f64, value| largest.max(value.abs()));
    if largest == 0.0 {
        let problem =
            if count == 0 { "has no numbers" } else { "has no direction: all numbers are 0" };
        return Err(problem.to_owned());
    }
    let length = values.iter().map(|value| (value / largest).powi(2)).sum::<f64>().sqrt();
    Ok(values.iter().map(|value| (value / largest / length) as f32).collect())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::openai;
    use super::*;

    fn of(json: &str, dimension: Option<u32>) -> Result<Vec<f32>, String> {
        unit(&serde_json::from_str(json).unwrap(), dimension)
    }

    #[test]
    fn vectors_have_length_one() {
        assert_eq!(of("[3, 4]", Some(2)).unwrap(), [0.6, 0.8]);
        assert_eq!(
            of("[1e300, 0, -1e300]", None).unwrap(),
            of("[1e-300, 0, -1e-300]", None).unwrap()
        );
        let long = of(&format!("[{}1]", "0.1,".repeat(4095)), None).unwrap();
        let length = long.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>();
        assert!((length - 1.0).abs() < 1e-6, "{length}");
    }

    #[test]
    fn what_is_not_a_vector_is_refused() {
        assert_eq!(of("[]", None).unwrap_err(), "has no numbers");
        assert_eq!(of("[0, -0.0]", None).unwrap_err(), "has no direction: all numbers are 0");
        assert_eq!(of("[1, null]", None).unwrap_err(), "has no finite number at position 2");
        assert_eq!(of("[1, 2]", Some(3)).unwrap_err(), "has 2 numbers, not 3");
        let long = format!("[{}1]", "1,".repeat(4096));
        assert_eq!(of(&long, None).unwrap_err(), "has 4097 numbers, more than 4096");
        let infinite = Numbers { items: vec![Some(f64::INFINITY)], count: 1 };
        assert_eq!(unit(&infinite, None).unwrap_err(), "has no finite number at position 1");
        for invalid in ["[1, NaN]", "[1, 1e999]", "[-Infinity]", "[1,", "\"AAAA\"", "[[1]]"] {
            assert!(serde_json::from_str::<Numbers>(invalid).is_err(), "{invalid}");
        }
    }

    fn ordered(json: &str, asked: usize) -> Result<Vec<f64>, String> {
        let answer = openai::vectors(json.as_bytes()).unwrap();
        Ok(answer.for_texts(asked)?.iter().map(|numbers| numbers.items[0].unwrap()).collect())
    }

    #[test]
    fn places_are_each_named_once_or_not_at_all() {
        let data = |rows: &str| format!("{{\"data\":[{rows}]}}");
        let row =
            |index: u64, number: u64| format!("{{\"index\":{index},\"embedding\":[{number}]}}");
        let bare = "{\"embedding\":[9]}";
        assert_eq!(ordered(&data(&format!("{},{}", row(1, 7), row(0, 8))), 2).unwrap(), [8.0, 7.0]);
        assert_eq!(ordered(&data(&format!("{bare},{bare}")), 2).unwrap(), [9.0, 9.0]);
        let twice = ordered(&data(&format!("{},{}", row(0, 7), row(0, 8))), 2);
        assert_eq!(twice.unwrap_err(), "answers with index 0 instead of 1");
        let mixed = ordered(&data(&format!("{bare},{}", row(0, 8))), 2);
        assert_eq!(mixed.unwrap_err(), "answers with index none instead of 0");
        assert_eq!(ordered(&data(bare), 2).unwrap_err(), "answers with 1 vectors for 2 texts");
        let many = vec![bare; 70].join(",");
        assert_eq!(ordered(&data(&many), 2).unwrap_err(), "answers with 70 vectors for 2 texts");
    }
}
