//! Which crates may a crate not depend on? Development dependencies are free: tests may use what they like.

use super::Problem;

/// A package and the dependencies it must not have; a trailing `*` stands for any ending.
const FORBIDDEN: [(&str, &[&str]); 6] = [
    ("capsule", &["serde", "serde_json", "tokio", "tantivy", "kapsa-*"]),
    ("index", &["kapsa-*", "serde_json"]),
    ("model", &["clap", "tokio", "reqwest", "ureq", "tantivy", "kapsa", "kapsa-*"]),
    ("memory", &["clap", "tokio", "reqwest", "ureq", "kapsa-embed", "kapsa-http"]),
    ("http", &["clap", "tokio", "kapsa", "kapsa-capsule", "kapsa-index", "kapsa-memory", "kapsa-embed"]),
    ("embed", &["clap", "tokio", "reqwest", "ureq", "kapsa", "kapsa-capsule", "kapsa-index", "kapsa-memory", "kapsa-http"]),
];

/// Dependencies in the manifest `name` that its crate must not have.
pub(super) fn forbidden(name: &str, text: &str) -> Vec<Problem> {
    let package = name.strip_prefix("crates/").and_then(|rest| rest.strip_suffix("/Cargo.toml"));
    let Some((package, banned)) = FORBIDDEN.iter().find(|(crate_name, _)| Some(*crate_name) == package) else {
        return Vec::new();
    };
    let bad = dependencies(text).into_iter().filter(|(_, dependency)| banned.iter().any(|ban| matches(ban, dependency)));
    bad.map(|(line, dependency)| Problem::new(name, line, format!("{package} must not depend on {dependency}"))).collect()
}

fn matches(ban: &str, dependency: &str) -> bool {
    match ban.strip_suffix('*') {
        Some(start) => dependency.starts_with(start),
        None => dependency == ban,
    }
}

/// The dependencies of a manifest that end up in the crate, with their lines.
fn dependencies(manifest: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut inside = false;
    for (at, line) in manifest.lines().map(str::trim).enumerate() {
        if let Some(table) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            let (own, named) = section(table);
            inside = own;
            found.extend(named.map(|name| (at + 1, name)));
        } else if inside && !line.starts_with('#') {
            let key = line.split(['=', '.']).next().unwrap_or_default().trim().trim_matches('"');
            let renamed = line.split_once("package = \"").and_then(|(_, rest)| rest.split('"').next());
            found.extend(
                [Some(key), renamed].into_iter().flatten().filter(|key| !key.is_empty()).map(|key| (at + 1, key.to_owned())),
            );
        }
    }
    found
}

/// Whether the entries of this table are dependencies, and the dependency that the table itself is.
fn section(table: &str) -> (bool, Option<String>) {
    let kinds = ["dependencies", "build-dependencies"];
    let last = |rest: &str| {
        kinds.iter().any(|kind| rest == *kind || (table.starts_with("target.") && rest.ends_with(&format!(".{kind}"))))
    };
    if last(table) {
        return (true, None);
    }
    match table.rsplit_once('.') {
        Some((rest, name)) if last(rest) => (false, Some(name.trim_matches('"').to_owned())),
        _ => (false, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(package: &str, manifest: &str, expected: &[&str]) {
        let found = forbidden(&format!("crates/{package}/Cargo.toml"), manifest);
        let found: Vec<String> = found.iter().map(Problem::to_string).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn forbidden_edges_fire() {
        check("capsule", "[dependencies]\nserde = \"1\"\n", &["crates/capsule/Cargo.toml:2: capsule must not depend on serde"]);
        check(
            "capsule",
            "[dependencies.tokio]\nversion = \"1\"\n",
            &["crates/capsule/Cargo.toml:1: capsule must not depend on tokio"],
        );
        check(
            "index",
            "[dependencies]\n\nkapsa-capsule.workspace = true\n",
            &["crates/index/Cargo.toml:3: index must not depend on kapsa-capsule"],
        );
        check(
            "memory",
            "[target.'cfg(unix)'.dependencies]\nclap = \"4\"\n",
            &["crates/memory/Cargo.toml:2: memory must not depend on clap"],
        );
        check(
            "memory",
            "[dependencies]\nweb = { package = \"reqwest\" }\n",
            &["crates/memory/Cargo.toml:2: memory must not depend on reqwest"],
        );
        check(
            "memory",
            "[dependencies]\nkapsa-embed.workspace = true\n",
            &["crates/memory/Cargo.toml:2: memory must not depend on kapsa-embed"],
        );
        check(
            "embed",
            "[dependencies]\nkapsa-memory.workspace = true\n",
            &["crates/embed/Cargo.toml:2: embed must not depend on kapsa-memory"],
        );
        for package in ["capsule", "index", "model", "memory", "embed"] {
            let expected = format!("crates/{package}/Cargo.toml:2: {package} must not depend on kapsa-http");
            check(package, "[dependencies]\nkapsa-http.workspace = true\n", &[&expected]);
        }
        check(
            "http",
            "[dependencies]\nkapsa-model.workspace = true\nkapsa-capsule.workspace = true\n",
            &["crates/http/Cargo.toml:3: http must not depend on kapsa-capsule"],
        );
    }

    #[test]
    fn other_edges_are_free() {
        check("capsule", "[dependencies]\nbytes = \"1\"\n[dev-dependencies]\nserde = \"1\"\n", &[]);
        check("capsule", "[package]\nname = \"tokio\"\n", &[]);
        check("cli", "[dependencies]\nclap = \"4\"\nkapsa-http.workspace = true\n", &[]);
    }
}
