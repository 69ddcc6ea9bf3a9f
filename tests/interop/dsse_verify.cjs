// Verifies receipts with sigstore-js, each as the DSSE envelope of a bundle that names a public key.
//
// Usage: node dsse_verify.cjs NODE_MODULES PUBLIC_KEY_PEM ENVELOPE...
//
// Prints one JSON array with {file, verified, reason} for each envelope, in order.

"use strict";

const { createPublicKey } = require("node:crypto");
const { readFileSync } = require("node:fs");
const { join } = require("node:path");

const [modules, pem, ...files] = process.argv.slice(2);
const { bundleFromJSON } = require(join(modules, "@sigstore/bundle"));
const { VerificationError, Verifier, toSignedEntity, toTrustMaterial } = require(join(modules, "@sigstore/verify"));

// A ledger stands without certificate authorities, timestamps and sigstore's own log: one key is all there is.
const noAuthorities = { certificateAuthorities: [], timestampAuthorities: [], tlogs: [], ctlogs: [] };
const thresholds = { tlogThreshold: 0, ctlogThreshold: 0, tsaThreshold: 0 };

const key = createPublicKey(readFileSync(pem));
const hint = "the ledger's person";
const trusted = toTrustMaterial(noAuthorities, (asked) => {
  if (asked !== hint) throw new Error(`no key ${asked}`);
  return { publicKey: key, validFor: () => true };
});
const verifier = new Verifier(trusted, thresholds);

// Why the envelope is refused, or null. Any other failure is this program's and ends it.
function verify(file) {
  const bundle = bundleFromJSON({
    mediaType: "application/vnd.dev.sigstore.bundle.v0.3+json",
    verificationMaterial: { publicKey: { hint }, tlogEntries: [] },
    dsseEnvelope: JSON.parse(readFileSync(file, "utf8")),
  });
  try {
    verifier.verify(toSignedEntity(bundle));
    return null;
  } catch (error) {
    if (error instanceof VerificationError) return `${error.code}: ${error.message}`;
    throw error;
  }
}

const outcomes = files.map((file) => ({ file, reason: verify(file) }));
process.stdout.write(JSON.stringify(outcomes.map(({ file, reason }) => ({ file, verified: reason === null, reason }))));
