//! Assertions per line in the crates that hold bytes. What they assert is for a reader to judge.

use syn::visit::{self, Visit};

use super::packages::{Package, Source};
use super::problem::{Problem, Text};

/// Packages that must assert what they promise each other.
const PACKAGES: [&str; 2] = ["capsule", "index"];
/// Assertions that such a package has at least for each thousand lines without its tests.
const PER_THOUSAND_LINES_MIN: usize = 10;
const ASSERTIONS: [&str; 6] =
    ["assert", "assert_eq", "assert_ne", "debug_assert", "debug_assert_eq", "debug_assert_ne"];

/// The problem of a package that asserts too little; prints what was counted.
pub(super) fn too_few(package: &Package, texts: &[Text]) -> Option<Problem> {
    if !PACKAGES.contains(&package.name.as_str()) {
        return None;
    }
    let assertions: usize = package.sources.iter().map(assertions).sum();
    let lines: usize = package.sources.iter().map(|source| lines(source, texts)).sum();
    println!("{}: {assertions} assertions in {lines} lines", package.name);
    let message = format!(
        "{}: {assertions} assertions in {lines} lines, fewer than {PER_THOUSAND_LINES_MIN} per 1,000",
        package.name
    );
    let file = package.sources.first().map_or("", |source| &source.name);
    (assertions * 1000 < lines * PER_THOUSAND_LINES_MIN).then(|| Problem::new(file, 1, message))
}

/// Lines of a source before its module of tests.
fn lines(source: &Source, texts: &[Text]) -> usize {
    let text = texts.iter().find(|text| text.name == source.name);
    let lines: Vec<&str> = text.map(|text| text.content.lines().collect()).unwrap_or_default();
    let tests =
        lines.windows(2).position(|pair| pair[0].starts_with("#[cfg(") && pair[1] == "mod tests {");
    tests.unwrap_or(lines.len())
}

fn assertions(source: &Source) -> usize {
    let mut counter = Counter(0);
    counter.visit_file(&source.syntax);
    counter.0
}

struct Counter(usize);

impl<'a> Visit<'a> for Counter {
    fn visit_macro(&mut self, call: &'a syn::Macro) {
        self.0 += usize::from(ASSERTIONS.iter().any(|name| call.path.is_ident(name)));
        visit::visit_macro(self, call);
    }
}

#[cfg(test)]
mod tests {
    use super::super::packages::packages;
    use super::*;

    fn check(package: &str, code: &str, expected: Option<&str>) {
        let manifest = Text::new(&format!("crates/{package}/Cargo.toml"), "");
        let texts = [manifest, Text::new(&format!("crates/{package}/src/lib.rs"), code)];
        let (packages, problems) = packages(&texts);
        assert_eq!(problems, []);
        let found = too_few(&packages[0], &texts).map(|problem| problem.message);
        assert_eq!(found.as_deref(), expected);
    }

    #[test]
    fn too_few_fire() {
        let code = format!("fn f() {{ assert!(true) }}\n{}", "//\n".repeat(100));
        check("index", &code, Some("index: 1 assertions in 101 lines, fewer than 10 per 1,000"));
        check("memory", &code, None);
    }

    #[test]
    fn tests_do_not_count() {
        let tests = "#[cfg(test)]\nmod tests {\n    fn f() { assert!(true) }\n}\n";
        check(
            "capsule",
            &format!("fn f() {{ debug_assert_eq!(1, 1) }}\n{tests}{}", "//\n".repeat(100)),
            None,
        );
        check(
            "capsule",
            &format!("//\n{tests}"),
            Some("capsule: 0 assertions in 1 lines, fewer than 10 per 1,000"),
        );
    }
}
