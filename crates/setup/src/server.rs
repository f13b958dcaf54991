//! A server's entry: the command that starts it, and how each form of entry says so. Knows no file.

use std::path::Path;

use jsonc_parser::cst::CstInputValue;
use serde_json::Value;

use crate::content::split_bom;
use crate::error::EditError;
use crate::{json, tables};

/// The name of the server in every file.
pub const SERVER_NAME: &str = "kapsa";
/// The verb that serves.
const VERB: &str = "mcp";

/// How a client writes the entry of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// `key: {name: {command, args}}`.
    Plain {
        /// Where the servers are.
        key: &'static str,
    },
    /// The same with `"type": "stdio"`.
    Stdio {
        /// Where the servers are.
        key: &'static str,
    },
    /// The same with `"type": "local"` and all tools.
    Local {
        /// Where the servers are.
        key: &'static str,
    },
    /// `mcp: {name: {type: local, command: [command, args…]}}`.
    OpenCode,
    /// `context_servers: {name: {source: custom, command, args}}`.
    Zed,
    /// `[mcp_servers.name]`.
    Toml,
}

/// A command that starts a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// The program.
    pub command: String,
    /// What it is called with.
    pub args: Vec<String>,
    /// What is added to its environment.
    pub env: Vec<(String, String)>,
    /// Whether the entry turns it off.
    pub off: bool,
}

impl Server {
    /// The server that `command` is.
    #[must_use]
    pub fn new(command: impl Into<String>) -> Server {
        Server {
            command: command.into(),
            args: vec![VERB.to_string()],
            env: Vec::new(),
            off: false,
        }
    }

    /// Whether a command is one that setup writes: `…/kapsa mcp …`, or this program under another
    /// name.
    pub(crate) fn is_own(&self, program: &str) -> bool {
        let file = Path::new(&self.command).file_name().and_then(|name| name.to_str());
        let is_named = file == Some(SERVER_NAME) || self.command == program;
        is_named && self.args.first().is_some_and(|verb| verb == VERB)
    }
}

impl Form {
    /// The key that JSON keeps servers under; that of TOML is a table.
    pub(crate) fn key(self) -> &'static str {
        match self {
            Form::Plain { key } | Form::Stdio { key } | Form::Local { key } => key,
            Form::OpenCode => "mcp",
            Form::Zed => "context_servers",
            Form::Toml => "mcp_servers",
        }
    }

    fn env_key(self) -> &'static str {
        if self == Form::OpenCode { "environment" } else { "env" }
    }

    /// The server that a document starts under our name.
    ///
    /// # Errors
    ///
    /// [`EditError`]: the text cannot be read.
    pub fn read(self, text: &str) -> Result<Option<Server>, EditError> {
        let (_, text) = split_bom(text);
        match self {
            Form::Toml => tables::read(text),
            form => json::read_server(text, form),
        }
    }

    /// The entry as JSON, in the order in which people write it.
    pub(crate) fn entry(self, server: &Server) -> CstInputValue {
        let text = |text: &str| CstInputValue::String(text.to_string());
        let mut fields: Vec<(String, CstInputValue)> = Vec::new();
        let mut put = |key: &str, value| fields.push((key.to_string(), value));
        match self {
            Form::Stdio { .. } => put("type", text("stdio")),
            Form::Local { .. } | Form::OpenCode => put("type", text("local")),
            Form::Zed => put("source", text("custom")),
            Form::Plain { .. } | Form::Toml => {}
        }
        for (key, value) in self.command_fields(server) {
            put(key, value);
        }
        match self {
            Form::Local { .. } => put("tools", CstInputValue::Array(vec![text("*")])),
            Form::OpenCode => put("enabled", CstInputValue::Bool(true)),
            _ => {}
        }
        if !server.env.is_empty() || self == Form::Zed {
            let env = server.env.iter().map(|(name, value)| (name.clone(), text(value)));
            put(self.env_key(), CstInputValue::Object(env.collect()));
        }
        CstInputValue::Object(fields)
    }

    /// The fields that say which command is started.
    pub(crate) fn command_fields(self, server: &Server) -> Vec<(&'static str, CstInputValue)> {
        let args = server.args.iter().map(|arg| CstInputValue::String(arg.clone()));
        let command = CstInputValue::String(server.command.clone());
        if self == Form::OpenCode {
            let all = std::iter::once(command).chain(args);
            return vec![("command", CstInputValue::Array(all.collect()))];
        }
        vec![("command", command), ("args", CstInputValue::Array(args.collect()))]
    }

    /// The command that an entry starts; none where the entry starts none.
    pub(crate) fn server(self, entry: &Value) -> Option<Server> {
        let texts = |value: Option<&Value>| -> Option<Vec<String>> {
            let Some(value) = value else { return Some(Vec::new()) };
            value.as_array()?.iter().map(|text| Some(text.as_str()?.to_string())).collect()
        };
        let env = entry.get(self.env_key()).and_then(Value::as_object);
        let env = env.into_iter().flatten();
        let env: Option<Vec<_>> =
            env.map(|(name, value)| Some((name.clone(), value.as_str()?.to_string()))).collect();
        let (command, args) = if self == Form::OpenCode {
            let mut command = texts(entry.get("command"))?.into_iter();
            (command.next()?, command.collect())
        } else {
            (entry.get("command")?.as_str()?.to_string(), texts(entry.get("args"))?)
        };
        let is = |name: &str, value: bool| entry.get(name).and_then(Value::as_bool) == Some(value);
        Some(Server { command, args, env: env?, off: is("enabled", false) || is("disabled", true) })
    }
}
