//! Options: one table makes both the parser and the help.

use std::collections::BTreeMap;

/// An option of a command. `value` is empty for a switch, `default` for what has none.
pub(crate) struct Opt {
    pub(crate) name: &'static str,
    pub(crate) value: &'static str,
    pub(crate) default: &'static str,
    pub(crate) about: &'static str,
}

impl Opt {
    /// An option with a value.
    pub(crate) const fn value(
        name: &'static str,
        value: &'static str,
        default: &'static str,
        about: &'static str,
    ) -> Opt {
        Opt { name, value, default, about }
    }

    /// An option without one.
    pub(crate) const fn switch(name: &'static str, about: &'static str) -> Opt {
        Opt { name, value: "", default: "", about }
    }
}

/// Options of every command here.
const COMMON: [Opt; 4] = [
    Opt::value("--kapsa", "PATH", "", "The program to try, instead of building one"),
    Opt::value(
        "--profile",
        "NAME",
        "release",
        "Profile to build it with (dev is quicker to build)",
    ),
    Opt::value("--seed", "N", "", "Repeats the random choices of the run that printed it"),
    Opt::switch("--json", "Print the result as JSON"),
];

/// A command's options as given, defaults filled in.
#[derive(Debug)]
pub(crate) struct Chosen(BTreeMap<&'static str, String>);

/// What to do with a command line.
#[derive(Debug)]
pub(crate) enum Parsed {
    /// Run with these options.
    Run(Chosen),
    /// Print this.
    Help(String),
}

/// Reads `args` by `table` and the common options.
pub(crate) fn parse(usage: &str, table: &'static [Opt], args: &[String]) -> Result<Parsed, String> {
    let known = || table.iter().chain(&COMMON);
    let mut chosen: BTreeMap<&'static str, String> = known()
        .filter(|opt| !opt.default.is_empty())
        .map(|opt| (opt.name, opt.default.to_owned()))
        .collect();
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        if arg == "--help" || arg == "-h" {
            return Ok(Parsed::Help(help(usage, known())));
        }
        let (name, inline) = arg
            .split_once('=')
            .map_or((arg.as_str(), None), |(name, value)| (name, Some(value.to_owned())));
        let opt = known()
            .find(|opt| opt.name == name)
            .ok_or_else(|| format!("unknown option {arg}; --help lists them"))?;
        let value = match (opt.value.is_empty(), inline) {
            (true, None) => String::new(),
            (true, Some(_)) => return Err(format!("{name} takes no value")),
            (false, Some(value)) => value,
            (false, None) => {
                rest.next().cloned().ok_or_else(|| format!("{name} needs {}", opt.value))?
            }
        };
        chosen.insert(opt.name, value);
    }
    Ok(Parsed::Run(Chosen(chosen)))
}

fn help<'a>(usage: &str, known: impl Iterator<Item = &'a Opt>) -> String {
    let mut text = format!("{usage}\n\nOptions:\n");
    const HELP: Opt = Opt::switch("--help", "Print this");
    for opt in known.chain([&HELP]) {
        let left = format!("{} {}", opt.name, opt.value);
        let default = if opt.default.is_empty() {
            String::new()
        } else {
            format!(" [default: {}]", opt.default)
        };
        text.push_str(&format!("  {left:<22} {}{default}\n", opt.about));
    }
    text.push_str("\nExit codes: 0 every promise was kept (or skipped), 1 one was broken, 2 the command could not run.");
    text
}

impl Chosen {
    /// The value of `name`, if it was given or has a default.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Whether the switch `name` was given.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// The number that `name` holds, which must lie in `range`.
    pub(crate) fn number(
        &self,
        name: &str,
        range: std::ops::RangeInclusive<u64>,
    ) -> Result<u64, String> {
        let text = self.text(name).unwrap_or_default();
        let number = text.parse().map_err(|_| format!("{name} needs a number, not {text:?}"))?;
        if range.contains(&number) {
            return Ok(number);
        }
        Err(format!("{name} must be {} to {}", range.start(), range.end()))
    }

    /// The seed that was given, or one from the clock.
    pub(crate) fn seed(&self) -> Result<u64, String> {
        if self.has("--seed") {
            return self.number("--seed", 0..=u64::MAX);
        }
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        Ok(now.map_or(1, |since| u64::from(since.subsec_nanos()) ^ since.as_secs()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: [Opt; 2] =
        [Opt::value("--puts", "N", "250", "Puts"), Opt::switch("--quick", "Less")];

    fn parsed(args: &[&str]) -> Result<Parsed, String> {
        let args: Vec<String> = args.iter().map(|&arg| arg.to_owned()).collect();
        parse("usage", &TABLE, &args)
    }

    fn chosen(args: &[&str]) -> Chosen {
        match parsed(args) {
            Ok(Parsed::Run(chosen)) => chosen,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn values_and_defaults_are_read() {
        assert_eq!(chosen(&[]).number("--puts", 1..=1000), Ok(250));
        assert_eq!(chosen(&["--puts", "7"]).number("--puts", 1..=1000), Ok(7));
        assert_eq!(chosen(&["--puts=8"]).number("--puts", 1..=1000), Ok(8));
        assert!(chosen(&["--quick"]).has("--quick") && !chosen(&[]).has("--quick"));
        assert_eq!(chosen(&["--seed", "3"]).seed(), Ok(3));
    }

    #[test]
    fn nonsense_is_refused() {
        for args in [&["--nonsense"][..], &["--puts"], &["--quick=1"], &["stray"]] {
            assert!(parsed(args).is_err(), "{args:?}");
        }
        assert!(chosen(&["--puts", "many"]).number("--puts", 1..=9).is_err());
        assert!(chosen(&["--puts", "10"]).number("--puts", 1..=9).is_err());
    }

    #[test]
    fn help_names_every_option() {
        let Ok(Parsed::Help(text)) = parsed(&["--help"]) else { panic!("no help") };
        for name in ["--puts", "--quick", "--seed", "--json", "250"] {
            assert!(text.contains(name), "{name} in {text}");
        }
    }
}
