//! `examples/crm.rs`: the story comes to its end, which it does only when every claim in it holds.

use std::process::Command;

use crate::support::{Run, Sandbox};

fn crm(sandbox: &Sandbox, capsule: &str) -> Run {
    // `cargo test` builds examples before tests, and puts them beside the program.
    let program =
        std::path::Path::new(env!("CARGO_BIN_EXE_kapsa")).with_file_name("examples").join("crm");
    Command::new(program)
        .arg(sandbox.path(capsule))
        .output()
        .expect("the example is there; `cargo build --example crm` makes it")
        .into()
}

#[test]
fn every_claim_of_the_story_holds() {
    let sandbox = Sandbox::empty();
    let run = crm(&sandbox, "team/crm.kapsa");
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""), "{}", run.out);
    for told in [
        "acme: score 85, \"prepayment\"",
        "bolt: score 40, \"30 days\"",
        "sdr send_offer: needs_approval",
        "(nothing)",
    ] {
        assert!(run.out.contains(told), "{told}: {}", run.out);
    }
    assert_eq!(run.out.matches("  ok: ").count(), 19, "{}", run.out);
    // The command line knows the same team.
    let capsule = sandbox.path("team/crm.kapsa");
    let capsule = capsule.to_str().expect("a plain name");
    let learned = sandbox.json(&["insight", "list", "--agent", "cro", "--capsule", capsule]);
    assert_eq!(
        (&learned["count"], &learned["insights"][0]["classification"]),
        (&1.into(), &"confidential".into())
    );
    assert!(!sandbox.ok(&["context", "--as", "sdr", "--capsule", capsule]).contains("prepay"));
}

#[test]
fn a_claim_that_fails_ends_it() {
    let sandbox = Sandbox::empty();
    sandbox.write("there.kapsa", "something");
    let run = crm(&sandbox, "there.kapsa");
    assert_eq!(
        (run.code, run.err.as_str()),
        (Some(1), "error: claim failed: the capsule is new\n")
    );
}
