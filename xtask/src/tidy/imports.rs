//! Which file of a package uses which other.
//!
//! A name is followed through re-exports to the file that defines it, so that a facade such as
//! `lib.rs` neither hides an edge nor adds one. Methods are not followed: that takes the compiler.
//! Knows nothing of what is allowed.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};

use super::packages::{Package, child};

/// Parts of a path at most; a name that is imported from itself makes more.
const PARTS_MAX: usize = 16;

/// The paths that were looked up, each with the module where it was.
type Seen = BTreeSet<(Vec<String>, Vec<String>)>;

/// A file uses another; both are indices into the sources of the package.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Edge {
    pub(super) from: usize,
    pub(super) to: usize,
}

/// The edges between the files of `package`, each with the line that first makes it.
pub(super) fn edges(package: &Package) -> BTreeMap<Edge, usize> {
    let modules = Modules::of(package);
    let mut edges = BTreeMap::new();
    for (file, source) in package.sources.iter().enumerate() {
        let module = source.module.clone();
        let mut uses = Uses { modules: &modules, file, module, edges: &mut edges };
        uses.visit_file(&source.syntax);
    }
    edges
}

/// Where a path leads.
struct Target {
    file: usize,
    /// The module that holds the item, and its name; no name where the path is of a module.
    item: Option<String>,
}

/// What a module defines and imports.
#[derive(Default)]
struct Module {
    file: usize,
    items: BTreeSet<String>,
    imports: BTreeMap<String, Vec<String>>,
    globs: Vec<Vec<String>>,
}

/// All modules of a package, by path.
pub(super) struct Modules(BTreeMap<Vec<String>, Module>);

impl Modules {
    pub(super) fn of(package: &Package) -> Self {
        let mut modules = Self(BTreeMap::new());
        for (file, source) in package.sources.iter().enumerate() {
            let mut reading = Names { modules: &mut modules, file, module: source.module.clone() };
            reading.enter();
            reading.visit_file(&source.syntax);
        }
        modules
    }

    /// The file that defines what `path` names in `module`, and its name there.
    pub(super) fn definition(&self, module: &[String], path: &[String]) -> Option<(usize, String)> {
        let target = self.resolve(module, path, &mut Seen::new())?;
        target.item.map(|item| (target.file, item))
    }

    /// Looks each path up once in a module: modules may import each other.
    fn resolve(&self, module: &[String], path: &[String], seen: &mut Seen) -> Option<Target> {
        if path.len() > PARTS_MAX || !seen.insert((module.to_vec(), path.to_vec())) {
            return None;
        }
        let mut at = module.to_vec();
        let mut rest = path;
        while let Some((first, later)) = rest.split_first() {
            match first.as_str() {
                "crate" => at.clear(),
                "super" => drop(at.pop()),
                "self" => {}
                _ => break,
            }
            rest = later;
        }
        self.descend(&at, rest, seen)
    }

    fn descend(&self, at: &[String], rest: &[String], seen: &mut Seen) -> Option<Target> {
        let module = self.0.get(at)?;
        let Some((first, later)) = rest.split_first() else {
            return Some(Target { file: module.file, item: None });
        };
        let below = child(at, first);
        if self.0.contains_key(&below) {
            return self.descend(&below, later, seen);
        }
        if module.items.contains(first) {
            return Some(Target { file: module.file, item: Some(first.clone()) });
        }
        if let Some(import) = module.imports.get(first) {
            return self.resolve(at, &[import, later].concat(), seen);
        }
        let mut globs = module.globs.iter();
        globs.find_map(|glob| self.resolve(at, &[&glob[..], rest].concat(), seen))
    }
}

/// Reads what modules define and import.
struct Names<'a> {
    modules: &'a mut Modules,
    file: usize,
    module: Vec<String>,
}

impl Names<'_> {
    fn enter(&mut self) {
        self.modules.0.entry(self.module.clone()).or_default().file = self.file;
    }

    fn here(&mut self) -> &mut Module {
        self.modules.0.entry(self.module.clone()).or_default()
    }

    fn define(&mut self, name: &syn::Ident) {
        let name = name.to_string();
        self.here().items.insert(name);
    }
}

impl<'ast> Visit<'ast> for Names<'_> {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        match item {
            syn::Item::Const(item) => self.define(&item.ident),
            syn::Item::Enum(item) => self.define(&item.ident),
            syn::Item::Fn(item) => self.define(&item.sig.ident),
            syn::Item::Static(item) => self.define(&item.ident),
            syn::Item::Struct(item) => self.define(&item.ident),
            syn::Item::Trait(item) => self.define(&item.ident),
            syn::Item::Type(item) => self.define(&item.ident),
            syn::Item::Union(item) => self.define(&item.ident),
            syn::Item::Macro(item) => item.ident.iter().for_each(|name| self.define(name)),
            _ => {}
        }
        visit::visit_item(self, item);
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if item.content.is_some() {
            self.module.push(item.ident.to_string());
            self.enter();
            visit::visit_item_mod(self, item);
            self.module.pop();
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        for import in imports(&item.tree) {
            let module = self.here();
            match import.name {
                Some(name) => drop(module.imports.insert(name, import.path)),
                None => module.globs.push(import.path),
            }
        }
    }
}

/// One name that a `use` brings in; a glob has none.
struct Imported {
    name: Option<String>,
    path: Vec<String>,
}

fn imports(tree: &syn::UseTree) -> Vec<Imported> {
    let mut found = Vec::new();
    leaves(tree, &[], &mut found);
    found
}

fn leaves(tree: &syn::UseTree, above: &[String], found: &mut Vec<Imported>) {
    match tree {
        syn::UseTree::Path(path) => {
            leaves(&path.tree, &child(above, &path.ident.to_string()), found)
        }
        syn::UseTree::Group(group) => {
            group.items.iter().for_each(|tree| leaves(tree, above, found))
        }
        syn::UseTree::Glob(_) => found.push(Imported { name: None, path: above.to_vec() }),
        syn::UseTree::Name(name) if name.ident == "self" => {
            found.push(Imported { name: above.last().cloned(), path: above.to_vec() });
        }
        syn::UseTree::Name(name) => {
            let name = name.ident.to_string();
            found.push(Imported { path: child(above, &name), name: Some(name) });
        }
        syn::UseTree::Rename(rename) if rename.ident == "self" => {
            found.push(Imported { name: Some(rename.rename.to_string()), path: above.to_vec() });
        }
        syn::UseTree::Rename(rename) => {
            let path = child(above, &rename.ident.to_string());
            found.push(Imported { name: Some(rename.rename.to_string()), path });
        }
    }
}

/// Notes what a file uses.
struct Uses<'a> {
    modules: &'a Modules,
    file: usize,
    module: Vec<String>,
    edges: &'a mut BTreeMap<Edge, usize>,
}

impl Uses<'_> {
    fn note(&mut self, path: &[String], line: usize) {
        let Some(target) = self.modules.resolve(&self.module, path, &mut Seen::new()) else {
            return;
        };
        if target.item.is_some() && target.file != self.file {
            let edge = Edge { from: self.file, to: target.file };
            self.edges.entry(edge).or_insert(line);
        }
    }

    /// A private glob may bring in anything, so it counts as a use of the module itself.
    fn note_glob(&mut self, path: &[String], line: usize) {
        let target = self.modules.resolve(&self.module, path, &mut Seen::new());
        if let Some(to) = target.map(|target| target.file).filter(|&to| to != self.file) {
            self.edges.entry(Edge { from: self.file, to }).or_insert(line);
        }
    }

    /// Paths inside of macro calls, which are not parsed.
    fn note_tokens(&mut self, tokens: TokenStream) {
        let mut path: Vec<String> = Vec::new();
        let mut line = 0;
        let mut colons = 0;
        for token in tokens {
            match token {
                TokenTree::Punct(mark) if mark.as_char() == ':' => colons += 1,
                TokenTree::Ident(ident) => {
                    if colons != 2 {
                        self.note(&std::mem::take(&mut path), line);
                    }
                    line = ident.span().start().line;
                    path.push(ident.to_string());
                    colons = 0;
                }
                other => {
                    self.note(&std::mem::take(&mut path), line);
                    colons = 0;
                    if let TokenTree::Group(group) = other {
                        self.note_tokens(group.stream());
                    }
                }
            }
        }
        self.note(&path, line);
    }
}

impl<'ast> Visit<'ast> for Uses<'_> {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        self.module.push(item.ident.to_string());
        visit::visit_item_mod(self, item);
        self.module.pop();
    }

    /// A re-export is an edge only where the file uses the name, which `visit_path` finds.
    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        if !matches!(item.vis, syn::Visibility::Inherited) {
            return;
        }
        let line = item.use_token.span.start().line;
        for import in imports(&item.tree) {
            match import.name {
                Some(_) => self.note(&import.path, line),
                None => self.note_glob(&import.path, line),
            }
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names: Vec<String> =
            path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        let line = path.segments.first().map_or(0, |segment| segment.ident.span().start().line);
        self.note(&names, line);
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        self.note_tokens(call.tokens.clone());
        visit::visit_macro(self, call);
    }
}

#[cfg(test)]
mod tests {
    use super::super::packages::tests::package;
    use super::*;

    /// The edges as `from > to`, by the names of the files.
    fn check(files: &[(&str, &str)], expected: &[&str]) {
        let package = package(files);
        let name = |file: usize| package.sources[file].name.trim_start_matches("crates/a/src/");
        let found: Vec<String> = edges(&package)
            .keys()
            .map(|edge| format!("{} > {}", name(edge.from), name(edge.to)))
            .collect();
        assert_eq!(found, expected, "{files:?}");
    }

    #[test]
    fn imports_are_edges() {
        let b = "use crate::c::C;\nuse super::d::{self, e as f, *};\nuse std::fmt;";
        check(
            &[("lib.rs", ""), ("b.rs", b), ("c.rs", "pub struct C;"), ("d.rs", "pub fn e() {}")],
            &["b.rs > c.rs", "b.rs > d.rs"],
        );
    }

    #[test]
    fn inline_paths_are_edges() {
        let used = ("c.rs", "pub fn c() {}");
        check(&[("lib.rs", ""), ("b.rs", "fn f() { crate::c::c() }"), used], &["b.rs > c.rs"]);
        check(
            &[("lib.rs", ""), ("b.rs", "use crate::c;\nfn f() { c::c() }"), used],
            &["b.rs > c.rs"],
        );
        check(
            &[("lib.rs", ""), ("b.rs", "fn f() { assert!(x, crate::c::c()) }"), used],
            &["b.rs > c.rs"],
        );
        check(&[("lib.rs", "mod c;\nfn f() { c::c() }"), used], &["lib.rs > c.rs"]);
    }

    #[test]
    fn a_module_alone_is_no_edge() {
        check(
            &[("lib.rs", "mod c;"), ("b.rs", "use crate::c;"), ("c.rs", "pub(super) fn c() {}")],
            &[],
        );
    }

    #[test]
    fn facades_are_seen_through() {
        let root = ("lib.rs", "mod b;\nmod c;\npub use c::*;\npub use b::B as Name;");
        check(
            &[root, ("b.rs", "pub struct B;\nuse crate::c;"), ("c.rs", "use crate::Name;")],
            &["c.rs > b.rs"],
        );
        check(
            &[root, ("b.rs", "pub struct B;\nuse crate::d;"), ("c.rs", "pub fn d() {}")],
            &["b.rs > c.rs"],
        );
        let root = ("lib.rs", "mod b;\npub use b::B;\nfn f() -> B { B }");
        check(&[root, ("b.rs", "pub struct B;")], &["lib.rs > b.rs"]);
    }
}
