fn main() {
    for trace in std::env::args().skip(1) {
        println!("== {trace}");
        kapsa_ingest::sessions(std::path::Path::new(&trace), &mut |s| {
            print!("{}", kapsa_extract::weighed(&s));
            std::ops::ControlFlow::Continue(())
        }).ok();
    }
}
