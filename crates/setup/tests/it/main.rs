//! Setup and undo over files as people have them.

mod corpus;
mod faults;
mod hostile;
mod plugins;
mod world;
