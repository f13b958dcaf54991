//! The memory of an agent as a file system: the contract's tests under the names they have there,
//! and what else was promised.

use std::sync::Arc;

use kapsa_agents::{
    AgentMemory, Details, ENTRIES_DEFAULT, EntryKind, Episode, EpisodeQuery, Fact, FileError,
    HITS_DEFAULT, Insight, InsightQuery, Listing, MemoryFilesystem, PATH_BYTES_MAX, PathFault,
    SEARCH_BYTES_MAX, StoreLocation, TRACES_MAX, TraceAction, WorkspaceMemory,
};
use kapsa_memory::access::{Classification, ClearanceProfile};
use kapsa_memory::{Error, WriteOptions};

use super::{DAY, episode, fact, insight, strings};
use crate::Fixture;

/// Noon of the 17th of February 2026.
const NOON: i64 = 1_771_329_600_000_000;

fn noon() -> i64 {
    NOON
}

/// The memory of `cro` and its team, in memory and in a capsule.
fn each(check: impl Fn(AgentMemory)) {
    check(AgentMemory::new("cro", noon).with_workspace(Arc::new(WorkspaceMemory::new(noon))));
    let f = Fixture::new();
    let location = StoreLocation::new(&f.path, WriteOptions::new(noon));
    let workspace = Arc::new(WorkspaceMemory::in_capsule(location.clone(), noon));
    check(AgentMemory::in_capsule("cro", &location, noon).with_workspace(workspace));
    f.assert_whole();
}

/// With a soul, over a memory that holds this.
fn fs(memory: &AgentMemory, insights: &[Insight]) -> MemoryFilesystem {
    insights.iter().for_each(|insight| memory.store_insight(insight.clone()).expect("stored"));
    MemoryFilesystem::new(memory.clone()).with_soul("You are the CRO.")
}

fn learned(id: &str, domain: &str, content: &str, confidence: f64) -> Insight {
    Insight { domain: domain.into(), confidence, evidence_count: 5, ..insight(id, content) }
}

fn names(fs: &MemoryFilesystem, path: &str) -> Vec<String> {
    fs.browse(path).expect(path).names().into_iter().map(str::to_string).collect()
}

fn hits(fs: &MemoryFilesystem, query: &str, scope: &str) -> Vec<String> {
    fs.search(query, scope).expect(scope).hits.into_iter().map(|hit| hit.path).collect()
}

fn recalled(memory: &AgentMemory, domain: &str) -> Vec<Insight> {
    memory
        .recall_insights(&InsightQuery { domain: Some(domain.into()), ..memory.insight_query() })
        .expect("recalled")
}

mod contract {
    use super::*;

    #[test]
    fn test_browse_root() {
        each(|mem| {
            assert_eq!(
                names(&fs(&mem, &[]), "/"),
                ["identity", "knowledge", "experience", "references"]
            )
        });
    }

    #[test]
    fn test_browse_identity() {
        each(|mem| {
            assert_eq!(names(&fs(&mem, &[]), "/identity/"), ["soul.md"]);
            assert_eq!(names(&MemoryFilesystem::new(mem), "/identity/"), [""; 0], "without a soul");
        });
    }

    #[test]
    fn test_browse_knowledge_lists_domains() {
        each(|mem| {
            let all = [
                learned("ins1", "revenue", "Revenue insight", 0.8),
                learned("ins2", "marketing", "x", 0.7),
            ];
            let fs = fs(&mem, &all);
            assert_eq!(names(&fs, "/knowledge/"), ["marketing", "revenue"]);
            mem.store_insight(insight("ins3", "of no domain")).expect("stored");
            assert_eq!(names(&fs, "knowledge"), ["_", "marketing", "revenue"]);
        });
    }

    #[test]
    fn test_browse_knowledge_domain() {
        each(|mem| {
            let fs = fs(&mem, &[learned("ins1", "revenue", "VP sponsor predicts conversion", 0.9)]);
            assert_eq!(names(&fs, "/knowledge/revenue/"), ["ins1"]);
            assert_eq!(names(&fs, "/references/"), [""; 0]);
        });
    }

    #[test]
    fn test_read_identity_soul() {
        each(|mem| {
            assert_eq!(fs(&mem, &[]).read("/identity/soul.md").expect("read"), "You are the CRO.")
        });
    }

    #[test]
    fn test_read_knowledge_insight() {
        each(|mem| {
            let fs = fs(&mem, &[learned("ins1", "revenue", "VP sponsor predicts conversion", 0.9)]);
            let content = fs.read("/knowledge/revenue/ins1").expect("read");
            assert_eq!(content, "VP sponsor predicts conversion\n\nConfidence: 0.90\nEvidence: 5");
        });
    }

    #[test]
    fn test_read_missing_returns_empty() {
        each(|mem| {
            let fs = fs(&mem, &[]);
            for path in [
                "/knowledge/nonexistent/nothing",
                "/knowledge/nonexistent",
                "/etc/passwd",
                "/goals/1.md",
                "/identity/x",
            ] {
                assert_eq!(fs.read(path).expect("read"), "", "{path}");
                assert!(
                    matches!(fs.open(path), Err(FileError::NoSuchFile { .. })),
                    "{path}: told apart from an empty file"
                );
            }
        });
    }

    #[test]
    fn test_search_scoped() {
        each(|mem| {
            let all = [
                learned("ins1", "revenue", "VP sponsor predicts conversion", 0.9),
                learned("ins2", "marketing", "Brand voice matters to a VP sponsor", 0.8),
            ];
            let fs = fs(&mem, &all);
            let found = fs.search("VP sponsor", "/knowledge/revenue/").expect("searched");
            assert_eq!((found.hits.len(), found.more), (1, 0));
            assert_eq!(found.hits[0].content, "VP sponsor predicts conversion");
            assert_eq!(
                (found.hits[0].path.as_str(), found.hits[0].confidence),
                ("/knowledge/revenue/ins1", 0.9)
            );
        });
    }

    #[test]
    fn test_search_global() {
        each(|mem| {
            let fs = fs(&mem, &[learned("ins1", "revenue", "VP sponsor predicts conversion", 0.9)]);
            mem.record_episode(Episode {
                output_summary: "the VP Sponsor signed".into(),
                ..episode("ep1", NOON)
            })
            .expect("recorded");
            assert_eq!(
                hits(&fs, "VP sponsor", "/"),
                ["/knowledge/revenue/ins1", "/experience/2026-02-17/ep1"]
            );
            assert_eq!(
                hits(&fs, "VP sponsor", "/experience"),
                ["/experience/2026-02-17/ep1"],
                "no insights"
            );
            assert_eq!(
                hits(&fs, "VP sponsor", "/knowledge"),
                ["/knowledge/revenue/ins1"],
                "no episodes"
            );
        });
    }

    #[test]
    fn test_write_knowledge() {
        each(|mem| {
            let fs = fs(&mem, &[]);
            let written = fs
                .write("/knowledge/revenue/new-principle", "Enterprise deals need VP sponsor")
                .expect("written");
            assert_eq!(
                (written.path.as_str(), written.existed),
                ("/knowledge/revenue/new-principle", false)
            );
            let results = recalled(&mem, "revenue");
            assert_eq!(results.len(), 1);
            let new = Insight {
                domain: "revenue".into(),
                ..Insight::new("new-principle", "cro", "", NOON)
            };
            assert_eq!(
                results[0],
                Insight { content: "Enterprise deals need VP sponsor".into(), ..new }
            );
            assert_eq!(results[0].confidence, 0.5);
        });
    }

    #[test]
    fn test_write_experience() {
        each(|mem| {
            let fs = fs(&mem, &[]);
            let content = format!("Qualified Acme Corp at 85{}", "é".repeat(300));
            fs.write("/experience/2026-02/qualified-acme", &content).expect("written");
            let results = mem.recall_episodes(&mem.episode_query()).expect("recalled");
            assert_eq!(results.len(), 1);
            assert_eq!(
                (results[0].id.as_str(), results[0].action.as_str()),
                ("qualified-acme", "qualified-acme")
            );
            assert_eq!(
                (results[0].timestamp, results[0].output_summary.chars().count()),
                (NOON, 200)
            );
            assert_eq!(results[0].outcome["content"], content);
            let read = fs.read("/experience/2026-02-17/qualified-acme").expect("read");
            assert!(read.contains(&content), "all of it comes back");
            assert!(!read.contains("Outcome"), "and only once");
        });
    }

    #[test]
    fn test_traces_recorded() {
        each(|mem| {
            let fs = fs(&mem, &[]);
            fs.browse("/").expect("browsed");
            fs.read("/identity/soul.md").expect("read");
            fs.search("test", "/").expect("searched");
            let traces = fs.traces();
            let told: Vec<(&str, &str, &str, usize, usize)> = traces
                .iter()
                .map(|t| {
                    (
                        t.action.name(),
                        t.path.as_str(),
                        t.query.as_str(),
                        t.results_count,
                        t.tokens_loaded,
                    )
                })
                .collect();
            assert_eq!(
                told,
                [
                    ("browse", "/", "", 4, 10),
                    ("read", "/identity/soul.md", "", 1, 4),
                    ("search", "/", "test", 0, 0)
                ]
            );
            assert_eq!(traces[0].timestamp, NOON);
        });
    }

    #[test]
    fn test_clear_traces() {
        each(|mem| {
            let fs = fs(&mem, &[]);
            fs.browse("/").expect("browsed");
            let copy = fs.traces();
            assert_eq!(copy.len(), 1);
            fs.clear_traces();
            assert_eq!((fs.traces().len(), copy.len()), (0, 1));
        });
    }

    #[test]
    fn test_memory_filesystem_integration() {
        each(|mem| {
            let fs = fs(&mem, &[learned("ins1", "revenue", "Revenue insight", 0.9)]);
            assert!(names(&fs, "/").contains(&"knowledge".to_string()));
            assert!(fs.read("/identity/soul.md").expect("read").contains("CRO"));
            assert_eq!(hits(&fs, "revenue insight", "/knowledge/").len(), 1);
            fs.write("/knowledge/revenue/new-principle", "Test principle").expect("written");
            assert_eq!(recalled(&mem, "revenue").len(), 2);
            assert_eq!(fs.traces().len(), 4);
        });
    }

    #[test]
    fn every_folder_has_an_index() {
        each(|mem| {
            let fs = fs(
                &mem,
                &[
                    learned("ins1", "revenue", "Line one\n# and two", 0.9),
                    insight("ins2", "of no domain"),
                ],
            )
            .with_goals(["Win ten deals"]);
            mem.record_episode(Episode { output_summary: "signed".into(), ..episode("ep1", NOON) })
                .expect("recorded");
            for (path, want) in [
                (
                    "/.directory",
                    "# /\n\n- identity/ (1 file)\n- goals/ (1 file)\n- knowledge/ (2 files)\n- experience/ (1 file)\n- references/ (empty)\n",
                ),
                ("/identity/.directory", "# /identity/\n\n- soul.md: You are the CRO.\n"),
                ("/goals/.directory", "# /goals/\n\n- 1.md: Win ten deals\n"),
                ("/knowledge/.directory", "# /knowledge/\n\n- _/ (1 file)\n- revenue/ (1 file)\n"),
                (
                    "/knowledge/revenue/.directory",
                    "# /knowledge/revenue/\n\n- ins1 (0.90): Line one. # and two\n",
                ),
                ("/knowledge/_/.directory", "# /knowledge/_/\n\n- ins2 (0.80): of no domain\n"),
                ("/experience/.directory", "# /experience/\n\n- 2026-02-17/ (1 file)\n"),
                (
                    "/experience/2026-02/.directory",
                    "# /experience/2026-02/\n\n- 2026-02-17/ (1 file)\n",
                ),
                (
                    "/experience/2026-02-17/.directory",
                    "# /experience/2026-02-17/\n\n- ep1: signed\n",
                ),
                ("/references/.directory", "# /references/\n\n(empty)\n"),
            ] {
                assert_eq!(fs.read(path).expect(path), want);
            }
            for path in [
                "/knowledge/none/.directory",
                "/experience/2026-01-01/.directory",
                "/none/.directory",
            ] {
                assert_eq!(fs.read(path).expect(path), "", "{path}");
            }
        });
    }

    #[test]
    fn indexes_of_an_empty_memory_say_so() {
        each(|mem| {
            let fs = MemoryFilesystem::new(mem);
            for folder in ["identity", "goals", "knowledge", "experience", "references"] {
                let index = fs.read(&format!("/{folder}/.directory")).expect("read");
                assert_eq!(index, format!("# /{folder}/\n\n(empty)\n"));
            }
        });
    }
}

#[test]
fn what_does_not_count_or_belongs_to_others_is_not_there() {
    each(|mem| {
        let fs = fs(
            &mem,
            &[
                learned("old", "revenue", "Cold mail works", 0.9),
                learned("new", "revenue", "Cold mail fails", 0.6),
            ],
        );
        mem.retire("old").expect("retired");
        mem.weaken("new").expect("weakened");
        assert_eq!(names(&fs, "/knowledge/revenue"), ["new"]);
        assert_eq!(fs.read("/knowledge/revenue/old").expect("read"), "");
        assert_eq!(hits(&fs, "cold mail", "/"), ["/knowledge/revenue/new"]);
        assert!(fs.read("/knowledge/revenue/new").expect("read").contains("\nStatus: weakening"));
        assert_eq!(fs.read("/knowledge/marketing/new").expect("read"), "", "of another domain");
    });
    let f = Fixture::new();
    let location = StoreLocation::new(&f.path, WriteOptions::new(noon));
    let cmo = AgentMemory::in_capsule("cmo", &location, noon);
    cmo.record_episode(episode("ep1", NOON)).expect("recorded");
    cmo.store_insight(insight("ins1", "Mine")).expect("stored");
    let fs = MemoryFilesystem::new(AgentMemory::in_capsule("cro", &location, noon));
    assert_eq!((names(&fs, "/knowledge"), names(&fs, "/experience")), (Vec::new(), Vec::new()));
    assert_eq!(fs.read("/experience/2026-02-17/ep1").expect("read"), "");
    assert_eq!(
        (fs.read("/knowledge/_/ins1").expect("read"), hits(&fs, "mine", "/").len()),
        (String::new(), 0)
    );
    fs.write("/knowledge/_/ins1", "Ours").expect("ids are the agent's own");
    assert_eq!(
        cmo.insight("ins1").expect("asked").map(|insight| insight.content).as_deref(),
        Some("Mine")
    );
}

#[test]
fn references_show_what_the_clearance_allows() {
    each(|mem| {
        let workspace = mem.workspace().expect("a team").clone();
        let of = |id: &str, domain: &str, classification| Fact {
            domain: domain.into(),
            classification,
            ..fact(id, &format!("Acme pays {id}"))
        };
        let gone = Fact {
            superseded_by: Some("late".into()),
            ..of("early", "revenue", Classification::Internal)
        };
        let contested = strings(["secret", "never"]);
        for fact in [
            Fact {
                contested_with: contested,
                confidence: 0.7,
                ..of("late", "revenue", Classification::Internal)
            },
            of("secret", "revenue", Classification::Confidential),
            of("openly", "", Classification::Public),
            of("well", "hr", Classification::Internal),
            gone,
        ] {
            workspace.store_fact(&fact).expect("stored");
        }
        let nobody = fs(&mem, &[]);
        assert_eq!(
            names(&nobody, "/references"),
            ["_"],
            "what is public, unless something else is said"
        );
        let cleared = ClearanceProfile::new("cro").with("revenue", Classification::Internal);
        let fs = fs(&mem.clone().with_clearance(cleared), &[]);
        assert_eq!(names(&fs, "/references"), ["_", "revenue"]);
        assert_eq!(names(&fs, "/references/revenue"), ["late"]);
        assert_eq!(
            hits(&fs, "acme pays", "/references"),
            ["/references/revenue/late", "/references/_/openly"]
        );
        assert_eq!(hits(&fs, "acme pays", "/references/revenue"), ["/references/revenue/late"]);
        for hidden in [
            "/references/revenue/secret",
            "/references/revenue/early",
            "/references/hr/well",
            "/references/_/late",
        ] {
            assert!(matches!(fs.open(hidden), Err(FileError::NoSuchFile { .. })), "{hidden}");
        }
        let told = fs.read("/references/revenue/late").expect("read");
        assert!(told.starts_with("Acme pays late\n\nConfidence: 0.70\nEvidence: 1\n"), "{told}");
        assert!(
            !told.contains("secret"),
            "who may not know a fact is not told that another contests it: {told}"
        );
        let read =
            |id: &str| workspace.store().get(id).expect("asked").map(|fact| fact.access_count);
        assert_eq!(
            (read("late"), read("openly"), read("secret")),
            (Some(3), Some(1), Some(0)),
            "two searches and a reading"
        );
        let quiet = fs.uncounted();
        assert_eq!(quiet.read("/references/revenue/late").expect("read"), told);
        assert_eq!(
            (hits(&quiet, "acme pays", "/").len(), read("late"), read("openly")),
            (2, Some(3), Some(1))
        );
    });
}

#[test]
fn an_insight_that_is_written_again_keeps_what_is_not_said() {
    each(|mem| {
        let old = Insight {
            tags: strings(["a"]),
            entity: "acme".into(),
            classification: Classification::Confidential,
            source_episode_ids: strings(["ep1"]),
            last_confirmed: Some(DAY),
            ..learned("ins1", "revenue", "Old", 0.9)
        };
        let fs = fs(&mem, std::slice::from_ref(&old));
        let written = fs.write("/knowledge/revenue/ins1", "New").expect("written");
        assert!(written.existed);
        assert_eq!(
            mem.insight("ins1").expect("asked"),
            Some(Insight { content: "New".into(), ..old.clone() })
        );
        let more = Details {
            confidence: Some(0.3),
            classification: Some(Classification::Public),
            ..Details::default()
        };
        let written =
            fs.write_with("/knowledge/revenue/b/c/b/ins1", "Newer", &more).expect("written");
        assert_eq!(written.path, "/knowledge/revenue/ins1");
        let newer =
            Insight { content: "Newer".into(), tags: strings(["b", "c"]), confidence: 0.3, ..old };
        assert_eq!(mem.insight("ins1").expect("asked"), Some(newer), "nor does it spread further");
        assert!(
            fs.read("/knowledge/revenue/b/ins1").expect("read").starts_with("Newer\n"),
            "where it was written it is read"
        );
        assert_eq!(fs.read("/knowledge/revenue/x/ins1").expect("read"), "");
        let taken = fs.write("/knowledge/marketing/ins1", "Elsewhere").expect_err("refused");
        assert_eq!(
            taken.to_string(),
            "`/knowledge/marketing/ins1` cannot be written: /knowledge/revenue/ins1 has this id"
        );
        mem.retire("ins1").expect("retired");
        assert!(!fs.write("/knowledge/marketing/ins1", "Anew").expect("written").existed);
        let anew =
            Insight { domain: "marketing".into(), ..Insight::new("ins1", "cro", "Anew", NOON) };
        let anew = Insight { classification: Classification::Confidential, ..anew };
        assert_eq!(mem.insight("ins1").expect("asked"), Some(anew));
    });
}

#[test]
fn what_happens_is_written_on_its_day_and_stays() {
    each(|mem| {
        let fs = fs(&mem, &[]);
        mem.record_episode(episode("before", NOON - DAY)).expect("recorded");
        for (path, id) in [
            ("/experience/2026-02-17/a", "a"),
            ("/experience/2026-02/b", "b"),
            ("/experience/c", "c"),
        ] {
            let written = fs.write(path, "It happened").expect(path);
            assert_eq!(written.path, format!("/experience/2026-02-17/{id}"));
            assert!(fs.read(path).expect(path).contains("Output: It happened"));
        }
        let other = fs.write("/experience/2026-02-16/d", "x").expect_err("refused");
        assert_eq!(
            other.to_string(),
            "`/experience/2026-02-16/d` is not in the folder of today, 2026-02-17"
        );
        assert!(matches!(fs.write("/experience/2026-01/d", "x"), Err(FileError::OtherDay { .. })));
        assert!(matches!(fs.write("/experience/someday/d", "x"), Err(FileError::OtherDay { .. })));
        for again in ["/experience/2026-02-17/a", "/experience/before"] {
            assert!(
                matches!(fs.write(again, "Otherwise"), Err(FileError::Taken { .. })),
                "{again}"
            );
        }
        assert_eq!(names(&fs, "/experience"), ["2026-02-17", "2026-02-16"]);
        assert_eq!(names(&fs, "/experience/2026-02"), ["2026-02-17", "2026-02-16"]);
        assert_eq!(names(&fs, "/experience/2026-02-17"), ["c", "b", "a"], "newest first");
        assert_eq!(fs.read("/experience/2026-02-16/a").expect("read"), "", "of another day");
        assert_eq!(hits(&fs, "happened", "/experience/2026-02-16"), [""; 0]);
        let count = mem
            .recall_episodes(&EpisodeQuery { limit: 99, ..mem.episode_query() })
            .expect("recalled")
            .len();
        assert_eq!(count, 4);
    });
}

#[test]
fn the_rest_is_read_only_and_the_attempt_is_traced() {
    each(|mem| {
        let fs = fs(&mem, &[learned("ins1", "revenue", "x", 0.9)]);
        let read_only = [
            "/identity/soul.md",
            "/identity/other.md",
            "/goals/1.md",
            "/references/revenue/f1",
            "/knowledge/.directory",
            "/knowledge/revenue/.directory",
            "/",
            "/identity",
        ];
        for path in read_only {
            let refused = fs.write(path, "You are the CEO.").expect_err(path);
            assert!(matches!(refused, FileError::ReadOnly { .. }), "{path}: {refused}");
        }
        for path in ["/knowledge", "/knowledge/revenue", "/experience/2026-02-17"] {
            assert!(matches!(fs.write(path, "x"), Err(FileError::IsFolder { .. })), "{path}");
        }
        assert!(matches!(fs.write("/etc/passwd", "x"), Err(FileError::NoSuchFolder { .. })));
        for (path, content, confidence) in [
            ("/knowledge/a/b", " \n", 0.5),
            ("/knowledge/a/b", "x", 1.5),
            ("/knowledge/a/b", "x", f64::NAN),
        ] {
            let details = Details { confidence: Some(confidence), ..Details::default() };
            let refused = fs.write_with(path, content, &details).expect_err("refused");
            assert!(matches!(refused, FileError::Memory(Error::InvalidRecord { .. })), "{refused}");
        }
        let traces = fs.traces();
        assert_eq!(traces.len(), read_only.len() + 7);
        assert!(
            traces
                .iter()
                .all(|trace| trace.action == TraceAction::Write && trace.results_count == 0)
        );
        assert_eq!((traces[0].path.as_str(), traces[6].path.as_str()), ("/identity/soul.md", "/"));
        assert_eq!(fs.read("/identity/soul.md").expect("read"), "You are the CRO.");
        assert_eq!(names(&fs, "/knowledge"), ["revenue"]);
    });
}

#[test]
fn hostile_paths_reach_no_store() {
    each(|mem| {
        let fs = fs(&mem, &[learned("ins1", "revenue", "x", 0.9)]);
        let long = format!("/knowledge/{}", "x".repeat(PATH_BYTES_MAX));
        let deep = "/knowledge".to_string() + &"/d".repeat(40);
        for (path, want) in [
            ("/knowledge/../identity/soul.md", PathFault::Traversal),
            ("/knowledge/revenue/a\0", PathFault::Nul),
            ("/knowledge/revenue/a\u{1b}[31m", PathFault::Unseen),
            ("/knowledge/revenue\\ins1", PathFault::Backslash),
            ("/knowledge/%2e%2e/ins1", PathFault::Escape),
            (long.as_str(), PathFault::TooLong),
            (deep.as_str(), PathFault::TooDeep),
        ] {
            fs.clear_traces();
            let faults = [
                fs.browse(path).expect_err("refused"),
                fs.read(path).expect_err("refused"),
                fs.search("x", path).expect_err("refused"),
                fs.write(path, "x").expect_err("refused"),
            ];
            for error in faults {
                assert!(
                    matches!(error, FileError::InvalidPath { fault, .. } if fault == want),
                    "{path:?}: {error}"
                );
            }
            let traces = fs.traces();
            assert_eq!(traces.len(), 4, "failures are traced");
            assert!(traces.iter().all(|trace| trace.path.len() <= PATH_BYTES_MAX));
        }
        // Escapes are names and no more; what is new gets no such name.
        for (path, want) in [
            ("/knowledge/revenue/%2E%2E", PathFault::Traversal),
            ("/knowledge/revenue/a%00", PathFault::Nul),
            ("/knowledge/%E2%80%AE/a", PathFault::Unseen),
            ("/experience/%5C", PathFault::Backslash),
        ] {
            assert_eq!(fs.read(path).expect(path), "");
            let refused = fs.write(path, "x").expect_err(path);
            assert!(
                matches!(refused, FileError::InvalidPath { fault, .. } if fault == want),
                "{path}: {refused}"
            );
        }
        let long = format!("/knowledge/revenue/{}", "x".repeat(2000));
        assert!(matches!(
            fs.write(&long, "x"),
            Err(FileError::Memory(Error::InvalidRecord { .. }))
        ));
        assert!(matches!(fs.browse("/knowledge/revenue/ins1"), Err(FileError::IsFile { .. })));
        assert!(matches!(
            fs.browse("/knowledge/revenue/ins2"),
            Err(FileError::NoSuchFolder { .. })
        ));
        assert!(matches!(fs.browse("/knowledge/none"), Err(FileError::NoSuchFolder { .. })));
        assert!(matches!(fs.open("/knowledge/revenue"), Err(FileError::IsFolder { .. })));
        assert!(matches!(fs.search("x", "/knowledge/revenue/ins1"), Err(FileError::IsFile { .. })));
        assert!(matches!(fs.search("x", "/none"), Err(FileError::NoSuchFolder { .. })));
        let query = "x".repeat(SEARCH_BYTES_MAX + 1);
        assert!(matches!(
            fs.search(&query, "/"),
            Err(FileError::Memory(Error::QueryTooLong { .. }))
        ));
    });
}

#[test]
fn every_id_and_domain_is_listed_under_a_name_that_opens_it() {
    each(|mem| {
        let odd = [
            "a/b",
            "..",
            ".",
            ".directory",
            "_",
            "%",
            "a b",
            "a\\b",
            "ž\u{202e}\n",
            "日本",
            "2026-02-17",
            "a%2Fb",
        ];
        let fs = fs(&mem, &[]);
        for name in odd {
            mem.store_insight(learned(name, name, &format!("This is <{name}>"), 0.5))
                .expect("stored");
            mem.record_episode(Episode {
                output_summary: format!("<{name}>"),
                ..episode(name, NOON)
            })
            .expect("recorded");
        }
        let domains = names(&fs, "/knowledge");
        assert_eq!(domains.len(), odd.len());
        let mut opened = Vec::new();
        for domain in domains {
            let folder = fs.browse(&format!("/knowledge/{domain}")).expect("a folder");
            for name in folder.names() {
                let content = fs.open(&format!("{}{name}", folder.path)).expect("a file");
                opened.push(
                    content
                        .split_once("This is <")
                        .expect("its text")
                        .1
                        .split_once('>')
                        .expect("its end")
                        .0
                        .to_string(),
                );
            }
        }
        opened.sort();
        let mut want = strings(odd);
        want.sort();
        assert_eq!(opened, want);
        for name in names(&fs, "/experience/2026-02-17") {
            let path = format!("/experience/2026-02-17/{name}");
            assert!(fs.open(&path).expect("a file").contains("Output: <"), "{path}");
        }
        for hit in fs.search("this is", "/").expect("searched").hits {
            assert!(fs.open(&hit.path).expect("a file").starts_with(&hit.content), "{}", hit.path);
        }
    });
}

#[test]
fn lists_and_hits_are_bounded_and_say_how_much_more_there_is() {
    each(|mem| {
        let fs = fs(&mem, &[]);
        for n in 0..ENTRIES_DEFAULT + 3 {
            let confidence = if n == 7 { 0.9 } else { 0.5 };
            mem.store_insight(learned(
                &format!("ins{n:03}"),
                "revenue",
                "The same in all",
                confidence,
            ))
            .expect("stored");
        }
        let folder = fs.browse("/knowledge/revenue").expect("browsed");
        assert_eq!((folder.entries.len(), folder.more), (ENTRIES_DEFAULT, 3));
        assert_eq!(
            (folder.names()[0], folder.names()[1]),
            ("ins007", "ins000"),
            "the surest first"
        );
        assert!(
            fs.read("/knowledge/revenue/.directory").expect("read").ends_with("\n- and 3 more\n")
        );
        let kind = &fs.browse("/knowledge").expect("browsed").entries[0].kind;
        assert_eq!(*kind, EntryKind::Folder { file_count: ENTRIES_DEFAULT + 3, listing: None });
        let found = fs.search("same", "/").expect("searched");
        assert_eq!(
            (found.hits.len(), found.more),
            (HITS_DEFAULT, ENTRIES_DEFAULT + 3 - HITS_DEFAULT)
        );
        assert_eq!(found.hits[0].path, "/knowledge/revenue/ins007");
        let two = MemoryFilesystem::new(mem).with_limit(2);
        assert_eq!(two.search("same", "/").expect("searched").more, ENTRIES_DEFAULT + 1);
        assert_eq!(two.browse("/knowledge/revenue").expect("browsed").more, ENTRIES_DEFAULT + 1);
    });
}

#[test]
fn a_tree_goes_as_deep_as_it_is_told_in_one_trace() {
    each(|mem| {
        let fs = fs(&mem, &[learned("ins1", "revenue", "Learned", 0.9)]);
        mem.record_episode(episode("ep1", NOON)).expect("recorded");
        let below = |listing: &Listing, name: &str| -> Option<Listing> {
            let entry = listing.entries.iter().find(|entry| entry.name == name).expect(name);
            match &entry.kind {
                EntryKind::Folder { listing, .. } => listing.clone(),
                EntryKind::File { .. } => None,
            }
        };
        let two = fs.tree("/", 2).expect("listed");
        let knowledge = below(&two, "knowledge").expect("listed as well");
        assert_eq!((knowledge.path.as_str(), knowledge.names()), ("/knowledge/", vec!["revenue"]));
        assert_eq!(below(&knowledge, "revenue"), None);
        let three = fs.tree("/", 3).expect("listed");
        let day =
            below(&below(&three, "experience").expect("listed"), "2026-02-17").expect("listed");
        assert_eq!(day.names(), ["ep1"]);
        assert_eq!(
            fs.tree("/knowledge", 2).expect("listed").entries,
            below(&three, "knowledge").expect("listed").entries
        );
        assert_eq!(fs.traces().len(), 3);
    });
}

#[test]
fn only_the_newest_traces_are_kept() {
    let fs = MemoryFilesystem::new(AgentMemory::new("cro", noon));
    fs.browse("/").expect("browsed");
    for _ in 0..TRACES_MAX {
        assert!(fs.search(&"é".repeat(SEARCH_BYTES_MAX), "/").is_err());
    }
    let traces = fs.traces();
    assert_eq!((traces.len(), traces[0].action), (TRACES_MAX, TraceAction::Search));
    assert_eq!(traces[0].query.len(), SEARCH_BYTES_MAX);
}

#[test]
fn hits_are_scored_and_in_an_order_of_their_own() {
    each(|mem| {
        let fs = fs(
            &mem,
            &[
                learned("whole", "a", "vp sponsor", 0.1),
                learned("long", "a", "A VP sponsor is what a deal needs", 0.9),
                learned("apart", "a", "The sponsor is a VP here", 0.9),
                learned("sure", "b", "the VP sponsor signs", 0.9),
                learned("unsure", "b", "the VP sponsor signs", 0.2),
                learned("half", "b", "a VP signs", 0.9),
            ],
        );
        let found = fs.search("  VP\tSponsor ", "/knowledge").expect("searched");
        let paths: Vec<&str> =
            found.hits.iter().map(|hit| hit.path.rsplit('/').next().expect("a name")).collect();
        assert_eq!(paths, ["whole", "sure", "unsure", "long", "apart"]);
        assert_eq!(found.hits[0].score, 1.0);
        assert!(found.hits.iter().all(|hit| hit.score > 0.0 && hit.score <= 1.0));
        assert_eq!(fs.search(" ", "/").expect("searched").hits.len(), 0);
        assert_eq!(hits(&fs, "cro", "/identity"), ["/identity/soul.md"]);
    });
}
