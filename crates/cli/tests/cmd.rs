//! Whole sessions at the command line, as example files: what is typed, what is printed, how it
//! ends.
//!
//! Each `tests/cmd/*.trycmd` runs in a fresh folder; `[..]` stands for what differs each time.
//! After `TRYCMD=overwrite cargo test --test cmd` the files say what the program answers now: read
//! the difference before you commit it.

#[test]
fn sessions_print_what_their_files_say() {
    // Free of the caller's settings: the program gets a clean environment.
    let wrapper = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cmd/kapsa.sh");
    let cases = trycmd::TestCases::new();
    cases.env("KAPSA_TEST_BINARY", env!("CARGO_BIN_EXE_kapsa"));
    cases.register_bin("kapsa", std::path::Path::new(wrapper));
    cases.case("tests/cmd/*.trycmd").run();
}
