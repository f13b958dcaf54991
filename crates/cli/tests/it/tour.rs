//! `tour`: the main job by one command.

use crate::support::Sandbox;

fn check(sandbox: &Sandbox) {
    let shown = sandbox.ok(&["tour"]);
    for part in [
        "1. ",
        "2. ",
        "3. ",
        "4. ",
        "5. ",
        "6. ",
        "#",
        "revised",
        "intact: ",
        "chain ",
        "kapsa init",
    ] {
        assert!(shown.contains(part), "{part:?} is missing in {shown}");
    }
    let own_lines = shown.lines().filter(|line| !line.contains("/tour.kapsa"));
    for line in own_lines {
        assert!(line.chars().count() <= 100, "too wide: {line}");
    }
    let told = sandbox.json(&["tour"]);
    let steps: Vec<_> = told["steps"]
        .as_array()
        .expect("steps")
        .iter()
        .map(|step| step["name"].as_str().expect("a name"))
        .collect();
    assert_eq!(steps, ["create", "remember", "embed", "find", "revise", "history", "verify"]);
    assert_eq!(
        (&told["verify"]["ok"], told["history"].as_array().map(Vec::len)),
        (&true.into(), Some(2))
    );
    let capsule = told["capsule_path"].as_str().expect("a path");
    assert!(
        sandbox.json(&["stats", "--capsule", capsule])["record_count"].as_u64() > Some(2),
        "the capsule is kept"
    );
}

#[test]
fn the_tour_reads_the_documents_of_the_folder() {
    let sandbox = Sandbox::empty();
    sandbox.write("README.md", "# Pockets\n\nA capsule is one file.\n\n## Crash\n\nWhen the power fails in the middle of a write, the torn end is ignored.\n");
    sandbox.write("docs/more.md", "# Readers\n\nReaders and a writer work at the same time.\n");
    check(&sandbox);
    let told = sandbox.json(&["tour"]);
    assert_eq!(told["documents"][1]["name"], "docs/more.md");
    let first = &told["questions"][0]["hits"][0];
    assert!(
        first["source"]["path"] == "README.md" && first["source"]["line_start"].as_u64() > Some(0),
        "{first}"
    );
}

#[test]
fn the_tour_carries_documents_of_its_own() {
    check(&Sandbox::empty());
}
