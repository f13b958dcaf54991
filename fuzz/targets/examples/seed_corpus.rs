//! Writes the inputs that fuzzing begins with to `fuzz/corpus/`. Run it when a target reads its
//! bytes in another way.

use std::path::Path;
use std::{fs, io};

fn main() -> io::Result<()> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus");
    for (target, name, bytes) in kapsa_fuzz_targets::seeds() {
        let folder = corpus.join(target);
        fs::create_dir_all(&folder)?;
        fs::write(folder.join(name), bytes)?;
    }
    Ok(())
}
