//! The rules of the repository that a machine can check, without compiling anything.
//!
//! Each rule is a function from text to problems, so that its test shows it firing. A file is
//! checked when git tracks it or would: a new file must be tidy before it is added, not after. What
//! clippy can check, clippy checks (`clippy.toml`).

mod assertions;
mod columns;
mod cycles;
mod files;
mod folders;
mod imports;
mod layers;
mod packages;
mod paths;
mod problem;
mod ratchet;
mod types;

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::Path;
use std::process::Command;

use folders::Import;
use imports::Edge;
use packages::Package;
use problem::{Problem, Text};
use types::{Definition, Methods};

/// Checks all files and prints what was measured; the error lists every problem as `file:line:
/// message`. With `--fix`, the line counts of `docs/architecture.md` are set right.
pub(crate) fn run(repository: &Path, args: &[String]) -> Result<(), String> {
    let fix = match args {
        [] => false,
        [flag] if flag == "--fix" => true,
        _ => return Err("usage: cargo xtask tidy [--fix]".to_owned()),
    };
    let mut texts = texts(repository)?;
    if fix && let Some(mended) = paths::check(&texts).mended {
        let written = fs::write(repository.join(&mended.name), &mended.content);
        written.map_err(|error| format!("cannot write {}: {error}", mended.name))?;
        texts = self::texts(repository)?;
    }
    let problems = check(&texts);
    if problems.is_empty() {
        return Ok(());
    }
    let lines: Vec<String> = problems.iter().map(Problem::to_string).collect();
    Err(format!("{}\ntidy: {} problems", lines.join("\n"), lines.len()))
}

fn check(texts: &[Text]) -> Vec<Problem> {
    let mut problems = files::problems(texts);
    problems.extend(columns::too_wide(texts));
    let folders: Vec<&str> = packages::folders(texts).collect();
    problems.extend(layers::problems(texts, &folders));
    let paths = paths::check(texts);
    problems.extend(paths.problems);
    let (packages, unparsed) = packages::packages(texts);
    problems.extend(unparsed);
    let shapes: Vec<Shape> = packages.iter().map(Shape::of).collect();
    problems.extend(check_shapes(&shapes));
    problems.extend(packages.iter().filter_map(|package| assertions::too_few(package, texts)));
    for shape in &shapes {
        println!("{shape}");
    }
    for path in &paths.paths {
        println!("{}: {} files, {} lines", path.marker, path.files, path.lines);
    }
    problems
}

/// How a package is built from its files.
struct Shape<'a> {
    package: &'a Package,
    edges: BTreeMap<Edge, usize>,
    cycles: Vec<Vec<String>>,
    methods: Vec<Methods>,
    same_names: BTreeMap<String, Vec<Definition>>,
}

impl<'a> Shape<'a> {
    fn of(package: &'a Package) -> Self {
        let edges = imports::edges(package);
        let cycles = cycles::cycles(package, edges.keys().copied());
        Self {
            package,
            cycles,
            edges,
            methods: types::methods(package),
            same_names: types::same_names(package),
        }
    }
}

fn check_shapes(shapes: &[Shape]) -> Vec<Problem> {
    let largest = |shape: &Shape| shape.cycles.first().cloned().unwrap_or_default();
    let cycles: Vec<_> = shapes.iter().map(|shape| (shape.package, largest(shape))).collect();
    let mut problems = cycles::too_large(&cycles);
    problems.extend(types::too_many(shapes.iter().flat_map(|shape| &shape.methods)));
    let names: Vec<_> = shapes.iter().map(|shape| (shape.package, &shape.same_names)).collect();
    problems.extend(types::ambiguous(&names));
    let imports = shapes.iter().flat_map(|shape| {
        shape.edges.iter().map(|(&edge, &line)| Import { package: shape.package, edge, line })
    });
    problems.extend(folders::upward(imports));
    problems
}

impl fmt::Display for Shape<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cycles: Vec<String> = self.cycles.iter().map(|files| files.len().to_string()).collect();
        let methods =
            self.methods.iter().take(3).map(|of| format!("{} {}", of.name, of.methods.len()));
        let methods: Vec<String> = methods.collect();
        let list = |of: Vec<String>| if of.is_empty() { "none".to_owned() } else { of.join(", ") };
        let names = self
            .same_names
            .iter()
            .map(|(name, places)| format!("{name} ×{}", places.len()))
            .collect();
        write!(
            f,
            "{}: {} files; cycles: {}; most methods: {}; names of several types: {}",
            self.package.name,
            self.package.sources.len(),
            list(cycles),
            list(methods),
            list(names)
        )
    }
}

/// All files that are text.
fn texts(repository: &Path) -> Result<Vec<Text>, String> {
    let names = file_names(repository)?;
    // Tracked files may be deleted and not committed yet, and samples are not text: neither breaks
    // a rule about text.
    let read = |name: String| {
        Some(Text { content: fs::read_to_string(repository.join(&name)).ok()?, name })
    };
    Ok(names.into_iter().filter_map(read).collect())
}

fn file_names(repository: &Path) -> Result<Vec<String>, String> {
    let mut git = Command::new("git");
    git.current_dir(repository).args([
        "ls-files",
        "-z",
        "--cached",
        "--others",
        "--exclude-standard",
    ]);
    let output = git.output().map_err(|error| format!("failed to start git: {error}"))?;
    if !output.status.success() {
        return Err(format!(
            "git ls-files failed: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        ));
    }
    let names = String::from_utf8_lossy(&output.stdout);
    Ok(names.split('\0').filter(|name| !name.is_empty()).map(str::to_owned).collect())
}
