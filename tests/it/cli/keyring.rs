//! Keys for the command line's tests, made by OpenSSH's programs or byte by byte, and what came of them.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::sandbox::{Run, Sandbox};

pub const PASSPHRASE: &str = "correct horse";

/// Runs a program that the tests need.
pub fn tool(command: &mut Command) -> String {
    let output = match command.stdin(Stdio::null()).output() {
        Ok(output) => output,
        Err(error) => panic!("{command:?} cannot be run ({error}): install openssh-client and openssl"),
    };
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// A key made by ssh-keygen below the working folder.
pub fn keygen(sandbox: &Sandbox, name: &str, arguments: &[&str]) -> PathBuf {
    let path = sandbox.path(name);
    tool(Command::new("ssh-keygen").args(["-q", "-C", name, "-f"]).arg(&path).args(arguments));
    path
}

pub fn ed25519(sandbox: &Sandbox, name: &str) -> PathBuf {
    keygen(sandbox, name, &["-t", "ed25519", "-N", ""])
}

/// The fingerprint of a key file, as ssh-keygen has it.
pub fn fingerprint(path: &Path) -> String {
    tool(Command::new("ssh-keygen").arg("-lf").arg(path)).split(' ').nth(1).unwrap().to_owned()
}

pub fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

pub fn chmod(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// A file that only its owner can read.
pub fn write_private(sandbox: &Sandbox, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
    let path = sandbox.write(name, content);
    chmod(&path, 0o600);
    path
}

/// An unencrypted private key file of a security key, as ssh-keygen writes one after a touch (PROTOCOL.key, PROTOCOL.u2f).
pub fn security_key(kind: &str) -> String {
    fn string(bytes: &[u8]) -> Vec<u8> {
        [&(bytes.len() as u32).to_be_bytes(), bytes].concat()
    }
    let point = match kind {
        "sk-ssh-ed25519@openssh.com" => string(&[9; 32]),
        // The base point of P-256, so that the point is on the curve.
        _ => [string(b"nistp256"), string(&p256_base_point())].concat(),
    };
    let public = [string(kind.as_bytes()), point, string(b"ssh:")].concat();
    let private = [&[1, 2, 3, 4, 1, 2, 3, 4], &public[..], &[1], &string(&[7; 64]), &string(b""), &string(b"token")];
    let mut private = private.concat();
    let padding = 8 - private.len() % 8;
    private.extend((1..=padding as u8).take(padding % 8));
    let header = [&b"openssh-key-v1\0"[..], &string(b"none"), &string(b"none"), &string(b""), &1u32.to_be_bytes()];
    let body = STANDARD.encode([&header.concat()[..], &string(&public), &string(&private)].concat());
    let lines: Vec<_> = body.as_bytes().chunks(70).map(|line| std::str::from_utf8(line).unwrap()).collect();
    format!("-----BEGIN OPENSSH PRIVATE KEY-----\n{}\n-----END OPENSSH PRIVATE KEY-----\n", lines.join("\n"))
}

/// SEC 2, section 2.4.2, uncompressed.
fn p256_base_point() -> Vec<u8> {
    let hex = "046b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296\
               4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5";
    (0..hex.len() / 2).map(|i| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).unwrap()).collect()
}

/// Every file of home and working folder with its bytes.
pub fn everything(sandbox: &Sandbox) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = sandbox.files();
    let mut folders = vec![sandbox.home()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { found.push((path.clone(), fs::read(&path).unwrap())) }
        }
    }
    found.sort();
    found
}

/// A run that must end with this code and these words on stderr, say nothing on stdout, and write nothing.
pub fn refused(sandbox: &Sandbox, arguments: &[&str], code: i32, stderr: &str) {
    let before = everything(sandbox);
    let run = sandbox.run(arguments);
    assert_eq!((run.code, run.stdout.as_str()), (code, ""), "{arguments:?}: {}", run.stderr);
    assert_eq!(run.stderr, stderr, "{arguments:?}");
    assert!(everything(sandbox) == before, "{arguments:?} wrote something");
}

/// How a command of any kind ended.
pub fn ended(command: &mut Command) -> Run {
    let output = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Run { code: output.status.code().unwrap_or(-1), stdout: text(output.stdout), stderr: text(output.stderr) }
}
