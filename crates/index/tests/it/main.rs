//! The crate from outside: exactness against a naive scorer, damaged bytes, merging, languages.

#![allow(clippy::too_many_lines, reason = "a test may tell a long story")]

mod corpus;
mod damage;
mod exactness;
mod languages;
mod long_words;
mod naive;
mod scope;
