//! Layers inside of a crate: its folders from low to high. A file imports from its own folder and
//! from lower ones.
//!
//! Files that lie in no folder of the table are shared ground, which every folder may use.

use super::imports::Edge;
use super::packages::{Package, Source};
use super::problem::Problem;

/// A crate with layers, and its folders from low to high.
struct Folders {
    package: &'static str,
    low_to_high: &'static [&'static str],
}

const FOLDERS: [Folders; 1] = [Folders {
    package: "memory",
    low_to_high: &[
        "records", "signing", "tables", "view", "search", "write", "versions", "exchange",
    ],
}];

/// Imports of a higher folder that are still there, as `file → file` below `src`.
const STILL_THERE: [&str; 0] = [];

/// Imports of higher folders, and allowances that nothing needs any more.
pub(super) fn upward<'a>(imports: impl Iterator<Item = Import<'a>>) -> Vec<Problem> {
    let mut found: Vec<String> = Vec::new();
    let mut problems = Vec::new();
    for import in imports {
        let Some(upward) = import.upward() else {
            continue;
        };
        let edge = import.to_string();
        if STILL_THERE.contains(&edge.as_str()) {
            found.push(edge);
        } else {
            let from = &import.package.sources[import.edge.from].name;
            problems.push(Problem::new(from, import.line, format!("{upward}: {edge}")));
        }
    }
    let gone = STILL_THERE.iter().filter(|edge| !found.iter().any(|found| found == *edge));
    problems.extend(gone.map(|edge| {
        Problem::new(file!(), 1, format!("{edge} is gone: remove it from STILL_THERE"))
    }));
    problems
}

/// An import of one file by another.
#[derive(Clone, Copy)]
pub(super) struct Import<'a> {
    pub(super) package: &'a Package,
    pub(super) edge: Edge,
    pub(super) line: usize,
}

impl Import<'_> {
    /// What is wrong with it, if anything.
    fn upward(&self) -> Option<String> {
        let folders = FOLDERS.iter().find(|folders| folders.package == self.package.name)?;
        let height = |source: &Source| {
            let folder = source.module.first()?;
            folders.low_to_high.iter().position(|name| name == folder)
        };
        let from = height(&self.package.sources[self.edge.from])?;
        let to = height(&self.package.sources[self.edge.to])?;
        let name = |height: usize| folders.low_to_high[height];
        (to > from)
            .then(|| format!("{} must not import {}, which lies above it", name(from), name(to)))
    }
}

impl std::fmt::Display for Import<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = |file: usize| {
            let name = self.package.sources[file].name.as_str();
            name.split_once("/src/").map_or(name, |(_, below)| below)
        };
        write!(f, "{} → {}", name(self.edge.from), name(self.edge.to))
    }
}

#[cfg(test)]
mod tests {
    use super::super::imports::edges;
    use super::super::packages::tests::package;
    use super::*;

    #[test]
    fn upward_imports_fire() {
        let up = "use crate::view::View;\nuse crate::records::Record;";
        let mut package = package(&[
            ("lib.rs", "pub use view::View;"),
            ("records/mod.rs", "pub struct Record;\nuse crate::View;"),
            ("view/mod.rs", "pub struct View;\nuse crate::records::Record;"),
            ("tables/mod.rs", up),
            ("free.rs", up),
        ]);
        package.name = "memory".to_owned();
        let edges = edges(&package);
        let imports = edges.iter().map(|(&edge, &line)| Import { package: &package, edge, line });
        let found: Vec<String> =
            upward(imports).iter().map(|problem| problem.message.clone()).collect();
        let found: Vec<&String> =
            found.iter().filter(|message| message.contains("must not")).collect();
        assert_eq!(
            found,
            [
                "records must not import view, which lies above it: records/mod.rs → view/mod.rs",
                "tables must not import view, which lies above it: tables/mod.rs → view/mod.rs",
            ]
        );
    }
}
