//! The key of a service, kept so that it is sent and never shown. Does not know where it is sent.

use std::fmt;

use kapsa_model::ModelError;
use ureq::http::HeaderValue;

use crate::failure::not_configured;

/// What a service asks for to grant access. It cannot be displayed, compared or serialised, and
/// `{:?}` hides it.
#[derive(Clone)]
pub struct Key(String);

impl Key {
    /// A key; surrounding white space is not part of it.
    ///
    /// # Errors
    /// [`NotConfigured`](kapsa_model::ModelErrorKind::NotConfigured) when nothing is left, or when
    /// the key holds a character that a header cannot carry. The error does not show the key.
    pub fn new(text: &str) -> Result<Key, ModelError> {
        let text = text.trim();
        if text.is_empty() {
            return Err(not_configured(
                "the key is empty",
                "set the key that the provider gave you",
            ));
        }
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(not_configured(
                "the key contains a character that a key cannot contain",
                "check that the key was copied whole, and nothing else with it",
            ));
        }
        Ok(Key(text.to_owned()))
    }

    /// The key after `scheme`, marked so that HTTP does not show it either.
    pub(crate) fn header(&self, scheme: &str) -> HeaderValue {
        let value = HeaderValue::from_str(&format!("{scheme}{}", self.0));
        let mut value = value.expect("a key is graphic ASCII");
        value.set_sensitive(true);
        value
    }

    /// A text without the key.
    pub(crate) fn redact(&self, text: &str) -> String {
        text.replace(&self.0, "(key)")
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(hidden)")
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_sent_and_not_shown() {
        let key = Key::new(" sk-secret\n").unwrap();
        assert_eq!(key.header("Bearer ").to_str().unwrap(), "Bearer sk-secret");
        assert_eq!(format!("{key:?} {:?}", key.header("")), "Key(hidden) Sensitive");
        assert_eq!(key.redact("sk-secret, Bearer sk-secret!"), "(key), Bearer (key)!");
    }

    #[test]
    fn a_key_that_cannot_be_sent_is_not_shown() {
        for text in ["", " \n", "hid\nden", "hid den", "hidé", "hid\u{7f}den"] {
            let error = Key::new(text).unwrap_err();
            assert!(error.message.starts_with("the key "), "{error:?}");
            assert!(!format!("{error:?}").contains("hid"), "{error:?}");
        }
    }
}
