//! Answers a search: candidates by words, and by meaning where there are vectors; then groups and
//! snippets.

use std::ops::Range;

use kapsa_index::{Candidate, Query};
use kapsa_model::{Embedder, Purpose};

use super::lookup::{coverage, shown};
use crate::error::{Error, Result};
use crate::records::record::Record;
use crate::records::request::{FIND_K_MAX, FindRequest, Found, Hit, Means, SearchMode, Why};
use crate::records::uri::{DEFAULT_WORKSPACE, SCHEME};
use crate::search::fusion::{Fused, Fusion, Meaning, diverse};
use crate::search::groups::Groups;
use crate::view::View;
use crate::view::vectors;
use crate::view::visibility::{Visibility, list};

/// Records that are looked at for each group or each text that says something new.
const GROUP_DEPTH: usize = 10;

/// Searches by words and by meaning, as far as the request wants and the capsule has vectors of
/// this model.
///
/// # Errors
/// `QueryTooLong`; `Embedding` when the model fails; `NoVectors` when meaning alone is wanted and
/// there are none.
pub(crate) fn find(
    view: &View,
    request: &FindRequest,
    embedder: Option<&dyn Embedder>,
) -> Result<Found> {
    let query = Query::parse(&short_uris(&request.query))?;
    let filter = request.filter.within(view)?;
    let k = request.k.min(FIND_K_MAX);
    let asks = match request.mode {
        SearchMode::Words => false,
        SearchMode::Meaning => true,
        SearchMode::Auto => !query.is_strict() && query.terms().next().is_some(),
    };
    let meaning = if asks { meaning(view, request, embedder)? } else { None };
    let Some((meaning, means)) = meaning else {
        if request.mode == SearchMode::Meaning {
            return Err(Error::NoVectors);
        }
        return by_words(view, &query, &filter, k, request);
    };
    let fusion = Fusion { view, request, query: &query, filter: &filter, meaning };
    let fused = fusion.order(depth(request, k), means.words)?;
    Ok(Found { hits: best(view, fused, k, &query, request)?, fallback: false, means })
}

/// The best `k` of what was found, or of each group, as the request wants them.
fn best(
    view: &View,
    mut fused: Vec<Fused>,
    k: usize,
    query: &Query,
    request: &FindRequest,
) -> Result<Vec<Hit>> {
    if request.diverse {
        fused = diverse(fused);
    }
    let mut groups = Groups::new(request.group);
    groups.gather(&mut fused);
    let hits = fused.into_iter().take(k).map(|fused| {
        let group_hits = groups.count(&fused.record);
        let record = shown(view, fused.record)?;
        let hit = present(record, fused.score, Some(query), fused.passage, request);
        Ok(Hit { why: fused.why, group_hits, ..hit })
    });
    let mut hits: Vec<Hit> = hits.collect::<Result<_>>()?;
    if view.is_guarded() {
        hits.iter_mut().zip(1..).for_each(|(hit, rank)| ranked_only(hit, rank));
    }
    Ok(hits)
}

/// How many records are looked at for `k` hits.
fn depth(request: &FindRequest, k: usize) -> usize {
    if request.group.is_some() || request.diverse {
        k.saturating_mul(GROUP_DEPTH).min(FIND_K_MAX)
    } else {
        k
    }
}

fn by_words(
    view: &View,
    query: &Query,
    filter: &kapsa_index::Filter,
    k: usize,
    request: &FindRequest,
) -> Result<Found> {
    let mut visibility = Visibility::of(view);
    let mut accept = |candidate: Candidate<'_>| {
        visibility.accepts(&candidate) && visibility.has_phrases(query, &candidate)
    };
    let hits = view.store().searcher()?.search(query, filter, depth(request, k), &mut accept)?;
    visibility.finish()?;
    if hits.is_empty() && request.fallback {
        return newest(view, request, k);
    }
    let mut fused = Vec::with_capacity(hits.len());
    for (rank, hit) in hits.into_iter().enumerate() {
        let why = Why { words: Some((rank + 1, hit.score)), ..Why::default() };
        fused.push(Fused {
            record: view.store().record(hit.seq)?,
            score: hit.score,
            passage: None,
            why,
        });
    }
    let hits = best(view, fused, k, query, request)?;
    Ok(Found { hits, fallback: false, means: Means { words: true, ..Means::default() } })
}

/// The query as a vector, when there is something to compare it with.
fn meaning<'a>(
    view: &'a View,
    request: &FindRequest,
    embedder: Option<&dyn Embedder>,
) -> Result<Option<(Meaning<'a>, Means)>> {
    let Some(embedder) = embedder else { return Ok(None) };
    let blocks = vectors::of_model(view.store(), embedder.model())?;
    if blocks.iter().all(|block| block.is_empty()) {
        return Ok(None);
    }
    let mut vectors =
        embedder.embed(&[&request.query], Purpose::Query).map_err(Error::Embedding)?;
    let question = vectors.pop().filter(|vector| vector.len() == blocks[0].dimension());
    let Some(question) = question else { return Ok(None) };
    let coverage = coverage(view)?;
    let means = Means {
        words: request.mode == SearchMode::Auto,
        model: Some(embedder.model().name.clone()),
        covered: coverage.covered,
        missing: coverage.missing,
    };
    Ok(Some((Meaning { blocks, question }, means)))
}

/// The newest records, for a search that matched nothing.
fn newest(view: &View, request: &FindRequest, k: usize) -> Result<Found> {
    let sequences = list(view, &request.filter, k, true)?;
    let present = |sequence| {
        Ok(present(shown(view, view.store().record(sequence)?)?, 0.0, None, None, request))
    };
    let hits = sequences.into_iter().map(present);
    let hits: Vec<Hit> = hits.collect::<Result<_>>()?;
    Ok(Found { fallback: !hits.is_empty(), hits, means: Means { words: true, ..Means::default() } })
}

fn present(
    record: Record,
    score: f32,
    query: Option<&Query>,
    passage: Option<Range<u32>>,
    request: &FindRequest,
) -> Hit {
    let passage = passage.map(|range| range.start as usize..range.end as usize);
    let passage = passage.filter(|range| record.text.get(range.clone()).is_some());
    if request.snippet_chars == 0 {
        let (snippet, marks) = (String::new(), Vec::new());
        return Hit { snippet, marks, record, score, why: Why::default(), passage, group_hits: 0 };
    }
    let none = Query::default();
    let query = query.unwrap_or(&none);
    let mut cut = kapsa_index::snippet(&record.text, query, request.snippet_chars);
    // Where no word says which part fits best, meaning does.
    if let Some(passage) =
        passage.clone().filter(|passage| cut.highlights.is_empty() && passage.start > 0)
    {
        cut = kapsa_index::snippet(&record.text[passage.clone()], query, request.snippet_chars);
        cut.range = cut.range.start + passage.start..cut.range.end + passage.start;
    }
    let snippet = record.text[cut.range].to_string();
    Hit {
        snippet,
        marks: cut.highlights,
        record,
        score,
        why: Why::default(),
        passage,
        group_hits: 0,
    }
}

/// Leaves of a hit's scores what its place in the list shows: scores depend on how often words
/// occur in all records, hidden ones included.
fn ranked_only(hit: &mut Hit, rank: usize) {
    hit.score = 1.0 / rank as f32;
    let why = std::mem::take(&mut hit.why);
    hit.why = Why {
        words: why.words.map(|_| (rank, 0.0)),
        meaning: why.meaning,
        cosine: why.cosine,
        terms: why.terms,
        points: Vec::new(),
    };
}

/// URIs in a query in the form in which they are indexed.
fn short_uris(query: &str) -> String {
    query.replace(&format!("uri:{SCHEME}{DEFAULT_WORKSPACE}/"), "uri:")
}
