//! A process that starts and ends, to measure what that alone costs.

fn main() {}
