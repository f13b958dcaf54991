//! The program `kapsa`: what it does is in the library.

fn main() -> std::process::ExitCode {
    kapsa_cli::main()
}
