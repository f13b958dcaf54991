//! The crate from outside: exactness against a naive scorer, damaged bytes, merging.

mod corpus;
mod damage;
mod exactness;
mod naive;
