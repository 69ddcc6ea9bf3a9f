//! A missing tool is a skip that is announced, or a failure where it is required: never silence.

use std::process::Command;

use super::tools::{REQUIRE, outcome};

const CHECK: &str = "interop::receipts::openssl_verifies_every_kind_of_receipt_and_refuses_a_flipped_byte";

/// Runs that check by itself where nothing is in `PATH`; returns success, and all that it printed.
fn without_tools(require: Option<&str>) -> (bool, String) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", CHECK]).env("PATH", "/nonexistent").env_remove(REQUIRE);
    command.envs(require.map(|value| (REQUIRE, value)));
    let output = outcome(&mut command);
    let printed = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&printed).into_owned())
}

#[test]
fn a_missing_tool_that_is_required_fails_and_says_what_to_run() {
    let (passed, printed) = without_tools(Some("1"));
    assert!(!passed && printed.contains("`openssl` is not installed; run tests/interop/install"), "{printed}");
}

#[test]
fn a_skip_is_announced_though_nothing_fails() {
    for require in [None, Some("0"), Some("")] {
        let (passed, printed) = without_tools(require);
        let announced = "SKIPPED receipts under openssl: `openssl` is not installed; run tests/interop/install";
        assert!(passed && printed.contains("1 passed") && printed.contains(announced), "{printed}");
    }
}
