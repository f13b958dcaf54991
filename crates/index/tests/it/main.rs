//! The crate from outside: exactness against a naive scorer, damaged bytes, merging, languages.

mod corpus;
mod damage;
mod exactness;
mod languages;
mod naive;
