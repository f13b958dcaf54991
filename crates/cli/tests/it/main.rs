//! The real binary in temporary folders: what it prints, where, with which exit code, and what it
//! leaves on disk.

#![allow(clippy::too_many_lines, reason = "a test may tell a long story")]

mod access;
mod agents;
mod attacks;
mod bad_input;
mod bad_sector;
mod committed;
mod completion;
mod crm;
mod docs;
mod documents;
mod fs;
mod full_disk;
mod help;
mod hook;
mod hooks;
mod init;
mod json;
mod keys;
mod knowledge;
mod lock;
mod mcp;
mod meaning;
mod memory_bound;
mod memory_tool;
mod neighbours;
mod people;
mod pipelines;
mod put;
mod questions;
mod read;
mod redact;
mod rerank;
mod review;
mod roles;
mod runs;
mod salvage;
mod scenarios;
mod setup;
mod shell;
mod space;
mod support;
mod svc;
mod svc_client;
mod sync_crash;
mod team;
mod terminal;
mod tour;
mod traces;
mod transfer;
mod upkeep;
mod versions;
mod warnings;
mod watch;
