//! What the peer programs have in common: three verbs on a store: `load`, `put` and `find`.
//!
//! `load STORE [OPTION...]` reads JSON Lines from stdin; `put STORE TEXT` adds one record, durably;
//! `find STORE QUERY [KEY=VALUE]` prints a line for each of the ten best. Arguments are read by
//! hand: a parser would be part of the timing.

use std::io::BufRead;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use crate::record::Record;

/// Hits of a search.
pub const HITS: usize = 10;

/// What a peer program was asked to do.
#[derive(Debug)]
pub enum Request {
    /// Load the records of stdin; the strings are the engine's own options.
    Load(PathBuf, Vec<String>),
    /// Add one record with this text.
    Put(PathBuf, String),
    /// Search for these words, optionally only where a tag (`key=value`) is.
    Find(PathBuf, String, Option<String>),
}

impl Request {
    /// Reads the command line.
    pub fn from_args() -> Result<Self> {
        let mut args = std::env::args().skip(1);
        let mut next = || {
            args.next().context("usage: load STORE | put STORE TEXT | find STORE QUERY [KEY=VALUE]")
        };
        let (verb, store) = (next()?, PathBuf::from(next()?));
        match verb.as_str() {
            "load" => Ok(Self::Load(store, args.collect())),
            "put" => Ok(Self::Put(store, next()?)),
            "find" => Ok(Self::Find(store, next()?, args.next())),
            other => bail!("unknown verb {other}"),
        }
    }
}

/// The records of stdin.
pub fn records() -> impl Iterator<Item = Result<Record>> {
    std::io::stdin().lock().lines().map(|line| Ok(serde_json::from_str(&line?)?))
}

/// The record of a single put.
pub fn single(text: String) -> Record {
    let title = text.split_whitespace().take(6).collect::<Vec<_>>().join(" ");
    let field = |value: &str| value.to_owned();
    Record {
        title,
        text,
        kind: field("note"),
        label: field("bench"),
        tags: [(field("lang"), field("rust"))].into(),
        agent: field("agent-00"),
        entity: field("entity-0000"),
        domain: field("research"),
        created_at: field("2026-01-01T00:00:00Z"),
    }
}
