//! Traces become memories: reads sessions, compares what they bring with what is known, writes and
//! reports. Knows no terminal, network, environment or wall clock: a clock is passed in.

#![deny(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::print_stdout,
    clippy::print_stderr
)]
