//! The size of a type and its name: counts methods over all inherent blocks, and definitions by
//! name.

use std::collections::BTreeMap;

use syn::visit::{self, Visit};

use super::imports::Modules;
use super::packages::Package;
use super::problem::Problem;
use super::ratchet::{Allowance, Measured, Ratchet};

/// Methods of a type at most: functions that take `self`, private ones among them.
const METHODS_MAX: usize = 20;
/// Types that still have more.
const METHODS_ALLOWED: [Allowance; 6] = [
    Allowance::of("agents::AgentMemory", 35),
    Allowance::of("agents::MemoryFilesystem", 38),
    Allowance::of("capsule::Inner", 25),
    Allowance::of("capsule::Snapshot", 28),
    Allowance::of("cli::App", 24),
    Allowance::of("index::TimeReader", 39),
];
/// Names that a package still gives to several types, and to how many.
const NAMES_ALLOWED: [Allowance; 1] = [Allowance::of("fuzz/targets::Seen", 2)];

/// A type and its methods.
pub(super) struct Methods {
    pub(super) package: String,
    pub(super) name: String,
    pub(super) file: String,
    pub(super) methods: Vec<String>,
}

/// All types of `package` that have methods, the largest first.
pub(super) fn methods(package: &Package) -> Vec<Methods> {
    let modules = Modules::of(package);
    let mut found: BTreeMap<(usize, String), Vec<String>> = BTreeMap::new();
    for (file, source) in package.sources.iter().enumerate() {
        let module = source.module.clone();
        Blocks { modules: &modules, file, module, found: &mut found }.visit_file(&source.syntax);
    }
    let file = |at: usize| package.sources[at].name.clone();
    let of = |((at, name), methods)| Methods {
        package: package.name.clone(),
        name,
        file: file(at),
        methods,
    };
    let mut types: Vec<Methods> = found.into_iter().map(of).collect();
    types.sort_by_key(|methods| std::cmp::Reverse(methods.methods.len()));
    types
}

/// Types with too many methods.
pub(super) fn too_many<'a>(types: impl Iterator<Item = &'a Methods>) -> Vec<Problem> {
    let measured = types.map(|methods| Measured {
        what: format!("{}::{}", methods.package, methods.name),
        number: methods.methods.len(),
        file: methods.file.clone(),
        line: 1,
        detail: methods.methods.join(" "),
    });
    let ratchet = Ratchet { rule: "methods", limit: METHODS_MAX, allowed: &METHODS_ALLOWED };
    ratchet.check(measured.collect(), file!())
}

/// Reads inherent blocks.
struct Blocks<'a> {
    modules: &'a Modules,
    file: usize,
    module: Vec<String>,
    found: &'a mut BTreeMap<(usize, String), Vec<String>>,
}

impl<'ast> Visit<'ast> for Blocks<'_> {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        self.module.push(item.ident.to_string());
        visit::visit_item_mod(self, item);
        self.module.pop();
    }

    fn visit_item_impl(&mut self, block: &'ast syn::ItemImpl) {
        let syn::Type::Path(of) = &*block.self_ty else {
            return;
        };
        if block.trait_.is_some() {
            return;
        }
        let path: Vec<String> =
            of.path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        let unknown = || (self.file, path.last().cloned().unwrap_or_default());
        let of = self.modules.definition(&self.module, &path).unwrap_or_else(unknown);
        let functions = block.items.iter().filter_map(|item| match item {
            syn::ImplItem::Fn(function) if function.sig.receiver().is_some() => {
                Some(function.sig.ident.to_string())
            }
            _ => None,
        });
        self.found.entry(of).or_default().extend(functions);
    }
}

/// A definition of a type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Definition {
    pub(super) file: String,
    pub(super) line: usize,
}

/// The names that `package` gives to more than one type.
pub(super) fn same_names(package: &Package) -> BTreeMap<String, Vec<Definition>> {
    let mut names = BTreeMap::new();
    for source in &package.sources {
        Definitions { file: &source.name, names: &mut names }.visit_file(&source.syntax);
    }
    names.retain(|_, places: &mut Vec<Definition>| places.len() > 1);
    names
}

/// Names that stand for several types.
pub(super) fn ambiguous(
    packages: &[(&Package, &BTreeMap<String, Vec<Definition>>)],
) -> Vec<Problem> {
    let mut measured = Vec::new();
    for (package, names) in packages {
        measured.extend(names.iter().map(|(name, places)| {
            Measured {
                what: format!("{}::{name}", package.name),
                number: places.len(),
                file: places[0].file.clone(),
                line: places[0].line,
                detail: places
                    .iter()
                    .map(|place| format!("{}:{}", place.file, place.line))
                    .collect::<Vec<_>>()
                    .join(" "),
            }
        }));
    }
    Ratchet { rule: "types of one name", limit: 1, allowed: &NAMES_ALLOWED }
        .check(measured, file!())
}

/// Reads definitions of types.
struct Definitions<'a> {
    file: &'a str,
    names: &'a mut BTreeMap<String, Vec<Definition>>,
}

impl Definitions<'_> {
    fn note(&mut self, name: &syn::Ident) {
        let place = Definition { file: self.file.to_owned(), line: name.span().start().line };
        self.names.entry(name.to_string()).or_default().push(place);
    }
}

impl<'ast> Visit<'ast> for Definitions<'_> {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        match item {
            syn::Item::Enum(item) => self.note(&item.ident),
            syn::Item::Struct(item) => self.note(&item.ident),
            syn::Item::Trait(item) => self.note(&item.ident),
            syn::Item::Type(item) => self.note(&item.ident),
            syn::Item::Union(item) => self.note(&item.ident),
            _ => {}
        }
        visit::visit_item(self, item);
    }
}

#[cfg(test)]
mod tests {
    use super::super::packages::tests::package;
    use super::*;

    #[test]
    fn methods_are_counted_over_all_blocks() {
        let b = "pub struct B;\nimpl B { pub fn new() -> B { B }\nfn one(&self) {} }\nimpl Drop for B { fn drop(&mut self) {} }";
        let c = "use crate::b::B;\nstruct C;\nimpl B { pub(crate) fn two(self) {} }\nimpl C { fn f(&mut self) {} }";
        let found = methods(&package(&[("lib.rs", "pub use b::B;"), ("b.rs", b), ("c.rs", c)]));
        let found: Vec<String> =
            found.iter().map(|of| format!("{} {}", of.name, of.methods.join(" "))).collect();
        assert_eq!(found, ["B one two", "C f"]);
    }

    #[test]
    fn names_are_compared_over_all_files() {
        let c = "enum B {}\ntype C = u8;\n#[cfg(test)]\nmod tests { struct C; }";
        let names = same_names(&package(&[("lib.rs", ""), ("b.rs", "struct B;"), ("c.rs", c)]));
        let found: Vec<String> =
            names.iter().map(|(name, places)| format!("{name} {}", places.len())).collect();
        assert_eq!(found, ["B 2"]);
    }
}
