//! Writes the plugin folders of Claude Code and Codex: `cargo xtask plugin`.

use std::path::PathBuf;
use std::{env, fs, io};

use kapsa_setup::plugin_files;

fn main() -> io::Result<()> {
    let out = env::args_os().nth(1).map(PathBuf::from).ok_or_else(|| {
        io::Error::new(io::ErrorKind::InvalidInput, "name the folder to write the plugins to")
    })?;
    for file in plugin_files(env!("CARGO_PKG_VERSION")) {
        let path = out.join(&file.path);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(&path, file.text)?;
        println!("{}", path.display());
    }
    Ok(())
}
