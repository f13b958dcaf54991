//! `verify`: whether every byte is what was written, whether trusted keys vouch for the history,
//! and whether it goes on from an anchor that was kept elsewhere.

use std::path::Path;

use kapsa_memory::check::LostFile;
use kapsa_memory::request::VerifyReport;
use kapsa_memory::{
    Anchor, CapsuleError, CommitFault, Error, Fault, PublicKey, Reader, SignatureReport, audit,
    check,
};

use super::care::incomplete_for_people;
use crate::app::{App, Status};
use crate::args;
use crate::config_file::read_text;
use crate::error::{CliError, Result};
use crate::moment::readable;
use crate::output::Output;
use crate::progress::Progress;
use crate::render::{counted, size};
use crate::wire::care::VerifyOut;

/// Largest file of public keys, or of a chain, in bytes.
const FILE_BYTES_MAX: u64 = 1 << 20;
/// Hexadecimal digits of a chain.
const CHAIN_DIGITS: usize = 64;

/// What was found out about the history of a capsule, beyond its bytes.
#[derive(Default)]
struct History {
    /// Chain of the newest commit; none when the file is damaged.
    chain: Option<String>,
    /// When keys are trusted.
    signatures: Option<SignatureReport>,
    /// When a chain is expected: the commit that has it, if there is one.
    anchor: Option<Option<Anchor>>,
}

impl History {
    fn is_as_expected(&self) -> bool {
        self.signatures.as_ref().is_none_or(SignatureReport::is_trusted)
            && self.anchor.is_none_or(|found| found.is_some())
    }
}

/// `kapsa verify`.
pub(crate) fn run(app: &mut App, args: &args::Verify) -> Result<Status> {
    let path = app.capsule()?;
    let keys = trusted(&args.trust)?;
    let expected = args.expect_chain.as_deref().map(expected).transpose()?;
    let mut progress = Progress::new("checking", &app.out);
    let report = check::verify(&path, &mut |done, total| progress.set(done, total))?;
    drop(progress);
    let lost = match report.problems.is_empty() {
        true => check::lost_files(&path)?,
        false => Vec::new(),
    };
    let history = match report.problems.is_empty() {
        true => history(&path, &keys, expected, &app.out)?,
        // What is damaged says nothing that could be trusted.
        false => History::default(),
    };
    if app.out.is_json() {
        let out = VerifyOut::of(&path, &report, &lost).with_chain(history.chain.as_deref());
        let out = out.with_signatures(history.signatures.as_ref()).with_anchor(history.anchor);
        app.out.json(&out)?;
    } else {
        for_people(&mut app.out, &report, &lost)?;
        history_for_people(&mut app.out, &history)?;
    }
    let is_well = report.problems.is_empty() && lost.is_empty() && history.is_as_expected();
    Ok(if is_well { Status::Done } else { Status::Unwell })
}

fn history(
    path: &Path,
    keys: &[PublicKey],
    expected: Option<[u8; 32]>,
    out: &Output,
) -> Result<History> {
    let mut history =
        History { chain: Some(chain_of(&Reader::open(path)?)?), ..History::default() };
    if !keys.is_empty() {
        let mut progress = Progress::new("checking signatures", out);
        let report = audit::audit(path, keys, &mut |done, total| progress.set(done, total))?;
        history.signatures = Some(report);
    }
    if let Some(chain) = expected {
        history.anchor = Some(audit::find_chain(path, &chain)?);
    }
    Ok(history)
}

fn chain_of(reader: &Reader) -> Result<String> {
    Ok(kapsa_memory::stats(reader, false)?.chain)
}

/// The keys that are typed, and those in the files that are.
fn trusted(typed: &[String]) -> Result<Vec<PublicKey>> {
    let mut keys = Vec::new();
    for text in typed {
        if let Some(key) = PublicKey::parse(text) {
            keys.push(key);
            continue;
        }
        if text.starts_with("ed25519:") {
            return Err(not_a_key(text));
        }
        let file = read_text(Path::new(text), FILE_BYTES_MAX)?;
        let before = keys.len();
        let lines = file.lines().map(str::trim);
        for line in lines.filter(|line| !line.is_empty() && !line.starts_with('#')) {
            keys.push(PublicKey::parse(line).ok_or_else(|| not_a_key(line))?);
        }
        if keys.len() == before {
            return Err(CliError::user("invalid_key", format!("{text} holds no public key")));
        }
    }
    Ok(keys)
}

fn not_a_key(text: &str) -> CliError {
    CliError::user("invalid_key", format!("`{}` is not a public key", crate::escape::line(text)))
        .hint("a key is `ed25519:` and 64 hexadecimal digits, as kapsa key show prints it")
}

/// The chain that is typed, or kept in a file: as its only text, or as the newest of a capsule.
fn expected(text: &str) -> Result<[u8; 32]> {
    let Some(path) = text.strip_prefix('@') else { return parse_chain(text) };
    let path = Path::new(path);
    match Reader::open(path) {
        Ok(reader) => parse_chain(&chain_of(&reader)?),
        Err(Error::Capsule(CapsuleError::NotACapsule { .. })) => {
            parse_chain(read_text(path, FILE_BYTES_MAX)?.trim())
        }
        Err(error) => Err(error.into()),
    }
}

fn parse_chain(text: &str) -> Result<[u8; 32]> {
    let invalid = || {
        let shown: String = text.chars().take(CHAIN_DIGITS).collect();
        CliError::user("invalid_chain", format!("`{}` is not a chain", crate::escape::line(&shown)))
            .hint("a chain is 64 hexadecimal digits, as kapsa stats prints it; @FILE reads one")
    };
    if text.len() != CHAIN_DIGITS || !text.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return Err(invalid());
    }
    let mut chain = [0; 32];
    for (byte, at) in chain.iter_mut().zip((0..).step_by(2)) {
        *byte = u8::from_str_radix(&text[at..at + 2], 16).map_err(|_| invalid())?;
    }
    Ok(chain)
}

fn for_people(out: &mut Output, report: &VerifyReport, lost: &[LostFile]) -> Result<()> {
    for problem in &report.problems {
        let frame = problem.frame.map_or_else(String::new, |frame| format!("frame {frame}, "));
        out.line(&format!("damaged: {frame}byte {}: {}", problem.offset, problem.what))?;
    }
    incomplete_for_people(out, lost)?;
    if report.torn_bytes > 0 {
        out.line(&format!(
            "{} after the newest commit are left from an interrupted write; harmless",
            counted(report.torn_bytes, "byte")
        ))?;
    }
    let read = [
        counted(report.frames, "frame"),
        counted(report.records, "record"),
        counted(report.commits, "commit"),
        size(report.bytes),
    ];
    let verdict = match (report.problems.len() + lost.len()) as u64 {
        0 => "intact".to_string(),
        count => counted(count, "problem"),
    };
    out.line(&format!("{verdict}: read {}", read.join(", ")))
}

fn history_for_people(out: &mut Output, history: &History) -> Result<()> {
    if let Some(report) = &history.signatures {
        signatures_for_people(out, report)?;
    }
    match &history.anchor {
        None => Ok(()),
        Some(None) => out.line(
            "chain not found: the history was rolled back, cut or rewritten since it was noted",
        ),
        Some(Some(anchor)) => out.line(&format!(
            "chain found: commit {}, with {} after it",
            anchor.number,
            counted(anchor.later, "commit")
        )),
    }
}

fn signatures_for_people(out: &mut Output, report: &SignatureReport) -> Result<()> {
    for fault in &report.faults {
        out.line(&fault_for_people(fault))?;
    }
    let more = report.fault_count - report.faults.len() as u64;
    if more > 0 {
        out.line(&format!("and {more} more"))?;
    }
    let Some(first) = report.first_signed else {
        return out.line(&format!(
            "not trusted: no trusted key signed any of {}",
            counted(report.commits, "commit")
        ));
    };
    let signed = format!(
        "{} of {} signed, from commit {first} on",
        report.signed,
        counted(report.commits, "commit")
    );
    match report.fault_count {
        0 => out.line(&format!("trusted: {signed}")),
        count => out.line(&format!(
            "not trusted: {signed}, but {} without a trusted signature since",
            counted(count, "commit")
        )),
    }
}

fn fault_for_people(fault: &CommitFault) -> String {
    let what = match fault.what {
        Fault::Unsigned => "unsigned".to_string(),
        Fault::BadSignature => "wrong signature".to_string(),
        Fault::OtherKey(key) => format!("signed by {key}"),
    };
    format!("commit {}, {}: {what}", fault.number, readable(fault.time_us))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_is_all_its_digits_and_nothing_else() {
        let chain = "0a".repeat(32);
        assert_eq!(parse_chain(&chain).expect("a chain"), [10; 32]);
        for odd in
            ["", &chain[1..], &format!("{chain}0"), &chain.replace('a', "g"), &"é".repeat(32)]
        {
            assert_eq!(parse_chain(odd).expect_err("no chain").code, "invalid_chain", "{odd:?}");
        }
    }
}
