//! The roles that `kapsa.toml` declares: the tables `[role.ID]` as plain descriptions, checked when
//! a role is made of one.
//!
//! A declaration never opens anything: where the capsule has a clearance for the role, what both
//! allow holds.

use std::collections::BTreeMap;
use std::path::PathBuf;

use kapsa_memory::access::ClearanceProfile;
use kapsa_memory::{Error, Reader};
use kapsa_model::Price;
use kapsa_roles::{
    AuthorityConfig, NodeKind, NodeSpec, OperatorSpec, Role, RoleSpec, ScopeSpec, State,
};
use serde::Deserialize;

use crate::app::App;
use crate::config_file::{ConfigFile, FILE};
use crate::error::{CliError, Result};
use crate::moment;

/// Where the keys are described.
const HINT: &str = "docs/agents.md shows the keys of [role.ID]";

/// The roles that are declared.
#[derive(Default)]
pub(crate) struct Declared {
    /// The file; none when there is none.
    pub(crate) file: Option<PathBuf>,
    /// The folder that paths in it begin at.
    pub(crate) folder: PathBuf,
    roles: BTreeMap<String, RoleTable>,
}

#[derive(Debug, Default, Deserialize)]
struct RoleDocument {
    #[serde(default)]
    role: BTreeMap<String, RoleTable>,
}

/// `[role.ID]`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct RoleTable {
    soul: String,
    goals: Vec<String>,
    model: Option<String>,
    price: Option<PriceTable>,
    clearance: BTreeMap<String, String>,
    authority: Option<AuthorityTable>,
    operators: Vec<OperatorTable>,
    schedule: Vec<ScheduleTable>,
}

/// `[[role.ID.schedule]]`: what the role does by itself, and how often.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ScheduleTable {
    /// A span such as `6h`.
    pub(crate) every: String,
    /// `reflect`, a node or an operator.
    pub(crate) run: String,
    /// The state that nodes begin with.
    #[serde(default)]
    pub(crate) state: State,
}

/// What a million tokens of the role's model cost.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PriceTable {
    per_million_in: f64,
    per_million_out: f64,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct AuthorityTable {
    autonomous: Vec<String>,
    needs_approval: Vec<String>,
    forbidden: Vec<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct OperatorTable {
    id: String,
    nodes: Vec<NodeTable>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct NodeTable {
    name: String,
    prompt: String,
    kind: Option<String>,
    #[serde(default)]
    system: String,
    output: Option<String>,
    model: Option<String>,
    temperature: Option<f32>,
    tokens_max: Option<u32>,
    steps_max: Option<u32>,
    #[serde(default)]
    tools: Vec<String>,
    scope: Option<ScopeTable>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct ScopeTable {
    entity: String,
    domain: String,
    tags: Vec<String>,
    query: String,
}

impl Declared {
    /// What the nearest file declares; nothing where there is none.
    pub(crate) fn find() -> Result<Declared> {
        let Some(file) = ConfigFile::nearest()? else { return Ok(Declared::default()) };
        let document: RoleDocument = file.parse().map_err(|error| error.hint(HINT))?;
        let declared = Declared {
            folder: file.folder().to_path_buf(),
            roles: document.role,
            file: Some(file.path),
        };
        declared.ids().try_for_each(|id| declared.check_id(id))?;
        Ok(declared)
    }

    /// A role acts as the principal of its id, so the id must be able to name one.
    fn check_id(&self, id: &str) -> Result<()> {
        match ClearanceProfile::uri(id) {
            Ok(_) => Ok(()),
            Err(Error::InvalidUri { reason, .. }) => {
                Err(self.wrong(id, &format!("its id cannot name an agent: {reason}")))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The ids, in alphabetical order.
    pub(crate) fn ids(&self) -> impl Iterator<Item = &str> {
        self.roles.keys().map(String::as_str)
    }

    /// Whether a role is declared.
    pub(crate) fn has(&self, id: &str) -> bool {
        self.roles.contains_key(id)
    }

    /// The description of a role.
    pub(crate) fn spec(&self, id: &str) -> Result<RoleSpec> {
        let table = self.table(id)?;
        let operators = table
            .operators
            .iter()
            .map(|operator| self.operator(id, operator))
            .collect::<Result<_>>()?;
        let authority = table.authority.clone().map(|lists| AuthorityConfig {
            autonomous: lists.autonomous,
            needs_approval: lists.needs_approval,
            forbidden: lists.forbidden,
        });
        Ok(RoleSpec {
            goals: table.goals.clone(),
            clearance: table.clearance.clone(),
            authority,
            operators,
            ..RoleSpec::new(id, &table.soul)
        })
    }

    /// The model that a role is declared with, and what it costs.
    pub(crate) fn model(&self, id: &str) -> Result<(Option<&str>, Option<Price>)> {
        let table = self.table(id)?;
        let price = table.price.map(|price| Price {
            per_million_in: price.per_million_in,
            per_million_out: price.per_million_out,
        });
        Ok((table.model.as_deref(), price))
    }

    /// What a role does by itself.
    pub(crate) fn schedule(&self, id: &str) -> Result<&[ScheduleTable]> {
        Ok(&self.table(id)?.schedule)
    }

    fn table(&self, id: &str) -> Result<&RoleTable> {
        self.roles.get(id).ok_or_else(|| {
            let known: Vec<&str> = self.ids().collect();
            let hint = match (&self.file, known.is_empty()) {
                (None, _) => format!(
                    "no {FILE} here or in any parent folder; declare the role in one as [role.{id}]"
                ),
                (Some(file), true) => {
                    format!("{} declares none: add a table [role.{id}]", file.display())
                }
                (Some(file), false) => format!("{} declares {}", file.display(), known.join(", ")),
            };
            CliError::user("role_not_found", format!("no role {id}")).hint(hint).field("role", id)
        })
    }

    fn operator(&self, role: &str, operator: &OperatorTable) -> Result<OperatorSpec> {
        let nodes: Result<Vec<NodeSpec>> =
            operator.nodes.iter().map(|node| self.node(role, &operator.id, node)).collect();
        Ok(OperatorSpec::new(&operator.id, nodes?))
    }

    fn node(&self, role: &str, operator: &str, table: &NodeTable) -> Result<NodeSpec> {
        let kind = match table.kind.as_deref() {
            None if table.tools.is_empty() => NodeKind::Llm,
            None => NodeKind::Agent,
            Some(name) => NodeKind::named(name).ok_or_else(|| {
                self.wrong(
                    role,
                    &format!(
                        "node `{}` of operator `{operator}`: its kind is llm or agent",
                        table.name
                    ),
                )
            })?,
        };
        let scope = table.scope.clone().map(|scope| ScopeSpec {
            entity: scope.entity,
            domain: scope.domain,
            tags: scope.tags,
            query: scope.query,
        });
        Ok(NodeSpec {
            kind,
            system: table.system.clone(),
            output: table.output.clone(),
            model: table.model.clone(),
            temperature: table.temperature,
            tokens_max: table.tokens_max,
            steps_max: table.steps_max,
            tools: table.tools.clone(),
            scope,
            ..NodeSpec::llm(&table.name, &table.prompt)
        })
    }

    /// A role that cannot be as it is declared.
    pub(crate) fn wrong(&self, role: &str, reason: &str) -> CliError {
        let file =
            self.file.as_ref().map_or_else(|| FILE.to_string(), |file| file.display().to_string());
        let is_bare = !role.is_empty()
            && role.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
        let key = if is_bare { role.to_string() } else { format!("{role:?}") };
        CliError::user("invalid_config", format!("{file}, in [role.{key}]: {reason}"))
            .hint(HINT)
            .field("role", role)
    }

    /// What a role is declared to know; none when it is not declared.
    fn clearance(&self, id: &str) -> Result<Option<ClearanceProfile>> {
        let Some(table) = self.roles.get(id) else { return Ok(None) };
        let spec = RoleSpec { clearance: table.clearance.clone(), ..RoleSpec::new(id, "") };
        let role = Role::from_spec(&spec, &[], moment::now)
            .map_err(|error| self.wrong(id, &error.to_string()))?;
        Ok(Some(role.clearance()))
    }

    /// What a role or another agent may know: what the capsule says of it, what the file declares
    /// where the capsule says nothing, and where both say something what both allow.
    pub(crate) fn effective(&self, app: &App, id: &str) -> Result<ClearanceProfile> {
        let reader = Reader::open(&app.capsule()?)?;
        let stored = match reader.get(&ClearanceProfile::uri(id)?) {
            Ok(_) => Some(reader.clearance(id)?),
            Err(Error::UriNotFound { .. }) => None,
            Err(error) => return Err(error.into()),
        };
        if app.principal() == Some(id) {
            // Who acts as a principal is to every verb what the capsule says of it.
            return Ok(stored.unwrap_or_else(|| ClearanceProfile::new(id)));
        }
        Ok(match (stored, self.clearance(id)?) {
            (Some(stored), Some(declared)) => stored.within(&declared),
            (Some(only), None) | (None, Some(only)) => only,
            (None, None) => ClearanceProfile::new(id),
        })
    }
}
