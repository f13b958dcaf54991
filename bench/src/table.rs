//! Prints figures as a compact Markdown table under the command line that made it.

use std::fmt;

/// A Markdown table; the first column is text, the others are figures.
#[derive(Debug)]
pub struct Table {
    head: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these column heads.
    pub fn new<S: Into<String>>(head: impl IntoIterator<Item = S>) -> Self {
        Self { head: head.into_iter().map(Into::into).collect(), rows: Vec::new() }
    }

    /// Adds a row, as many cells as there are heads.
    pub fn row<S: Into<String>>(&mut self, cells: impl IntoIterator<Item = S>) {
        let cells: Vec<String> = cells.into_iter().map(Into::into).collect();
        assert_eq!(cells.len(), self.head.len(), "a cell for each head");
        self.rows.push(cells);
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = |cells: &[String]| format!("| {} |", cells.join(" | "));
        writeln!(f, "{}", line(&self.head))?;
        writeln!(f, "|---|{}", "--:|".repeat(self.head.len() - 1))?;
        self.rows.iter().try_for_each(|row| writeln!(f, "{}", line(row)))
    }
}

/// The command line that makes the table below it.
pub fn command_line() -> String {
    let words = std::env::args().skip(1).collect::<Vec<_>>().join(" ");
    format!("`cargo xtask bench {words}`")
}

/// Three significant digits: `0.123`, `1.23`, `12.3`, `1234`; a dash when there is no figure.
pub fn figure(value: f64) -> String {
    match value {
        v if !v.is_finite() => "–".to_owned(),
        v if v < 1.0 => format!("{v:.3}"),
        v if v < 10.0 => format!("{v:.2}"),
        v if v < 100.0 => format!("{v:.1}"),
        v => format!("{v:.0}"),
    }
}

/// `value` over `base` as a factor, a dash when either is missing.
pub fn ratio(value: f64, base: f64) -> String {
    let ratio = value / base;
    if ratio.is_finite() { format!("{}×", figure(ratio)) } else { "–".to_owned() }
}

/// Bytes in MB (10^6).
pub fn megabytes(bytes: u64) -> String {
    figure(bytes as f64 / 1e6)
}

/// A count with its unit folded in: `1 k`, `100 k`, `1 M`, or as it is.
pub fn count(n: u64) -> String {
    match n {
        n if n >= 1_000_000 && n.is_multiple_of(100_000) => format!("{} M", n as f64 / 1e6),
        n if n >= 1_000 && n.is_multiple_of(100) => format!("{} k", n as f64 / 1e3),
        n => n.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_and_figures() {
        let mut table = Table::new(["engine", "ms"]);
        table.row(["a".to_owned(), figure(1.234)]);
        assert_eq!(table.to_string(), "| engine | ms |\n|---|--:|\n| a | 1.23 |\n");
        let check = |n, expected| assert_eq!(count(n), expected);
        check(100_000, "100 k");
        check(1_500_000, "1.5 M");
        check(1_234, "1234");
        assert_eq!((ratio(3.0, 2.0), ratio(1.0, 0.0)), ("1.50×".to_owned(), "–".to_owned()));
    }
}
