//! Seals a file with a passphrase, and opens it again. In the format of `age`, so that the tool of
//! that name opens it too.
//!
//! Both ways stream: memory is bounded by one block, whatever the size of the file, and by what the
//! key derivation takes.

use std::ffi::OsString;
use std::fmt;
use std::io::{self, IsTerminal, Read, Write};
use std::iter;

use age::scrypt::{Identity, Recipient};
use age::secrecy::{ExposeSecret, SecretString};
use age::{DecryptError, Decryptor, Encryptor};

use crate::error::{CliError, Result};

/// Variable that holds the passphrase.
const VARIABLE: &str = "KAPSA_PASSPHRASE";
/// The first line of every file in this format, up to its version.
const MAGIC: &[u8] = b"age-encryption.org/";
/// Binary logarithm of the work that a new seal asks of whoever guesses the passphrase: 128 MiB of
/// memory and about half a second. Fixed, not measured as `age` does it: a file that was sealed on
/// a slow or busy machine is not easier to open by force.
const WORK: u8 = 17;
/// Most work that a file may ask for: 1 GiB of memory and some seconds. A file from a stranger
/// could ask for hours.
const WORK_MAX: u8 = 20;
/// Longest header of a sealed file, in bytes; one for a passphrase takes some 150. The format
/// itself knows no limit.
const HEADER_BYTES_MAX: u64 = 4096;
/// What the last line of a header begins with.
const HEADER_END: &[u8] = b"\n---";
/// Bytes that are read at a time: a block of the format.
const BLOCK_BYTES: usize = 64 << 10;

/// A passphrase. Erased from memory when it is dropped, and never printed.
pub(crate) struct Passphrase(SecretString);

impl fmt::Debug for Passphrase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Passphrase(..)")
    }
}

impl Passphrase {
    /// The passphrase that the environment names, else the one typed on the terminal when `prompt`
    /// allows to ask; typed twice when `confirm`.
    pub(crate) fn find(prompt: bool, confirm: bool) -> Result<Passphrase> {
        if let Some(named) = Passphrase::named(std::env::var_os(VARIABLE))? {
            return Ok(named);
        }
        if !prompt || !io::stdin().is_terminal() || !io::stderr().is_terminal() {
            return Err(required("a passphrase is needed"));
        }
        let typed = ask("Passphrase: ")?;
        if typed.0.expose_secret().is_empty() {
            return Err(required("the passphrase is empty"));
        }
        if confirm && ask("Again: ")?.0.expose_secret() != typed.0.expose_secret() {
            return Err(CliError::user("passphrase_mismatch", "the two passphrases differ")
                .hint("type the same one twice"));
        }
        Ok(typed)
    }

    /// An empty variable means "not set" to most people.
    fn named(value: Option<OsString>) -> Result<Option<Passphrase>> {
        let Some(value) = value.filter(|value| !value.is_empty()) else { return Ok(None) };
        let text =
            value.into_string().map_err(|_| required(&format!("{VARIABLE} is not UTF-8 text")))?;
        Ok(Some(Passphrase(text.into())))
    }
}

fn required(message: &str) -> CliError {
    CliError::user("passphrase_required", message)
        .hint(format!("set {VARIABLE}, or run it on a terminal to be asked"))
}

fn ask(question: &str) -> Result<Passphrase> {
    let typed = rpassword::prompt_password(question)
        .map_err(|error| CliError::io("ask for a passphrase", &error))?;
    Ok(Passphrase(typed.into()))
}

/// Whether a file that begins with `first` is sealed; [`MAGIC`]'s length of it is enough.
pub(crate) fn is_sealed(first: &[u8]) -> bool {
    first.starts_with(MAGIC)
}

/// Seals all of `plain`. Gives how many bytes that were.
///
/// After an error `sealed` holds a part that nobody can open as a whole. Whoever calls this writes
/// to a temporary file and renames it at the end.
pub(crate) fn seal(passphrase: &Passphrase, plain: impl Read, sealed: impl Write) -> Result<u64> {
    seal_with_work(WORK, passphrase, plain, sealed)
}

fn seal_with_work(
    work: u8,
    passphrase: &Passphrase,
    plain: impl Read,
    sealed: impl Write,
) -> Result<u64> {
    let mut recipient = Recipient::new(passphrase.0.clone());
    recipient.set_work_factor(work);
    let encryptor = Encryptor::with_recipients(iter::once(&recipient as _))
        .map_err(|error| CliError::system("internal", format!("cannot encrypt: {error}")))?;
    let mut writer = encryptor.wrap_output(sealed).map_err(unwritable)?;
    let bytes =
        copy(plain, &mut writer, |error| CliError::io("read what is to be sealed", &error))?;
    writer.finish().and_then(|mut sealed| sealed.flush()).map_err(unwritable)?;
    Ok(bytes)
}

/// Opens all of `sealed`. Gives how many bytes were in it.
///
/// Each block is checked before it is written, but only the last one proves that none is missing:
/// after an error `plain` may hold a true beginning of the file. Whoever calls this writes to a
/// temporary file, renames it at the end, and removes it after an error.
pub(crate) fn open(passphrase: &Passphrase, sealed: impl Read, plain: impl Write) -> Result<u64> {
    let decryptor = Decryptor::new_buffered(bounded(sealed)?).map_err(refused)?;
    if !decryptor.is_scrypt() {
        return Err(CliError::user(
            "sealed_for_a_key",
            "the file is encrypted for a key, not with a passphrase",
        )
        .hint("open it with the age tool and its key"));
    }
    let mut identity = Identity::new(passphrase.0.clone());
    identity.set_max_work_factor(WORK_MAX);
    let reader = decryptor.decrypt(iter::once(&identity as _)).map_err(refused)?;
    let mut plain = plain;
    let bytes = copy(reader, &mut plain, unreadable)?;
    plain.flush().map_err(unwritable)?;
    Ok(bytes)
}

/// The same bytes, once it is known that the header ends: an endless one would be read into memory.
fn bounded<R: Read>(mut sealed: R) -> Result<impl io::BufRead> {
    let mut first = Vec::new();
    sealed.by_ref().take(HEADER_BYTES_MAX).read_to_end(&mut first).map_err(unreadable)?;
    if !is_sealed(&first) || !first.windows(HEADER_END.len()).any(|at| at == HEADER_END) {
        return Err(damaged());
    }
    Ok(io::BufReader::with_capacity(BLOCK_BYTES, io::Cursor::new(first).chain(sealed)))
}

/// Copies to the end; tells a failure to read from one to write.
fn copy(
    mut from: impl Read,
    to: &mut impl Write,
    unreadable: impl Fn(io::Error) -> CliError,
) -> Result<u64> {
    let mut block = vec![0; BLOCK_BYTES];
    let mut bytes = 0;
    loop {
        let read = match from.read(&mut block) {
            Ok(0) => return Ok(bytes),
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(unreadable(error)),
        };
        to.write_all(&block[..read]).map_err(unwritable)?;
        bytes += read as u64;
    }
}

fn unwritable(error: io::Error) -> CliError {
    CliError::io("write what was sealed or opened", &error)
}

/// What reading a sealed file said: the medium failed, or the bytes are not those that were sealed.
fn unreadable(error: io::Error) -> CliError {
    match error.kind() {
        io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof => damaged(),
        _ => CliError::io("read the sealed file", &error),
    }
}

fn refused(error: DecryptError) -> CliError {
    match error {
        DecryptError::Io(error) => unreadable(error),
        DecryptError::DecryptionFailed
        | DecryptError::KeyDecryptionFailed
        | DecryptError::NoMatchingKeys => CliError::user("invalid_passphrase", "wrong passphrase")
            .hint("check the passphrase; a damaged header fails the same way"),
        DecryptError::ExcessiveWork { required, .. } => {
            let message = format!(
                "opening the file takes 2^{required} steps of work, and the limit is 2^{WORK_MAX}"
            );
            CliError::user("sealed_too_costly", message)
                .hint("it was not encrypted by kapsa; the age tool may open it")
        }
        _ => damaged(),
    }
}

fn damaged() -> CliError {
    CliError::user("sealed_damaged", "the encrypted file is truncated or damaged")
        .hint("copy it again from its source")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endless_header_is_refused() {
        let passphrase = Passphrase("x".to_string().into());
        let endless = MAGIC.chain(io::repeat(b'a'));
        assert_eq!(
            open(&passphrase, endless, io::sink()).expect_err("no end").code,
            "sealed_damaged"
        );
    }

    /// Enough for a test: what the work protects is not secret here.
    const WORK_OF_TESTS: u8 = 2;

    fn passphrase(text: &str) -> Passphrase {
        Passphrase(text.to_string().into())
    }

    fn sealed(plain: &[u8]) -> Vec<u8> {
        let mut sealed = Vec::new();
        let bytes = seal_with_work(WORK_OF_TESTS, &passphrase("right"), plain, &mut sealed);
        assert_eq!(bytes.unwrap_or_else(|error| panic!("{error:?}")), plain.len() as u64);
        sealed
    }

    fn opened(sealed: &[u8], with: &str) -> Result<Vec<u8>> {
        let mut plain = Vec::new();
        let bytes = open(&passphrase(with), sealed, &mut plain)?;
        assert_eq!(bytes, plain.len() as u64);
        Ok(plain)
    }

    fn code(sealed: &[u8], with: &str) -> &'static str {
        let error = opened(sealed, with).expect_err("refused");
        assert_eq!(error.exit_code(), 1, "{error:?}");
        error.code
    }

    #[test]
    fn what_was_sealed_opens() {
        let large: Vec<u8> =
            (0..3 << 20).map(|n: u32| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        for plain in [&b""[..], b"small", &large[..BLOCK_BYTES], &large[..BLOCK_BYTES + 1], &large]
        {
            let sealed = sealed(plain);
            assert!(is_sealed(&sealed));
            assert!(
                opened(&sealed, "right").unwrap_or_else(|error| panic!("{error:?}")) == plain,
                "{} bytes",
                plain.len()
            );
        }
    }

    #[test]
    fn the_work_of_a_seal_is_fixed_and_within_what_is_opened() {
        let mut sealed = Vec::new();
        seal(&passphrase("right"), &b"x"[..], &mut sealed)
            .unwrap_or_else(|error| panic!("{error:?}"));
        let header = String::from_utf8_lossy(&sealed);
        assert!(
            header
                .lines()
                .nth(1)
                .is_some_and(|line| line.starts_with("-> scrypt ") && line.ends_with(" 17")),
            "{header}"
        );
        assert_eq!(opened(&sealed, "right").ok().as_deref(), Some(&b"x"[..]));
    }

    #[test]
    fn another_passphrase_opens_nothing() {
        for wrong in ["", "Right", "right "] {
            assert_eq!(code(&sealed(b"plain"), wrong), "invalid_passphrase");
        }
    }

    #[test]
    fn a_cut_file_is_refused() {
        let whole = sealed(&vec![7; 2 * BLOCK_BYTES + 100]);
        let header = whole.len() - (2 * BLOCK_BYTES + 100) - 3 * 16;
        let ends = [
            0,
            1,
            MAGIC.len(),
            40,
            header - 17,
            header - 1,
            header,
            header + 1,
            header + BLOCK_BYTES + 16,
        ];
        for end in ends.into_iter().chain([whole.len() - 117, whole.len() - 116, whole.len() - 1]) {
            assert_eq!(code(&whole[..end], "right"), "sealed_damaged", "{end} of {}", whole.len());
        }
        let longer: Vec<u8> = whole.iter().copied().chain([0]).collect();
        assert_eq!(code(&longer, "right"), "sealed_damaged");
    }

    #[test]
    fn a_changed_byte_is_refused() {
        let whole = sealed(b"plain text of some length");
        let body = whole.len() - (25 + 16 + 16);
        for at in 0..whole.len() {
            let mut changed = whole.clone();
            changed[at] ^= 1;
            let code = code(&changed, "right");
            assert!(at < body || code == "sealed_damaged", "byte {at}: {code}");
        }
    }

    #[test]
    fn a_file_that_asks_for_too_much_work_is_refused_at_once() {
        let text = |work: &str| {
            let sealed = sealed(b"x");
            let at = sealed.windows(3).position(|part| part == b" 2\n").expect("the work");
            [&sealed[..=at], work.as_bytes(), &sealed[at + 2..]].concat()
        };
        for work in ["21", "30", "63"] {
            assert_eq!(code(&text(work), "right"), "sealed_too_costly", "{work}");
        }
    }

    #[test]
    fn other_files_are_not_sealed() {
        for first in [&b""[..], b"age", b"kapsa", b"AGE-encryption.org/v1"] {
            assert!(!is_sealed(first));
        }
        assert_eq!(code(b"neither this nor that\n", "right"), "sealed_damaged");
    }

    #[test]
    fn a_passphrase_is_named_and_never_shown() {
        let named = |value: Option<&str>| Passphrase::named(value.map(OsString::from));
        assert_eq!(format!("{:?}", named(Some("secret")).expect("named")), "Some(Passphrase(..))");
        assert!(named(None).expect("none").is_none() && named(Some("")).expect("none").is_none());
        let error = required("a passphrase is needed");
        assert!(error.exit_code() == 1 && error.hint.is_some_and(|hint| hint.contains(VARIABLE)));
    }
}
