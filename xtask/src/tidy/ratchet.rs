//! Numbers that have a limit, and what still exceeds it: an allowance may shrink, never grow, and
//! goes when it is not needed.

use super::problem::Problem;

/// What may exceed a limit for now, and by how much.
#[derive(Debug, Clone, Copy)]
pub(super) struct Allowance {
    pub(super) what: &'static str,
    pub(super) number: usize,
}

impl Allowance {
    pub(super) const fn of(what: &'static str, number: usize) -> Self {
        Self { what, number }
    }
}

/// Something that was counted.
#[derive(Debug)]
pub(super) struct Measured {
    pub(super) what: String,
    pub(super) number: usize,
    pub(super) file: String,
    pub(super) line: usize,
    /// What was counted, for whoever has to mend it.
    pub(super) detail: String,
}

/// A limit with its allowances.
pub(super) struct Ratchet<'a> {
    /// What is counted, as a message says it.
    pub(super) rule: &'a str,
    pub(super) limit: usize,
    pub(super) allowed: &'a [Allowance],
}

impl Ratchet<'_> {
    /// What exceeds the limit or its allowance, and which allowances in `source` are larger than
    /// needed.
    pub(super) fn check(&self, measured: Vec<Measured>, source: &str) -> Vec<Problem> {
        let number = |what: &str| {
            measured.iter().filter(|m| m.what == what).map(|m| m.number).max().unwrap_or_default()
        };
        let mut problems: Vec<Problem> = Vec::new();
        for Allowance { what, number: allowed } in self.allowed {
            let now = number(what);
            if now <= self.limit {
                problems.push(Problem::new(
                    source,
                    1,
                    format!("the allowance for {what} is not needed any more: remove it"),
                ));
            } else if now < *allowed {
                problems.push(Problem::new(
                    source,
                    1,
                    format!("the allowance for {what} is {allowed}: lower it to {now}"),
                ));
            }
        }
        problems.extend(measured.iter().filter_map(|measured| self.exceeded(measured)));
        problems
    }

    fn exceeded(&self, measured: &Measured) -> Option<Problem> {
        let allowed = self
            .allowed
            .iter()
            .find(|allowance| allowance.what == measured.what)
            .map(|allowance| allowance.number);
        let limit = allowed.unwrap_or(self.limit);
        let Measured { what, number, file, line, detail } = measured;
        let message = format!("{what}: {number} {}, more than {limit}: {detail}", self.rule);
        (*number > limit).then(|| Problem::new(file, *line, message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(number: usize, allowed: &[Allowance], expected: &[&str]) {
        let measured = Measured {
            what: "a".into(),
            number,
            file: "a.rs".into(),
            line: 7,
            detail: "b c".into(),
        };
        let problems =
            Ratchet { rule: "things", limit: 2, allowed }.check(vec![measured], "limits.rs");
        let problems: Vec<String> = problems.iter().map(Problem::to_string).collect();
        assert_eq!(problems, expected);
    }

    #[test]
    fn a_number_stays_within_its_limit_or_allowance() {
        let allowed = [Allowance { what: "a", number: 4 }];
        check(2, &[], &[]);
        check(3, &[], &["a.rs:7: a: 3 things, more than 2: b c"]);
        check(4, &allowed, &[]);
        check(5, &allowed, &["a.rs:7: a: 5 things, more than 4: b c"]);
    }

    #[test]
    fn an_allowance_only_shrinks() {
        let allowed = [Allowance { what: "a", number: 4 }];
        check(3, &allowed, &["limits.rs:1: the allowance for a is 4: lower it to 3"]);
        check(2, &allowed, &["limits.rs:1: the allowance for a is not needed any more: remove it"]);
    }
}
