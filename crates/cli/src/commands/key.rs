//! `key`: the key that signs what this user commits.

use std::path::Path;

use kapsa_memory::SigningKey;

use crate::app::App;
use crate::args::KeyVerb;
use crate::error::{CliError, Result};
use crate::signing_key;
use crate::wire::key::KeyOut;
use crate::wire::show;

/// `kapsa key`.
pub(crate) fn run(app: &mut App, verb: KeyVerb) -> Result<()> {
    let path = signing_key::path()?;
    let shown = path.display();
    match verb {
        KeyVerb::Init => {
            let key = signing_key::make(&path)?;
            tell(app, &key, &path)?;
            app.out.note(&format!("the secret key in {shown} signs what you commit from now on"));
            Ok(())
        }
        KeyVerb::Show => {
            let missing = || {
                CliError::user("no_signing_key", format!("there is no signing key at {shown}"))
                    .hint("kapsa key init makes one")
            };
            let key = signing_key::at(&path)?.ok_or_else(missing)?;
            tell(app, &key, &path)
        }
    }
}

fn tell(app: &mut App, key: &SigningKey, path: &Path) -> Result<()> {
    let public_key = key.public().to_string();
    if app.out.is_json() {
        return app.out.json(&KeyOut { public_key: &public_key, key_path: &show(path) });
    }
    app.out.line(&public_key)
}
