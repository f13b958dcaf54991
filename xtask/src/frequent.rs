//! Which functions frequent calls run, for the linker: `crates/cli/link/frequent-functions.txt`.
//! Needs valgrind and nm. The list is of one compiler and one state of the sources; what it names
//! and a build does not have is passed over there, so it need not be made anew for every change.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const LIST: &str = "crates/cli/link/frequent-functions.txt";
/// Functions whose symbols differ in their hash alone, of which all are meant: more than so many
/// are instances for other types, and only those are meant that ran.
const ALIKE_MAX: usize = 8;
/// Hexadecimal digits of the hash at the end of a mangled name.
const HASH_CHARS: usize = 16;

/// The calls, the most frequent ones first.
const CALLS: [&[&str]; 10] = [
    &["get", "note/p1"],
    &["info"],
    &["put", "--text", "another thing to remember"],
    &["put", "--text", "one that is found by words for now", "--embed", "later"],
    &["find", "which port"],
    &["find", "proxy", "--mode", "lex"],
    &["get", "note/p2", "--json"],
    &["context", "--query", "port"],
    &["timeline"],
    &["history", "note/p1"],
];

/// Writes the list anew, as the release build at `target/release/kapsa` runs.
pub(crate) fn run(repository: &Path) -> Result<(), String> {
    let program = repository.join("target/release/kapsa");
    let sizes = symbols(&program)?;
    let mut alike: HashMap<&str, usize> = HashMap::new();
    for name in sizes.keys() {
        *alike.entry(without_hash(name).unwrap_or(name)).or_default() += 1;
    }
    let mut used: BTreeMap<&str, u32> = BTreeMap::new();
    for (at, names) in calls(&program)?.iter().enumerate() {
        for name in names {
            if let Some((name, _)) = sizes.get_key_value(name.as_str()) {
                *used.entry(name).or_default() |= 1 << at;
            }
        }
    }
    let bytes: u64 = used.keys().map(|name| sizes[*name]).sum();
    let mut order: Vec<(&str, u32)> = used.into_iter().collect();
    order.sort_by_key(|(name, calls)| (u32::MAX - calls.count_ones(), *calls, *name));
    let mut list = Vec::new();
    for (name, _) in order {
        let pattern = match without_hash(name) {
            Some(stem) if alike[stem] <= ALIKE_MAX => format!("{stem}*"),
            _ => any_copy(name),
        };
        if !list.contains(&pattern) {
            list.push(pattern);
        }
    }
    let text = list.join("\n") + "\n";
    fs::write(repository.join(LIST), text).map_err(|error| format!("cannot write: {error}"))?;
    println!("{} patterns for functions of {bytes} bytes in {LIST}", list.len());
    Ok(())
}

/// A name up to the hash of the older way to mangle names.
fn without_hash(name: &str) -> Option<&str> {
    let at = name.rfind("17h")?;
    let hash = &name[at + 3..];
    let digits = hash.bytes().take_while(u8::is_ascii_hexdigit).count();
    (name.starts_with("_ZN") && digits >= HASH_CHARS).then(|| &name[..at + 3])
}

/// The code generator numbers the copies of a function that it shares between units.
fn any_copy(name: &str) -> String {
    match name.split_once(".llvm.") {
        Some((name, _)) => format!("{name}.llvm.*"),
        None => name.to_string(),
    }
}

/// The functions of a program and their sizes in bytes.
fn symbols(program: &Path) -> Result<HashMap<String, u64>, String> {
    let listed = output(Command::new("nm").args(["-S", "--defined-only"]).arg(program))?;
    let symbol = |line: &str| {
        let mut words = line.split(' ').skip(1);
        let (size, kind, name) = (words.next()?, words.next()?, words.next()?);
        let size = u64::from_str_radix(size, 16).ok()?;
        matches!(kind, "t" | "T" | "w" | "W").then(|| (name.to_string(), size))
    };
    Ok(listed.lines().filter_map(symbol).collect())
}

/// The names of the functions that each call runs.
fn calls(program: &Path) -> Result<Vec<Vec<String>>, String> {
    let folder = std::env::temp_dir().join(format!("kapsa-frequent-{}", std::process::id()));
    fs::create_dir(&folder).map_err(|error| format!("cannot make a folder: {error}"))?;
    let names = in_folder(program, &folder);
    let removed = fs::remove_dir_all(&folder);
    removed.map_err(|error| format!("cannot remove {}: {error}", folder.display()))?;
    names
}

fn in_folder(program: &Path, folder: &Path) -> Result<Vec<Vec<String>>, String> {
    let kapsa = |args: &[&str]| output(Command::new(program).current_dir(folder).args(args));
    kapsa(&["init"])?;
    for n in 1..=3 {
        let (uri, text) = (format!("note/p{n}"), format!("the port of the proxy is 808{n}"));
        kapsa(&["put", "--uri", &uri, "--text", &text])?;
    }
    let traced: PathBuf = folder.join("trace");
    let mut all = Vec::new();
    for args in CALLS {
        let mut valgrind = Command::new("valgrind");
        valgrind.args(["--tool=callgrind", "--demangle=no", "--quiet"]);
        valgrind.arg(format!("--callgrind-out-file={}", traced.display()));
        output(valgrind.arg(program).current_dir(folder).args(args))?;
        let text = fs::read_to_string(&traced).map_err(|error| format!("no trace: {error}"))?;
        let name = |line: &str| {
            let (_, name) =
                line.strip_prefix('c').unwrap_or(line).strip_prefix("fn=")?.split_once(' ')?;
            // Behind an apostrophe stands how often it calls itself.
            Some(name.split('\'').next()?.to_string())
        };
        all.push(text.lines().filter_map(name).collect());
    }
    Ok(all)
}

fn output(command: &mut Command) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let done = command.output().map_err(|error| format!("cannot start {name}: {error}"))?;
    if !done.status.success() {
        return Err(format!("{name} failed: {}", String::from_utf8_lossy(&done.stderr)));
    }
    Ok(String::from_utf8_lossy(&done.stdout).into_owned())
}
