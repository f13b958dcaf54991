//! Arguments of the verbs about facts, episodes and insights.

use clap::{Args, Subcommand, ValueEnum};
use kapsa_agents::{
    Answer, EPISODES_DEFAULT, FACTS_DEFAULT, INSIGHTS_DEFAULT, PUBLISH_CONFIDENCE_MIN,
};
use kapsa_memory::Micros;
use serde_json::{Map, Value};

use super::values::{count, object};
use super::{EmbedWhen, Level};
use crate::examples;
use crate::typed_time;

#[derive(Debug, Args)]
pub(crate) struct FactArgs {
    #[command(subcommand)]
    pub(crate) verb: FactVerb,
}

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum FactVerb {
    /// Add a fact and reconcile it with the known ones
    #[command(after_help = examples::FACT)]
    Add(Box<FactAdd>),
    /// Show one fact
    #[command(after_help = examples::FACT)]
    Get(FactGet),
    /// List facts in the order they were first added
    #[command(after_help = examples::FACT)]
    List(FactList),
    /// List facts that contain a text
    #[command(after_help = examples::FACT)]
    Query(FactQueryArgs),
    /// Replace a fact with a new one
    #[command(after_help = examples::FACT)]
    Supersede(FactSupersede),
    /// Mark two facts as contesting each other
    #[command(after_help = examples::FACT)]
    Contest(FactPair),
    /// Resolve a contested or pending fact
    #[command(after_help = examples::FACT)]
    Resolve(FactResolve),
    /// Declare whether an entity can have many values of an attribute
    #[command(after_help = examples::FACT)]
    Attribute(FactAttribute),
    /// List declared attributes
    #[command(after_help = examples::FACT)]
    Attributes,
}

#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("count").required(true))]
pub(crate) struct FactAttribute {
    /// Attribute
    pub(crate) name: String,
    /// An entity can have many values
    #[arg(long, group = "count")]
    pub(crate) many: bool,
    /// An entity has one value at a time
    #[arg(long, group = "count")]
    pub(crate) one: bool,
    /// Domain in which that holds [default: everywhere]
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) domain: Option<String>,
}

/// How similar facts must be to count as the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Compare {
    /// By the same words and the given attribute only
    Exact,
    /// By what they state; doubtful cases wait for a decision
    Near,
    /// Like near, but decide doubtful cases as proposed
    Wide,
    /// Do not compare: store it as it is
    None,
}

#[derive(Debug, Args)]
pub(crate) struct FactAdd {
    /// The fact, in words
    #[arg(required = true, value_name = "TEXT")]
    pub(crate) text: Vec<String>,
    /// Id; an existing one is revised [default: a new one]
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) id: Option<String>,
    /// Attribute of the entity; two values of one attribute supersede or contest each other
    #[arg(long)]
    pub(crate) attribute: Option<String>,
    #[command(flatten)]
    pub(crate) about: About,
    #[command(flatten)]
    pub(crate) value: FactValue,
    /// Classification [default: internal to its domain]
    #[arg(long, value_enum, value_name = "LEVEL")]
    pub(crate) classification: Option<Level>,
    /// Principal that may read it when restricted; repeatable
    #[arg(long, value_name = "PRINCIPAL", requires = "classification")]
    pub(crate) named: Vec<String>,
    /// How to compare it with known facts
    #[arg(long, value_enum, value_name = "HOW", default_value_t = Compare::Near)]
    pub(crate) compare: Compare,
    /// When to embed it
    #[arg(long, value_enum, value_name = "WHEN", env = "KAPSA_EMBED", hide_env_values = true)]
    pub(crate) embed: Option<EmbedWhen>,
}

// What a fact is about.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "What it is about")]
pub(crate) struct About {
    /// Entity it is about
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) entity: Option<String>,
    /// Domain of knowledge
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) domain: Option<String>,
    /// Tag; repeatable
    #[arg(long = "tag", value_name = "TAG")]
    pub(crate) tags: Vec<String>,
}

// What a list or a context is narrowed down to.
#[derive(Debug, Default, Args)]
pub(crate) struct Within {
    /// Only about this entity
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) entity: Option<String>,
    /// Only of this domain
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) domain: Option<String>,
    /// Only with this tag; with several tags, any of them
    #[arg(long = "tag", value_name = "TAG")]
    pub(crate) tags: Vec<String>,
}

// What is said about a value rather than about what has it.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "How it holds")]
pub(crate) struct FactValue {
    /// Confidence, 0 to 1
    #[arg(long, value_name = "0..1")]
    pub(crate) confidence: Option<f64>,
    /// Importance, 0 to 1
    #[arg(long, value_name = "0..1")]
    pub(crate) importance: Option<f64>,
    /// Source [default: who acts]
    #[arg(long, env = "KAPSA_AGENT", hide_env_values = true)]
    pub(crate) source: Option<String>,
    /// Start of its validity: RFC 3339, a date, or an age such as 2h
    #[arg(long, value_name = "TIME", value_parser = typed_time::parse_arg)]
    pub(crate) valid_from: Option<Micros>,
    /// End of its validity
    #[arg(long, value_name = "TIME", value_parser = typed_time::parse_arg)]
    pub(crate) valid_to: Option<Micros>,
}

#[derive(Debug, Args)]
pub(crate) struct FactGet {
    /// Id of the fact
    pub(crate) id: String,
    /// State to read: a checkpoint's id or label, a sequence such as 120, RFC 3339, a date, or an
    /// age such as 2h
    #[arg(long, value_name = "WHEN")]
    pub(crate) as_of: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct FactList {
    #[command(flatten)]
    pub(crate) filters: FactFilters,
}

#[derive(Debug, Args)]
pub(crate) struct FactQueryArgs {
    /// Part of the text, ignoring case
    #[arg(value_name = "TEXT")]
    pub(crate) text: Vec<String>,
    #[command(flatten)]
    pub(crate) filters: FactFilters,
}

// Which facts to show.
#[derive(Debug, Args)]
#[command(next_help_heading = "Which facts")]
pub(crate) struct FactFilters {
    #[command(flatten)]
    pub(crate) within: Within,
    /// Only this attribute
    #[arg(long)]
    pub(crate) attribute: Option<String>,
    /// Minimum confidence, 0 to 1
    #[arg(long, value_name = "0..1", default_value_t = 0.0)]
    pub(crate) min_confidence: f64,
    /// Only facts valid at this time
    #[arg(long, value_name = "TIME", value_parser = typed_time::parse_arg)]
    pub(crate) valid_at: Option<Micros>,
    /// State to read: a checkpoint's id or label, a sequence such as 120, RFC 3339, a date, or an
    /// age such as 2h
    #[arg(long, value_name = "WHEN")]
    pub(crate) as_of: Option<String>,
    /// Only contested facts
    #[arg(long)]
    pub(crate) contested: bool,
    /// Only facts that wait for a decision
    #[arg(long)]
    pub(crate) pending: bool,
    /// Include superseded facts
    #[arg(long)]
    pub(crate) all: bool,
    /// Maximum number of facts
    #[arg(long, value_name = "N", default_value_t = FACTS_DEFAULT, value_parser = count)]
    pub(crate) limit: usize,
}

#[derive(Debug, Args)]
pub(crate) struct FactSupersede {
    /// Id of the fact to replace
    pub(crate) old: String,
    /// The new fact, in words
    #[arg(required = true, value_name = "TEXT")]
    pub(crate) text: Vec<String>,
    /// Id of the new fact [default: a new one]
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) id: Option<String>,
    /// Tag; repeatable [default: those of the old fact]
    #[arg(long = "tag", value_name = "TAG")]
    pub(crate) tags: Vec<String>,
    #[command(flatten)]
    pub(crate) value: FactValue,
    /// When to embed it
    #[arg(long, value_enum, value_name = "WHEN", env = "KAPSA_EMBED", hide_env_values = true)]
    pub(crate) embed: Option<EmbedWhen>,
}

#[derive(Debug, Args)]
pub(crate) struct FactPair {
    /// Id of the first fact
    pub(crate) id: String,
    /// Id of the second fact
    pub(crate) other: String,
}

#[derive(Debug, Args)]
pub(crate) struct FactResolve {
    /// Id of the contested fact that is right, or of a pending fact
    pub(crate) id: String,
    /// Keep all of them, each right in its own sense
    #[arg(long, group = "answer")]
    pub(crate) all_hold: bool,
    /// Pending: do what was proposed
    #[arg(long, group = "answer")]
    pub(crate) accept: bool,
    /// Pending: keep both
    #[arg(long, group = "answer")]
    pub(crate) coexist: bool,
    /// Pending: it says the same as the known fact
    #[arg(long, group = "answer")]
    pub(crate) same: bool,
    /// Pending: it is not true
    #[arg(long, group = "answer")]
    pub(crate) reject: bool,
    /// Who decides [default: the principal]
    #[arg(long, value_name = "NAME", requires = "answer", allow_hyphen_values = true)]
    pub(crate) by: Option<String>,
}

impl FactResolve {
    /// What was decided about a pending fact, if it is about one.
    pub(crate) fn answer(&self) -> Option<Answer> {
        let answers = [
            (self.accept, Answer::Accept),
            (self.coexist, Answer::Coexist),
            (self.same, Answer::Same),
            (self.reject, Answer::Reject),
        ];
        answers.into_iter().find(|(is_given, _)| *is_given).map(|(_, answer)| answer)
    }
}

#[derive(Debug, Args)]
pub(crate) struct EpisodeArgs {
    #[command(subcommand)]
    pub(crate) verb: EpisodeVerb,
}

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum EpisodeVerb {
    /// Record what an agent did
    #[command(after_help = examples::EPISODE)]
    Add(Box<EpisodeAdd>),
    /// List what an agent did, newest first
    #[command(after_help = examples::EPISODE)]
    List(EpisodeList),
}

#[derive(Debug, Args)]
pub(crate) struct EpisodeAdd {
    /// Result, in words
    #[arg(required = true, value_name = "TEXT")]
    pub(crate) text: Vec<String>,
    #[command(flatten)]
    pub(crate) owner: Owner,
    /// Action, such as qualify_lead
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) action: Option<String>,
    /// Input
    #[arg(long, value_name = "TEXT")]
    pub(crate) input: Option<String>,
    /// Outcome, a JSON object
    #[arg(long, value_name = "JSON", value_parser = object)]
    pub(crate) outcome: Option<Map<String, Value>>,
    /// Operator that the step belongs to
    #[arg(long)]
    pub(crate) operator: Option<String>,
    /// Node that ran the step
    #[arg(long)]
    pub(crate) node: Option<String>,
    /// Id; an existing one is revised [default: a new one]
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) id: Option<String>,
    /// Time it happened: RFC 3339, a date, or an age such as 2h [default: now]
    #[arg(long, value_name = "TIME", value_parser = typed_time::parse_arg)]
    pub(crate) at: Option<Micros>,
    /// Duration in milliseconds
    #[arg(long, value_name = "N")]
    pub(crate) duration_ms: Option<u64>,
    /// Tokens read by a model
    #[arg(long, value_name = "N")]
    pub(crate) tokens_in: Option<u64>,
    /// Tokens written by a model
    #[arg(long, value_name = "N")]
    pub(crate) tokens_out: Option<u64>,
    #[command(flatten)]
    pub(crate) about: About,
    /// Classification of what is learned from it [default: internal to its domain]
    #[arg(long, value_enum, value_name = "LEVEL")]
    pub(crate) classification: Option<Level>,
    /// When to embed it
    #[arg(long, value_enum, value_name = "WHEN", env = "KAPSA_EMBED", hide_env_values = true)]
    pub(crate) embed: Option<EmbedWhen>,
}

// Whose memory it is.
#[derive(Debug, Default, Args)]
pub(crate) struct Owner {
    /// Agent whose memory it is [default: the principal of --as]
    #[arg(long, env = "KAPSA_AGENT", hide_env_values = true, allow_hyphen_values = true)]
    pub(crate) agent: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct EpisodeList {
    #[command(flatten)]
    pub(crate) owner: Owner,
    #[command(flatten)]
    pub(crate) within: Within,
    /// Only since: RFC 3339, a date, or an age such as 7d
    #[arg(long, value_name = "TIME", value_parser = typed_time::parse_arg)]
    pub(crate) since: Option<Micros>,
    /// State to read: a checkpoint's id or label, a sequence such as 120, RFC 3339, a date, or an
    /// age such as 2h
    #[arg(long, value_name = "WHEN")]
    pub(crate) as_of: Option<String>,
    /// Maximum number of episodes
    #[arg(long, value_name = "N", default_value_t = EPISODES_DEFAULT, value_parser = count)]
    pub(crate) limit: usize,
}

#[derive(Debug, Args)]
pub(crate) struct InsightArgs {
    #[command(subcommand)]
    pub(crate) verb: InsightVerb,
}

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum InsightVerb {
    /// Record what an agent learned
    #[command(after_help = examples::INSIGHT)]
    Add(Box<InsightAdd>),
    /// List what an agent learned
    #[command(after_help = examples::INSIGHT)]
    List(InsightList),
    /// Raise the confidence of an insight seen again
    #[command(after_help = examples::INSIGHT)]
    Confirm(OneInsight),
    /// Lower the confidence of an insight
    #[command(after_help = examples::INSIGHT)]
    Weaken(OneInsight),
    /// Retire an insight; its history stays
    #[command(after_help = examples::INSIGHT)]
    Retire(OneInsight),
    /// Derive insights from repeated results of an agent
    #[command(after_help = examples::INSIGHT)]
    Reflect(Reflect),
    /// Publish insights to the team as facts
    #[command(after_help = examples::INSIGHT)]
    Publish(Publish),
}

#[derive(Debug, Args)]
pub(crate) struct InsightAdd {
    /// The insight, in words
    #[arg(required = true, value_name = "TEXT")]
    pub(crate) text: Vec<String>,
    #[command(flatten)]
    pub(crate) owner: Owner,
    /// Confidence, 0 to 1
    #[arg(long, value_name = "0..1")]
    pub(crate) confidence: Option<f64>,
    /// Id of an episode it comes from; repeatable
    #[arg(long = "from", value_name = "EPISODE")]
    pub(crate) sources: Vec<String>,
    /// Id; an existing one is revised [default: a new one]
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) id: Option<String>,
    #[command(flatten)]
    pub(crate) about: About,
    /// Classification [default: that of its episodes, else internal to its domain]
    #[arg(long, value_enum, value_name = "LEVEL")]
    pub(crate) classification: Option<Level>,
    /// When to embed it
    #[arg(long, value_enum, value_name = "WHEN", env = "KAPSA_EMBED", hide_env_values = true)]
    pub(crate) embed: Option<EmbedWhen>,
}

#[derive(Debug, Args)]
pub(crate) struct InsightList {
    /// Part of the text, ignoring case
    #[arg(value_name = "TEXT")]
    pub(crate) text: Vec<String>,
    #[command(flatten)]
    pub(crate) owner: Owner,
    #[command(flatten)]
    pub(crate) within: Within,
    /// Minimum confidence, 0 to 1
    #[arg(long, value_name = "0..1", default_value_t = 0.0)]
    pub(crate) min_confidence: f64,
    /// Include retired insights
    #[arg(long)]
    pub(crate) all: bool,
    /// State to read: a checkpoint's id or label, a sequence such as 120, RFC 3339, a date, or an
    /// age such as 2h
    #[arg(long, value_name = "WHEN")]
    pub(crate) as_of: Option<String>,
    /// Maximum number of insights
    #[arg(long, value_name = "N", default_value_t = INSIGHTS_DEFAULT, value_parser = count)]
    pub(crate) limit: usize,
}

#[derive(Debug, Args)]
pub(crate) struct OneInsight {
    /// Id of the insight
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) owner: Owner,
}

#[derive(Debug, Args)]
pub(crate) struct Reflect {
    #[command(flatten)]
    pub(crate) owner: Owner,
}

#[derive(Debug, Args)]
pub(crate) struct Publish {
    /// Ids of the insights [default: all of at least the minimum confidence]
    #[arg(value_name = "ID", conflicts_with = "min_confidence")]
    pub(crate) ids: Vec<String>,
    #[command(flatten)]
    pub(crate) owner: Owner,
    /// Minimum confidence, 0 to 1
    #[arg(long, value_name = "0..1", default_value_t = PUBLISH_CONFIDENCE_MIN)]
    pub(crate) min_confidence: f64,
    /// Classification of the facts, at least that of their sources [default: the same]
    #[arg(long, value_enum, value_name = "LEVEL")]
    pub(crate) classification: Option<Level>,
}
