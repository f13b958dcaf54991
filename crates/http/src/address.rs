//! The address of a service: whether it is one, whose it is, and whether a key may be sent there.
//! Sends nothing.

use std::net::IpAddr;

use kapsa_model::ModelError;
use ureq::http::Uri;

use crate::failure::not_configured;
use crate::provider::Provider;

/// An address that paths can be appended to.
pub(crate) struct Address {
    base: String,
    uri: Uri,
}

impl Address {
    pub(crate) fn parse(text: &str) -> Result<Address, ModelError> {
        let base = text.trim().trim_end_matches('/');
        // Such an address is not shown, since it may hold a password.
        if base.contains(['@', '?', '#']) {
            let hint = "set the key as the key; an address has no user, password or query";
            let message = "the address of the service has more than a host, a port and a path";
            return Err(not_configured(message, hint));
        }
        let hint = "an address looks like https://api.example.org/v1 or http://127.0.0.1:11434";
        let invalid = |why: &str| not_configured(format!("`{}` {why}", base.escape_debug()), hint);
        let uri: Uri = base.parse().map_err(|_| invalid("is not an address"))?;
        let is_http = matches!(uri.scheme_str(), Some("http" | "https"));
        if !is_http || uri.host().is_none_or(str::is_empty) {
            return Err(invalid("does not begin with http:// or https:// and a host"));
        }
        Ok(Address { base: base.to_owned(), uri })
    }

    pub(crate) fn base(&self) -> &str {
        &self.base
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }

    /// Whether nobody else can read what is sent there: it is encrypted, or does not leave this
    /// machine.
    pub(crate) fn is_private(&self) -> bool {
        self.is_encrypted() || self.is_loopback()
    }

    pub(crate) fn is_loopback(&self) -> bool {
        self.uri.host().is_some_and(|host| {
            let ip = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
            host.eq_ignore_ascii_case("localhost") || ip.is_ok_and(|ip| ip.is_loopback())
        })
    }

    /// Whether this is the provider's own address: its scheme, host and port.
    pub(crate) fn is_of(&self, provider: Provider) -> bool {
        let own: Uri = provider.address().parse().expect("the address of a provider is valid");
        let host = |uri: &Uri| uri.host().unwrap_or_default().to_ascii_lowercase();
        let port = |uri: &Uri| {
            uri.port_u16().unwrap_or(if uri.scheme_str() == Some("https") { 443 } else { 80 })
        };
        let uri = &self.uri;
        uri.scheme() == own.scheme() && host(uri) == host(&own) && port(uri) == port(&own)
    }

    fn is_encrypted(&self) -> bool {
        self.uri.scheme_str() == Some("https")
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use kapsa_model::ModelErrorKind;

    use super::*;

    fn address(text: &str) -> Address {
        Address::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn addresses_are_checked() {
        for good in ["http://localhost:8080/v1", "https://example.org", "HTTP://[::1]:1"] {
            address(good);
        }
        for bad in [
            "",
            "localhost",
            "localhost:11434",
            "/v1",
            "ftp://example.org",
            "http://",
            "http://a b",
        ] {
            let error = Address::parse(bad).err().unwrap();
            assert_eq!(error.kind, ModelErrorKind::NotConfigured, "{bad}");
        }
        for secret in ["http://me:hidden@example.org", "http://example.org/?key=hidden"] {
            assert!(!Address::parse(secret).err().unwrap().message.contains("hidden"), "{secret}");
        }
        assert_eq!(address(" http://localhost:1/v1/ ").url("/x"), "http://localhost:1/v1/x");
    }

    #[test]
    fn encryption_or_this_machine_keeps_a_key_private() {
        let local =
            ["http://localhost:1", "http://LOCALHOST", "http://127.1.2.3", "http://[::1]:1"];
        for private in local.into_iter().chain(["https://example.org", "HTTPS://example.org"]) {
            assert!(address(private).is_private(), "{private}");
        }
        let remote = ["http://example.org", "http://10.0.0.1", "http://localhost.example.org"];
        for public in remote.into_iter().chain(["http://[::ffff:10.0.0.1]:1", "http://0.0.0.0"]) {
            assert!(!address(public).is_private(), "{public}");
        }
    }

    #[test]
    fn an_address_is_the_providers_own_by_scheme_host_and_port() {
        let own = [
            "https://api.openai.com/v1",
            "https://api.openai.com",
            "HTTPS://API.OpenAI.com:443/v2/",
        ];
        for url in own {
            assert!(address(url).is_of(Provider::OpenAi), "{url}");
            assert!(!address(url).is_of(Provider::Anthropic), "{url}");
        }
        for url in [
            "http://api.openai.com/v1",
            "https://api.openai.com:8443/v1",
            "https://api.openai.com.example.org/v1",
            "https://example.org/api.openai.com",
            "https://openai.com/v1",
            "http://127.0.0.1:443",
        ] {
            assert!(!address(url).is_of(Provider::OpenAi), "{url}");
        }
        assert!(address("http://127.0.0.1:11434/").is_of(Provider::Ollama));
    }
}
