#![allow(missing_docs)]
use kapsa_index::*;
fn main() {
    let dir = std::env::args().nth(1).unwrap_or_default();
    let mut paras = Vec::new();
    for e in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        if let Ok(t) = std::fs::read_to_string(e.path()) {
            paras.push(t);
        }
    }
    let all: String = paras.join("\n");
    let chars: Vec<char> = all.chars().collect();
    let texts: Vec<String> = chars.chunks(1000).take(128).map(|c| c.iter().collect()).collect();
    println!("{} docs", texts.len());
    let terms: Vec<String> = vec!["kind:fact".into(), "tag:a".into()];
    let run = || {
        let mut b = SegmentBuilder::new(1 << 20).expect("b");
        for (i, t) in texts.iter().enumerate() {
            let terms: Vec<String> = terms.iter().cloned().chain([format!("uri:kapsa://x/{i}")]).collect();
            b.add(&Document {
                title: "The quick brown title",
                text: t,
                terms: &terms,
                key_hash: i as u64 * 77777,
                time_us: i as i64,
            })
            .expect("a");
        }
        let t1 = std::time::Instant::now();
        let out = b.finish().expect("f");
        (t1.elapsed(), out.len())
    };
    let mut best = std::time::Duration::MAX;
    let mut bestf = best;
    let n: usize = std::env::args().nth(2).and_then(|n| n.parse().ok()).unwrap_or(200);
    let mut len = 0;
    for _ in 0..n {
        let t = std::time::Instant::now();
        let (f, l) = run();
        len = l;
        best = best.min(t.elapsed());
        bestf = bestf.min(f);
    }
    println!("total {best:?} finish {bestf:?} bytes {len}");
}
