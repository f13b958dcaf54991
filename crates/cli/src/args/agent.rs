//! What can be typed about facts, episodes and insights.

use clap::{Args, Subcommand, ValueEnum};
use kapsa_agents::{EPISODES_DEFAULT, FACTS_DEFAULT, INSIGHTS_DEFAULT, PUBLISH_CONFIDENCE_MIN};
use kapsa_memory::Micros;
use serde_json::{Map, Value};

use super::{EmbedWhen, Level, object};
use crate::examples;
use crate::moment;

#[derive(Debug, Args)]
pub(crate) struct FactArgs {
    #[command(subcommand)]
    pub(crate) verb: FactVerb,
}

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum FactVerb {
    /// Tell a fact: it is compared with what is known, and the answer says what became of it
    #[command(after_help = examples::FACT)]
    Add(Box<FactAdd>),
    /// Show one fact
    #[command(after_help = examples::FACT)]
    Get(FactGet),
    /// List facts, in the order in which they were first told
    #[command(after_help = examples::FACT)]
    List(FactList),
    /// List the facts that have a text in them
    #[command(after_help = examples::FACT)]
    Query(FactQueryArgs),
    /// Put a new fact in the place of another
    #[command(after_help = examples::FACT)]
    Supersede(FactSupersede),
    /// Mark two facts as contesting each other
    #[command(after_help = examples::FACT)]
    Contest(FactPair),
    /// Decide between a fact and those that it contests
    #[command(after_help = examples::FACT)]
    Resolve(FactResolve),
}

/// How much alike facts must be to be taken for the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Compare {
    /// The same words
    Exact,
    /// The same but for few words; numbers, negations and the order of words count
    Near,
    /// As near, for shorter texts
    Wide,
    /// Not at all: it is stored as it is
    None,
}

#[derive(Debug, Args)]
pub(crate) struct FactAdd {
    /// What is known, in words
    #[arg(required = true, value_name = "TEXT")]
    pub(crate) text: Vec<String>,
    /// Its id; a known one is revised [default: a new one]
    #[arg(long)]
    pub(crate) id: Option<String>,
    /// Which property of the entity it tells: two values of one property supersede or contest each other
    #[arg(long)]
    pub(crate) attribute: Option<String>,
    #[command(flatten)]
    pub(crate) about: About,
    #[command(flatten)]
    pub(crate) value: FactValue,
    /// How far it may spread [default: internal in its domain]
    #[arg(long, value_enum, value_name = "LEVEL")]
    pub(crate) classification: Option<Level>,
    /// Who may know it when it is restricted; may be repeated
    #[arg(long, value_name = "PRINCIPAL", requires = "classification")]
    pub(crate) named: Vec<String>,
    /// How it is compared with what is known
    #[arg(long, value_enum, value_name = "HOW", default_value_t = Compare::Near)]
    pub(crate) compare: Compare,
    /// Whether it gets vectors at once
    #[arg(long, value_enum, value_name = "WHEN", env = "KAPSA_EMBED", hide_env_values = true)]
    pub(crate) embed: Option<EmbedWhen>,
}

// What a fact is about.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "What it is about")]
pub(crate) struct About {
    /// What it is about
    #[arg(long)]
    pub(crate) entity: Option<String>,
    /// Field of knowledge
    #[arg(long)]
    pub(crate) domain: Option<String>,
    /// Tag; may be repeated
    #[arg(long = "tag", value_name = "TAG")]
    pub(crate) tags: Vec<String>,
}

// What a list or a context is narrowed down to.
#[derive(Debug, Default, Args)]
pub(crate) struct Within {
    /// About this
    #[arg(long)]
    pub(crate) entity: Option<String>,
    /// Of this field of knowledge
    #[arg(long)]
    pub(crate) domain: Option<String>,
    /// With this tag; of several, any
    #[arg(long = "tag", value_name = "TAG")]
    pub(crate) tags: Vec<String>,
}

// What is said about a value rather than about what has it.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "How it holds")]
pub(crate) struct FactValue {
    /// How sure it is, 0 to 1
    #[arg(long, value_name = "0..1")]
    pub(crate) confidence: Option<f64>,
    /// How much it matters, 0 to 1
    #[arg(long, value_name = "0..1")]
    pub(crate) importance: Option<f64>,
    /// Who or what tells it [default: who acts]
    #[arg(long, env = "KAPSA_AGENT", hide_env_values = true)]
    pub(crate) source: Option<String>,
    /// From when on it holds: RFC 3339, a date, or a span back such as 2h
    #[arg(long, value_name = "TIME", value_parser = moment::parse_arg)]
    pub(crate) valid_from: Option<Micros>,
    /// Until when it holds
    #[arg(long, value_name = "TIME", value_parser = moment::parse_arg)]
    pub(crate) valid_to: Option<Micros>,
}

#[derive(Debug, Args)]
pub(crate) struct FactGet {
    /// Its id
    pub(crate) id: String,
    /// As of then: a checkpoint's id or label, a sequence, RFC 3339, a date, or a span back such as 2h
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
    /// Part of the text, upper and lower case alike
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
    /// This property of it
    #[arg(long)]
    pub(crate) attribute: Option<String>,
    /// At least so sure, 0 to 1
    #[arg(long, value_name = "0..1", default_value_t = 0.0)]
    pub(crate) min_confidence: f64,
    /// Holding at this moment
    #[arg(long, value_name = "TIME", value_parser = moment::parse_arg)]
    pub(crate) valid_at: Option<Micros>,
    /// As they were known then: a checkpoint's id or label, a sequence, RFC 3339, a date, or a span back such as 2h
    #[arg(long, value_name = "WHEN")]
    pub(crate) as_of: Option<String>,
    /// Those that contest others, and nothing else
    #[arg(long)]
    pub(crate) contested: bool,
    /// Superseded ones too
    #[arg(long)]
    pub(crate) all: bool,
    /// Most facts
    #[arg(long, value_name = "N", default_value_t = FACTS_DEFAULT)]
    pub(crate) limit: usize,
}

#[derive(Debug, Args)]
pub(crate) struct FactSupersede {
    /// Id of the fact that holds no more
    pub(crate) old: String,
    /// What holds now, in words
    #[arg(required = true, value_name = "TEXT")]
    pub(crate) text: Vec<String>,
    /// Id of the new one [default: a new one]
    #[arg(long)]
    pub(crate) id: Option<String>,
    /// Tag; may be repeated [default: those of the old one]
    #[arg(long = "tag", value_name = "TAG")]
    pub(crate) tags: Vec<String>,
    #[command(flatten)]
    pub(crate) value: FactValue,
    /// Whether it gets vectors at once
    #[arg(long, value_enum, value_name = "WHEN", env = "KAPSA_EMBED", hide_env_values = true)]
    pub(crate) embed: Option<EmbedWhen>,
}

#[derive(Debug, Args)]
pub(crate) struct FactPair {
    /// Id of the one
    pub(crate) id: String,
    /// Id of the other
    pub(crate) other: String,
}

#[derive(Debug, Args)]
pub(crate) struct FactResolve {
    /// Id of the fact that holds
    pub(crate) id: String,
    /// All of them hold, each in its own sense: none contests this one any more
    #[arg(long)]
    pub(crate) all_hold: bool,
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
    /// What came of it
    #[arg(required = true, value_name = "TEXT")]
    pub(crate) text: Vec<String>,
    #[command(flatten)]
    pub(crate) owner: Owner,
    /// What was done, such as qualify_lead
    #[arg(long)]
    pub(crate) action: Option<String>,
    /// What went in
    #[arg(long, value_name = "TEXT")]
    pub(crate) input: Option<String>,
    /// What came out, by name
    #[arg(long, value_name = "JSON", value_parser = object)]
    pub(crate) outcome: Option<Map<String, Value>>,
    /// The operator that the step belongs to
    #[arg(long)]
    pub(crate) operator: Option<String>,
    /// The step
    #[arg(long)]
    pub(crate) node: Option<String>,
    /// Its id; a known one is revised [default: a new one]
    #[arg(long)]
    pub(crate) id: Option<String>,
    /// When it happened: RFC 3339, a date, or a span back such as 2h [default: now]
    #[arg(long, value_name = "TIME", value_parser = moment::parse_arg)]
    pub(crate) at: Option<Micros>,
    /// How long it took, in milliseconds
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) duration_ms: u64,
    /// Tokens that a model read
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) tokens_in: u64,
    /// Tokens that a model wrote
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) tokens_out: u64,
    #[command(flatten)]
    pub(crate) about: About,
    /// How far what is learned from it may spread [default: internal in its domain]
    #[arg(long, value_enum, value_name = "LEVEL")]
    pub(crate) classification: Option<Level>,
    /// Whether it gets vectors at once
    #[arg(long, value_enum, value_name = "WHEN", env = "KAPSA_EMBED", hide_env_values = true)]
    pub(crate) embed: Option<EmbedWhen>,
}

// Whose memory it is.
#[derive(Debug, Default, Args)]
pub(crate) struct Owner {
    /// Whose it is [default: who acts]
    #[arg(long, env = "KAPSA_AGENT", hide_env_values = true)]
    pub(crate) agent: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct EpisodeList {
    #[command(flatten)]
    pub(crate) owner: Owner,
    #[command(flatten)]
    pub(crate) within: Within,
    /// Only since then: RFC 3339, a date, or a span back such as 7d
    #[arg(long, value_name = "TIME", value_parser = moment::parse_arg)]
    pub(crate) since: Option<Micros>,
    /// As of then: a checkpoint's id or label, a sequence, RFC 3339, a date, or a span back such as 2h
    #[arg(long, value_name = "WHEN")]
    pub(crate) as_of: Option<String>,
    /// Most episodes
    #[arg(long, value_name = "N", default_value_t = EPISODES_DEFAULT)]
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
    /// Note that an insight was seen again: it is surer
    #[command(after_help = examples::INSIGHT)]
    Confirm(OneInsight),
    /// Note that evidence against an insight has come up
    #[command(after_help = examples::INSIGHT)]
    Weaken(OneInsight),
    /// Let an insight count no more; its history stays
    #[command(after_help = examples::INSIGHT)]
    Retire(OneInsight),
    /// Learn from what the agent did, by counting: the same result three times is an insight
    #[command(after_help = examples::INSIGHT)]
    Reflect(Reflect),
    /// Tell the team what an agent learned, as facts
    #[command(after_help = examples::INSIGHT)]
    Publish(Publish),
}

#[derive(Debug, Args)]
pub(crate) struct InsightAdd {
    /// What was learned
    #[arg(required = true, value_name = "TEXT")]
    pub(crate) text: Vec<String>,
    #[command(flatten)]
    pub(crate) owner: Owner,
    /// How sure it is, 0 to 1
    #[arg(long, value_name = "0..1")]
    pub(crate) confidence: Option<f64>,
    /// Id of an episode that it comes from; may be repeated
    #[arg(long = "from", value_name = "EPISODE")]
    pub(crate) sources: Vec<String>,
    /// Its id; a known one is revised [default: a new one]
    #[arg(long)]
    pub(crate) id: Option<String>,
    #[command(flatten)]
    pub(crate) about: About,
    /// How far it may spread [default: as far as the episodes that it comes from, else internal in its domain]
    #[arg(long, value_enum, value_name = "LEVEL")]
    pub(crate) classification: Option<Level>,
    /// Whether it gets vectors at once
    #[arg(long, value_enum, value_name = "WHEN", env = "KAPSA_EMBED", hide_env_values = true)]
    pub(crate) embed: Option<EmbedWhen>,
}

#[derive(Debug, Args)]
pub(crate) struct InsightList {
    /// Part of the text, upper and lower case alike
    #[arg(value_name = "TEXT")]
    pub(crate) text: Vec<String>,
    #[command(flatten)]
    pub(crate) owner: Owner,
    #[command(flatten)]
    pub(crate) within: Within,
    /// At least so sure, 0 to 1
    #[arg(long, value_name = "0..1", default_value_t = 0.0)]
    pub(crate) min_confidence: f64,
    /// Retired ones too
    #[arg(long)]
    pub(crate) all: bool,
    /// As of then: a checkpoint's id or label, a sequence, RFC 3339, a date, or a span back such as 2h
    #[arg(long, value_name = "WHEN")]
    pub(crate) as_of: Option<String>,
    /// Most insights
    #[arg(long, value_name = "N", default_value_t = INSIGHTS_DEFAULT)]
    pub(crate) limit: usize,
}

#[derive(Debug, Args)]
pub(crate) struct OneInsight {
    /// Its id
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
    /// Ids of the insights [default: all that are sure enough]
    #[arg(value_name = "ID", conflicts_with = "min_confidence")]
    pub(crate) ids: Vec<String>,
    #[command(flatten)]
    pub(crate) owner: Owner,
    /// At least so sure, 0 to 1
    #[arg(long, value_name = "0..1", default_value_t = PUBLISH_CONFIDENCE_MIN)]
    pub(crate) min_confidence: f64,
    /// How far the facts may spread: no further than what they were learned from [default: as far]
    #[arg(long, value_enum, value_name = "LEVEL")]
    pub(crate) classification: Option<Level>,
}
