//! The products whose memories can be read.

use std::path::Path;

use crate::error::Error;
use crate::item::Source;
use crate::{beads, chats, graphiti, letta, markdown, mem0, server_memory};

/// A product.
#[derive(Clone, Copy, Debug)]
pub struct Product {
    /// Its name, as it is typed.
    pub name: &'static str,
    /// Its name, as people know it.
    pub title: &'static str,
    /// What is read of it.
    pub reads: &'static str,
    read: fn(&'static str, &Path) -> Result<Source, Error>,
}

impl Product {
    /// The product of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Product> {
        PRODUCTS.iter().find(|product| product.name == name)
    }

    /// Reads everything that a source holds.
    ///
    /// # Errors
    /// When the source is not what the product writes, or is beyond a limit; nothing is taken then.
    pub fn read(&self, path: &Path) -> Result<Source, Error> {
        (self.read)(self.name, path)
    }
}

/// All products, by name.
pub const PRODUCTS: [Product; 11] = [
    Product {
        name: "basic-memory",
        title: "basic-memory",
        reads: "a folder of its Markdown notes",
        read: markdown::basic_memory,
    },
    Product {
        name: "beads",
        title: "beads",
        reads: "issues.jsonl, or the folder .beads with it",
        read: beads::read,
    },
    Product {
        name: "chatgpt",
        title: "ChatGPT",
        reads: "conversations.json or memories.json of a data export, or the folder with them",
        read: chats::chatgpt,
    },
    Product {
        name: "claude",
        title: "Claude",
        reads: "memories.json of a data export, or the folder with it",
        read: chats::claude,
    },
    Product {
        name: "claude-code",
        title: "Claude Code",
        reads: "CLAUDE.md, or a folder of its auto memory",
        read: markdown::plain,
    },
    Product {
        name: "codex",
        title: "Codex",
        reads: "AGENTS.md, or the folder of its memories",
        read: markdown::plain,
    },
    Product {
        name: "graphiti",
        title: "Graphiti or Zep",
        reads: "episodes and facts (edges) as JSON",
        read: graphiti::read,
    },
    Product { name: "letta", title: "Letta", reads: "an agent file (.af)", read: letta::read },
    Product {
        name: "mem0",
        title: "mem0",
        reads: "its history database (history.db), or memories as JSON (get_all)",
        read: mem0::read,
    },
    Product { name: "obsidian", title: "Obsidian", reads: "a vault", read: markdown::obsidian },
    Product {
        name: "server-memory",
        title: "the MCP memory server",
        reads: "memory.jsonl",
        read: server_memory::read,
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_in_order_and_found_by_name() {
        assert!(PRODUCTS.is_sorted_by_key(|product| product.name));
        assert!(PRODUCTS.iter().all(|product| {
            Product::named(product.name).is_some_and(|found| found.title == product.title)
        }));
        assert!(Product::named("memvid").is_none());
    }
}
