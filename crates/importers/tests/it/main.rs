//! What each product's files become: what is read, what is skipped and why, what has one name.

mod hostile;
mod products;
