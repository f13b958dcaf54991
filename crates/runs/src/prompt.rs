//! Puts a role's prompt together from seven layers in a fixed order, each of which may be missing
//! and none of which may grow beyond its budget. The same layers always make the same prompt.

use kapsa_memory::tokens;

/// One part of a prompt, in the order in which they stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Layer {
    /// Who the agent is.
    Role,
    /// What it is to do.
    Task,
    /// The plan of the run.
    Plan,
    /// Code that the task is about.
    CodeContext,
    /// Rules of the project.
    ProjectRules,
    /// How earlier attempts were rated.
    ScoreHistory,
    /// What siblings found out: [`super::Context`].
    SiblingMemory,
}

impl Layer {
    /// All of them, in order.
    pub const ALL: [Layer; 7] = [
        Layer::Role,
        Layer::Task,
        Layer::Plan,
        Layer::CodeContext,
        Layer::ProjectRules,
        Layer::ScoreHistory,
        Layer::SiblingMemory,
    ];

    /// Its name on a command line, such as `project-rules`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Layer::Role => "role",
            Layer::Task => "task",
            Layer::Plan => "plan",
            Layer::CodeContext => "code-context",
            Layer::ProjectRules => "project-rules",
            Layer::ScoreHistory => "score-history",
            Layer::SiblingMemory => "sibling-memory",
        }
    }

    /// The layer of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Layer> {
        Layer::ALL.into_iter().find(|layer| layer.name() == name)
    }

    /// The heading that it stands under.
    #[must_use]
    pub fn heading(self) -> &'static str {
        match self {
            Layer::Role => "Role",
            Layer::Task => "Task",
            Layer::Plan => "Plan",
            Layer::CodeContext => "Code context",
            Layer::ProjectRules => "Project rules",
            Layer::ScoreHistory => "Score history",
            Layer::SiblingMemory => "Sibling memory",
        }
    }

    /// Tokens that it may take by default, by the estimate of [`kapsa_memory::tokens`].
    #[must_use]
    pub fn budget_default(self) -> usize {
        match self {
            Layer::Role | Layer::SiblingMemory => 2000,
            Layer::Task | Layer::ProjectRules => 4000,
            Layer::Plan => 3000,
            Layer::CodeContext => 8000,
            Layer::ScoreHistory => 500,
        }
    }
}

/// The layers of one prompt.
///
/// ```
/// use kapsa_runs::{Layer, PromptLayers};
///
/// let prompt = PromptLayers::new()
///     .with(Layer::SiblingMemory, Some("[task-1 builder] the port is 5433"))
///     .with(Layer::Role, Some("You build one task."))
///     .with(Layer::Plan, None)
///     .render();
/// let memory = "# Sibling memory\n\n[task-1 builder] the port is 5433\n";
/// assert_eq!(prompt, format!("# Role\n\nYou build one task.\n\n{memory}"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PromptLayers {
    texts: [Option<String>; Layer::ALL.len()],
    budgets: [Option<usize>; Layer::ALL.len()],
}

impl PromptLayers {
    /// No layer at all.
    #[must_use]
    pub fn new() -> PromptLayers {
        PromptLayers::default()
    }

    /// Sets a layer. None, or a text of nothing but white space, takes it out.
    #[must_use]
    pub fn with(mut self, layer: Layer, text: Option<&str>) -> PromptLayers {
        self.texts[layer as usize] =
            text.filter(|text| !text.trim().is_empty()).map(str::to_string);
        self
    }

    /// Sets how many tokens a layer may take; [`Layer::budget_default`] otherwise.
    #[must_use]
    pub fn with_budget(mut self, layer: Layer, tokens_max: usize) -> PromptLayers {
        self.budgets[layer as usize] = Some(tokens_max);
        self
    }

    /// The layers that are there, each within its budget, in order.
    pub fn layers(&self) -> impl Iterator<Item = (Layer, String)> + '_ {
        Layer::ALL.into_iter().filter_map(|layer| {
            let text = self.texts[layer as usize].as_deref()?;
            let budget = self.budgets[layer as usize].unwrap_or_else(|| layer.budget_default());
            Some((layer, within(text.trim_matches('\n').trim_end(), budget)))
        })
    }

    /// The prompt: each layer under its heading. Empty when there is no layer.
    #[must_use]
    pub fn render(&self) -> String {
        let parts: Vec<String> = self
            .layers()
            .map(|(layer, text)| format!("# {}\n\n{text}\n", layer.heading()))
            .collect();
        parts.join("\n")
    }
}

/// The text, or what of it fits, and a note that says that it is not all.
fn within(text: &str, tokens_max: usize) -> String {
    if tokens::estimate(text) <= tokens_max {
        return text.to_string();
    }
    let note = format!("[cut: {} tokens, the budget is {tokens_max}]", tokens::estimate(text));
    let kept = tokens::whole_lines(text, tokens_max.saturating_sub(tokens::estimate(&note) + 1));
    // A single line that does not fit is cut between characters: the beginning of it says more than
    // nothing.
    let kept = match kept.trim_end() {
        "" => tokens::first_bytes(
            text,
            tokens_max.saturating_sub(tokens::estimate(&note) + 1) * tokens::TOKEN_BYTES,
        ),
        kept => kept,
    };
    if kept.is_empty() { note } else { format!("{kept}\n{note}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sibling_memory_is_the_seventh_and_the_order_is_fixed() {
        assert_eq!(Layer::ALL[6], Layer::SiblingMemory);
        let in_order = Layer::ALL
            .iter()
            .fold(PromptLayers::new(), |all, layer| all.with(*layer, Some(layer.heading())));
        let reversed = Layer::ALL
            .iter()
            .rev()
            .fold(PromptLayers::new(), |all, layer| all.with(*layer, Some(layer.heading())));
        assert_eq!(in_order.render(), reversed.render());
        let places: Vec<_> = Layer::ALL
            .iter()
            .map(|layer| {
                in_order.render().find(&format!("# {}\n", layer.heading())).expect("there")
            })
            .collect();
        assert!(places.is_sorted(), "{places:?}");
    }

    #[test]
    fn every_layer_is_found_by_its_name() {
        for layer in Layer::ALL {
            assert_eq!(Layer::named(layer.name()), Some(layer));
        }
        assert_eq!(Layer::named("Role"), None);
    }

    #[test]
    fn white_space_counts_as_absent() {
        for absent in [None, Some(""), Some(" \n\t ")] {
            let layers = PromptLayers::new()
                .with(Layer::Plan, Some("a plan"))
                .with(Layer::SiblingMemory, absent);
            assert_eq!(layers.render(), "# Plan\n\na plan\n", "{absent:?}");
        }
        let replaced =
            PromptLayers::new().with(Layer::Plan, Some("a plan")).with(Layer::Plan, None);
        assert_eq!(replaced.render(), "");
    }

    #[test]
    fn a_layer_is_cut_at_whole_lines_and_says_so() {
        let text = (0..100).map(|n| format!("line {n}")).collect::<Vec<_>>().join("\n");
        let layers = PromptLayers::new()
            .with(Layer::ScoreHistory, Some(&text))
            .with_budget(Layer::ScoreHistory, 40);
        let (_, cut) = layers.layers().next().expect("a layer");
        assert!(tokens::estimate(&cut) <= 40, "{cut}");
        assert!(
            cut.ends_with(&format!("[cut: {} tokens, the budget is 40]", tokens::estimate(&text))),
            "{cut}"
        );
        assert!(
            cut.lines().rev().skip(1).all(|line| text.lines().any(|whole| whole == line)),
            "{cut}"
        );
        let one = "ž".repeat(1000);
        let (_, cut) = PromptLayers::new()
            .with(Layer::Task, Some(&one))
            .with_budget(Layer::Task, 30)
            .layers()
            .next()
            .expect("a layer");
        assert!(
            cut.starts_with("žžž") && cut.contains("[cut:") && tokens::estimate(&cut) <= 30,
            "{cut}"
        );
        let (_, nothing) = PromptLayers::new()
            .with(Layer::Task, Some("much too long"))
            .with_budget(Layer::Task, 0)
            .layers()
            .next()
            .expect("one");
        assert_eq!(nothing, "[cut: 4 tokens, the budget is 0]");
    }
}
