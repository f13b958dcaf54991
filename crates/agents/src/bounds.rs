//! What an agent writes by itself, within its clearance: as a principal would write it. Knows
//! levels and domains, and nothing of stores.

use super::memory::AgentMemory;
use kapsa_memory::access::Classification;
use kapsa_memory::{Error, Result};

/// The same memory, whose agent writes by itself within its clearance even where that names no
/// domain: then it publishes nothing.
#[must_use]
pub fn bound(mut memory: AgentMemory) -> AgentMemory {
    memory.is_bound = true;
    memory
}

/// Whether the agent may write at this level in this domain: where it is bound, as far as its
/// clearance goes; clearance for what is public is that for what is internal.
///
/// # Errors
/// `AccessDenied`.
pub fn may_write(memory: &AgentMemory, domain: &str, level: Classification) -> Result<()> {
    let named = std::slice::from_ref(&memory.agent_id);
    let is_cleared =
        || memory.clearance().allows(domain, level.max(Classification::Internal), named);
    if !memory.is_bound || is_cleared() {
        return Ok(());
    }
    let (principal, what) = (memory.agent_id.clone(), "write at this level in this domain");
    Err(Error::AccessDenied { principal, what })
}

/// The level of what is recorded of an agent's own doing in a domain: in one that it may not write
/// to, nobody but the agent itself is to read it.
#[must_use]
pub fn level_of_own(memory: &AgentMemory, domain: &str, level: Classification) -> Classification {
    let is_kept = !domain.is_empty() && may_write(memory, domain, level).is_err();
    if is_kept { Classification::Restricted } else { level }
}

/// The domain of what the agent writes without naming one: where it may not write what has none,
/// the only one that it is cleared for.
#[must_use]
pub fn domain_unnamed(memory: &AgentMemory) -> &str {
    if may_write(memory, "", Classification::Internal).is_ok() {
        return "";
    }
    let mut domains = memory.clearance().domains.keys();
    match (domains.next(), domains.next()) {
        (Some(only), None) => only,
        _ => "",
    }
}
