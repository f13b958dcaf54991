//! The sources of each package as syntax trees, with test code removed.
//!
//! Knows nothing of any rule: what may import what is the business of `layers`, `imports` and
//! `types`.

use super::problem::{Problem, Text};

/// A package of the workspace and its sources.
pub(super) struct Package {
    /// Its folder below `crates/`, or the folder itself (`memory`, `xtask`, `fuzz/targets`).
    pub(super) name: String,
    pub(super) sources: Vec<Source>,
}

/// A source file that is compiled outside of tests.
pub(super) struct Source {
    /// The path in the repository.
    pub(super) name: String,
    /// The module that the file holds; empty for the root.
    pub(super) module: Vec<String>,
    pub(super) syntax: syn::File,
}

/// Folders of packages whose sources are not checked: a workspace of their own, or nothing but
/// `main`.
const UNCHECKED: [&str; 3] = ["bench", "fuzz", "memvid"];

/// All packages with sources, and a problem for each file that does not parse.
pub(super) fn packages(texts: &[Text]) -> (Vec<Package>, Vec<Problem>) {
    let mut problems = Vec::new();
    let mut found = Vec::new();
    for folder in folders(texts) {
        let name = folder.strip_prefix("crates/").unwrap_or(folder).to_owned();
        let sources = sources(texts, folder, &mut problems);
        if !sources.is_empty() {
            found.push(Package { name, sources });
        }
    }
    (found, problems)
}

/// Folders with a manifest, the root excepted.
pub(super) fn folders(texts: &[Text]) -> impl Iterator<Item = &str> {
    let manifests = texts.iter().filter_map(|text| text.name.strip_suffix("/Cargo.toml"));
    manifests.filter(|folder| !UNCHECKED.contains(folder) && !folder.starts_with("bench/"))
}

fn sources(texts: &[Text], folder: &str, problems: &mut Vec<Problem>) -> Vec<Source> {
    let top = format!("{folder}/src/");
    let mut sources = Vec::new();
    for text in texts.iter().filter(|text| text.name.starts_with(&top)) {
        let Some(module) = text.name[top.len()..].strip_suffix(".rs").map(module) else {
            continue;
        };
        match syn::parse_file(&text.content) {
            Ok(syntax) => sources.push(Source { name: text.name.clone(), module, syntax }),
            Err(error) => problems.push(Problem::new(
                &text.name,
                error.span().start().line,
                error.to_string(),
            )),
        }
    }
    drop_second_root(&mut sources);
    drop_tests(&mut sources);
    sources
}

/// The module of a path below `src`, without its ending: `a/mod` and `a` are both the module `a`.
fn module(path: &str) -> Vec<String> {
    let mut module: Vec<String> = path.split('/').map(str::to_owned).collect();
    let last = module.last().map(String::as_str);
    if last == Some("mod") || (module.len() == 1 && matches!(last, Some("lib" | "main"))) {
        module.pop();
    }
    module
}

/// Beside a `lib.rs`, `main.rs` is a program that calls the library.
fn drop_second_root(sources: &mut Vec<Source>) {
    if sources.iter().any(|source| source.name.ends_with("/src/lib.rs")) {
        sources.retain(|source| !source.name.ends_with("/src/main.rs"));
    }
}

/// Drops items under `#[cfg(test)]`, and files whose `mod` line stands under it.
fn drop_tests(sources: &mut Vec<Source>) {
    let mut dropped: Vec<Vec<String>> = Vec::new();
    for source in sources.iter_mut() {
        drop_test_items(&mut source.syntax.items, &source.module, &mut dropped);
    }
    sources.retain(|source| !dropped.iter().any(|module| source.module.starts_with(module)));
}

fn drop_test_items(items: &mut Vec<syn::Item>, module: &[String], dropped: &mut Vec<Vec<String>>) {
    items.retain_mut(|item| {
        let test = attributes(item).iter().any(is_test);
        if let syn::Item::Mod(inner) = item {
            let path = child(module, &inner.ident.to_string());
            match &mut inner.content {
                Some((_, items)) if !test => drop_test_items(items, &path, dropped),
                None if test => dropped.push(path),
                _ => {}
            }
        }
        !test
    });
}

/// `module::name`.
pub(super) fn child(module: &[String], name: &str) -> Vec<String> {
    module.iter().cloned().chain([name.to_owned()]).collect()
}

fn attributes(item: &syn::Item) -> &[syn::Attribute] {
    match item {
        syn::Item::Const(item) => &item.attrs,
        syn::Item::Enum(item) => &item.attrs,
        syn::Item::Fn(item) => &item.attrs,
        syn::Item::Impl(item) => &item.attrs,
        syn::Item::Mod(item) => &item.attrs,
        syn::Item::Struct(item) => &item.attrs,
        syn::Item::Trait(item) => &item.attrs,
        syn::Item::Type(item) => &item.attrs,
        syn::Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

fn is_test(attribute: &syn::Attribute) -> bool {
    let syn::Meta::List(list) = &attribute.meta else {
        return false;
    };
    let condition = list.tokens.to_string();
    list.path.is_ident("cfg") && (condition == "test" || condition.starts_with("all (test"))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// The package `crates/a` with these sources, named by their paths below `src`.
    pub(in super::super) fn package(files: &[(&str, &str)]) -> Package {
        let manifest = Text::new("crates/a/Cargo.toml", "[package]\nname = \"kapsa-a\"\n");
        let sources =
            files.iter().map(|(path, code)| Text::new(&format!("crates/a/src/{path}"), code));
        let texts: Vec<Text> = [manifest].into_iter().chain(sources).collect();
        let (mut found, problems) = packages(&texts);
        assert_eq!(problems, []);
        found.remove(0)
    }

    #[test]
    fn files_are_modules() {
        let package = package(&[
            ("lib.rs", ""),
            ("main.rs", ""),
            ("b.rs", ""),
            ("c/mod.rs", ""),
            ("c/d.rs", ""),
        ]);
        let modules: Vec<String> =
            package.sources.iter().map(|source| source.module.join("::")).collect();
        assert_eq!(
            (package.name.as_str(), modules),
            ("a", ["", "b", "c", "c::d"].map(str::to_owned).to_vec())
        );
    }

    #[test]
    fn tests_are_dropped() {
        let root =
            "#[cfg(test)]\nmod tests;\n#[cfg(test)]\nmod inner { fn f() {} }\n#[cfg(unix)]\nmod b;";
        let package =
            package(&[("lib.rs", root), ("tests.rs", ""), ("tests/deep.rs", ""), ("b.rs", "")]);
        assert_eq!(package.sources.len(), 2);
        assert_eq!(package.sources[0].syntax.items.len(), 1);
    }

    #[test]
    fn a_file_that_does_not_parse_is_a_problem() {
        let texts =
            [Text::new("xtask/Cargo.toml", ""), Text::new("xtask/src/a.rs", "fn f() {}\nfn {\n")];
        let (found, problems) = packages(&texts);
        assert!(found.is_empty());
        assert_eq!((problems.len(), problems[0].line), (1, 2));
    }
}
