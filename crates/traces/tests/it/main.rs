//! What a sync of session traces does to a capsule, from outside.

mod across;
mod corrections;
mod crashes;
mod deciding;
mod queue;
mod registry;
mod run;
mod support;
mod upkeep;
