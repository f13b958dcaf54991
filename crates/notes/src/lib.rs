//! A memory as files: markdown with frontmatter, folders of runs, and the guard of both. Knows no
//! capsule, record, trace, model, network, terminal or clock.

#![deny(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::print_stdout,
    clippy::print_stderr
)]
