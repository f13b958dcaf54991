//! `bench`: corpora, queries and the benchmarks over them. Each prints a Markdown table under the
//! command line that made it.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, Parser, Subcommand};
use kapsa_bench::corpus::{Generator, Pool, Sizes, default_sources};
use kapsa_bench::dataset::{Dataset, Place};
use kapsa_bench::engine::Engine;
use kapsa_bench::process::Tools;
use kapsa_bench::table::{Table, command_line};
use kapsa_bench::{find, load, open, put, queries, readers, runs, scale, space, syncs, writers};

/// Records of the corpus beside which texts for single puts are made.
const SPACE_CORPUS: u64 = 1_000;
/// Records of the store beside which a large one is measured, and bytes of the text of each record.
const SCALE_BESIDE: u64 = 1_000_000;
const SCALE_TEXT_BYTES: (usize, usize) = (100, 1_000);

/// Benchmarks of Kapsa: ratios against a bare append and against peers.
#[derive(Parser)]
#[command(name = "bench")]
enum Bench {
    /// Write a corpus as JSON Lines.
    Corpus(CorpusArgs),
    /// Write 1,000 queries taken from a corpus.
    Queries(QueriesArgs),
    #[command(flatten)]
    Measure(Measure),
}

#[derive(Subcommand)]
enum Measure {
    /// A process that puts one record durably, against a bare append.
    Put {
        /// Sizes of the store.
        #[arg(long, value_delimiter = ',', default_values_t = [1_000, 100_000, 1_000_000])]
        n: Vec<u64>,
        /// Puts of each row.
        #[arg(long, default_value_t = 200)]
        runs: usize,
        /// Consecutive puts at each size, for the dearest one; 0 for none.
        #[arg(long, default_value_t = 0)]
        long: usize,
        #[command(flatten)]
        common: Common,
    },
    /// The number of syncs of one put, by strace.
    Syncs {
        /// Records in the store.
        #[arg(long, default_value_t = 1_000)]
        n: u64,
        #[command(flatten)]
        common: Common,
    },
    /// What single puts of 250 bytes leave on the disk, from an empty store on.
    Space {
        /// Puts, each a process.
        #[arg(long, default_value_t = 2_000)]
        puts: usize,
        #[command(flatten)]
        common: Common,
    },
    /// Processes that put at the same time: how long the slowest waits, and what many get done.
    Writers {
        /// Processes started at once.
        #[arg(long, default_value_t = 64)]
        processes: usize,
        /// How often; the table shows the round with the median ratio.
        #[arg(long, default_value_t = 5)]
        runs: usize,
        /// Records in the store.
        #[arg(long, default_value_t = 1_000)]
        n: u64,
        #[command(flatten)]
        common: Common,
    },
    /// Load, size and every call with records of 100 to 1,000 bytes, beside a million of them.
    Scale {
        /// Records of the large store.
        #[arg(long, default_value_t = 10_000_000)]
        n: u64,
        /// Turns of each call.
        #[arg(long, default_value_t = 40)]
        runs: usize,
        #[command(flatten)]
        common: Common,
    },
    /// Bulk load against tantivy alone.
    Load {
        /// Records to load.
        #[arg(long, default_value_t = 100_000)]
        n: u64,
        /// Loads of each row.
        #[arg(long, default_value_t = 3)]
        runs: usize,
        #[command(flatten)]
        common: Common,
    },
    /// A process that searches once.
    Find {
        /// Records in the store.
        #[arg(long, default_value_t = 100_000)]
        n: u64,
        /// Queries of each row.
        #[arg(long, default_value_t = 200)]
        runs: usize,
        #[command(flatten)]
        common: Common,
    },
    /// A process that opens the capsule and reports on it.
    Open {
        /// Records in the store.
        #[arg(long, default_value_t = 100_000)]
        n: u64,
        /// Opens of each row.
        #[arg(long, default_value_t = 200)]
        runs: usize,
        #[command(flatten)]
        common: Common,
    },
    /// The memory of a team of agents: contexts over 50 siblings of 200 records, and recording.
    Runs {
        /// Contexts and records of each row.
        #[arg(long, default_value_t = 100)]
        runs: usize,
        #[command(flatten)]
        common: Common,
    },
    /// Questions about facts, and what it costs that half are hidden; inside one process, through
    /// the library, against SQLite.
    #[cfg(feature = "library")]
    Facts {
        /// Facts in the store.
        #[arg(long, default_value_t = 100_000)]
        n: u64,
        #[command(flatten)]
        common: Common,
    },
    /// Readers beside a writer.
    Readers {
        /// Records in the store at the start.
        #[arg(long, default_value_t = 1_000)]
        n: u64,
        /// Commits of the writer.
        #[arg(long, default_value_t = 10_000)]
        commits: usize,
        #[command(flatten)]
        common: Common,
    },
    /// Searches and reads inside one process, through the library, against bare tantivy.
    #[cfg(feature = "library")]
    Warm {
        /// Records in the store.
        #[arg(long, default_value_t = 100_000)]
        n: u64,
        #[command(flatten)]
        common: Common,
    },
}

#[derive(Args)]
struct CorpusArgs {
    /// Records.
    #[arg(long)]
    n: u64,
    /// Seed of the generator.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Folder whose text files are recombined (repeatable; default: what is usually installed).
    #[arg(long)]
    source: Vec<PathBuf>,
    /// The file to write.
    #[arg(long)]
    out: PathBuf,
}

#[derive(Args)]
struct QueriesArgs {
    /// The corpus to take words from.
    #[arg(long)]
    corpus: PathBuf,
    /// Seed of the choice.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The file to write.
    #[arg(long)]
    out: PathBuf,
}

#[derive(Args)]
struct Common {
    /// The program under test.
    #[arg(long, default_value = "target/release/kapsa")]
    kapsa: PathBuf,
    /// Measure the peers alone.
    #[arg(long)]
    peers_only: bool,
    /// Peers that take part (memvid needs the cargo feature of that name).
    #[arg(long, value_enum, value_delimiter = ',', default_value = "sqlite,tantivy")]
    peers: Vec<Engine>,
    /// Folder of the data, used again when it exists.
    #[arg(long, default_value_os_t = std::env::temp_dir().join("kapsa-bench"))]
    dir: PathBuf,
    /// Seed of the corpus.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Folder whose text files are recombined (repeatable; default: what is usually installed).
    #[arg(long)]
    source: Vec<PathBuf>,
    /// Make the store of kapsa anew.
    #[arg(long)]
    rebuild: bool,
}

fn main() -> ExitCode {
    match run(Bench::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(bench: Bench) -> Result<()> {
    match bench {
        Bench::Corpus(args) => write_corpus(&args),
        Bench::Queries(args) => {
            let queries = queries::from_corpus(&args.corpus, args.seed)?;
            Ok(std::fs::write(args.out, queries.join("\n") + "\n")?)
        }
        Bench::Measure(measure) => {
            let tables = measure.run()?;
            println!("{}\n", command_line());
            tables.iter().for_each(|table| println!("{table}"));
            Ok(())
        }
    }
}

fn write_corpus(args: &CorpusArgs) -> Result<()> {
    let sources = if args.source.is_empty() { default_sources() } else { args.source.clone() };
    let pool = Pool::read(&sources)?;
    eprintln!("{} paragraphs", pool.len());
    Generator::new(&pool, args.seed).write(0..args.n, Sizes::Documents, &args.out)
}

impl Common {
    fn tools(&self) -> Result<Tools> {
        Tools::find((!self.peers_only).then(|| self.kapsa.clone()))
    }

    fn engines(&self) -> Vec<Engine> {
        let kapsa = (!self.peers_only).then_some(Engine::Kapsa);
        kapsa
            .into_iter()
            .chain(self.peers.iter().copied().filter(|&peer| peer != Engine::Kapsa))
            .collect()
    }

    /// The tools are looked for first: a missing program should not cost the making of a corpus.
    fn prepare(&self, n: u64) -> Result<(Tools, Dataset)> {
        Ok((self.tools()?, self.dataset(n)?))
    }

    fn dataset(&self, n: u64) -> Result<Dataset> {
        self.dataset_of(n, Sizes::Documents)
    }

    fn dataset_of(&self, n: u64, sizes: Sizes) -> Result<Dataset> {
        let (folder, sources) = (self.dir.clone(), self.source.clone());
        Place { folder, seed: self.seed, sources, sizes }.dataset(n)
    }
}

impl Measure {
    fn run(&self) -> Result<Vec<Table>> {
        match self {
            Self::Put { n, runs, long, common } => put_tables(n, *runs, *long, common),
            Self::Syncs { n, common } => {
                let (tools, dataset) = common.prepare(*n)?;
                Ok(vec![syncs::measure(&tools, &dataset, &common.engines(), common.rebuild)?])
            }
            Self::Space { puts, common } => {
                let (tools, dataset) = common.prepare(SPACE_CORPUS)?;
                Ok(vec![space::measure(&tools, &dataset, &common.engines(), *puts)?])
            }
            Self::Writers { processes, runs, n, common } => {
                let (tools, dataset) = common.prepare(*n)?;
                writers::measure(&tools, &dataset, &common.engines(), *processes, *runs)
            }
            Self::Scale { n, runs, common } => {
                let tools = common.tools()?;
                let sizes = Sizes::Between(SCALE_TEXT_BYTES.0, SCALE_TEXT_BYTES.1);
                let of = |n| common.dataset_of(n, sizes);
                scale::measure(&tools, &[of(SCALE_BESIDE.min(*n))?, of(*n)?], *runs)
            }
            Self::Load { n, runs, common } => {
                let (tools, dataset) = common.prepare(*n)?;
                Ok(vec![load::measure(&tools, &dataset, *runs)?])
            }
            Self::Find { n, runs, common } => {
                let (tools, dataset) = common.prepare(*n)?;
                Ok(vec![find::measure(&tools, &dataset, &common.engines(), *runs, common.rebuild)?])
            }
            Self::Open { n, runs, common } => {
                let (tools, dataset) = common.prepare(*n)?;
                Ok(vec![open::measure(&tools, &dataset, *runs, common.rebuild)?])
            }
            Self::Runs { runs, common } => {
                let (tools, dataset) =
                    common.prepare((runs::SIBLINGS * runs::RECORDS_EACH) as u64)?;
                runs::measure(&tools, &dataset, *runs)
            }
            Self::Readers { n, commits, common } => {
                let (tools, dataset) = common.prepare(*n)?;
                Ok(vec![readers::measure(&tools, &dataset, *commits, common.rebuild)?])
            }
            #[cfg(feature = "library")]
            Self::Facts { n, common } => {
                let sources = if common.source.is_empty() {
                    default_sources()
                } else {
                    common.source.clone()
                };
                kapsa_bench::facts::measure(
                    &Pool::read(&sources)?,
                    &common.dir,
                    common.seed,
                    *n,
                    common.rebuild,
                )
            }
            #[cfg(feature = "library")]
            Self::Warm { n, common } => {
                let (tools, dataset) = common.prepare(*n)?;
                kapsa_bench::warm::measure(&tools, &dataset, common.rebuild)
            }
        }
    }
}

fn put_tables(sizes: &[u64], runs: usize, long: usize, common: &Common) -> Result<Vec<Table>> {
    let tools = common.tools()?;
    let mut datasets = Vec::new();
    for &n in sizes {
        datasets.push(common.dataset(n)?);
    }
    let timed = put::measure(&tools, &datasets, &common.engines(), runs, common.rebuild)?;
    let mut tables = vec![put::table(&timed)];
    for dataset in datasets.iter().filter(|_| long > 0 && !common.peers_only) {
        tables.push(put::long(&tools, dataset, long, false)?);
    }
    Ok(tables)
}
