//! Whether a service on this machine answers.

use std::time::Duration;

/// Asks `url` once, for at most so long.
///
/// # Errors
/// Why it does not answer with success, in a few words.
pub fn health(url: &str, longest: Duration) -> Result<(), String> {
    let config = ureq::Agent::config_builder()
        .timeout_global(Some(longest))
        .http_status_as_error(false)
        .max_redirects(0)
        // A proxy has nothing to do with a service on this machine.
        .proxy(None);
    match config.build().new_agent().get(url).call() {
        Ok(answer) if answer.status().is_success() => Ok(()),
        Ok(answer) => Err(format!("it answers {}", answer.status())),
        Err(error) => Err(error.to_string()),
    }
}
