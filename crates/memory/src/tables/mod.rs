//! What an index segment holds beside words: tables of names, branches, levels and replacements.
//! Knows records, no views.

pub(crate) mod access_table;
pub(crate) mod branch_table;
pub(crate) mod keys;
pub(crate) mod lineage;
pub(crate) mod revision_map;
pub(crate) mod segments;
