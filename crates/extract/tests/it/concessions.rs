//! What the assistant conceded, and what errors taught.

use kapsa_extract::MemoryType;
use kapsa_ingest::Place;

use super::Script;

#[test]
fn what_is_conceded_to_a_person_is_kept_with_both_places() {
    let script = Script::new()
        .user("publish it")
        .assistant("The registry supports signing keys natively.")
        .user("that is not in their manual, did you make it up?")
        .assistant("Let me look.")
        .assistant(
            "You're right, I made that up. The registry only takes a token. Let me mend it.",
        );
    let kept = script.kept();
    let conceded = kept.iter().find(|it| it.title == "The registry only takes a token.");
    let conceded = conceded.unwrap_or_else(|| panic!("{kept:?}"));
    assert_eq!(conceded.kind, MemoryType::Correction);
    assert_eq!(conceded.evidence, [Place::line(3), Place::line(5)]);
}

#[test]
fn a_persons_words_and_the_concession_are_one_candidate_with_both_places() {
    let script = Script::new()
        .user("publish it")
        .assistant("Done, with a signing key.")
        .user("No, that's wrong. Never publish with a signing key, always use the token.")
        .assistant("You're right. The registry only accepts a token of the owner.");
    let kept = script.kept();
    assert_eq!(kept.len(), 1, "{kept:?}");
    assert_eq!(kept[0].kind, MemoryType::Correction);
    assert_eq!(kept[0].evidence, [Place::line(3), Place::line(4)]);
    assert!(
        kept[0].title.contains("Never publish with a signing key"),
        "the person's words: {kept:?}"
    );
    assert!(kept[0].body.contains("only accepts a token of the owner"), "{kept:?}");
}

#[test]
fn a_rule_beside_a_concession_about_something_else_stays_its_own() {
    let script = Script::new()
        .user("publish it")
        .assistant("The registry supports signing keys natively.")
        .user("Did you make it up?\n\nNever edit the files in generated/ by hand.")
        .assistant("You're right, I made that up. The registry only takes a token.");
    let kept = script.kept();
    assert_eq!(kept.len(), 2, "{kept:?}");
}

#[test]
fn what_nobody_contradicted_is_only_said() {
    let script = Script::new()
        .user("how do I publish it?")
        .assistant("You're right to ask. The registry only takes a token.");
    assert_eq!(script.titles(), [] as [&str; 0]);
}

#[test]
fn a_plan_is_no_concession() {
    let script = Script::new()
        .user("publish it")
        .assistant("Done.")
        .user("you're not done")
        .assistant("You're right. I'll only use the token now. Let me fix that.");
    assert!(script.titles().iter().all(|title| !title.contains("token")), "{:?}", script.titles());
}

#[test]
fn a_name_that_an_error_corrected_is_a_pitfall() {
    let script = Script::new()
        .user("write the config")
        .assistant("There is a schema error: the key should be `directory` instead of `folder`.")
        .edits("release.yaml", "  folder: F", "  directory: F");
    let kept = script.kept();
    assert_eq!(kept.len(), 1, "{kept:?}");
    assert_eq!(kept[0].kind, MemoryType::Pitfall);
    assert_eq!(kept[0].evidence, [Place::line(2), Place::line(3)]);
    let other = Script::new()
        .assistant("There is a schema error: the key should be `directory` instead of `folder`.")
        .edits("release.yaml", "  name: F", "  name: G");
    assert_eq!(other.titles(), [] as [&str; 0]);
}

#[test]
fn a_pasted_error_is_kept_once_it_is_explained_and_mended() {
    let error = "the linter dies:\n\nTypeError: def.split is not iterable";
    let cause =
        "The TypeError is due to linter 16, whose def.split is incompatible with runtime 22.";
    let mended = "Linter 17 resolved the def.split error.";
    let script = Script::new().user(error).assistant(cause).user("ok").assistant(mended);
    let kept = script.kept();
    assert!(kept[0].body.contains(cause) && kept[0].body.contains(mended), "{kept:?}");
    assert_eq!(kept[0].evidence, [Place::line(1), Place::line(2), Place::line(4)]);
    let open = Script::new().user(error).assistant(cause).user("ok").assistant("Anything else?");
    assert_eq!(open.titles(), [] as [&str; 0]);
}
