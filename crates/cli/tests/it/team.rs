//! `examples/team`: four agents at once as real processes, with memory and without.

use std::process::{Command, Stdio};

use crate::support::{Run, Sandbox};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/team/run.sh");

/// Runs the example with all that it makes in the sandbox's folder, free of the caller's settings.
fn team(sandbox: &Sandbox, settings: &[(&str, &str)]) -> Run {
    let mut command = Command::new("sh");
    let kapsa = sandbox.command();
    for (name, value) in kapsa.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    for name in ["TEAM_AGENT", "TEAM_WAIT", "KEEP"] {
        command.env_remove(name);
    }
    command.arg(SCRIPT).env("KAPSA", kapsa.get_program()).envs(settings.iter().copied());
    command.stdin(Stdio::null()).output().expect("sh runs").into()
}

/// What is printed below the first heading that has these words.
fn section<'a>(run: &'a Run, heading: &str) -> &'a str {
    let mut sections = run.out.split("\n== ");
    sections
        .find(|section| section.lines().next().is_some_and(|line| line.contains(heading)))
        .unwrap_or_else(|| {
            panic!("no `{heading}` in {run:#?}");
        })
}

/// The separator that task-1 chose, as the check saw it in the program.
fn separator(run: &Run) -> String {
    let parts: Vec<&str> = section(run, "Check whether the parts fit").split('`').collect();
    match parts.as_slice() {
        [before, separator, ..] if before.ends_with("ok    save   save.sh puts ") => {
            (*separator).to_string()
        }
        _ => panic!("{run:#?}"),
    }
}

fn fits_together(run: &Run, said: &str) {
    assert_eq!(run.code, Some(0), "{run:#?}");
    let separator = separator(run);
    let told = section(run, "What task-2 read");
    assert!(told.contains("  [task-1 builder] Choose the separator"), "{told}");
    assert!(
        told.contains(&format!("{said} `{separator}`")),
        "task-2 got the decision of task-1: {told}"
    );
    assert_eq!(
        section(run, "Check whether the parts fit").matches("\n  ok ").count(),
        4,
        "{run:#?}"
    );
    assert_eq!(
        section(run, "finish every task").matches(" done     2 outputs ").count(),
        4,
        "{run:#?}"
    );
    let (_, found) =
        section(run, "into the main memory").split_once("$ kapsa find").expect("a question");
    assert!(found.contains(&separator), "the main memory answers: {found}");
}

fn leaves_nothing(sandbox: &Sandbox) {
    let left: Vec<_> = std::fs::read_dir(sandbox.path(""))
        .expect("read")
        .flatten()
        .map(|entry| entry.file_name())
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

/// With memory. The bound is never reached, and so may be long.
fn remembers(layout: &str) {
    let sandbox = Sandbox::empty();
    let run = team(&sandbox, &[("KAPSA_RUN_LAYOUT", layout), ("TEAM_WAIT", "300")]);
    fits_together(&run, "Decided: the separator is");
    leaves_nothing(&sandbox);
}

#[test]
fn the_second_agent_gets_what_the_first_decided_in_branches() {
    remembers("branches");
}

#[test]
fn the_second_agent_gets_what_the_first_decided_in_files() {
    remembers("files");
}

#[test]
fn without_memory_the_parts_do_not_fit() {
    let sandbox = Sandbox::empty();
    let run = team(&sandbox, &[("KAPSA_RUN_ENABLED", "false")]);
    assert_eq!(run.code, Some(1), "{run:#?}");
    let separator = separator(&run);
    let check = section(&run, "Check whether the parts fit");
    for named in [
        format!("FAIL  show   show.sh does not split an entry at `{separator}`"),
        format!("FAIL  docs   docs/format.md does not name the separator `{separator}`"),
        format!("FAIL  tests  tests.sh fails: an entry is stored as Ada{separator}tea"),
    ] {
        assert!(check.contains(&named), "{named}: {check}");
    }
    assert_eq!(section(&run, "What task-2 read").lines().nth(1), Some("  nothing"));
    assert!(
        section(&run, "The check FAILED").contains("Without memory task-2 could not know"),
        "{run:#?}"
    );
    leaves_nothing(&sandbox);
}

/// Knows nothing but its prompt, and words its answers in its own way.
const AGENT: &str = r#"
prompt=$(cat)
told() {
    printf '%s\n' "$prompt" | sed -n "s/^  \\[$1 builder\\].*$2.*/\\1/p"
}
mark=$(told task-1 'I went for `\([^`]*\)`')
number=$(told task-2 'the number \([0-9]*\)')
case $prompt in
    *'Your task: task-1, Choose the separator'*)
        mark="@$(od -An -N4 -tx1 /dev/urandom | tr -d ' \n')@"
        echo "printf '%s$mark%s\n' \"\$2\" \"\$3\" >>\"\$1\"" >save.sh
        echo "After some thought I went for \`$mark\`, which nobody types."
        ;;
    *'Your task: task-2, Write show.sh'*)
        echo "[ -s \"\$1\" ] || exit 77; sed 's/$mark/: /' \"\$1\"" >show.sh
        echo 'Without entries it is the number 77 that callers see.'
        ;;
    *'Your task: task-3, Document'*)
        mkdir docs
        echo "Between name and text: $mark" >docs/format.md
        git add -A
        git commit -q -m 'An agent may commit by itself'
        echo 'Written.'
        ;;
    *'Your task: task-4, Test'*)
        cat >tests.sh <<END
d=\$(mktemp -d); code=0
sh save.sh "\$d/l" Ada tea; stored=\$(cat "\$d/l"); rm -r "\$d"
sh show.sh "\$d/l" || code=\$?
[ "\$stored:\$code" = "Ada${mark}tea:$number" ]
END
        echo 'Tested.'
        ;;
esac
"#;

#[test]
fn an_agent_that_only_reads_its_prompt_fits_in() {
    let (sandbox, elsewhere) = (Sandbox::empty(), Sandbox::empty());
    let agent = format!("sh '{}'", elsewhere.write("agent.sh", AGENT).display());
    let run = team(&sandbox, &[("TEAM_AGENT", &agent), ("TEAM_WAIT", "300")]);
    fits_together(&run, "I went for");
    leaves_nothing(&sandbox);
}

#[test]
fn nobody_waits_for_an_agent_that_failed() {
    let sandbox = Sandbox::empty();
    let run = team(&sandbox, &[("TEAM_AGENT", "false"), ("TEAM_WAIT", "300")]);
    assert_eq!(run.code, Some(1), "{run:#?}");
    let work = section(&run, "Four agents at once");
    assert_eq!(work.matches(" failed: the agent ended with exit code 1\n").count(), 4, "{work}");
    assert!(!work.contains("begins without"), "{work}");
    assert_eq!(
        section(&run, "finish every task").matches(" failed   2 outputs ").count(),
        4,
        "{run:#?}"
    );
    leaves_nothing(&sandbox);
}
