//! The key that commits are signed with: how it is written, and where a writer gets it. Knows
//! nothing of commits.

use std::fmt;

use ed25519_dalek::{Signer, VerifyingKey};

/// Bytes of a secret key.
pub const SECRET_KEY_BYTES: usize = 32;
/// Bytes of a public key.
pub(crate) const PUBLIC_KEY_BYTES: usize = 32;
/// Bytes of a signature.
pub(crate) const SIGNATURE_BYTES: usize = 64;

/// What a written secret key begins with.
const SECRET_PREFIX: &str = "kapsa-ed25519-secret ";
/// What a written public key begins with.
const PUBLIC_PREFIX: &str = "ed25519:";

/// A secret key. Overwritten in memory when it is dropped.
#[derive(Clone)]
pub struct SigningKey(ed25519_dalek::SigningKey);

impl SigningKey {
    /// The key of these bytes, which nobody must be able to guess.
    #[must_use]
    pub fn from_bytes(secret: &[u8; SECRET_KEY_BYTES]) -> SigningKey {
        SigningKey(ed25519_dalek::SigningKey::from_bytes(secret))
    }

    /// Reads a key as [`SigningKey::to_text`] writes it, with or without a line end.
    #[must_use]
    pub fn parse(text: &str) -> Option<SigningKey> {
        let digits = text.trim_end_matches(['\n', '\r']).strip_prefix(SECRET_PREFIX)?;
        let mut secret = [0; SECRET_KEY_BYTES];
        decode_hex(digits, &mut secret)?;
        Some(SigningKey::from_bytes(&secret))
    }

    /// The key as one line of text, without its end: a secret.
    #[must_use]
    pub fn to_text(&self) -> String {
        format!("{SECRET_PREFIX}{}", base16ct::lower::encode_string(self.0.as_bytes()))
    }

    /// The key that checks what this one signs.
    #[must_use]
    pub fn public(&self) -> PublicKey {
        PublicKey(self.0.verifying_key())
    }

    pub(crate) fn sign(&self, message: &[u8]) -> [u8; SIGNATURE_BYTES] {
        self.0.sign(message).to_bytes()
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SigningKey").field(&self.public()).finish()
    }
}

/// The public half of a key: `ed25519:` and 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct PublicKey(VerifyingKey);

impl PublicKey {
    /// Reads a key as it is displayed.
    #[must_use]
    pub fn parse(text: &str) -> Option<PublicKey> {
        let mut bytes = [0; PUBLIC_KEY_BYTES];
        decode_hex(text.strip_prefix(PUBLIC_PREFIX)?, &mut bytes)?;
        PublicKey::from_bytes(&bytes)
    }

    /// The key of these bytes; none when no key has them.
    pub(crate) fn from_bytes(bytes: &[u8; PUBLIC_KEY_BYTES]) -> Option<PublicKey> {
        // May be dropped: the error says no more than that this is no key.
        VerifyingKey::from_bytes(bytes).ok().filter(|key| !key.is_weak()).map(PublicKey)
    }

    pub(crate) fn as_bytes(&self) -> &[u8; PUBLIC_KEY_BYTES] {
        self.0.as_bytes()
    }

    pub(crate) fn verifies(&self, message: &[u8], signature: &[u8; SIGNATURE_BYTES]) -> bool {
        let signature = ed25519_dalek::Signature::from_bytes(signature);
        self.0.verify_strict(message, &signature).is_ok()
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PUBLIC_PREFIX}{}", base16ct::lower::encode_string(self.as_bytes()))
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

fn decode_hex(digits: &str, bytes: &mut [u8]) -> Option<()> {
    // May be dropped: the error says no more than that these are not such digits.
    base16ct::mixed::decode(digits, bytes).ok().filter(|read| read.len() * 2 == digits.len())?;
    (digits.len() == bytes.len() * 2).then_some(())
}

/// Why there is no key where one was expected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct KeyError {
    /// What is wrong, in lower case and without a full stop.
    pub message: String,
    /// What to do about it.
    pub hint: String,
}

/// Where a writer gets the key that it signs its commits with.
#[derive(Clone, Debug, Default)]
pub enum KeySource {
    /// Commits are not signed.
    #[default]
    Unsigned,
    /// With this key.
    Key(Box<SigningKey>),
    /// With what this gives, which is called before the first commit; none: commits are not
    /// signed. When it fails, nothing is committed.
    AtFirstCommit(fn() -> Result<Option<SigningKey>, KeyError>),
}

impl KeySource {
    /// The key; looked for once.
    pub(crate) fn key(&mut self) -> Result<Option<&SigningKey>, KeyError> {
        if let KeySource::AtFirstCommit(find) = self {
            *self = find()?.map_or(KeySource::Unsigned, |key| KeySource::Key(Box::new(key)));
        }
        Ok(match self {
            KeySource::Key(key) => Some(key),
            KeySource::Unsigned | KeySource::AtFirstCommit(_) => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read_as_they_are_written() {
        let key = SigningKey::from_bytes(&[7; SECRET_KEY_BYTES]);
        let text = key.to_text();
        let read = SigningKey::parse(&format!("{text}\n")).expect("a key");
        assert_eq!(read.to_text(), text);
        let public = key.public().to_string();
        assert_eq!(PublicKey::parse(&public), Some(key.public()));
        assert!(!format!("{key:?}").contains(&text[SECRET_PREFIX.len()..]), "a secret stays one");
        for odd in ["", "ed25519:", "ed25519:00", &public[..public.len() - 1], &public[8..]] {
            assert_eq!(PublicKey::parse(odd), None, "{odd:?}");
        }
        for odd in ["", &public, &text[..text.len() - 1], &format!("{text}0"), &format!(" {text}")]
        {
            assert!(SigningKey::parse(odd).is_none(), "{odd:?}");
        }
        let weak = format!("ed25519:01{}", "00".repeat(31));
        assert_eq!(PublicKey::parse(&weak), None, "a key for which anything can be signed");
    }

    #[test]
    fn a_signature_is_of_one_message_and_one_key() {
        let key = SigningKey::from_bytes(&[7; SECRET_KEY_BYTES]);
        let other = SigningKey::from_bytes(&[8; SECRET_KEY_BYTES]);
        let signature = key.sign(b"message");
        assert!(key.public().verifies(b"message", &signature));
        assert!(!key.public().verifies(b"another", &signature));
        assert!(!other.public().verifies(b"message", &signature));
    }
}
