//! The program: arguments in, exit code out. All else is in the library beside it, where tests can reach it.

fn main() -> std::process::ExitCode {
    pollux::main()
}

/// What is done before `main`: a hook is answered. The CLI waits for it at every tool, and what Rust prepares for `main` (who
/// overflows a stack, which handles are open) takes as long as all that a hook does. Only for glibc, which tells the arguments that
/// early; elsewhere hooks take the way of all commands.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "a tenth of what a hook costs: `cargo xtask bench hook`")]
#[used]
#[unsafe(link_section = ".init_array")]
static FIRST: extern "C" fn() = {
    extern "C" fn first() {
        pollux::first();
    }
    first
};
