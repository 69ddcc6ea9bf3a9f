//! `proofmark completion`.

use super::sandbox::Sandbox;

#[test]
fn every_shell_gets_a_script_that_names_the_commands() {
    let sandbox = Sandbox::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = sandbox.ok(&["completion", shell]);
        assert!(script.contains("completion"), "{shell}");
    }
    let run = sandbox.run(&["completion", "tcsh"]);
    assert_eq!((run.code, run.stdout.as_str()), (2, ""));
    assert!(run.stderr.contains("invalid value 'tcsh'"), "{}", run.stderr);
}
