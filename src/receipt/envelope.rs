//! DSSE v1 envelopes (secure-systems-lab/dsse, protocol and envelope v1.0.2) with exactly one signature.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use super::{ReceiptError, Statement};
use crate::object::{ReceiptId, encode, parse_canonical};
use crate::trust::{HalfVerified, KeyId, PreparedKey, PublicKey, Signature, Signer};

/// The payload type of every receipt.
pub const PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";

/// What an entry of a C2SP tiled log can hold.
pub const MAX_RECEIPT_BYTES: usize = 65_535;

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Envelope {
    payload: String,
    payload_type: String,
    signatures: Vec<EnvelopeSignature>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct EnvelopeSignature {
    keyid: String,
    sig: String,
}

/// What an envelope says beside what all of them say.
struct Members<'a> {
    payload: Cow<'a, str>,
    keyid: Cow<'a, str>,
    sig: Cow<'a, str>,
}

impl<'a> Members<'a> {
    /// Takes them from an envelope of the one canonical form, whose every byte is either fixed or inside one of them.
    fn read(bytes: &'a [u8]) -> Option<Self> {
        let text = std::str::from_utf8(bytes).ok()?;
        let plain = |text: &'a str, after: &str| -> Option<(Cow<'a, str>, &'a str)> {
            let (member, rest) = text.split_once('"')?;
            let escaped = member.bytes().any(|byte| byte == b'\\' || byte < 0x20);
            (!escaped).then_some((Cow::Borrowed(member), rest.strip_prefix(after)?))
        };
        let rest = text.strip_prefix(r#"{"payload":""#)?;
        let (payload, rest) = plain(rest, r#","payloadType":"application/vnd.in-toto+json","signatures":[{"keyid":""#)?;
        let (keyid, rest) = plain(rest, r#","sig":""#)?;
        let (sig, rest) = plain(rest, "}]}")?;
        rest.is_empty().then_some(Self { payload, keyid, sig })
    }

    /// Reads any other bytes, of which most are no envelope, to say what is wrong with them.
    fn explain(bytes: &[u8]) -> Result<Self, ReceiptError> {
        let Envelope { payload, payload_type, mut signatures } =
            parse_canonical(bytes).map_err(ReceiptError::Envelope)?;
        if payload_type != PAYLOAD_TYPE {
            return Err(ReceiptError::PayloadType { found: payload_type.chars().take(80).collect() });
        }
        let found = signatures.len();
        match signatures.pop() {
            Some(EnvelopeSignature { keyid, sig }) if found == 1 => {
                Ok(Self { payload: payload.into(), keyid: keyid.into(), sig: sig.into() })
            }
            _ => Err(ReceiptError::SignatureCount { found }),
        }
    }
}

/// What DSSE signs: `DSSEv1 SP len(type) SP type SP len(payload) SP payload`, lengths in decimal bytes.
pub fn pre_authentication_encoding(payload: &[u8]) -> Vec<u8> {
    let heading = format!("DSSEv1 {} {PAYLOAD_TYPE} {} ", PAYLOAD_TYPE.len(), payload.len());
    [heading.as_bytes(), payload].concat()
}

/// The exact bytes of a receipt, if they are not too many.
fn enveloped(payload: &[u8], key: &KeyId, signature: &Signature) -> Result<Vec<u8>, ReceiptError> {
    let envelope = Envelope {
        payload: STANDARD.encode(payload),
        payload_type: PAYLOAD_TYPE.to_owned(),
        signatures: vec![EnvelopeSignature { keyid: key.to_string(), sig: STANDARD.encode(signature.0) }],
    };
    let bytes = encode(&envelope).map_err(ReceiptError::Envelope)?;
    if bytes.len() > MAX_RECEIPT_BYTES {
        return Err(ReceiptError::TooLarge { size: bytes.len() });
    }
    Ok(bytes)
}

impl Statement {
    /// Refuses what [`Receipt::sign`] would refuse under this key, without signing it.
    pub fn refuse_unsignable(&self, key: &KeyId) -> Result<(), ReceiptError> {
        self.hold_together()?;
        enveloped(&self.encode()?, key, &Signature([0; 64])).map(drop)
    }
}

/// A signed statement and its exact bytes.
#[derive(Debug, Clone)]
pub struct Receipt {
    id: ReceiptId,
    bytes: Vec<u8>,
    payload: Vec<u8>,
    statement: Statement,
    key: KeyId,
    signature: Signature,
}

impl Receipt {
    /// Signs a statement.
    pub fn sign(statement: Statement, signer: &dyn Signer) -> Result<Self, ReceiptError> {
        statement.hold_together()?;
        let payload = statement.encode()?;
        let signature = signer.sign(&pre_authentication_encoding(&payload)).map_err(ReceiptError::Sign)?;
        let key = signer.public().fingerprint();
        let bytes = enveloped(&payload, &key, &signature)?;
        Ok(Self { id: ReceiptId::of(&bytes), bytes, payload, statement, key, signature })
    }

    /// Reads exact, canonical envelope bytes. The signature is checked by [`Receipt::verify`], not here.
    pub fn parse(bytes: &[u8]) -> Result<Self, ReceiptError> {
        if bytes.len() > MAX_RECEIPT_BYTES {
            return Err(ReceiptError::TooLarge { size: bytes.len() });
        }
        let Members { payload, keyid, sig } = match Members::read(bytes) {
            Some(members) => members,
            None => Members::explain(bytes)?,
        };
        let payload = STANDARD.decode(&*payload).map_err(|_| ReceiptError::Base64 { member: "payload" })?;
        let signature = STANDARD.decode(&*sig).map_err(|_| ReceiptError::Base64 { member: "sig" })?;
        let signature = signature.try_into().map_err(|_| ReceiptError::Base64 { member: "sig" })?;
        let key: KeyId = keyid.parse().map_err(ReceiptError::Signature)?;
        let statement = Statement::parse(&payload)?;
        let (id, bytes) = (ReceiptId::of(bytes), bytes.to_vec());
        Ok(Self { id, bytes, payload, statement, key, signature: Signature(signature) })
    }

    /// Checks the signature under a key, which must be the one that the envelope names.
    pub fn verify(&self, key: &PublicKey) -> Result<(), ReceiptError> {
        self.names(&key.fingerprint())?;
        let message = pre_authentication_encoding(&self.payload);
        key.verify(&message, &self.signature).map_err(ReceiptError::BadSignature)
    }

    /// As [`Receipt::verify`] but for the last step, which [`settle`](crate::trust::settle) takes for many receipts.
    pub fn half_verify<'k>(&self, id: &KeyId, key: &'k PreparedKey) -> Result<HalfVerified<'k>, ReceiptError> {
        self.names(id)?;
        Ok(key.half(&pre_authentication_encoding(&self.payload), &self.signature))
    }

    fn names(&self, checked: &KeyId) -> Result<(), ReceiptError> {
        if *checked == self.key {
            return Ok(());
        }
        let (named, checked) = (self.key.clone(), checked.clone());
        Err(ReceiptError::OtherKey { receipt: self.id, named, checked })
    }

    /// BLAKE3 of the exact bytes.
    pub fn id(&self) -> ReceiptId {
        self.id
    }

    /// The exact bytes: the entry of the log.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// What it says.
    pub fn statement(&self) -> &Statement {
        &self.statement
    }

    /// The canonical statement bytes inside.
    pub fn payload(&self) -> &[u8] {
        &self.payload
    }

    /// The key that it says it was signed with.
    pub fn key(&self) -> &KeyId {
        &self.key
    }
}
