//! Documents that other programs wrote, and bytes that nobody should have.

mod hostile;
mod samples;
