//! What people take back, what comes instead, and what only sounds like it.

use super::{Script, kept_of};

#[test]
fn what_comes_instead_is_kept() {
    for message in [
        "Forget about Fly, we use Render now.",
        "Forget about Redis, we cache in memory now.",
        "Forget Jest, we're on Vitest now.",
        "Forget about what I said on Terraform, we deploy with Pulumi now.",
        "forget about the old staging box, staging is on eu-2 now",
        "Scrap Webpack, Vite from now on.",
        "Scrap the monorepo, every service gets its own repo.",
        "Scrap that plan, we ship with Docker Compose instead.",
        "never mind Celery, use RQ instead",
        "Nevermind Yarn, use pnpm instead.",
        "Never mind Sentry, we log to Loki now.",
        "instead of Jenkins we now use GitHub Actions",
        "Instead of black we now format with ruff.",
        "We now use Bun instead of Node.",
        "Vergiss Jenkins, wir nehmen jetzt GitHub Actions.",
        "Vergiss das mit Redis, wir cachen jetzt im Speicher.",
        "Vergiss die Regel mit den Squash-Commits.",
        "statt Yarn jetzt pnpm",
        "Statt Mocha nehmen wir jetzt Vitest.",
        "Wir nutzen jetzt Postgres statt MySQL.",
        "Wir deployen jetzt mit Fly.",
        "Ab jetzt nehmen wir Ruff, nicht mehr Black.",
        "Kein Docker mehr, wir nehmen Podman.",
        "The API key header is X-Store-Key now, not X-Shop-Key",
        "The staging port is 5433 now, not 5432.",
        "The default branch is trunk now, no longer master.",
        "The bucket is called shop-media now, not shop-assets.",
        "You can commit directly to main now, forget about that rule",
        "You can push to main again, forget about the ban.",
        "The rule about squash commits no longer applies.",
        "Forget about the 80 column rule.",
        "Forget the rule about conventional commits.",
        "You don't have to ask before adding dependencies anymore.",
        "It's fine to use lodash now, forget that rule.",
        "Drop the rule that every PR needs two reviews.",
        "We're off Heroku, it's Fly now.",
        "No more Makefile, we use just now.",
        "Ditch moment, use date-fns from now on.",
        "Lint with ruff now, flake8 is gone.",
        "We gave up on Kubernetes, everything runs on Nomad now.",
        "Our CI is GitHub Actions now.",
        "The docs are built with mkdocs now instead of sphinx.",
        "Please use podman from now on, docker is gone.",
        "We do trunk-based development now, forget about release branches.",
        "Don't use axios any more, use fetch.",
        "Skip the changelog from now on.",
        "I changed my mind: tabs, not spaces.",
        "On second thought, use SQLite, not Postgres.",
        "Actually we use Postgres now, not MySQL.",
        "Forget what I said about Redis, we use Valkey.",
        "Ignore what I said about mocks, use the real database in tests.",
        "Forget Datadog, metrics go to Prometheus now.",
        "Drop the idea with the queue, we poll every minute now.",
        "Scrap GraphQL, the API is REST from here on.",
        "Never mind the old wiki, docs live in the repo now.",
        "Forget about EC2, everything runs on Cloud Run these days.",
        "ok forget about mypy, we use pyright now",
        "Ditch lerna, we use turborepo instead",
        "So scrap Mongo, we store everything in Postgres now.",
        "We use zod now, forget about joi.",
        "The main package is called core now, not shared.",
        "The health check is at /livez now, not /healthz.",
        "The env variable is SHOP_DB_URL now, not DATABASE_URL.",
        "Our queue is SQS now, not RabbitMQ.",
        "You can use any in tests now, forget that rule.",
        "It's okay to push on Fridays again, forget about the freeze.",
        "Drop the rule about 100% coverage.",
        "Forget our naming convention for branches, use what you like.",
        "The ban on inline styles is lifted.",
        "We no longer squash commits.",
        "Instead of Slack we now post releases to Teams.",
        "We got rid of Docker, everything runs with nix now.",
        "Vergiss Maven, wir bauen jetzt mit Gradle.",
        "Vergiss npm, ab jetzt pnpm.",
        "Statt Jest nutzen wir jetzt Vitest.",
        "Wir hosten jetzt bei Hetzner, nicht mehr bei AWS.",
        "Vergiss das Verbot von Mocks, in Tests sind sie okay.",
        "Die Regel mit den 80 Zeichen gilt nicht mehr.",
        "Der Header heißt jetzt X-Store-Key, nicht X-Shop-Key.",
        "Ab sofort kein Merge ohne Review.",
    ] {
        assert_eq!(kept_of(message), [message]);
    }
}

#[test]
fn what_only_sounds_like_it_is_not() {
    for message in [
        "forget it",
        "Forget it, I found the problem.",
        "Forget about it.",
        "never mind",
        "Never mind, I see it now.",
        "never mind, it works now",
        "Nevermind the warning, go on.",
        "scrap that",
        "We forgot the tests for the parser.",
        "I forgot to push, sorry.",
        "Did you forget about the tests?",
        "Should we forget about Redis and use Valkey now?",
        "what if we used Postgres instead?",
        "If we used Bun instead, the install would be faster.",
        "If we dropped Redis we could cache in memory.",
        "Maybe we should switch to Vitest.",
        "Maybe forget about Redis and use Valkey.",
        "for this test use sqlite instead",
        "For this test use Bun instead of Node.",
        "Use port 9999 instead for this run.",
        "Just this once, push to main.",
        "Forget about the failing test, fix the import first.",
        "Forget the styling for a moment, look at the API.",
        "Forget the docs for now, we need the fix.",
        "Never mind the lint errors, just commit it.",
        "Scrap this function and write it again.",
        "scrap the last commit",
        "Scrap the tests you just wrote.",
        "The readme says \"forget about npm, we use pnpm now\".",
        "He wrote \"we use Fly now, forget about Heroku\" in the chat.",
        "The server is up now, not down.",
        "It works now.",
        "The tests pass now.",
        "The page is blank now.",
        "You can commit now.",
        "You can push now.",
        "You can go on now.",
        "You may continue now.",
        "You can run the tests now.",
        "You can delete the file now.",
        "can we commit directly to main now?",
        "I use the wrong key now",
        "Instead of the spinner show a progress bar now.",
        "now use the other endpoint instead",
        "Now we need a test.",
        "Now the build fails with another error.",
        "The error is a timeout now, not a 500.",
        "The header is red now, not blue as I asked.",
        "It's green now.",
        "The button is on the left now, can you move it back?",
        "Vergiss es.",
        "Vergiss es, ich hab's gefunden.",
        "Vergiss den Test, mach erst den Build heil.",
        "Hast du die Tests vergessen?",
        "Ich habe vergessen zu pushen.",
        "Sollen wir jetzt Postgres nehmen?",
        "Was wäre, wenn wir statt npm pnpm nehmen?",
        "Nimm für diesen Test sqlite.",
        "Jetzt läuft der Build.",
        "Die Tests sind jetzt grün.",
        "Wir müssen jetzt los.",
        "Jetzt füge einen Test hinzu.",
        "Ersetze den Spinner durch einen Balken.",
        "We are stuck now.",
        "We have a problem now.",
        "We see the error now.",
        "We get a 404 now.",
        "We're done now.",
        "Forget the last message.",
        "forget what I just said",
        "Never mind, I found it.",
        "never mind that, go ahead",
        "Drop it.",
        "Drop the last column from the table.",
        "Drop the policies table.",
        "Scrap that and start over.",
        "Skip the tests for now.",
        "Forget about the cache for a second, why is the header missing?",
        "Forget about the linter, the build is what matters now.",
        "We forgot to update the lock file.",
        "I always forget about the cache.",
        "Would it be better if we used Kafka instead?",
        "Suppose we used Kafka instead of SQS.",
        "What happens if we drop Redis and use Postgres now?",
        "For this demo use the fake gateway.",
        "Use the staging key for this run only.",
        "Use the old parser just this once.",
        "The issue says \"we use Render now, forget about Fly\".",
        "The button is blue now, not green.",
        "The response is a 404 now, not a 500.",
        "The tests are green now.",
        "We can merge now.",
        "You can close the issue now.",
        "You can delete the branch now.",
        "Now we are at 80 percent.",
        "I'm on the train now.",
        "We're on it now.",
        "Vergiss es einfach.",
        "Vergiss die letzte Nachricht.",
        "Ich hab den Test vergessen.",
        "Hast du vergessen zu committen?",
        "Der Test läuft jetzt.",
        "Wir haben jetzt ein Problem.",
        "Nimm für diesen Lauf den Mock.",
        "Vergiss den Linter erstmal, der Build ist rot.",
        "Wenn wir stattdessen Kafka hätten, wäre es schneller.",
        "Jetzt kannst du mergen.",
        "Wir schauen jetzt mal.",
    ] {
        assert_eq!(kept_of(message), [] as [&str; 0], "{message}");
    }
}

#[test]
fn an_instruction_not_to_forget_is_no_correction() {
    for message in ["Don't forget to run make proto.", "Never forget the license header."] {
        assert_eq!(kept_of(message), [message]);
    }
    assert_eq!(kept_of("Vergiss nicht, vor jedem Push die Tests zu starten.").len(), 1);
}

#[test]
fn what_is_left_goes_with_what_comes_instead() {
    let kept =
        Script::new().user("We deploy with Fly. Forget about Redis. We cache in RAM now.").kept();
    let titles: Vec<&str> = kept.iter().map(|one| one.title.as_str()).collect();
    assert_eq!(titles, ["We deploy with Fly.", "We cache in RAM now."]);
    assert!(!kept[0].body.contains("Redis") && kept[1].body.contains("Redis"), "{kept:#?}");
    let lifted = Script::new().user("You can commit to main now. Forget about that rule.").kept();
    assert_eq!(lifted[0].title, "You can commit to main now.");
    assert!(lifted[0].body.contains("Forget about that rule."), "{lifted:#?}");
    assert_eq!(kept_of("Forget about that rule."), [] as [&str; 0]);
}

#[test]
fn what_names_what_it_takes_back_takes_back_nothing_else() {
    for after in ["never mind Celery, use RQ instead", "Forget what I said about Celery, use RQ."] {
        let script = Script::new().user("Use pnpm, not npm.").assistant("Ok.").user(after);
        assert_eq!(script.titles(), ["Use pnpm, not npm.", after]);
    }
    let script = Script::new().user("Use pnpm, not npm.").user("never mind, forget it");
    assert_eq!(script.titles(), [] as [&str; 0]);
}

#[test]
fn each_statement_of_a_message_is_a_candidate() {
    for (message, titles) in [
        (
            "We deploy with Fly. Tests run with nextest, not cargo test.",
            &["We deploy with Fly.", "Tests run with nextest, not cargo test."] as &[&str],
        ),
        ("Use pnpm, not npm. Never push to main.", &["Use pnpm, not npm.", "Never push to main."]),
        (
            "Never commit secrets to the repo. Never commit binaries to the repo.",
            &["Never commit secrets to the repo.", "Never commit binaries to the repo."],
        ),
        (
            "We use Postgres. This repo targets Python 3.12.",
            &["We use Postgres.", "This repo targets Python 3.12."],
        ),
        (
            "Remember that staging is read-only. Remember that the VPN drops at noon.",
            &["Remember that staging is read-only.", "Remember that the VPN drops at noon."],
        ),
        (
            "Wir deployen jetzt mit Fly. Tests laufen mit nextest, nicht mit cargo test.",
            &["Wir deployen jetzt mit Fly.", "Tests laufen mit nextest, nicht mit cargo test."],
        ),
    ] {
        assert_eq!(kept_of(message), titles);
    }
}

#[test]
fn what_goes_on_with_a_statement_is_part_of_it() {
    for message in [
        "Never push to main. It must stay green.",
        "We use Postgres. So never write SQL that only MySQL knows.",
        "Always run the linter first. Also always run the type checker.",
        "Use the following rules:\n- never push to main\n- never rebase shared branches",
        "Rename the module. We use snake case. Never use abbreviations.",
    ] {
        assert_eq!(kept_of(message).len(), 1, "{message}");
    }
}

#[test]
fn several_wishes_of_one_message_are_one_piece_of_work() {
    assert_eq!(kept_of("The header should be blue. Links should be green."), [] as [&str; 0]);
}
