//! What an attempt may have written: judged by every record that is new in the capsule, with a rule
//! of its own for what a principal may change. Knows nothing of what was called.

use std::collections::HashMap;
use std::path::Path;

use serde_json::Value;

use super::build::Program;
use super::world::{Level, Place, Principal};

/// Most records that one attempt writes.
const NEW_MAX: usize = 60;
/// First parts of names that belong to the owner's verbs.
const OWNERS: [&str; 5] = ["clearance", "kapsa", "policy", "run", "branch"];
/// Kinds of records that only the owner writes.
const OWNERS_KINDS: [&str; 10] =
    ["run", "task", "plan", "event", "card", "edge", "policy", "branch", "checkpoint", "clearance"];
/// What the short form of a name leaves out.
const PREFIX: &str = "mv2://default/";

/// A record as the owner sees it.
#[derive(Clone, Debug)]
struct Known {
    place: Place,
    agent: String,
}

/// What is in a capsule before an attempt, by branch and name.
pub(super) struct Before {
    /// Several under one name contest each other.
    records: HashMap<(String, String), Vec<Known>>,
    listings: Vec<(String, Vec<Value>)>,
}

fn text<'v>(record: &'v Value, field: &str) -> &'v str {
    record[field].as_str().unwrap_or_default()
}

fn place(record: &Value) -> Place {
    let named = record["named"].as_array().into_iter().flatten();
    Place {
        domain: text(record, "domain").to_owned(),
        level: Level::named(text(record, "classification")),
        named: named.filter_map(Value::as_str).map(str::to_owned).collect(),
    }
}

fn short(uri: &str) -> &str {
    uri.strip_prefix(PREFIX).unwrap_or(uri)
}

fn records(answer: &Value) -> Vec<Value> {
    answer["records"].as_array().cloned().unwrap_or_default()
}

fn listing(program: &Program<'_>, folder: &Path, branch: &str) -> Result<Vec<Value>, String> {
    Ok(records(&program.ask(folder, &["timeline", "--limit", "100000", "--branch", branch])?))
}

impl Before {
    /// Reads everything that counts on every branch.
    pub(super) fn read(program: &Program<'_>, folder: &Path) -> Result<Before, String> {
        let all = program.ask(folder, &["branch", "list", "--all"])?;
        let named = all["branches"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|branch| text(branch, "branch").to_owned());
        let branches: Vec<String> = named.filter(|name| !name.is_empty()).collect();
        if branches.len() < 3 {
            return Err(format!("the owner sees {} branches only", branches.len()));
        }
        let mut known: HashMap<(String, String), Vec<Known>> = HashMap::new();
        let mut listings = Vec::new();
        for branch in branches {
            let listed = listing(program, folder, &branch)?;
            for record in &listed {
                let there = Known { place: place(record), agent: text(record, "agent").to_owned() };
                let name = (branch.clone(), short(text(record, "uri")).to_owned());
                known.entry(name).or_default().push(there);
            }
            listings.push((branch, listed));
        }
        Ok(Before { records: known, listings })
    }

    /// What is new beyond `last` and is not this principal's to write.
    pub(super) fn forbidden(
        &self,
        program: &Program<'_>,
        folder: &Path,
        principal: &Principal,
        last: u64,
    ) -> Result<Vec<String>, String> {
        let log = program.ask(folder, &["log", "--all", "--limit", &NEW_MAX.to_string()])?;
        let new =
            records(&log).into_iter().filter(|record| record["sequence"].as_u64() > Some(last));
        Ok(new
            .filter_map(|record| Some(format!("{}: {record}", self.wrong(principal, &record)?)))
            .collect())
    }

    /// Why a new record is not this principal's to write.
    fn wrong(&self, principal: &Principal, record: &Value) -> Option<&'static str> {
        let (uri, kind, agent) =
            (short(text(record, "uri")), text(record, "kind"), text(record, "agent"));
        if kind == "audit" {
            return (agent != principal.name).then_some("an audit of somebody else");
        }
        if kind == "pending" {
            // What waits for review lies under a name of the owner's.
            let is_own = text(record, "principal") == principal.name;
            return (!is_own).then_some("what waits in the name of somebody else");
        }
        let under = |name: String| {
            let there = self.records.get(&(text(record, "branch").to_owned(), name));
            let may_read = |known: &&Known| principal.may_read(&known.place);
            there.into_iter().flatten().partition::<Vec<&Known>, _>(may_read)
        };
        if let Some(fact) = uri.strip_prefix("access/") {
            let (known, hidden) = under(format!("fact/{fact}"));
            let is_hidden = known.is_empty() && !hidden.is_empty();
            return is_hidden.then_some("a count of a hidden fact");
        }
        let (known, hidden) = under(uri.to_owned());
        let first = uri.split('/').next().unwrap_or_default();
        if OWNERS.contains(&first) || OWNERS_KINDS.contains(&kind) {
            return Some("the owner's name or kind");
        }
        let owner = uri.split('/').nth(1).unwrap_or_default();
        if ["episode", "insight"].contains(&first)
            && uri.split('/').count() > 2
            && owner != principal.name
        {
            return Some("the memory of another agent");
        }
        if !agent.is_empty()
            && agent != principal.name
            && known.iter().all(|there| there.agent != agent)
        {
            return Some("the name of another agent");
        }
        let new = place(record);
        let is_end = record["tombstone"] == Value::Bool(true);
        // What is hidden stays beside what takes the place of the rest, and does not end with it.
        let is_of_others = !hidden.is_empty() && (known.is_empty() || is_end);
        if is_of_others || known.iter().any(|there| !principal.may_write(&there.place)) {
            return Some("a record that it may only read, or not even that");
        }
        if is_end {
            return None;
        }
        if known.iter().any(|there| new.level < there.place.level) {
            return Some("a lower level");
        }
        (!principal.may_write(&new)).then_some("a place that it is not cleared for")
    }

    /// What the owner no longer sees as it was, on any branch, although this principal may not
    /// change it.
    pub(super) fn lost(
        &self,
        program: &Program<'_>,
        folder: &Path,
        principal: &Principal,
    ) -> Result<Vec<String>, String> {
        let mut lost = Vec::new();
        for (branch, before) in &self.listings {
            let after = listing(program, folder, branch)?;
            let gone = before.iter().filter(|record| !after.contains(record));
            let others = gone.filter(|record| {
                let (uri, kind) = (short(text(record, "uri")), text(record, "kind"));
                let is_owners = OWNERS_KINDS.contains(&kind)
                    || OWNERS.iter().any(|name| uri.starts_with(&format!("{name}/")));
                is_owners || !principal.may_write(&place(record))
            });
            lost.extend(others.map(|record| format!("changed on {branch}: {record}")));
        }
        Ok(lost)
    }
}
