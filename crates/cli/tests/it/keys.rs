//! Signed history at the command line: the key and its file, and what `verify` finds when somebody
//! who may write the file rolls it back, cuts it or writes it anew.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::Value;

use crate::support::{Run, Sandbox, bytes, output};

/// A capsule in a folder with a key; gives the public key.
fn with_key() -> (Sandbox, String) {
    let sandbox = Sandbox::new();
    let key = sandbox.json(&["key", "init"])["public_key"].as_str().expect("a key").to_string();
    (sandbox, key)
}

fn key_file(sandbox: &Sandbox) -> std::path::PathBuf {
    sandbox.path("config/kapsa/signing.key")
}

/// Calls with another value of `KAPSA_SIGNING_KEY`.
fn run_with_key(sandbox: &Sandbox, key: impl AsRef<Path>, args: &[&str]) -> Run {
    let mut command = sandbox.command();
    command.env("KAPSA_SIGNING_KEY", key.as_ref()).args(args);
    output(command, b"").into()
}

/// What `verify` says, whatever its exit code, which is 2 unless all is well.
fn verified(sandbox: &Sandbox, args: &[&str]) -> Value {
    let args: Vec<&str> = [&["verify", "--json"], args].concat();
    let run = sandbox.run(&args);
    let told: Value = serde_json::from_str(&run.out).expect("JSON");
    assert_eq!(run.code, Some(if told["ok"] == true { 0 } else { 2 }), "{told}");
    told
}

fn chain(sandbox: &Sandbox) -> String {
    sandbox.json(&["stats"])["chain"].as_str().expect("a chain").to_string()
}

#[test]
fn a_key_is_made_once_and_for_its_owner_only() {
    let sandbox = Sandbox::new();
    sandbox.fails(&["key", "show"], 1, "no_signing_key");
    let made = sandbox.run(&["key", "init"]);
    let key = made.out.trim_end().to_string();
    assert!(made.code == Some(0) && key.starts_with("ed25519:") && key.len() == 72, "{made:?}");
    let file = key_file(&sandbox);
    assert!(made.err.contains(&file.display().to_string()), "{made:?}");
    let mode = |path: &Path| path.metadata().expect("there").permissions().mode() & 0o777;
    assert_eq!((mode(&file), mode(file.parent().expect("a folder"))), (0o600, 0o700));
    let secret = bytes(&file);
    let refused = sandbox.fails(&["key", "init"], 1, "exists");
    assert!(refused["message"].as_str().expect("text").contains("signing.key"), "{refused}");
    assert_eq!(bytes(&file), secret, "a key is never replaced");
    assert_eq!(sandbox.json(&["key", "show"])["public_key"], key.as_str());
    let other = sandbox.path("other.key");
    let second = run_with_key(&sandbox, &other, &["key", "init"]).out;
    assert!(second.trim_end() != key && mode(&other) == 0o600, "{second}");
    assert_eq!(run_with_key(&sandbox, "", &["key", "init"]).code, Some(1));
    sandbox.fails(&["key", "show", "--as", "intern"], 1, "access_denied");
}

/// Nothing is stored unsigned because a key cannot be used.
#[test]
fn a_key_that_cannot_be_used_is_an_error_with_a_way_out() {
    let (sandbox, key) = with_key();
    let file = key_file(&sandbox);
    let secret = bytes(&file);
    let put = ["put", "--text", "signed or not at all"];
    let broken = |what: &str| {
        let error = sandbox.fails(&put, 1, "signing_key");
        assert!(error["message"].as_str().expect("text").contains(what), "{error}");
        assert!(error["hint"].as_str().is_some_and(|hint| !hint.is_empty()), "{error}");
        assert_eq!(sandbox.count(), 0, "{what}");
    };
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o644)).expect("permissions");
    broken("mode 644");
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).expect("permissions");
    std::fs::write(&file, &secret[..secret.len() - 3]).expect("written");
    broken("damaged");
    std::fs::remove_file(&file).expect("removed");
    std::fs::create_dir(&file).expect("a folder");
    broken("not a regular file");
    std::fs::remove_dir(&file).expect("removed");
    let named = run_with_key(&sandbox, sandbox.path("none"), &put);
    assert!(named.code == Some(1) && named.err.contains("there is no signing key"), "{named:?}");
    assert_eq!(sandbox.count(), 0);
    // Without a key, or with signing turned off, puts go on as before.
    sandbox.ok(&put);
    std::fs::write(&file, &secret).expect("written");
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).expect("permissions");
    assert_eq!(run_with_key(&sandbox, "", &["put", "--text", "unsigned"]).code, Some(0));
    assert_eq!(verified(&sandbox, &["--trust", &key])["signatures"]["signed_count"], 0);
}

#[test]
fn every_commit_is_signed_and_verified() {
    let (sandbox, key) = with_key();
    assert_eq!(run_with_key(&sandbox, "", &["put", "--text", "before"]).code, Some(0));
    sandbox.ok(&["put", "--uri", "port", "--text", "The port is 5433"]);
    sandbox.ok(&["fact", "add", "The port is 5434", "--id", "f1", "--entity", "db"]);
    sandbox.ok(&["clearance", "set", "cro", "=internal"]);
    sandbox.ok(&["put", "--as", "cro", "--text", "by a principal"]);
    sandbox.ok(&["checkpoint", "--label", "v1"]);
    sandbox.ok(&["forget", "port"]);
    let told = verified(&sandbox, &["--trust", &key]);
    let (commits, signed) = (&told["commit_count"], &told["signatures"]["signed_count"]);
    assert_eq!(commits.as_u64().map(|all| all - 1), signed.as_u64(), "{told}");
    assert_eq!(
        (&told["ok"], &told["signatures"]["first_signed_commit"]),
        (&true.into(), &2.into())
    );
    assert_eq!(told["chain"], chain(&sandbox).as_str());
    // Nothing that lists memories or what was written shows a signature.
    for args in [&["timeline"][..], &["log", "--all"], &["events"], &["find", "signature"]] {
        assert!(!sandbox.run(args).out.contains("signature/"), "{args:?}");
    }
    for name in ["signature/3", "signature/5"] {
        sandbox.fails(&["get", name, "--as", "cro"], 1, "uri_not_found");
        sandbox.fails(&["put", "--uri", name, "--text", "forged"], 1, "invalid_operation");
        sandbox.fails(&["forget", name], 1, "invalid_operation");
    }
    sandbox.fails(
        &["put", "--as", "cro", "--kind", "signature", "--text", "forged"],
        1,
        "access_denied",
    );
    let keys = sandbox.write("team.keys", format!("# of the team\n\n{key}\n"));
    let text = sandbox.ok(&["verify", "--trust", &keys.display().to_string()]);
    assert!(text.contains("\ntrusted: ") && text.contains("from commit 2 on"), "{text}");
    for (args, code) in [
        (&["verify", "--trust", "ed25519:00"][..], "invalid_key"),
        (&["verify", "--trust", "none.keys"], "io"),
        (&["verify", "--expect-chain", "abc"], "invalid_chain"),
        (&["verify", "--expect-chain", "@none"], "capsule_not_found"),
    ] {
        assert_eq!(sandbox.error(args).1["code"], code, "{args:?}");
    }
}

#[test]
fn what_no_trusted_key_signed_is_named() {
    let (sandbox, key) = with_key();
    sandbox.ok(&["put", "--text", "signed"]);
    assert_eq!(run_with_key(&sandbox, "", &["put", "--text", "slipped in"]).code, Some(0));
    let other = sandbox.path("other.key");
    let stranger = run_with_key(&sandbox, &other, &["key", "init"]).out.trim_end().to_string();
    assert_eq!(run_with_key(&sandbox, &other, &["put", "--text", "of another"]).code, Some(0));
    sandbox.ok(&["put", "--text", "signed again"]);
    let told = verified(&sandbox, &["--trust", &key]);
    let faults = &told["signatures"]["faults"];
    let of = |at: usize, field: &str| faults[at][field].clone();
    assert_eq!((of(0, "commit"), of(0, "problem")), (2.into(), "unsigned".into()), "{told}");
    assert_eq!((of(1, "commit"), of(1, "problem")), (3.into(), "other_key".into()), "{told}");
    assert_eq!(of(1, "public_key"), stranger.as_str());
    let text = sandbox.run(&["verify", "--trust", &key]);
    assert_eq!(text.code, Some(2));
    for line in ["commit 2, ", ": unsigned\n", &format!("signed by {stranger}"), "\nnot trusted: "]
    {
        assert!(text.out.contains(line), "{line:?} in {}", text.out);
    }
    assert_eq!(
        verified(&sandbox, &["--trust", &key, "--trust", &stranger])["signatures"]["fault_count"],
        1
    );
    assert_eq!(verified(&sandbox, &[])["ok"], true, "nobody asked for signatures");
}

/// Somebody builds the capsule anew from what it holds, with another text: all checksums are right.
#[test]
fn a_capsule_that_is_built_anew_is_not_trusted() {
    let (sandbox, key) = with_key();
    sandbox.ok(&["put", "--uri", "port", "--text", "The port is 5433"]);
    sandbox.ok(&["put", "--uri", "host", "--text", "The host is alpha"]);
    let anchor = chain(&sandbox);
    let capsule = sandbox.capsule();
    std::fs::remove_file(&capsule).expect("removed");
    for args in [
        &["create", ".kapsa/workspace.kapsa"][..],
        &["put", "--uri", "port", "--text", "The port is 9999"],
        &["put", "--uri", "host", "--text", "The host is alpha"],
    ] {
        assert_eq!(run_with_key(&sandbox, "", args).code, Some(0));
    }
    let told = verified(&sandbox, &["--trust", &key, "--expect-chain", &anchor]);
    assert_eq!(told["problems"].as_array().map(Vec::len), Some(0), "{told}");
    assert_eq!(told["signatures"]["trusted"], false, "{told}");
    assert_eq!(told["expected_chain"]["found"], false, "{told}");
}

/// An older state of the file is signed and whole: the anchor tells.
#[test]
fn a_rollback_is_found_by_the_chain_that_was_kept() {
    let (sandbox, key) = with_key();
    sandbox.ok(&["put", "--text", "one"]);
    let old = bytes(&sandbox.capsule());
    sandbox.ok(&["put", "--text", "two"]);
    let anchor = chain(&sandbox);
    sandbox.write("chain.txt", format!("{anchor}\n"));
    sandbox.ok(&["clone", "backup.kapsa"]);
    for kept in [anchor.as_str(), "@chain.txt", "@backup.kapsa"] {
        let told = verified(&sandbox, &["--expect-chain", kept]);
        assert_eq!((&told["expected_chain"]["commit"], &told["ok"]), (&2.into(), &true.into()));
    }
    sandbox.ok(&["put", "--text", "three"]);
    let told = verified(&sandbox, &["--expect-chain", &anchor]);
    assert_eq!(told["expected_chain"]["later_commit_count"], 1, "{told}");
    std::fs::write(sandbox.capsule(), old).expect("written");
    assert_eq!(verified(&sandbox, &["--trust", &key])["ok"], true);
    for kept in [anchor.as_str(), "@chain.txt", "@backup.kapsa"] {
        let told = verified(&sandbox, &["--trust", &key, "--expect-chain", kept]);
        assert_eq!((&told["expected_chain"]["found"], &told["ok"]), (&false.into(), &false.into()));
    }
    let text = sandbox.run(&["verify", "--expect-chain", "@chain.txt"]);
    assert!(text.out.contains("chain not found: ") && text.code == Some(2), "{text:?}");
}

#[test]
fn signed_history_outlives_care_and_exchange() {
    let (sandbox, key) = with_key();
    sandbox.ok(&["put", "--uri", "secret", "--text", "to be erased"]);
    sandbox.ok(&["put", "--uri", "kept", "--text", "stays"]);
    sandbox.ok(&["clone", "copy.kapsa"]);
    sandbox.ok(&["purge", "secret", "--yes"]);
    sandbox.ok(&["compact"]);
    sandbox.ok(&["put", "--text", "after the compaction"]);
    sandbox.ok(&["optimize"]);
    sandbox.ok(&["push", "copy.kapsa"]);
    let told = verified(&sandbox, &["--trust", &key, "--expect-chain", "@copy.kapsa"]);
    assert_eq!(
        (&told["ok"], &told["signatures"]["signed_count"]),
        (&true.into(), &4.into()),
        "{told}"
    );
    let copy = sandbox.json(&["--capsule", "copy.kapsa", "verify", "--trust", &key]);
    assert_eq!((&copy["ok"], &copy["chain"]), (&true.into(), &told["chain"]));
}
