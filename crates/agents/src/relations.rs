//! What a fact says of other facts, and what of that its reader may know.

use kapsa_memory::{Error, Result};

use super::types::Fact;

/// Leaves out of a fact the others that are not `known`.
pub(crate) fn forget_hidden(
    fact: &mut Fact,
    mut known: impl FnMut(&str) -> Result<bool>,
) -> Result<()> {
    for one in [&mut fact.supersedes, &mut fact.superseded_by] {
        if let Some(id) = one
            && !known(id)?
        {
            *one = None;
        }
    }
    for list in [&mut fact.contested_with, &mut fact.pending_with, &mut fact.interrupted_by] {
        let mut left = Vec::new();
        for id in std::mem::take(list) {
            if known(&id)? {
                left.push(id);
            }
        }
        *list = left;
    }
    Ok(())
}

/// Leaves a fact what it was to others that are not `known` to whoever writes it again: who does
/// not see them cannot undo it.
pub(crate) fn keep_hidden(
    fact: &mut Fact,
    old: &Fact,
    mut known: impl FnMut(&str) -> Result<bool>,
) -> Result<()> {
    let mut hidden = |id: &Option<String>| match id {
        Some(id) => Ok::<_, Error>(!known(id)?),
        None => Ok(false),
    };
    if hidden(&old.superseded_by)? {
        fact.superseded_by.clone_from(&old.superseded_by);
    }
    if fact.supersedes.is_none() && hidden(&old.supersedes)? {
        fact.supersedes.clone_from(&old.supersedes);
    }
    for (list, before) in [
        (&mut fact.contested_with, &old.contested_with),
        (&mut fact.pending_with, &old.pending_with),
        (&mut fact.interrupted_by, &old.interrupted_by),
    ] {
        for id in before {
            if !list.contains(id) && hidden(&Some(id.clone()))? {
                list.push(id.clone());
            }
        }
    }
    Ok(())
}
