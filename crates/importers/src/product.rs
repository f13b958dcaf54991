//! The products whose memories can be read.

use std::io::BufRead;
use std::path::Path;

use serde_json::Value;

use crate::error::Error;
use crate::input::foreign;
use crate::item::Source;
use crate::{beads, chats, graphiti, letta, local_memory, markdown, mem0, memvid, server_memory};

/// A product.
#[derive(Clone, Copy, Debug)]
pub struct Product {
    /// Its name, as it is typed.
    pub name: &'static str,
    /// Its name, as people know it.
    pub title: &'static str,
    /// What is read of it.
    pub reads: &'static str,
    read: Read,
}

/// How a source is read.
#[derive(Clone, Copy, Debug)]
enum Read {
    /// Here.
    Here(fn(&'static str, &Path) -> Result<Source, Error>),
    /// By the helper program of this name; here what it answers.
    Helper(&'static str, fn(&'static str, &Path, &mut dyn BufRead) -> Result<Source, Error>),
    /// From what its own program answers; it has no file.
    Asked(fn(&'static str, &[Value]) -> Source),
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
        match self.read {
            Read::Here(read) => read(self.name, path),
            Read::Helper(program, _) => {
                Err(foreign(path, format!("it is read by the program {program}")))
            }
            Read::Asked(_) => Err(foreign(path, "the program is asked, and no file is read")),
        }
    }

    /// The program that reads a source, where that is not done here.
    #[must_use]
    pub fn helper(&self) -> Option<&'static str> {
        match self.read {
            Read::Here(_) | Read::Asked(_) => None,
            Read::Helper(program, _) => Some(program),
        }
    }

    /// Reads memories as the product's own program answers them; none where it has files.
    #[must_use]
    pub fn read_memories(&self, memories: &[Value]) -> Option<Source> {
        match self.read {
            Read::Here(_) | Read::Helper(..) => None,
            Read::Asked(read) => Some(read(self.name, memories)),
        }
    }

    /// Reads what the helper program answered of the source at `path`.
    ///
    /// # Errors
    /// What the program says, or that its answer is cut; as of [`Product::read`] where there is no
    /// such program.
    pub fn read_answer(&self, path: &Path, answer: &mut dyn BufRead) -> Result<Source, Error> {
        match self.read {
            Read::Helper(_, read) => read(self.name, path, answer),
            Read::Here(_) | Read::Asked(_) => self.read(path),
        }
    }
}

/// All products, by name.
pub const PRODUCTS: [Product; 13] = [
    Product {
        name: "basic-memory",
        title: "basic-memory",
        reads: "a folder of its Markdown notes",
        read: Read::Here(markdown::basic_memory),
    },
    Product {
        name: "beads",
        title: "beads",
        reads: "issues.jsonl, or the folder .beads with it",
        read: Read::Here(beads::read),
    },
    Product {
        name: "chatgpt",
        title: "ChatGPT",
        reads: "conversations.json or memories.json of a data export, or the folder with them",
        read: Read::Here(chats::chatgpt),
    },
    Product {
        name: "claude",
        title: "Claude",
        reads: "memories.json of a data export, or the folder with it",
        read: Read::Here(chats::claude),
    },
    Product {
        name: "claude-code",
        title: "Claude Code",
        reads: "CLAUDE.md, or a folder of its auto memory",
        read: Read::Here(markdown::plain),
    },
    Product {
        name: "codex",
        title: "Codex",
        reads: "AGENTS.md, or the folder of its memories",
        read: Read::Here(markdown::plain),
    },
    Product {
        name: "graphiti",
        title: "Graphiti or Zep",
        reads: "episodes and facts (edges) as JSON",
        read: Read::Here(graphiti::read),
    },
    Product {
        name: "letta",
        title: "Letta",
        reads: "an agent file (.af)",
        read: Read::Here(letta::read),
    },
    Product {
        name: "local-memory",
        title: "local-memory",
        reads: "what its program finds (no PATH; --status, --dry-run, --all or --verify)",
        read: Read::Asked(local_memory::read),
    },
    Product {
        name: "mem0",
        title: "mem0",
        reads: "its history database (history.db), or memories as JSON (get_all)",
        read: Read::Here(mem0::read),
    },
    Product {
        name: "memvid",
        title: "Memvid",
        reads: "a file (.mv2)",
        read: Read::Helper("kapsa-memvid", memvid::read),
    },
    Product {
        name: "obsidian",
        title: "Obsidian",
        reads: "a vault",
        read: Read::Here(markdown::obsidian),
    },
    Product {
        name: "server-memory",
        title: "the MCP memory server",
        reads: "memory.jsonl",
        read: Read::Here(server_memory::read),
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
        assert!(Product::named("areev").is_none());
    }
}
