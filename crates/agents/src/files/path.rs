//! What a path names. The only module that knows the syntax of paths; whether something is there is
//! not known here.
//!
//! Parts are names as they are, but for what a name cannot hold, which is escaped as in URIs: `a/b`
//! is `a%2Fb`. What is printed is canonical: each thing has one path. `_` is what has no domain,
//! and a domain that is called so is `%5F`.

use std::fmt;

use super::error::{FileError, PathFault};
use super::period::Period;
use crate::records::{escape, unescape};
use kapsa_memory::tokens::first_bytes;
use kapsa_memory::uri::is_invisible;

/// Longest path, in bytes: every domain and id that can be stored has one that is shorter.
pub const PATH_BYTES_MAX: usize = 16 << 10;
/// Most parts of a path.
pub const PATH_PARTS_MAX: usize = 16;

/// The index that each folder has.
pub(super) const INDEX: &str = ".directory";
/// The file of the soul.
pub(super) const SOUL: &str = "soul.md";
/// Stands for no domain.
const NO_DOMAIN: &str = "_";

/// A folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Folder {
    Root,
    Identity,
    Goals,
    Knowledge,
    /// The insights of a domain.
    Domain(String),
    Experience,
    /// The episodes of a day, or the days of a month.
    Period(Period),
    References,
    /// The facts of a domain.
    Subject(String),
    /// The agent's own files, and a folder of them by its names.
    Memories(Vec<String>),
}

/// A file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum File {
    Index(Folder),
    Soul,
    /// From 1.
    Goal(usize),
    Insight {
        domain: String,
        tags: Vec<String>,
        id: String,
    },
    Episode {
        period: Option<Period>,
        id: String,
    },
    Fact {
        domain: String,
        id: String,
    },
    /// One of the agent's own files, or a folder of them: the path does not say which.
    Memory(Vec<String>),
}

/// What a path names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Node {
    Folder(Folder),
    File(File),
    /// A place in this folder where nothing can be.
    Nowhere(Folder, String),
}

impl Node {
    /// Reads a path; slashes at its ends and doubled ones count for nothing.
    pub(super) fn parse(path: &str) -> Result<Node, FileError> {
        let invalid = |fault| FileError::InvalidPath {
            path: first_bytes(path, PATH_BYTES_MAX).to_string(),
            fault,
        };
        if path.len() > PATH_BYTES_MAX {
            return Err(invalid(PathFault::TooLong));
        }
        let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        if parts.len() > PATH_PARTS_MAX {
            return Err(invalid(PathFault::TooDeep));
        }
        parts.iter().try_for_each(|part| check(part)).map_err(invalid)?;
        let nowhere = |folder| Node::Nowhere(folder, format!("/{}", parts.join("/")));
        let node = match parts.split_last() {
            Some((&INDEX, above)) => match of_parts(above).map_err(invalid)? {
                Some(Node::Folder(folder)) => Some(Node::File(File::Index(folder))),
                _ => None,
            },
            _ => of_parts(&parts).map_err(invalid)?,
        };
        Ok(node.unwrap_or_else(|| nowhere(top(&parts))))
    }
}

/// The folder of the root that these parts lead into, or else the root.
fn top(parts: &[&str]) -> Folder {
    let known = [
        Folder::Identity,
        Folder::Goals,
        Folder::Knowledge,
        Folder::Experience,
        Folder::References,
        Folder::Memories(Vec::new()),
    ];
    let of_first = |folder: &Folder| {
        parts.first().is_some_and(|part| folder.to_string() == format!("/{part}/"))
    };
    known.into_iter().find(of_first).unwrap_or(Folder::Root)
}

/// What the parts name, an index aside; none where nothing can be.
fn of_parts(parts: &[&str]) -> Result<Option<Node>, PathFault> {
    let folder = |folder| Ok(Some(Node::Folder(folder)));
    let file = |file| Ok(Some(Node::File(file)));
    let folder_of_root = top(parts);
    match (&folder_of_root, parts.get(1..).unwrap_or_default()) {
        (Folder::Root, []) if parts.is_empty() => folder(Folder::Root),
        (Folder::Root, _) => Ok(None),
        (_, []) => folder(folder_of_root),
        (Folder::Identity, [SOUL]) => file(File::Soul),
        (Folder::Goals, [name]) => Ok(goal(name).map(|number| Node::File(File::Goal(number)))),
        (Folder::Identity, [_]) => Ok(None),
        (Folder::Knowledge, [domain]) => folder(Folder::Domain(domain_of(domain)?)),
        (Folder::Knowledge, [domain, tags @ .., id]) => {
            let tags = tags.iter().map(|tag| name_of(tag)).collect::<Result<_, _>>()?;
            file(File::Insight { domain: domain_of(domain)?, tags, id: name_of(id)? })
        }
        (Folder::Experience, [name]) => match Period::parse(name) {
            Some(period) => folder(Folder::Period(period)),
            None => file(File::Episode { period: None, id: name_of(name)? }),
        },
        (Folder::Experience, [period, id]) => {
            let Some(period) = Period::parse(period) else { return Ok(None) };
            file(File::Episode { period: Some(period), id: name_of(id)? })
        }
        (Folder::Memories(_), names) => {
            let names = names.iter().map(|name| name_of(name)).collect::<Result<_, _>>()?;
            file(File::Memory(names))
        }
        (Folder::References, [domain]) => folder(Folder::Subject(domain_of(domain)?)),
        (Folder::References, [domain, id]) => {
            file(File::Fact { domain: domain_of(domain)?, id: name_of(id)? })
        }
        _ => Err(PathFault::TooDeep),
    }
}

/// The number of a goal's file.
fn goal(name: &str) -> Option<usize> {
    let number = name.strip_suffix(".md")?.parse().ok()?;
    (goal_name(number) == name).then_some(number)
}

/// The name of a goal's file.
pub(super) fn goal_name(number: usize) -> String {
    format!("{number}.md")
}

/// Whether a name can be written as it is.
pub(super) fn check(part: &str) -> Result<(), PathFault> {
    if matches!(part, "." | "..") {
        return Err(PathFault::Traversal);
    }
    match part.chars().find(|&c| c == '\\' || c.is_control() || is_invisible(c)) {
        Some('\0') => Err(PathFault::Nul),
        Some('\\') => Err(PathFault::Backslash),
        Some(_) => Err(PathFault::Unseen),
        None => Ok(()),
    }
}

/// The name that a part stands for. What is escaped though it need not be is refused, so that no
/// two parts with escapes are one name.
fn name_of(part: &str) -> Result<String, PathFault> {
    if part == format!("%2E{}", &INDEX[1..]) {
        return Ok(INDEX.to_string());
    }
    // A part that was typed may hold spaces, which URIs escape.
    let spaced = part
        .chars()
        .map(|c| if c.is_whitespace() { escape(&c.to_string()) } else { c.to_string() });
    unescape(&spaced.collect::<String>()).ok_or(PathFault::Escape)
}

fn domain_of(part: &str) -> Result<String, PathFault> {
    match part {
        NO_DOMAIN => Ok(String::new()),
        "%5F" => Ok(NO_DOMAIN.to_string()),
        part => name_of(part),
    }
}

/// The part that stands for an id or a tag.
pub(super) fn part(name: &str) -> String {
    if name == INDEX { format!("%2E{}", &INDEX[1..]) } else { escape(name) }
}

/// The part that stands for a domain.
pub(super) fn domain_part(domain: &str) -> String {
    match domain {
        "" => NO_DOMAIN.to_string(),
        NO_DOMAIN => "%5F".to_string(),
        domain => part(domain),
    }
}

/// The path of an insight.
pub(super) fn insight_path(domain: &str, id: &str) -> String {
    format!("{}{}", Folder::Domain(domain.to_string()), part(id))
}

/// The path of a fact.
pub(super) fn fact_path(domain: &str, id: &str) -> String {
    format!("{}{}", Folder::Subject(domain.to_string()), part(id))
}

/// The path of an episode of this day.
pub(super) fn episode_path(day: Period, id: &str) -> String {
    format!("{}{}", Folder::Period(day), part(id))
}

impl fmt::Display for Folder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Folder::Root => f.write_str("/"),
            Folder::Identity => f.write_str("/identity/"),
            Folder::Goals => f.write_str("/goals/"),
            Folder::Knowledge => f.write_str("/knowledge/"),
            Folder::Domain(domain) => write!(f, "/knowledge/{}/", domain_part(domain)),
            Folder::Experience => f.write_str("/experience/"),
            Folder::Period(period) => write!(f, "/experience/{period}/"),
            Folder::References => f.write_str("/references/"),
            Folder::Subject(domain) => write!(f, "/references/{}/", domain_part(domain)),
            Folder::Memories(names) => {
                f.write_str("/memories/")?;
                names.iter().try_for_each(|name| write!(f, "{}/", part(name)))
            }
        }
    }
}

impl fmt::Display for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            File::Index(folder) => write!(f, "{folder}{INDEX}"),
            File::Soul => write!(f, "{}{SOUL}", Folder::Identity),
            File::Goal(number) => write!(f, "{}{}", Folder::Goals, goal_name(*number)),
            File::Insight { domain, tags, id } => {
                write!(f, "{}", Folder::Domain(domain.clone()))?;
                tags.iter().try_for_each(|tag| write!(f, "{}/", part(tag)))?;
                f.write_str(&part(id))
            }
            File::Episode { period: Some(period), id } => f.write_str(&episode_path(*period, id)),
            File::Episode { period: None, id } => write!(f, "{}{}", Folder::Experience, part(id)),
            File::Fact { domain, id } => f.write_str(&fact_path(domain, id)),
            File::Memory(names) => {
                let folder = Folder::Memories(Vec::new()).to_string();
                let names: Vec<String> = names.iter().map(|name| part(name)).collect();
                write!(f, "{folder}{}", names.join("/"))
            }
        }
    }
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Node::Folder(folder) => folder.fmt(f),
            Node::File(file) => file.fmt(f),
            Node::Nowhere(_, path) => f.write_str(path),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(path: &str) -> Node {
        Node::parse(path).expect(path)
    }

    fn fault(path: &str) -> PathFault {
        match Node::parse(path) {
            Err(FileError::InvalidPath { fault, .. }) => fault,
            other => panic!("{path:?}: {other:?}"),
        }
    }

    #[test]
    fn each_thing_has_one_canonical_path() {
        for (typed, canonical) in [
            ("", "/"),
            ("//", "/"),
            ("knowledge", "/knowledge/"),
            ("/knowledge//sales/", "/knowledge/sales/"),
            ("/knowledge/_/i", "/knowledge/_/i"),
            ("/knowledge/big deals/vp sponsor", "/knowledge/big%20deals/vp%20sponsor"),
            ("/knowledge/sales/t1/t2/i/", "/knowledge/sales/t1/t2/i"),
            ("/experience/2026-02", "/experience/2026-02/"),
            ("/experience/2026-02-17/e", "/experience/2026-02-17/e"),
            ("/experience/e", "/experience/e"),
            ("/identity/soul.md/", "/identity/soul.md"),
            ("/goals/2.md", "/goals/2.md"),
            ("/references/hr/.directory", "/references/hr/.directory"),
            (".directory", "/.directory"),
        ] {
            let node = node(typed);
            assert_eq!(node.to_string(), canonical);
            assert_eq!(Node::parse(canonical).expect(canonical), node);
        }
    }

    #[test]
    fn every_name_comes_back_from_its_path() {
        for name in [
            "i",
            ".",
            "..",
            ".directory",
            "_",
            "a/b",
            "%",
            "%2E",
            "a b",
            "a\\b",
            "\0",
            "ž\u{202e}\n",
            "日本",
            "2026-02-17",
        ] {
            let insight =
                File::Insight { domain: name.to_string(), tags: Vec::new(), id: name.to_string() };
            assert_eq!(node(&insight.to_string()), Node::File(insight));
            let fact = File::Fact { domain: String::new(), id: name.to_string() };
            assert_eq!(node(&fact.to_string()), Node::File(fact));
            let day = Period::parse("2026-02-17");
            let episode = File::Episode { period: day, id: name.to_string() };
            assert_eq!(node(&episode.to_string()), Node::File(episode));
        }
    }

    #[test]
    fn hostile_paths_are_refused_by_name() {
        for (path, want) in [
            ("/knowledge/../identity/soul.md", PathFault::Traversal),
            ("/knowledge/./x", PathFault::Traversal),
            ("..", PathFault::Traversal),
            ("/knowledge/sales/a\0b", PathFault::Nul),
            ("/knowledge/sales/a\nb", PathFault::Unseen),
            ("/knowledge/sales/a\u{202e}b", PathFault::Unseen),
            ("/knowledge/..\\x", PathFault::Backslash),
            ("/knowledge/%2e%2e/x", PathFault::Escape),
            ("/knowledge/sales/100%", PathFault::Escape),
            ("/knowledge/sales/%41", PathFault::Escape),
            ("/experience/2026-02-17/e/x", PathFault::TooDeep),
            ("/references/a/b/c", PathFault::TooDeep),
            ("/identity/a/b", PathFault::TooDeep),
        ] {
            assert_eq!(fault(path), want, "{path:?}");
        }
        assert_eq!(fault(&"/x".repeat(PATH_PARTS_MAX + 1)), PathFault::TooDeep);
        assert_eq!(fault(&"x".repeat(PATH_BYTES_MAX + 1)), PathFault::TooLong);
    }

    #[test]
    fn there_are_places_where_nothing_can_be() {
        for (path, folder) in [
            ("/etc/passwd", Folder::Root),
            ("/.directory/x", Folder::Root),
            ("/identity/other.md", Folder::Identity),
            ("/goals/0x1.md", Folder::Goals),
            ("/goals/01.md", Folder::Goals),
            ("/identity/soul.md/.directory", Folder::Identity),
            ("/experience/someday/e", Folder::Experience),
        ] {
            assert_eq!(node(path), Node::Nowhere(folder, path.to_string()));
        }
    }
}
