//! How each verb is attacked: a row for each, and what must come of it. A verb without a row fails
//! the run, and so does a row whose verb is gone.

use crate::harness::tree::Verb;

/// Whose verb it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whose {
    /// Principals may use it: its answer depends on what they may read.
    Anybodys,
    /// The owner's: it is refused.
    Owners,
    /// It says nothing of a capsule.
    Nobodys,
}

/// How a verb is attacked.
#[derive(Debug)]
pub(super) struct VerbRow {
    pub(super) verb: &'static str,
    pub(super) whose: Whose,
    /// What is given beside options: words, of which those in braces are drawn, and after `<` what
    /// is on standard input.
    pub(super) calls: &'static [&'static str],
}

const fn row(verb: &'static str, whose: Whose, calls: &'static [&'static str]) -> VerbRow {
    VerbRow { verb, whose, calls }
}

use Whose::{Anybodys, Nobodys, Owners};

/// No verb, but what a shell asks when somebody presses Tab.
pub(super) const COMPLETION: VerbRow = row(
    "(completion)",
    Anybodys,
    &[
        "get {start}",
        "find x --run {start}",
        "find x --label {start}",
        "find x --as-of {start}",
        "find x --branch {start}",
        "find x --kind {start}",
        "find x --entity {start}",
        "find x --agent {start}",
        "find x --domain {start}",
        "find x --source {start}",
        "find x --tag {start}",
        "merge {start}",
        "clearance show {start}",
        "fact get {start}",
        "fact contest {fact} {start}",
        "insight confirm {start}",
        "entity show {start}",
        "replay run --run {start}",
        "policy show {start}",
        "fs cat {start}",
        "find x --as {principal} --run {start}",
        "get --as {principal} {start}",
        "get --branch {branch} {start}",
        "{odd} {start}",
    ],
);

/// All verbs.
pub(super) const ROWS: &[VerbRow] = &[
    row("alias", Owners, &["{uri} {uri}"]),
    row("backend compare", Owners, &["golden.jsonl --reference capsule --candidate capsule"]),
    row("blame", Owners, &["{uri}"]),
    row("branch", Owners, &[""]),
    row("branch archive", Owners, &["{branch}"]),
    row("branch create", Owners, &["{branch}", "{odd}"]),
    row("branch list", Owners, &[""]),
    row("branch switch", Owners, &["{branch}"]),
    row("checkpoint", Owners, &["--label {point}", ""]),
    row("checkpoints", Owners, &[""]),
    row("cherry-pick", Owners, &["{uri} --from {branch}"]),
    row("clearance list", Owners, &[""]),
    row("clearance remove", Owners, &["{principal}"]),
    row("clearance set", Owners, &["{principal} {cleared}", "{principal} {cleared} {cleared}"]),
    row("clearance show", Owners, &["{principal}"]),
    row("clone", Owners, &["copy.kapsa"]),
    row("compact", Owners, &[""]),
    row("completions", Nobodys, &["bash", "fish", "{odd}"]),
    row("connect", Owners, &["", "--dry-run"]),
    row(
        "context",
        Anybodys,
        &["", "", "--query {word}", "--agent {agent}", "--budget 300 --query {word}"],
    ),
    row("create", Owners, &["new.kapsa", ".kapsa/workspace.kapsa"]),
    row("diff", Owners, &["{branch}", "{moment} {moment}", "main {branch}"]),
    row("doctor", Owners, &[""]),
    row("embed", Owners, &[""]),
    row("entity alias", Owners, &["{entity} {word}"]),
    row("entity list", Owners, &[""]),
    row("entity show", Owners, &["{entity}"]),
    row("entity unalias", Owners, &["{entity} {word}"]),
    row(
        "episode add",
        Anybodys,
        &[
            "{text} --domain {own}",
            "{text} --id {episode} --domain {own}",
            "{text}",
            "{text} --id {episode}",
            "{text} --domain {domain}",
            "{text} --agent {agent}",
        ],
    ),
    row("episode list", Anybodys, &["", "", "--agent {agent}"]),
    row("event emit", Owners, &["DebugTrace --payload {json}", "{odd} --payload {json}"]),
    row("events", Owners, &["", "--run {run}"]),
    row("export", Owners, &["", "--out out.json --format json", "--run {run}"]),
    row(
        "fact add",
        Anybodys,
        &[
            "{fact-text} --entity acme --domain {own}",
            "{text} --entity {entity} --domain {own}",
            "{text} --id {fact} --domain {own}",
            "{text}",
            "{text} --id {fact}",
            "{text} --entity {entity} --attribute {attribute} --domain {domain}",
            "{fact-text} --entity {entity} --domain {domain}",
            "{fact-text} --entity {entity} --attribute payment --domain {domain} --classification {level}",
        ],
    ),
    row("fact attribute", Anybodys, &["{attribute} --many", "{attribute} --one --domain {domain}"]),
    row("fact attributes", Anybodys, &[""]),
    row("fact contest", Anybodys, &["{fact} {fact}"]),
    row("fact get", Anybodys, &["{fact}"]),
    row("fact list", Anybodys, &["", ""]),
    row("fact query", Anybodys, &["{word}", "{text}", ""]),
    row(
        "fact resolve",
        Anybodys,
        &["{fact}", "{fact} --accept", "{fact} --coexist", "{fact} --reject"],
    ),
    row("fact supersede", Anybodys, &["{fact} {fact-text}", "{fact} {text} --id {fact}"]),
    row("fetch", Owners, &["other.kapsa", "{word}"]),
    row(
        "find",
        Anybodys,
        &[
            "{word}",
            "{word} {word}",
            "{text}",
            "{odd}",
            "{word} --mode lex",
            "{text} --mode sem",
            "crane --around 3",
        ],
    ),
    row("forget", Anybodys, &["{uri}"]),
    row("fs cat", Anybodys, &["{path}", "{path} --agent {agent}"]),
    row("fs ls", Anybodys, &["{path}", "", "{path} --agent {agent}"]),
    row("fs search", Anybodys, &["{word}", "{word} --in {path}", "{word} --agent {agent}"]),
    row("fs tree", Anybodys, &["", "{path}", "--depth 4 --agent {agent}", "--depth 4"]),
    row(
        "fs write",
        Anybodys,
        &[
            "/knowledge/{own}/{insight} {text}",
            "/experience/{insight} {text} --domain {own}",
            "{path} {text}",
            "{path} - < {text}",
            "{path} --file notes.md",
            "/knowledge/{domain}/{insight} {text}",
        ],
    ),
    row("gc", Owners, &["", "--dry-run"]),
    row("get", Anybodys, &["{uri}", "{uri}", "{uri} --seq {sequence}", "{uri} --raw", "{moment}"]),
    row("graph add-card", Owners, &["--type company --title {word} --run {run}"]),
    row("graph add-edge", Owners, &["--type owns --from {uri} --to {uri} --run {run}"]),
    row("graph query", Owners, &["", "--uri {uri}"]),
    row("history", Anybodys, &["{uri}"]),
    // Refused for principals, and still with the exit code 0, as hooks end.
    row("hook pre-compact", Nobodys, &["< {json}"]),
    row("hook pre-tool-use", Nobodys, &["< {json}"]),
    row("hook session-end", Nobodys, &["< {json}"]),
    row(
        "hook session-start",
        Anybodys,
        &["< {json}", "--budget 100 < {json}", "--agent {agent} < {json}"],
    ),
    row("hook stop", Nobodys, &["< {json}"]),
    row("hook subagent-stop", Nobodys, &["< {json}"]),
    row(
        "hook user-prompt-submit",
        Anybodys,
        &["< {json}", "< {prompt}", "--min-score 0 < {prompt}"],
    ),
    row(
        "hook write-guard",
        Nobodys,
        &["--memory-root . --run-folder . < {json}", "--memory-root . --run-folder {odd} < {json}"],
    ),
    row(
        "import",
        Owners,
        &["other.kapsa", ".kapsa/workspace.kapsa", "codex .", "obsidian . --on-conflict replace"],
    ),
    row("init", Owners, &["", "--force"]),
    row(
        "insight add",
        Anybodys,
        &[
            "{flagged} --domain {own}",
            "{text} --domain {own}",
            "{text} --id {insight} --domain {own} --from {episode}",
            "{text}",
            "{text} --id {insight}",
            "{text} --domain {domain} --from {episode}",
            "{text} --agent {agent}",
        ],
    ),
    row("insight confirm", Anybodys, &["{insight}", "{insight} --agent {agent}"]),
    row("insight list", Anybodys, &["", "{word}", "--agent {agent}"]),
    row("insight publish", Anybodys, &["", "{insight}", "--agent {agent}"]),
    row("insight reflect", Anybodys, &["", "--agent {agent}"]),
    row("insight retire", Anybodys, &["{insight}", "{insight} --agent {agent}"]),
    row("insight weaken", Anybodys, &["{insight}", "{insight} --agent {agent}"]),
    row("key init", Owners, &[""]),
    row("key show", Owners, &[""]),
    row("log", Owners, &["", "--all", "--graph --all"]),
    row("maintain", Owners, &["", "--apply"]),
    row("man", Nobodys, &[""]),
    row("mcp", Anybodys, &["< {mcp}", "< {mcp}", "< {mcp}"]),
    row("memory-tool", Anybodys, &["< {memory-command}", "< {memory-command}{memory-command}"]),
    row(
        "merge",
        Owners,
        &[
            "{branch}",
            "--from {branch} --contested",
            "--from {branch} --dry-run",
            "{branch} --plan plan.json",
        ],
    ),
    row("model add", Owners, &["models"]),
    row("model info", Owners, &["", "bundled"]),
    row("model list", Owners, &[""]),
    row("model remove", Owners, &["{word}"]),
    row("mounts", Owners, &[""]),
    row("optimize", Owners, &[""]),
    row("policy capture", Owners, &["policy.json"]),
    row("policy diff", Owners, &["{policy} {policy}", "{policy}"]),
    row("policy list", Owners, &[""]),
    row("policy show", Owners, &["", "{policy}"]),
    row("policy validate", Owners, &["policy.json"]),
    row("pull", Owners, &["other.kapsa", ".kapsa/workspace.kapsa"]),
    row("purge", Owners, &["{uri} --yes"]),
    row("push", Owners, &["new.kapsa", ".kapsa/workspace.kapsa"]),
    row(
        "put",
        Anybodys,
        &[
            "--text {flagged} --domain {own}",
            "--text {flagged} --uri {uri} --domain {own}",
            "--text {text} --domain {own} --trust {trust}",
            "--text {text} --domain {own}",
            "--text {text} --uri {uri} --domain {own}",
            "--text {text} --uri {uri} --domain {own} --classification {level}",
            "--text {same-text} --domain {own}",
            "notes.md --domain {own}",
            "--text {text}",
            "--text {text} --uri {uri}",
            "--text {text} --uri {uri} --domain {domain}",
            "--text {text} --uri {uri} --domain {domain} --classification {level}",
            "--text {same-text}",
            "--text {same-text} --if-new --domain {domain}",
            "--text {text} --uri {uri} --kind {kind}",
            "notes.md",
            "notes.md --domain {domain}",
            "--each - < {line}",
            "- < {line}",
            "--plain - < {text}",
        ],
    ),
    row("redact", Owners, &["kapsa.toml", "--check .kapsa/workspace.kapsa"]),
    row("reembed", Owners, &["--model bundled"]),
    row("remote", Owners, &[""]),
    row("remote add", Owners, &["near other.kapsa", "{odd} other.kapsa"]),
    row("remote list", Owners, &[""]),
    row("remote remove", Owners, &["near"]),
    row("remote rename", Owners, &["near far"]),
    row("replay run", Owners, &["--run {run}"]),
    row("replay verify", Owners, &["--run {run}", "--run {run} --check-sequence"]),
    row("resolve-uri", Owners, &["{uri}", "{uri} --out out.txt"]),
    row("revert", Owners, &["{sequence}", "--run {run}", "--source {agent}"]),
    row("review", Owners, &[""]),
    row("review accept", Owners, &["{uri}", "{sequence}", "{sequence} --by {agent}"]),
    row("review edit", Owners, &["{uri} --text {text}", "{sequence} --text {text}"]),
    row("review list", Owners, &[""]),
    row("review reject", Owners, &["{uri}", "{sequence}"]),
    row("review remove-rule", Owners, &["--of-trust {trust}", "--domain {domain}"]),
    row("review rule", Owners, &["direct --of-principal {principal}", "review --domain {domain}"]),
    row("review rules", Owners, &[""]),
    row("review show", Owners, &["{uri}", "{sequence}"]),
    row("role can", Owners, &["{agent} find"]),
    row("role list", Owners, &[""]),
    row("role publish", Owners, &["{agent}"]),
    row("role reflect", Owners, &["{agent}"]),
    row("role respond", Owners, &["{agent} {text}"]),
    row("role run", Owners, &["{agent} node --state state.json"]),
    row("role schedule", Owners, &["", "{agent}", "--dry-run"]),
    row("role show", Owners, &["{agent}"]),
    row("run archive", Owners, &["--run {run}"]),
    row("run config", Owners, &[""]),
    row(
        "run context",
        Owners,
        &["--run {run} --task t1 --role builder", "--run {run} --past-runs"],
    ),
    row("run finish", Owners, &["--run {run}", "--run {run} --task t1 --failed"]),
    row("run list", Owners, &[""]),
    row("run record", Owners, &["--run {run} --task t1 --text {text}"]),
    row("run start", Owners, &["--run {run} --title {word}"]),
    row("run status", Owners, &["--run {run}"]),
    row("run task start", Owners, &["{word} --run {run}"]),
    row("salvage", Owners, &["new.kapsa"]),
    row("setup", Owners, &["zed --dry-run", "--undo --dry-run"]),
    row("shell", Anybodys, &["< {script}", "--stop < {script}"]),
    row("stats", Owners, &["", "--count"]),
    row("status", Owners, &[""]),
    row("svc create", Owners, &["new.kapsa"]),
    row("svc find", Owners, &["--query {word} .kapsa/workspace.kapsa"]),
    row("svc info", Owners, &[".kapsa/workspace.kapsa"]),
    row("svc put", Owners, &[".kapsa/workspace.kapsa --stdin < {line}"]),
    row("svc timeline", Owners, &[".kapsa/workspace.kapsa"]),
    row("sync", Owners, &["kapsa.toml", "--dry-run kapsa.toml"]),
    row(
        "timeline",
        Anybodys,
        &["", "", "--reverse", "--kind {kind}", "--limit 3", "--oldest --limit 4"],
    ),
    // It makes a capsule of its own, which takes many seconds.
    row("tour", Nobodys, &["--help"]),
    row("trace extract", Owners, &["kapsa.toml", "--trace-path kapsa.toml"]),
    row("trace show", Owners, &["{word}"]),
    row("trace summarise", Owners, &["kapsa.toml --memory-root memory"]),
    row("verify", Owners, &[""]),
];

/// Names what verbs and rows do not have in common.
pub(super) fn check(rows: &[&VerbRow], verbs: &[Verb]) -> Result<(), String> {
    let names: Vec<String> = verbs.iter().map(|verb| verb.path.join(" ")).collect();
    let without = names.iter().filter(|name| !rows.iter().any(|row| row.verb == **name));
    let gone = rows.iter().filter(|row| !names.iter().any(|name| name == row.verb));
    let lines: Vec<String> = without
        .map(|name| {
            format!("no row says how `kapsa {name}` is attacked (xtask/src/attack/rows.rs)")
        })
        .chain(gone.map(|row| format!("there is no verb `kapsa {}`; its row can go", row.verb)))
        .collect();
    if lines.is_empty() { Ok(()) } else { Err(lines.join("\n")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verb(name: &str) -> Verb {
        Verb { path: name.split(' ').map(str::to_owned).collect(), ..Verb::default() }
    }

    #[test]
    fn a_verb_without_a_row_and_a_row_without_a_verb_are_named() {
        let (get, log) = (row("get", Anybodys, &[]), row("log", Owners, &[]));
        assert_eq!(check(&[&get, &log], &[verb("get"), verb("log")]), Ok(()));
        let missing = check(&[&get], &[verb("get"), verb("fact new")]);
        assert!(missing.is_err_and(|lines| lines.contains("`kapsa fact new`")));
        let gone = check(&[&get, &log], &[verb("get")]);
        assert!(gone.is_err_and(|lines| lines.contains("no verb `kapsa log`")));
    }

    #[test]
    fn rows_are_in_order() {
        assert!(ROWS.is_sorted_by(|one, next| one.verb < next.verb));
    }
}
