//! What this process may take: the library trusts the lengths that a file states, and looks for
//! what is not there without an end.

use rustix::process::{Resource, Rlimit, setrlimit};

use crate::answer::Failure;

/// Most address space, in bytes, unless `--memory` says otherwise.
const MEMORY_DEFAULT: u64 = 2 << 30;
/// Most time on a processor, in seconds, unless `--seconds` says otherwise.
const SECONDS_DEFAULT: u64 = 60;

/// Most bytes of a file that it writes, its answer included.
const OUTPUT_BYTES_MAX: u64 = 1 << 30;

/// Sets the limits, before anything is opened.
pub(crate) fn set(options: &[String]) -> Result<(), Failure> {
    let (mut memory, mut seconds) = (MEMORY_DEFAULT, SECONDS_DEFAULT);
    let mut options = options.iter();
    while let Some(name) = options.next() {
        let value = options.next().and_then(|value| value.parse().ok());
        match (name.as_str(), value) {
            ("--memory", Some(value)) => memory = value,
            ("--seconds", Some(value)) => seconds = value,
            _ => return Err(Failure::new("usage", format!("{name} is not understood"))),
        }
    }
    for (resource, limit) in [
        (Resource::As, memory),
        (Resource::Cpu, seconds),
        (Resource::Fsize, OUTPUT_BYTES_MAX),
        (Resource::Core, 0),
    ] {
        let limit = Rlimit { current: Some(limit), maximum: Some(limit) };
        setrlimit(resource, limit)
            .map_err(|error| Failure::new("limits", format!("no limit can be set: {error}")))?;
    }
    Ok(())
}
