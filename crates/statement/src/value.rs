//! Values in a canonical form: two texts that give the same value in other words have equal ones.

use std::fmt;

/// Relative difference within which two amounts are one.
const AMOUNT_TOLERANCE: f64 = 1e-6;

/// A value that a statement gives.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A number of something.
    Amount {
        /// What is measured, such as `mass` or `money:eur`; empty for a plain number.
        dimension: String,
        /// How much, in the base unit of the dimension.
        amount: f64,
        /// The digits of a plain number: `1.20` is another version than `1.2`.
        digits: String,
    },
    /// A day, a month or a year of the calendar, as far as it is given.
    Date {
        /// The year.
        year: Option<i16>,
        /// The month, from 1.
        month: Option<i8>,
        /// The day of the month, from 1.
        day: Option<i8>,
    },
    /// A time of day, in minutes after midnight.
    Time(u16),
    /// A day of the week, Monday being 0.
    Weekday(u8),
    /// A name with digits or signs in it, folded: an address, an identifier, a version.
    Code(String),
}

impl Value {
    /// A plain number as it is written.
    pub(crate) fn plain(amount: f64, digits: &str) -> Value {
        Value::Amount { dimension: String::new(), amount, digits: digits.to_string() }
    }

    /// So much of something.
    pub(crate) fn of(dimension: &str, amount: f64) -> Value {
        Value::Amount { dimension: dimension.to_string(), amount, digits: String::new() }
    }

    /// Whether the two give the same.
    #[must_use]
    pub fn is_same(&self, other: &Value) -> bool {
        match (self, other) {
            (
                Value::Amount { dimension: a, amount: x, digits: m },
                Value::Amount { dimension: b, amount: y, digits: n },
            ) => {
                let near = (x - y).abs() <= AMOUNT_TOLERANCE * x.abs().max(y.abs());
                let is_written_alike = m == n || !(m.contains('.') && n.contains('.'));
                a == b && near && is_written_alike
            }
            _ => self == other,
        }
    }

    /// Whether the two can be values of one attribute.
    #[must_use]
    pub fn is_comparable(&self, other: &Value) -> bool {
        match (self, other) {
            (Value::Amount { dimension: a, .. }, Value::Amount { dimension: b, .. }) => {
                a == b || a.starts_with("money") && b.starts_with("money")
            }
            (Value::Date { .. }, Value::Weekday(_)) | (Value::Weekday(_), Value::Date { .. }) => {
                true
            }
            _ => std::mem::discriminant(self) == std::mem::discriminant(other),
        }
    }

    /// Whether this says less than `other`, and nothing else: a month of a day in it.
    #[must_use]
    pub fn is_coarser_than(&self, other: &Value) -> bool {
        let (
            Value::Date { year, month, day },
            Value::Date { year: its_year, month: its_month, day: its_day },
        ) = (self, other)
        else {
            return false;
        };
        let agrees = (year.is_none() || year == its_year)
            && (month.is_none() || month == its_month)
            && (day.is_none() || day == its_day);
        agrees && self != other
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Amount { dimension, amount, .. } if dimension.is_empty() => {
                write!(f, "{amount}")
            }
            Value::Amount { dimension, amount, .. } => write!(f, "{dimension} {amount}"),
            Value::Date { year, month, day } => {
                let part = |part: Option<i16>| part.map_or("-".to_string(), |n| format!("{n:02}"));
                let (month, day) = (month.map(i16::from), day.map(i16::from));
                write!(f, "date {}/{}/{}", part(*year), part(month), part(day))
            }
            Value::Time(minutes) => write!(f, "time {:02}:{:02}", minutes / 60, minutes % 60),
            Value::Weekday(day) => write!(f, "weekday {day}"),
            Value::Code(code) => write!(f, "{code}"),
        }
    }
}
