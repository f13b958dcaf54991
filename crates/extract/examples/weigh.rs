//! Shows why sentences are kept or not:
//! `cargo run -p kapsa-extract --example weigh -- TRACE…`.

use std::ops::ControlFlow;
use std::path::Path;

use kapsa_extract::explain;

fn main() {
    for trace in std::env::args().skip(1) {
        println!("== {trace}");
        let reading = kapsa_ingest::sessions(Path::new(&trace), &mut |session| {
            for one in explain(&session) {
                let mark = if one.is_kept { '+' } else { ' ' };
                println!(
                    "{mark} [{}] {:.1} {:?}\t{}",
                    one.place, one.weight, one.acts, one.sentence
                );
            }
            ControlFlow::Continue(())
        });
        if let Err(error) = reading {
            println!("error: {error}");
        }
    }
}
