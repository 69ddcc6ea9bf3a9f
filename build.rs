//! Links the unwinder into the program on Linux with glibc: loading `libgcc_s.so.1` takes a tenth of the time of a start.

use std::env;
use std::path::Path;
use std::process::Command;

/// GCC's unwinder as an archive, which comes with the compiler that links.
const UNWINDER: &str = "libgcc_eh.a";

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let glibc = env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux")
        && env::var("CARGO_CFG_TARGET_ENV").is_ok_and(|env| env == "gnu");
    // Where another machine's program is made, `cc` is not what links it.
    if glibc && env::var("HOST") == env::var("TARGET") && unwinder_is_here() {
        println!("cargo:rustc-link-arg-bins=-Wl,--push-state,--whole-archive,-l:{UNWINDER},--pop-state");
    }
}

/// Asked for a file that it does not have, the compiler answers with the name alone.
fn unwinder_is_here() -> bool {
    let answer = Command::new("cc").arg(format!("-print-file-name={UNWINDER}")).output();
    answer.is_ok_and(|answer| Path::new(String::from_utf8_lossy(&answer.stdout).trim()).is_absolute())
}
