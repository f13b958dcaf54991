//! How is a key kept so that it is sent and never shown?

use std::fmt;

use kapsa_model::ModelError;
use ureq::http::HeaderValue;

use super::not_configured;

/// What a provider asks for to let one in. It is not displayed, compared or serialised, and `{:?}` does not tell it.
#[derive(Clone)]
pub struct Key(String);

impl Key {
    /// A key; white space around it is no part of it.
    ///
    /// # Errors
    /// [`NotConfigured`](kapsa_model::ModelErrorKind::NotConfigured) when nothing is left, or a character that no
    /// header can carry. The error does not tell which.
    pub fn new(text: &str) -> Result<Key, ModelError> {
        let text = text.trim();
        if text.is_empty() {
            return Err(not_configured("the key is empty", "give the key that the provider gave you"));
        }
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(not_configured(
                "the key holds a character that no key may hold",
                "is it copied whole, and nothing else?",
            ));
        }
        Ok(Key(text.to_owned()))
    }

    /// The key after `scheme`, marked so that HTTP does not show it either.
    pub(crate) fn header(&self, scheme: &str) -> HeaderValue {
        let mut value = HeaderValue::from_str(&format!("{scheme}{}", self.0)).expect("a key is graphic ASCII");
        value.set_sensitive(true);
        value
    }

    /// A text without the key.
    pub(crate) fn blot_out(&self, text: &str) -> String {
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
        assert_eq!(key.blot_out("sk-secret, Bearer sk-secret!"), "(key), Bearer (key)!");
    }

    #[test]
    fn a_key_that_cannot_be_sent_is_not_shown() {
        for text in ["", " \n", "hid\nden", "hid den", "hidé", "hid\u{7f}den"] {
            let error = Key::new(text).unwrap_err();
            assert!(error.message.starts_with("the key ") && !format!("{error:?}").contains("hid"), "{error:?}");
        }
    }
}
