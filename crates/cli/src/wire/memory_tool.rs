//! Commands and answers of the memory tool, as programs exchange them with models: the shapes of
//! `memory_20250818`. Knows no files.

use kapsa_agents::MemoryCommand;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The input of one use of the tool.
#[derive(Debug, Deserialize)]
#[serde(tag = "command", rename_all = "snake_case")]
pub(crate) enum MemoryCommandIn {
    View {
        path: String,
        view_range: Option<[i64; 2]>,
    },
    Create {
        path: String,
        file_text: String,
    },
    StrReplace {
        path: String,
        old_str: String,
        #[serde(default)]
        new_str: String,
    },
    Insert {
        path: String,
        insert_line: i64,
        insert_text: String,
    },
    Delete {
        path: String,
    },
    Rename {
        old_path: String,
        new_path: String,
    },
}

impl From<MemoryCommandIn> for MemoryCommand {
    fn from(command: MemoryCommandIn) -> MemoryCommand {
        match command {
            MemoryCommandIn::View { path, view_range } => MemoryCommand::View { path, view_range },
            MemoryCommandIn::Create { path, file_text } => {
                MemoryCommand::Create { path, file_text }
            }
            MemoryCommandIn::StrReplace { path, old_str, new_str } => {
                MemoryCommand::StrReplace { path, old_str, new_str }
            }
            MemoryCommandIn::Insert { path, insert_line, insert_text } => {
                MemoryCommand::Insert { path, insert_line, insert_text }
            }
            MemoryCommandIn::Delete { path } => MemoryCommand::Delete { path },
            MemoryCommandIn::Rename { old_path, new_path } => {
                MemoryCommand::Rename { old_path, new_path }
            }
        }
    }
}

/// The result of one use of the tool, for the model.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "MemoryToolResult")]
pub(crate) struct MemoryToolOut<'a> {
    /// What the model is told.
    pub(crate) content: &'a str,
    /// True if nothing was done.
    pub(crate) is_error: bool,
}
