//! Types a page: one `sh` runs all of its commands, and their answers are judged afterwards.

use std::fmt::Write as _;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command as Process, Stdio};

use super::claims::{self, Claims};
use super::page::{self, Block, Claim, Command, blocks};
use crate::support::Sandbox;

/// Stands in for `cargo`: the same programs, without building them.
const CARGO: &str = include_str!("cargo.sh");

/// What the clone has: enough for what is typed, and little, since vectors of all documents take
/// half a minute.
const CLONE: [&str; 4] = ["README.md", "docs/access.md", "docs/versions.md", "examples"];

/// A page, typed.
struct Session {
    page: &'static str,
    sandbox: Sandbox,
    claims: Claims,
    script: String,
    commands: Vec<Command>,
    /// For a command, by its number: all that it prints.
    outputs: Vec<(usize, String)>,
    mistakes: Vec<String>,
}

/// Types every shell block of the page and checks all that its comments claim.
pub(super) fn check(page: &'static str) {
    let mut session = Session::new(page);
    for block in blocks(&super::read(page)) {
        session.add(&block);
    }
    session.add_sentences();
    session.run();
    session.judge();
    let (count, mistakes) = (session.commands.len(), session.mistakes.join("\n\n"));
    let claims = session.commands.iter().map(|command| command.claims.len()).sum::<usize>();
    println!("{page}: {count} commands, {claims} claims, {} outputs", session.outputs.len());
    assert!(mistakes.is_empty(), "{page} is wrong\n\n{mistakes}");
}

impl Session {
    fn new(page: &'static str) -> Session {
        let (sandbox, root) = (Sandbox::empty(), super::repository());
        for name in CLONE {
            copy(&root.join(name), &sandbox.path(&format!("clone/{name}")));
        }
        sandbox.write("bin/cargo", CARGO);
        Session {
            page,
            sandbox,
            claims: claims::of(page),
            script: format!("{}\n", claims::prelude()),
            commands: Vec::new(),
            outputs: Vec::new(),
            mistakes: Vec::new(),
        }
    }

    fn add(&mut self, block: &Block) {
        let number = self.commands.len();
        match block.language.as_str() {
            "json" => {
                let parsed = serde_json::from_str::<serde_json::Value>(&block.text);
                assert!(parsed.is_ok(), "{}:{}: {parsed:?}", self.page, block.line);
                self.add_file(block);
            }
            "jsonl" => {
                for line in block.text.lines() {
                    let parsed = serde_json::from_str::<serde_json::Value>(line);
                    assert!(parsed.is_ok(), "{}:{}: {parsed:?}", self.page, block.line);
                }
                self.add_file(block);
            }
            "toml" => self.add_file(block),
            "text" if block.follows && number > 0 => {
                self.outputs.push((number - 1, block.text.clone()))
            }
            "sh" if block.not_typed.is_none() => {
                for command in page::commands(block) {
                    self.add_command(command);
                }
            }
            _ => {}
        }
    }

    /// The file is there from here on, and not before.
    fn add_file(&mut self, block: &Block) {
        let Some(name) = &block.file else { return };
        let kept = self.sandbox.write(&format!("answers/line{}", block.line), &block.text);
        let folder = Path::new(name).parent().filter(|folder| !folder.as_os_str().is_empty());
        if let Some(folder) = folder {
            self.line(format_args!("mkdir -p '{}'", folder.display()));
        }
        self.line(format_args!("cp '{}' '{name}'", kept.display()));
    }

    fn add_command(&mut self, command: Command) {
        let answers = self.answers(self.commands.len());
        self.sandbox.write(&format!("answers/{}/command", self.commands.len()), &command.text);
        let answers = answers.display().to_string();
        self.line(format_args!(
            "eval \"$(cat '{answers}/command')\" >'{answers}/out' 2>'{answers}/err' </dev/null"
        ));
        self.line(format_args!("echo $? >'{answers}/code'"));
        for (n, claim) in command.claims.iter().enumerate() {
            let Claim::Words(words) = claim else { continue };
            match self.claims.comments.remove(words) {
                Some(check) => self.add_check(&answers, n, &check),
                None => self
                    .mistakes
                    .push(format!("{}:{}: nothing checks `# {words}`", self.page, command.line)),
            }
        }
        self.commands.push(command);
    }

    fn add_check(&mut self, answers: &str, n: usize, check: &str) {
        let number =
            Path::new(answers).file_name().expect("a number").to_str().expect("digits").to_string();
        self.sandbox.write(&format!("answers/{number}/check{n}"), check);
        self.line(format_args!(
            "(set -eu; out=$(cat '{answers}/out'); err=$(cat '{answers}/err'); code=$(cat '{answers}/code'); \
             . '{answers}/check{n}') >'{answers}/said{n}' 2>&1 </dev/null"
        ));
        self.line(format_args!("echo $? >'{answers}/checked{n}'"));
    }

    /// Sentences of the page are checked after its last command, as if they stood behind one that
    /// does nothing.
    fn add_sentences(&mut self) {
        let plain = super::read(self.page).split_whitespace().collect::<Vec<_>>().join(" ");
        for (sentence, check) in std::mem::take(&mut self.claims.sentences) {
            if !plain.contains(&sentence) {
                self.mistakes.push(format!(
                    "{} does not say `{sentence}`, which claims.sh checks",
                    self.page
                ));
            }
            self.claims.comments.insert(sentence.clone(), check);
            let claims = vec![Claim::Words(sentence)];
            self.add_command(Command { line: 0, text: ":".to_string(), claims });
        }
        for words in self.claims.comments.keys() {
            self.mistakes
                .push(format!("{} has no comment `# {words}`, which claims.sh checks", self.page));
        }
    }

    fn run(&self) {
        let script = self.sandbox.write("session.sh", &self.script);
        let output = self.shell().arg(&script).output().expect("sh starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}: the session ended early: {said}", self.page);
    }

    /// `sh` in the clone, with the binary and the stand-in on its path, and without settings of the
    /// caller.
    fn shell(&self) -> Process {
        let (bin, home) = (self.sandbox.path("bin"), self.sandbox.path("home"));
        let kapsa = Path::new(env!("CARGO_BIN_EXE_kapsa"));
        std::fs::create_dir_all(&home).expect("a folder");
        std::os::unix::fs::symlink(kapsa, bin.join("kapsa")).expect("a link");
        std::fs::set_permissions(bin.join("cargo"), Permissions::from_mode(0o755))
            .expect("permissions");
        let path = std::env::var("PATH").expect("a path");
        let mut shell = Process::new("sh");
        for (name, value) in self.sandbox.command().get_envs() {
            match value {
                Some(value) => shell.env(name, value),
                None => shell.env_remove(name),
            };
        }
        shell.current_dir(self.sandbox.path("clone")).stdin(Stdio::null()).env("HOME", &home);
        shell.env("PATH", format!("{}:{path}", bin.display())).env_remove("KAPSA_EMBED");
        shell
            .env("EXAMPLES", kapsa.with_file_name("examples"))
            .env("REPOSITORY", super::repository());
        shell
    }

    fn judge(&mut self) {
        for (number, command) in self.commands.iter().enumerate() {
            let whole =
                self.outputs.iter().find(|(of, _)| *of == number).map(|(_, text)| text.as_str());
            let mistakes = judge(&self.answers(number), command, whole);
            let at = format!("{}:{}: $ {}", self.page, command.line, command.text);
            self.mistakes.extend(mistakes.into_iter().map(|mistake| format!("{at}\n{mistake}")));
        }
    }

    fn answers(&self, number: usize) -> PathBuf {
        self.sandbox.path(&format!("answers/{number}"))
    }

    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        writeln!(self.script, "{line}").expect("strings grow");
    }
}

/// What is wrong with one command's answer.
fn judge(answers: &Path, command: &Command, whole: Option<&str>) -> Vec<String> {
    let read = |name: &str| std::fs::read_to_string(answers.join(name)).unwrap_or_default();
    let (out, err) = (read("out"), read("err"));
    let code = read("code").trim().parse::<i32>().expect("the session came to this command");
    let mut mistakes = Vec::new();
    let claimed = command.claims.iter().find_map(|claim| match claim {
        Claim::ExitCode(code) => Some(*code),
        _ => None,
    });
    if code != claimed.unwrap_or(0) {
        mistakes.push(format!("exit code {code}\n{out}{err}"));
    }
    let warned =
        command.claims.iter().any(|claim| matches!(claim, Claim::Warns(_) | Claim::PrintsNothing));
    if code == 0 && !warned && !err.is_empty() {
        mistakes.push(format!("no claim says that it warns: {err}"));
    }
    if !silent(command) && out.trim().is_empty() && code == 0 {
        mistakes.push("no claim says that it prints nothing".to_string());
    }
    let checked = |n: usize| (read(&format!("checked{n}")), read(&format!("said{n}")));
    for (n, claim) in command.claims.iter().enumerate() {
        match claim {
            Claim::Prints(text) if !flat(&out).contains(&flat(text)) => {
                mistakes.push(format!("does not print `{text}`:\n{out}"));
            }
            Claim::Warns(text) if !flat(&err).contains(&flat(text)) => {
                mistakes.push(format!("does not warn `{text}`:\n{err}"));
            }
            Claim::PrintsNothing if !out.is_empty() => mistakes.push(format!("prints:\n{out}")),
            Claim::Words(words) if checked(n).0.trim() != "0" => {
                mistakes.push(format!("not true: {words}\n{}\n{out}{err}", checked(n).1));
            }
            _ => {}
        }
    }
    if let Some(whole) = whole.filter(|whole| !like(&out, whole)) {
        mistakes.push(format!("prints\n{out}\nand not\n{whole}"));
    }
    mistakes
}

/// Whether a command may print nothing: it is claimed, its output goes elsewhere, or it is not a
/// call of the program.
fn silent(command: &Command) -> bool {
    let elsewhere = [">", "$("].iter().any(|mark| command.text.contains(mark));
    command.claims.contains(&Claim::PrintsNothing) || elsewhere || !command.text.contains("kapsa ")
}

fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether a text is as shown, `[..]` standing for anything within a line.
fn like(text: &str, shown: &str) -> bool {
    let lines = |text: &str| text.trim_end().lines().map(str::to_string).collect::<Vec<_>>();
    let (text, shown) = (lines(text), lines(shown));
    text.len() == shown.len() && text.iter().zip(&shown).all(|(line, shown)| like_line(line, shown))
}

fn like_line(line: &str, shown: &str) -> bool {
    let mut parts = shown.split("[..]");
    let Some(mut rest) = line.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let parts: Vec<_> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        let Some((_, after)) = rest.split_once(part) else { return false };
        rest = after;
    }
    rest.ends_with(last)
}

/// Copies a file or a folder with all that is in it.
fn copy(from: &Path, to: &Path) {
    if from.is_dir() {
        std::fs::create_dir_all(to).expect("a folder");
        for entry in std::fs::read_dir(from).expect("a folder") {
            let name = entry.expect("an entry").file_name();
            copy(&from.join(&name), &to.join(&name));
        }
    } else {
        std::fs::create_dir_all(to.parent().expect("a folder above")).expect("a folder");
        std::fs::copy(from, to).expect("a copy");
    }
}

#[test]
fn wildcards_stand_for_any_text_within_a_line() {
    for (text, shown, same) in [
        ("a b c\nd", "a [..] c\nd\n", true),
        ("a b c", "a [..] d", false),
        ("a", "a\nb", false),
        ("abc", "[..]", true),
        ("a 1 b 2 c", "a [..] b [..] c", true),
        ("a b", "a", false),
    ] {
        assert_eq!(like(text, shown), same, "{text:?} {shown:?}");
    }
}
