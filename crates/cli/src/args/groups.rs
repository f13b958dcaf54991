//! The headings under which `kapsa --help` lists the verbs. The verbs a newcomer needs come first.
//!
//! The list is written from the tree of arguments, so a summary has one source. Knows nothing of
//! what the verbs do.

use std::fmt::Write as _;

use clap::{Command, CommandFactory};

use super::Cli;

/// Verbs under one heading, most used first.
struct VerbGroup {
    heading: &'static str,
    verbs: &'static [&'static str],
}

/// Every verb, once.
const GROUPS: [VerbGroup; 8] = [
    VerbGroup {
        heading: "Remember and find",
        verbs: &[
            "init",
            "setup",
            "put",
            "find",
            "get",
            "timeline",
            "history",
            "forget",
            "alias",
            "resolve-uri",
        ],
    },
    VerbGroup {
        heading: "Versions",
        verbs: &[
            "branch",
            "merge",
            "diff",
            "log",
            "checkpoint",
            "checkpoints",
            "blame",
            "revert",
            "cherry-pick",
        ],
    },
    VerbGroup {
        heading: "Share",
        verbs: &[
            "clone",
            "remote",
            "fetch",
            "pull",
            "push",
            "export",
            "import",
            "mounts",
            "clearance",
            "review",
        ],
    },
    VerbGroup {
        heading: "Agents",
        verbs: &[
            "mcp",
            "context",
            "fact",
            "entity",
            "episode",
            "insight",
            "role",
            "fs",
            "memory-tool",
        ],
    },
    VerbGroup {
        heading: "Session traces",
        verbs: &["connect", "sync", "trace", "status", "maintain", "redact"],
    },
    VerbGroup { heading: "Runs", verbs: &["run", "event", "events", "replay", "policy", "graph"] },
    VerbGroup {
        heading: "Care",
        verbs: &[
            "stats", "doctor", "verify", "key", "embed", "reembed", "model", "optimize", "compact",
            "purge", "salvage", "gc", "backend",
        ],
    },
    VerbGroup {
        heading: "More",
        verbs: &["tour", "shell", "create", "completions", "man", "hook", "svc"],
    },
];

/// Columns of the names, with the gap after them.
const NAME_COLUMNS: usize = 13;

/// The whole command, whose help lists the verbs by group.
pub(crate) fn command() -> Command {
    let command = Cli::command();
    let style = *command.get_styles().get_header();
    let mut template = "{about-with-newline}\n{usage-heading} {usage}\n\n".to_string();
    for group in &GROUPS {
        template.push_str(&listed(group, &command));
    }
    write!(template, "{style}Global options:{style:#}\n{{options}}{{after-help}}")
        .expect("a String takes all");
    command.help_template(template)
}

/// A heading and a line for each of its verbs.
fn listed(group: &VerbGroup, command: &Command) -> String {
    let (header, literal) = (command.get_styles().get_header(), command.get_styles().get_literal());
    let mut text = format!("{header}{}:{header:#}\n", group.heading);
    for verb in group.verbs.iter().filter_map(|name| command.find_subcommand(name)) {
        let aliases: Vec<_> = verb.get_visible_aliases().collect();
        let also = if aliases.is_empty() {
            String::new()
        } else {
            format!(" (also: {})", aliases.join(", "))
        };
        let summary = verb.get_about().map(ToString::to_string).unwrap_or_default();
        let name = verb.get_name();
        writeln!(
            text,
            "  {literal}{name}{literal:#}{:<gap$}{summary}{also}",
            "",
            gap = NAME_COLUMNS - name.len()
        )
        .expect("a String takes all");
    }
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_verb_is_in_one_group() {
        let grouped: Vec<_> = GROUPS.iter().flat_map(|group| group.verbs).copied().collect();
        let unique: BTreeSet<_> = grouped.iter().copied().collect();
        assert_eq!(grouped.len(), unique.len(), "a verb is in two groups");
        let command = Cli::command();
        let verbs: BTreeSet<_> = command
            .get_subcommands()
            .filter(|verb| !verb.is_hide_set())
            .map(Command::get_name)
            .collect();
        assert_eq!(unique, verbs);
    }

    #[test]
    fn help_fits_eighty_columns_and_names_every_verb() {
        let help = command().term_width(80).render_help().to_string();
        let wide: Vec<_> = help.lines().filter(|line| line.chars().count() > 80).collect();
        assert_eq!(wide, [] as [&str; 0]);
        for group in &GROUPS {
            assert!(help.contains(&format!("\n{}:\n", group.heading)), "{help}");
        }
        assert!(help.contains("(also: search)"), "{help}");
    }
}
