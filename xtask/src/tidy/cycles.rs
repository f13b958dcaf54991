//! Files that must be understood together: sets in which each file imports, directly or not, each
//! other.

use petgraph::algo::tarjan_scc;
use petgraph::graph::{DiGraph, NodeIndex};

use super::imports::Edge;
use super::packages::Package;
use super::problem::Problem;
use super::ratchet::{Allowance, Measured, Ratchet};

/// Files of an import cycle at most.
const CYCLE_FILES_MAX: usize = 6;

/// Cycles that are still larger.
const ALLOWED: [Allowance; 0] = [];

/// The sizes of the cycles of a package, largest first, each with its files.
pub(super) fn cycles(package: &Package, edges: impl Iterator<Item = Edge>) -> Vec<Vec<String>> {
    let graph = DiGraph::<(), (), usize>::from_edges(edges.map(|edge| (edge.from, edge.to)));
    let mut cycles: Vec<Vec<NodeIndex<usize>>> = tarjan_scc(&graph);
    cycles.retain(|files| files.len() > 1);
    cycles.sort_by_key(|files| std::cmp::Reverse(files.len()));
    let name = |file: NodeIndex<usize>| package.sources[file.index()].name.clone();
    cycles.into_iter().map(|files| files.into_iter().map(name).collect()).collect()
}

/// Packages with a cycle that is too large; `largest` has the largest cycle of each.
pub(super) fn too_large(largest: &[(&Package, Vec<String>)]) -> Vec<Problem> {
    let measured = largest.iter().map(|(package, files)| {
        let mut files = files.clone();
        files.sort();
        let file = files.first().cloned().unwrap_or_default();
        Measured {
            what: package.name.clone(),
            number: files.len(),
            file,
            line: 1,
            detail: files.join(" "),
        }
    });
    let ratchet = Ratchet {
        rule: "files import each other in a circle",
        limit: CYCLE_FILES_MAX,
        allowed: &ALLOWED,
    };
    ratchet.check(measured.collect(), file!())
}
