//! A record: its fields, its name, its bytes, who may know it, and what is asked of many. Knows no
//! file and no search.

pub mod access;
pub(crate) mod admission;
pub(crate) mod branch;
pub(crate) mod codec;
pub(crate) mod content;
pub mod document;
pub mod escape;
pub(crate) mod held;
pub(crate) mod identity;
pub(crate) mod ids;
pub(crate) mod integers;
pub mod kinds;
pub mod owned;
pub(crate) mod protected;
pub mod provenance;
pub mod record;
pub mod request;
pub mod tokens;
pub(crate) mod turn;
pub mod uri;
pub(crate) mod validity;
