//! What does it cost to start a process and end it? This one does nothing else.

fn main() {}
