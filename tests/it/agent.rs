//! Our key files, public texts and fingerprints against OpenSSH's own programs, and signing through a real ssh-agent.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use proofmark::trust::{AgentSigner, Encryption, KeyId, PublicKey, SecretKey, Signer, TrustError, identities};
use tempfile::TempDir;

const PASSPHRASE: &str = "correct horse";

fn run(command: &mut Command) -> String {
    let output = match command.stdin(Stdio::null()).output() {
        Ok(output) => output,
        Err(error) => panic!("{command:?} cannot be run ({error}): install openssh-client"),
    };
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn keygen(arguments: &[&str], file: &Path) -> String {
    run(Command::new("ssh-keygen").args(arguments).arg("-f").arg(file))
}

fn write_key(folder: &TempDir, name: &str, text: &str) -> PathBuf {
    let path = folder.path().join(name);
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    path
}

fn secret() -> SecretKey {
    SecretKey::generate(*b"a seed for tests, never trust it")
}

/// An ssh-agent of its own, ended when dropped.
pub struct Agent {
    process: Child,
    pub socket: PathBuf,
    _folder: TempDir,
}

impl Agent {
    pub fn start() -> Self {
        let folder = TempDir::new().unwrap();
        let socket = folder.path().join("s");
        let started = Command::new("ssh-agent").arg("-D").arg("-a").arg(&socket).stdout(Stdio::null()).spawn();
        let process =
            started.unwrap_or_else(|error| panic!("ssh-agent cannot be run ({error}): install openssh-client"));
        let agent = Self { process, socket, _folder: folder };
        let patience = Instant::now() + Duration::from_secs(10);
        while UnixStream::connect(&agent.socket).is_err() {
            assert!(Instant::now() < patience, "ssh-agent did not open its socket");
            std::thread::sleep(Duration::from_millis(5));
        }
        agent
    }

    fn connect(&self) -> Box<UnixStream> {
        let stream = UnixStream::connect(&self.socket).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        Box::new(stream)
    }

    pub fn add(&self, arguments: &[&str], key: &Path) {
        run(Command::new("ssh-add").env("SSH_AUTH_SOCK", &self.socket).args(arguments).arg(key));
    }

    fn empty(&self) {
        run(Command::new("ssh-add").env("SSH_AUTH_SOCK", &self.socket).arg("-D"));
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn ssh_keygen_reads_our_key_files_and_agrees_on_public_text_and_fingerprint() {
    let folder = TempDir::new().unwrap();
    let public = *secret().public();
    let encryption = Encryption { passphrase: PASSPHRASE, salt: *b"sixteen salty by" };
    let plain = write_key(&folder, "plain", &secret().to_openssh("ann@example.org", None).unwrap());
    let locked = write_key(&folder, "locked", &secret().to_openssh("ann@example.org", Some(encryption)).unwrap());
    for (file, passphrase) in [(&plain, ""), (&locked, PASSPHRASE)] {
        assert_eq!(keygen(&["-y", "-P", passphrase], file).trim_end(), format!("{public} ann@example.org"));
        let listed = keygen(&["-l"], file);
        assert_eq!(listed.split(' ').nth(1), Some(public.fingerprint().as_str()), "{listed}");
    }
    let line = write_key(&folder, "line.pub", &format!("{public}\n"));
    assert_eq!(keygen(&["-l"], &line), format!("256 {} no comment (ED25519)\n", public.fingerprint()));
}

#[test]
fn key_files_made_by_ssh_keygen_are_read() {
    let folder = TempDir::new().unwrap();
    for (name, passphrase) in [("plain", ""), ("locked", PASSPHRASE)] {
        let file = folder.path().join(name);
        keygen(&["-q", "-t", "ed25519", "-C", "ann", "-N", passphrase], &file);
        let text = fs::read_to_string(&file).unwrap();
        assert_eq!(SecretKey::needs_passphrase(&text).unwrap(), !passphrase.is_empty());
        let key = SecretKey::from_openssh(&text, Some(passphrase)).unwrap();
        let line = fs::read_to_string(file.with_extension("pub")).unwrap();
        assert_eq!(PublicKey::from_openssh(&line).unwrap(), *key.public());
    }
    for (kind, name, more) in [("ssh-rsa", "rsa", ["-b", "1024"]), ("ecdsa-sha2-nistp256", "ecdsa", ["-b", "256"])] {
        for passphrase in ["", PASSPHRASE] {
            let file = folder.path().join(format!("{name}{}", passphrase.len()));
            keygen(&[&["-q", "-t", name, "-N", passphrase], &more[..]].concat(), &file);
            let named = |error: TrustError| {
                assert!(matches!(&error, TrustError::KeyKind { kind: found } if found == kind), "{error}")
            };
            named(SecretKey::from_openssh(&fs::read_to_string(&file).unwrap(), None).unwrap_err());
            named(PublicKey::from_openssh(&fs::read_to_string(file.with_extension("pub")).unwrap()).unwrap_err());
        }
    }
}

#[test]
fn an_agent_signs_as_the_key_itself_does() {
    let agent = Agent::start();
    let folder = TempDir::new().unwrap();
    let key = write_key(&folder, "key", &secret().to_openssh("ann's key", None).unwrap());
    agent.add(&["-q"], &key);
    let held = identities(&mut *agent.connect()).unwrap();
    assert_eq!(held.len(), 1);
    assert_eq!((held[0].key, held[0].comment.as_str()), (Some(*secret().public()), "ann's key"));

    let signer = AgentSigner::new(agent.connect(), *secret().public()).unwrap();
    assert_eq!(signer.public(), secret().public());
    for message in [&b""[..], b"message", &[0xa5; 65_535]] {
        assert_eq!(signer.sign(message).unwrap(), secret().sign(message).unwrap());
    }

    agent.empty();
    let gone = signer.sign(b"message");
    assert!(matches!(gone, Err(TrustError::AgentLacksKey { .. })), "{gone:?}");
    let absent = AgentSigner::new(agent.connect(), *secret().public());
    assert!(matches!(absent, Err(TrustError::AgentLacksKey { .. })), "{absent:?}");
}

#[test]
fn an_agent_that_declines_or_holds_another_kind_of_key_says_so() {
    let agent = Agent::start();
    let folder = TempDir::new().unwrap();
    let rsa = folder.path().join("rsa");
    keygen(&["-q", "-t", "rsa", "-b", "1024", "-N", "", "-C", "old"], &rsa);
    agent.add(&["-q"], &rsa);
    let held = identities(&mut *agent.connect()).unwrap();
    assert_eq!((held[0].kind.as_str(), held[0].key, held[0].comment.as_str()), ("ssh-rsa", None, "old"));
    let listed = keygen(&["-l"], &rsa.with_extension("pub"));
    let id: KeyId = listed.split(' ').nth(1).unwrap().parse().unwrap();
    assert_eq!(held[0].id, id);
    let other = AgentSigner::by_id(agent.connect(), &id);
    assert!(matches!(&other, Err(TrustError::KeyKind { kind }) if kind == "ssh-rsa"), "{other:?}");

    // A key that wants confirmation, in an agent that has no way to ask for it.
    let key = write_key(&folder, "key", &secret().to_openssh("", None).unwrap());
    agent.add(&["-q", "-c"], &key);
    let signer = AgentSigner::new(agent.connect(), *secret().public()).unwrap();
    let refused = signer.sign(b"message");
    assert!(matches!(refused, Err(TrustError::AgentRefused { .. })), "{refused:?}");
}
