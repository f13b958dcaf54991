//! What setup refuses, and that it writes nothing then.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use kapsa_setup::{CONFIG_BYTES_MAX, Ledger, Scope, apply, plan, plan_undo};

use crate::world::{World, named, put};

/// The error of setting a client up; no file changed.
fn refused(mut world: World, client: &str, scope: Scope) -> (String, &'static str) {
    let before = world.files();
    let error = world.set_up(client, scope).expect_err("it is refused");
    assert_eq!(world.files(), before, "{error}");
    assert!(world.ledger.files.is_empty());
    (error.to_string(), error.code())
}

#[test]
fn a_file_that_cannot_be_read_is_named_with_its_line() {
    for (client, what, text, line, says) in [
        ("claude-code", "server", "{\n  \"a\": 1,,\n}\n", 2, ""),
        ("claude-code", "hooks", "{\n  \"hooks\": [\n", 2, ""),
        ("claude-code", "server", "\n[]\n", 2, "no object"),
        ("codex", "server", "a = 1\nb = \n", 2, ""),
        ("codex", "server", "a = 1\na = 2\n", 2, "duplicate"),
        ("claude-code", "passage", "x\n<!-- kapsa:begin -->\n", 2, "without"),
        ("claude-code", "passage", "<!-- kapsa:end -->\n", 1, "without"),
        ("zed", "server", "{ 'a': 1 }", 1, ""),
    ] {
        let world = World::new();
        let file = world.file(client, what);
        put(&file, text.as_bytes());
        let (error, code) = refused(world, client, Scope::Global);
        assert!(error.contains(&format!("{}:{line}: ", file.display())), "{error}");
        assert!(error.contains(says), "{error}");
        assert_eq!(code, "unreadable_config");
    }
}

#[test]
fn values_of_another_type_are_not_overwritten() {
    for (client, what, text) in [
        ("claude-code", "server", r#"{"mcpServers": []}"#),
        ("claude-code", "server", r#"{"mcpServers": null}"#),
        ("claude-code", "hooks", r#"{"hooks": {"Stop": {}}}"#),
        ("claude-code", "hooks", r#"{"hooks": 1}"#),
        ("claude-code", "server", r#"{"mcpServers": {}, "mcpServers": {}}"#),
        ("codex", "server", "mcp_servers = 1\n"),
        ("codex", "server", "mcp_servers = { docs = { command = \"d\" } }\n"),
    ] {
        let world = World::new();
        put(&world.file(client, what), text.as_bytes());
        refused(world, client, Scope::Global);
    }
}

#[test]
fn bytes_that_are_no_text_and_long_files_are_refused() {
    let world = World::new();
    put(&world.file("codex", "server"), b"a = 1\nb = \"\xff\"\n");
    assert!(refused(world, "codex", Scope::Global).0.contains("config.toml:2: it is not UTF-8"));
    let world = World::new();
    let long = vec![b' '; usize::try_from(CONFIG_BYTES_MAX).expect("a length") + 1];
    put(&world.file("codex", "server"), &long);
    assert!(refused(world, "codex", Scope::Global).0.contains("longer than 8 MiB"));
    let world = World::new();
    let deep = "[".repeat(100_000);
    put(&world.file("zed", "server"), deep.as_bytes());
    assert!(refused(world, "zed", Scope::Global).0.contains("depth"));
}

#[test]
fn read_only_files_and_folders_are_refused() {
    let world = World::new();
    let file = world.file("claude-code", "hooks");
    put(&file, b"{}");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o444)).expect("permissions");
    let (error, code) = refused(world, "claude-code", Scope::Global);
    assert!(error.contains("settings.json is read-only"), "{error}");
    assert_eq!(code, "refused");

    let world = World::new();
    let folder = world.places.home.join(".codex");
    fs::create_dir(&folder).expect("a folder");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o555)).expect("permissions");
    let (error, _) = refused(world, "codex", Scope::Global);
    assert!(error.contains(".codex is a read-only folder"), "{error}");
}

#[test]
fn what_is_no_file_is_refused() {
    let world = World::new();
    fs::create_dir(world.file("claude-code", "server")).expect("a folder");
    assert!(refused(world, "claude-code", Scope::Global).0.contains("is no regular file"));
    let world = World::new();
    symlink("/nowhere/at/all", world.file("claude-code", "server")).expect("a link");
    assert!(refused(world, "claude-code", Scope::Global).0.contains("leads to no file"));
}

#[test]
fn a_link_of_a_project_does_not_lead_out_of_it() {
    let world = World::new();
    let outside = world.places.home.join(".profile");
    put(&outside, b"export A=1\n");
    symlink(&outside, world.places.project.join("AGENTS.md")).expect("a link");
    let (error, _) = refused(world, "codex", Scope::Project);
    assert!(error.contains("leads out of the project"), "{error}");
}

#[test]
fn a_linked_folder_of_a_project_leads_nowhere_else() {
    for (client, folder) in [
        ("claude-code", ".claude"),
        ("codex", ".codex"),
        ("cursor", ".cursor"),
        ("gemini", ".gemini"),
        ("vscode", ".vscode"),
        ("copilot", ".github"),
    ] {
        for outside in ["outside", "outside/not/there"] {
            let world = World::new();
            let other = world.root.path().join("outside");
            fs::create_dir(&other).expect("a folder");
            let link = world.places.project.join(folder);
            let target = world.root.path().join(outside);
            symlink(&target, &link).expect("a link");
            let (error, code) = refused(world, client, Scope::Project);
            assert_eq!(code, "refused");
            assert!(error.contains(&link.display().to_string()), "{error}");
            assert!(error.contains(&target.display().to_string()), "{error}");
            assert!(error.contains("is a link that leads"), "{error}");
        }
    }
    // Through a link within the project to one that leads out.
    let world = World::new();
    let project = &world.places.project;
    fs::create_dir(world.root.path().join("outside")).expect("a folder");
    symlink(world.root.path().join("outside"), project.join("out")).expect("a link");
    symlink("out", project.join(".cursor")).expect("a link");
    assert!(refused(world, "cursor", Scope::Project).0.contains("leads out of the project"));
}

#[test]
fn links_within_a_project_and_of_the_user_are_followed() {
    for scope in [Scope::Project, Scope::Global] {
        let mut world = World::new();
        let (base, real) = match scope {
            Scope::Project => (world.places.project.clone(), world.places.project.join("agents")),
            Scope::Global => (world.places.home.clone(), world.root.path().join("dotfiles")),
        };
        fs::create_dir(&real).expect("a folder");
        put(&real.join("mcp.json"), b"{}\n");
        for folder in [".claude", ".cursor"] {
            symlink(&real, base.join(folder)).expect("a link");
        }
        let before = world.files();
        for client in ["claude-code", "cursor"] {
            world.set_up(client, scope).expect("it is set up");
        }
        assert!(fs::read_to_string(real.join("mcp.json")).expect("it").contains("kapsa"));
        assert!(fs::read_to_string(real.join("settings.json")).expect("it").contains("kapsa"));
        world.undo();
        assert_eq!(world.files(), before);
        assert_eq!(fs::read(real.join("mcp.json")).expect("it"), b"{}\n");
        assert!(!real.join("settings.json").exists());
    }
}

#[test]
fn undo_follows_no_link_that_came_afterwards() {
    let mut world = World::new();
    let file = world.places.project.join(".cursor/mcp.json");
    put(&file, b"{}\n");
    world.set_up("cursor", Scope::Project).expect("it is set up");
    let outside = world.root.path().join("outside");
    put(&outside.join("mcp.json"), &fs::read(&file).expect("the file"));
    fs::remove_dir_all(world.places.project.join(".cursor")).expect("it goes");
    symlink(&outside, world.places.project.join(".cursor")).expect("a link");
    let (plans, errors) = plan_undo(&world.ledger, &[], None, &world.places, &world.program);
    assert!(errors.iter().any(|error| error.to_string().contains("leads out")), "{errors:?}");
    let path = world.ledger_path();
    kapsa_setup::undo(&plans, &mut world.ledger, &path).expect("the others are undone");
    assert!(fs::read_to_string(outside.join("mcp.json")).expect("it").contains("kapsa"));
}

#[test]
fn undo_of_a_project_leaves_the_one_within_it_alone() {
    let mut world = World::new();
    world.set_up("cursor", Scope::Project).expect("it is set up");
    let outer = world.places.project.clone();
    world.places.project = outer.join("inner");
    fs::create_dir(&world.places.project).expect("a folder");
    world.set_up("cursor", Scope::Project).expect("it is set up");
    world.places.project = outer.clone();
    let scope = Some(Scope::Project);
    let (plans, errors) = plan_undo(&world.ledger, &[], scope, &world.places, &world.program);
    assert!(errors.is_empty(), "{errors:?}");
    let path = world.ledger_path();
    kapsa_setup::undo(&plans, &mut world.ledger, &path).expect("it is undone");
    assert!(!outer.join(".cursor/mcp.json").exists());
    assert!(outer.join("inner/.cursor/mcp.json").exists());
}

#[test]
fn an_entry_of_somebody_else_is_shown_and_stays_unless_forced() {
    for (client, text, found) in [
        ("claude-code", r#"{"mcpServers":{"kapsa":{"command":"npx","args":["x"]}}}"#, "npx"),
        ("claude-code", r#"{"mcpServers":{"kapsa":{"url":"https://example.org"}}}"#, "example.org"),
        ("codex", "[mcp_servers.kapsa]\ncommand = \"npx\"\n", "npx"),
    ] {
        let mut world = World::new();
        let file = world.file(client, "server");
        put(&file, text.as_bytes());
        let error = world.set_up(client, Scope::Global).expect_err("it is refused");
        assert_eq!(error.code(), "foreign_entry");
        assert!(error.to_string().contains(found), "{error}");
        assert_eq!(fs::read_to_string(&file).expect("the file"), text);
        let forced = plan(named(client), Scope::Global, &world.places, &world.program, true);
        let path = world.ledger_path();
        apply(&forced.expect("plans"), &mut world.ledger, &path).expect("it is forced");
        assert!(!fs::read_to_string(&file).expect("the file").contains(found));
        world.undo();
        assert_eq!(fs::read_to_string(&file).expect("the file"), text);
    }
}

#[test]
fn a_failure_on_the_way_puts_back_what_was_written() {
    let mut world = World::new();
    put(&world.file("claude-code", "server"), b"{\"a\": 1}\n");
    let plans = world.plans("claude-code", Scope::Global).expect("plans");
    // Somebody writes the last of the files in between.
    put(&world.file("claude-code", "passage"), b"new\n");
    let before = world.files();
    let path = world.ledger_path();
    let error = apply(&plans, &mut world.ledger, &path).expect_err("it fails");
    assert!(error.to_string().contains("changed while"), "{error}");
    assert_eq!(world.files(), before);
    assert!(world.ledger.files.is_empty() && !path.exists());
}

#[test]
fn a_shared_file_stays_as_long_as_a_client_needs_it() {
    let mut world = World::new();
    let agents = world.places.project.join("AGENTS.md");
    put(&agents, b"Text.\n");
    world.set_up("codex", Scope::Project).expect("it is set up");
    world.set_up("cursor", Scope::Project).expect("it is set up");
    let both = fs::read_to_string(&agents).expect("the file");
    assert_eq!(both.matches("kapsa:begin").count(), 1);
    for (client, has) in [("codex", true), ("cursor", false)] {
        let (plans, errors) =
            plan_undo(&world.ledger, &[named(client)], None, &world.places, &world.program);
        assert!(errors.is_empty(), "{errors:?}");
        let path = world.ledger_path();
        kapsa_setup::undo(&plans, &mut world.ledger, &path).expect("it is undone");
        let text = fs::read_to_string(&agents).expect("the file");
        assert_eq!(text.contains("kapsa:begin"), has, "{client}");
    }
    assert_eq!(fs::read(&agents).expect("the file"), b"Text.\n");
}

#[test]
fn undo_survives_a_lost_backup_and_a_file_that_is_gone() {
    let mut world = World::new();
    let file = world.file("claude-code", "server");
    put(&file, b"{\n  \"a\": 1\n}\n");
    world.set_up("claude-code", Scope::Global).expect("it is set up");
    for kept in &world.ledger.files {
        kept.backup.iter().for_each(|backup| fs::remove_file(backup).expect("a backup"));
    }
    fs::remove_file(world.file("claude-code", "passage")).expect("the passage goes");
    world.undo();
    assert_eq!(fs::read(&file).expect("the file"), b"{\n  \"a\": 1\n}\n");
}

#[test]
fn a_ledger_that_cannot_be_read_is_named() {
    let world = World::new();
    put(&world.ledger_path(), b"{\n nonsense");
    let error = Ledger::read(&world.ledger_path()).expect_err("it is refused");
    assert!(error.to_string().contains("setup.json:2: "), "{error}");
    put(&world.ledger_path(), b"{\"version\": 99, \"files\": []}");
    let error = Ledger::read(&world.ledger_path()).expect_err("it is refused");
    assert!(error.to_string().contains("version 99"), "{error}");
}

#[test]
fn files_are_where_the_environment_says() {
    let mut world = World::new();
    let moved = world.root.path().join("moved");
    world.places.codex_home = Some(moved.join("codex"));
    world.places.claude_config_dir = Some(moved.join("claude"));
    world.places.config_home = Some(moved.join("config"));
    for (client, file) in [
        ("codex", "codex/config.toml"),
        ("claude-code", "claude/.claude.json"),
        ("opencode", "config/opencode/opencode.json"),
        ("zed", "config/zed/settings.json"),
    ] {
        assert_eq!(world.file(client, "server"), moved.join(file));
    }
}
