//! Knows no record, capsule, index, file, network, clock or terminal: texts go in, what they state
//! comes out.
//!
//! What a sentence states, and what it is to an earlier one: whether it says the same, gives
//! another value, corrects, ends, adds to or only resembles it. A [`Statement`] is read once; a
//! pair of them is judged by [`relate`]. [`flags()`] says why a text should be read by a person
//! before it is believed. What a program knows of languages is in the tables of the folder
//! `tables`, not in code.

#![deny(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::print_stdout,
    clippy::print_stderr
)]

mod align;
mod attribute;
mod cue;
mod diff;
mod entity;
pub mod flags;
mod relate;
mod statement;
mod subject;
mod tables;
mod token;
mod value;
mod when;

pub use align::{Alignment, align};
pub use attribute::{AttributeId, is_many, is_plural, names_many};
pub use cue::{Cue, Cues};
pub use entity::{initials, is_numeronym, slug};
pub use flags::{Flag, FlagKind, flags};
pub use relate::{About, Judgement, Relation, relate};
pub use statement::Statement;
pub use value::Value;
pub use when::{Moment, When};
