//! `completions` and `man`: from the same description as the help.

use std::fs;

use clap::{Command, CommandFactory};

use crate::app::App;
use crate::args::{Cli, Completions, Man};
use crate::error::{CliError, Result};
use crate::wire::shell::{CompletionsOut, ManOut};
use crate::wire::show;

/// `kapsa completions SHELL`.
pub(crate) fn completions(app: &mut App, args: &Completions) -> Result<()> {
    let script = crate::completion::script(args.shell)?;
    if app.out.is_json() {
        let text = String::from_utf8_lossy(&script);
        return app.out.json(&CompletionsOut { shell: &args.shell.to_string(), text: &text });
    }
    app.out.own(&script)
}

/// `kapsa man [--out DIR]`.
pub(crate) fn man(app: &mut App, args: &Man) -> Result<()> {
    let Some(folder) = &args.out else {
        let mut page = Vec::new();
        clap_mangen::Man::new(documented())
            .render(&mut page)
            .map_err(|error| CliError::io("make the manual page", &error))?;
        if app.out.is_json() {
            return app.out.json(&ManOut::Page { text: &String::from_utf8_lossy(&page) });
        }
        return app.out.own(&page);
    };
    let failed =
        |error| CliError::io(&format!("write manual pages to {}", folder.display()), &error);
    fs::create_dir_all(folder).map_err(failed)?;
    clap_mangen::generate_to(documented(), folder).map_err(failed)?;
    if app.out.is_json() {
        return app.out.json(&ManOut::Pages { output_path: show(folder) });
    }
    app.out.line(&format!("wrote the manual pages to {}", folder.display()))
}

/// The command as the manual shows it: `help` needs no pages of its own.
fn documented() -> Command {
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    command
}
