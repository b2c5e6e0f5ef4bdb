//! The program: arguments in, exit code out. All else is in the library beside it, where tests can reach it.

fn main() -> std::process::ExitCode {
    pollux::main()
}
