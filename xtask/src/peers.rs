//! `cargo xtask peers memvid`: the real SDKs of Memvid, for Python and for Node, write a file that
//! Kapsa imports, and open and search one that Kapsa exports.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::harness::scratch::Scratch;

const USAGE: &str = "usage: cargo xtask peers memvid";
/// The SDKs, from the registries of PyPI and npm.
const PYTHON_PACKAGE: &str = "memvid-sdk==2.0.160";
const NODE_PACKAGE: &str = "@memvid/sdk@2.0.159";
/// Each reads and writes in the same way: `write FILE`, and `read FILE URI...` as JSON.
const PYTHON_SCRIPT: &str = include_str!("../peers/memvid_files.py");
const NODE_SCRIPT: &str = include_str!("../peers/memvid_files.mjs");
const HELPER: &str = "kapsa-memvid";
/// A word that only one of the records has.
const RARE: &str = "ferret";

/// A peer: its name, and how it is started.
struct Sdk {
    name: &'static str,
    command: Vec<PathBuf>,
}

/// Runs the peers that `args` name.
pub(crate) fn run(repository: &Path, args: &[String]) -> Result<(), String> {
    if args != ["memvid"] {
        return Err(USAGE.to_owned());
    }
    let scratch = Scratch::new("peers")?;
    let (kapsa, helper) = programs(repository)?;
    let peers = [python(repository, scratch.path())?, node(repository, scratch.path())?];
    for peer in &peers {
        let folder = scratch.path().join(peer.name);
        fs::create_dir(&folder).map_err(|error| error.to_string())?;
        let ours = Ours { kapsa: &kapsa, helper: &helper, folder: &folder };
        imports(peer, &ours)?;
        exports(peer, &ours)?;
    }
    Ok(())
}

fn programs(repository: &Path) -> Result<(PathBuf, PathBuf), String> {
    let target = repository.join("target");
    let mut cargo = Command::new(env!("CARGO"));
    // With a test beside it, it is built with the features of the tests, which are built anyway.
    let build = ["build", "--workspace", "--bin", "kapsa", "--test", "corpus"];
    succeed(cargo.current_dir(repository).args(build))?;
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(repository.join("memvid")).args(["build", "--locked", "--release"]);
    succeed(cargo.arg("--target-dir").arg(target.join(HELPER)))?;
    Ok((target.join("debug/kapsa"), target.join(HELPER).join("release").join(HELPER)))
}

fn python(repository: &Path, scratch: &Path) -> Result<Sdk, String> {
    let packages = repository.join("target/peers/memvid-python");
    if !packages.join("bin/python").exists() {
        succeed(Command::new("python3").args(["-m", "venv"]).arg(&packages))?;
    }
    succeed(Command::new(packages.join("bin/pip")).args(["install", "--quiet", PYTHON_PACKAGE]))?;
    let script = scratch.join("memvid_files.py");
    fs::write(&script, PYTHON_SCRIPT).map_err(|error| error.to_string())?;
    Ok(Sdk { name: "python", command: vec![packages.join("bin/python"), script] })
}

fn node(repository: &Path, scratch: &Path) -> Result<Sdk, String> {
    let packages = repository.join("target/peers/memvid-node");
    fs::create_dir_all(&packages).map_err(|error| error.to_string())?;
    // Scripts of its dependencies fetch programs from elsewhere, which nothing here needs.
    let options = ["--ignore-scripts", "--legacy-peer-deps", "--silent"];
    let mut npm = Command::new("npm");
    succeed(npm.current_dir(&packages).arg("install").args(options).arg(NODE_PACKAGE))?;
    let script = scratch.join("memvid_files.mjs");
    fs::write(&script, NODE_SCRIPT).map_err(|error| error.to_string())?;
    let module = packages.join("node_modules/@memvid/sdk");
    Ok(Sdk { name: "node", command: vec!["node".into(), script, module] })
}

impl Sdk {
    fn call(&self, args: &[&str], folder: &Path) -> Result<String, String> {
        let mut command = Command::new(&self.command[0]);
        command.args(&self.command[1..]).args(args).current_dir(folder);
        output(command.env("MEMVID_TELEMETRY", "0"))
    }
}

/// Kapsa with a capsule in a folder.
struct Ours<'a> {
    kapsa: &'a Path,
    helper: &'a Path,
    folder: &'a Path,
}

impl Ours<'_> {
    fn json(&self, args: &[&str]) -> Result<Value, String> {
        let mut command = Command::new(self.kapsa);
        command.current_dir(self.folder).env("KAPSA_MEMVID", self.helper);
        let said = output(command.args(args).arg("--json"))?;
        serde_json::from_str(&said).map_err(|error| format!("{args:?}: {error}"))
    }
}

/// What the peer wrote is imported as it was.
fn imports(peer: &Sdk, ours: &Ours) -> Result<(), String> {
    let written = peer.call(&["write", "theirs.mv2"], ours.folder)?;
    let written: Value = serde_json::from_str(&written).map_err(|error| error.to_string())?;
    ours.json(&["init"])?;
    let told = ours.json(&["import", "theirs.mv2"])?;
    let written = written.as_array().ok_or("the peer wrote no list")?;
    let cards = told["source_count"].as_u64().unwrap_or_default() - written.len() as u64;
    if told["added"] != told["source_count"] || cards != 1 {
        return Err(format!("{}: not all was imported: {told}", peer.name));
    }
    let again = ours.json(&["import", "theirs.mv2"])?;
    if again["added"] != 0 || again["unchanged"] != told["source_count"] {
        return Err(format!("{}: again is not the same: {again}", peer.name));
    }
    let entries = ours.json(&["timeline", "--limit", "100"])?["records"].clone();
    for document in written {
        let title = &document["title"];
        let entries = entries.as_array().ok_or("no entries")?;
        let entry = entries.iter().find(|entry| entry["title"] == *title);
        let uri = entry.and_then(|entry| entry["uri"].as_str());
        let uri = uri.ok_or_else(|| format!("{}: {title} was not imported", peer.name))?;
        let record = ours.json(&["get", uri])?;
        let differ = |what: &str, here: &Value| {
            Err(format!("{}: the {what} of {title} is {here}, not {}", peer.name, document[what]))
        };
        if record["text"] != document["text"] {
            return differ("text", &record["text"]);
        }
        if record["metadata"].get("labels").unwrap_or(&json!([])) != &document["labels"] {
            return differ("labels", &record["metadata"]["labels"]);
        }
        for (name, value) in document["metadata"].as_object().into_iter().flatten() {
            if record["metadata"][name] != *value {
                return differ("metadata", &record["metadata"]);
            }
        }
    }
    println!("{}: {} documents and a card of the SDK were imported", peer.name, written.len());
    Ok(())
}

/// What we export is opened and searched by the peer.
fn exports(peer: &Sdk, ours: &Ours) -> Result<(), String> {
    let long = "A paragraph of a long text.\n\n".repeat(200);
    let records = [
        json!({"uri": "peer/one", "title": "One", "text": format!("The {RARE}\n\n  sleeps.\n"),
            "label": "ops", "metadata": {"n": 3, "who": "ann"}}),
        json!({"uri": "peer/long", "title": "Long", "text": long, "label": "doc"}),
    ];
    let lines: String = records.iter().map(|record| format!("{record}\n")).collect();
    let file = ours.folder.join("ours.jsonl");
    fs::write(&file, lines).map_err(|error| error.to_string())?;
    ours.json(&["create", "ours.kapsa"])?;
    let input = fs::File::open(&file).map_err(|error| error.to_string())?;
    let mut put = Command::new(ours.kapsa);
    put.current_dir(ours.folder).args(["--capsule", "ours.kapsa", "put", "--json", "-"]);
    succeed(put.stdin(input).stdout(Stdio::null()))?;
    let out = ["--capsule", "ours.kapsa", "export", "--format", "mv2", "--out", "ours.mv2"];
    ours.json(&out)?;
    let said = peer.call(&["read", "ours.mv2", RARE], ours.folder)?;
    let said: Value = serde_json::from_str(&said).map_err(|error| error.to_string())?;
    let found = |uri: &str| {
        let documents = said["documents"].as_array().into_iter().flatten();
        documents.clone().find(|document| document["uri"] == uri).cloned().unwrap_or_default()
    };
    let one = found("mv2://default/peer/one");
    let expected = json!({"uri": "mv2://default/peer/one", "title": "One",
        "text": records[0]["text"], "labels": ["ops"]});
    for (name, value) in expected.as_object().into_iter().flatten() {
        if one[name] != *value {
            return Err(format!("{}: {name} is {}, not {value}", peer.name, one[name]));
        }
    }
    let who = one["metadata"]["who"].as_str().unwrap_or_default();
    // The SDK for Node gives the metadata with what it finds alone.
    if !who.contains("ann") && !said["hits"].to_string().contains("ann") {
        return Err(format!("{}: the metadata is {}", peer.name, one["metadata"]));
    }
    if said["hits"][0]["title"] != "One" {
        return Err(format!("{}: {RARE} finds {}", peer.name, said["hits"]));
    }
    let documents = said["documents"].as_array().into_iter().flatten();
    let is_page = |document: &&Value| {
        document["uri"].as_str().is_some_and(|uri| uri.starts_with("mv2://default/peer/long"))
    };
    let pages = documents.filter(is_page).map(|page| page["text"].as_str().unwrap_or_default());
    if pages.collect::<String>() != long {
        return Err(format!("{}: the pages of the long text are not the text", peer.name));
    }
    println!("{}: the SDK opens, reads and searches what was exported", peer.name);
    Ok(())
}

fn succeed(command: &mut Command) -> Result<(), String> {
    let status = command.status().map_err(|error| format!("cannot start {command:?}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{command:?}: {status}")) }
}

fn output(command: &mut Command) -> Result<String, String> {
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("cannot start {command:?}: {error}"))?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() { Ok(said) } else { Err(format!("{command:?}: {said}")) }
}
