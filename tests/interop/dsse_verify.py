"""Verifies receipts with securesystemslib and reads their statements with in-toto-attestation.

Usage: dsse_verify.py PUBLIC_KEY_HEX KEY_ID ENVELOPE...

Prints one JSON array with {"file", "verified", "reason"} for each envelope, in order.
"""

import json
import sys

from google.protobuf import json_format
from in_toto_attestation.v1 import statement_pb2
from in_toto_attestation.v1.statement import Statement
from securesystemslib.dsse import Envelope
from securesystemslib.exceptions import VerificationError
from securesystemslib.signer import Key


def read_statement(payload):
    """Reads a Statement v1 and refuses one that in-toto's own rules refuse, or that it would write otherwise."""
    message = json_format.Parse(payload, statement_pb2.Statement())
    Statement.copy_from_pb(message).validate()
    if json_format.MessageToDict(message) != json.loads(payload):
        raise ValueError("in-toto-attestation reads the statement differently")


def verify(key, path):
    """Returns why the envelope is refused, or None. Any other failure is this program's and ends it."""
    with open(path, encoding="utf-8") as file:
        envelope = Envelope.from_dict(json.load(file))
    try:
        envelope.verify([key], 1)
    except VerificationError as error:
        return f"signature: {error}"
    try:
        read_statement(envelope.payload)
    except (ValueError, json_format.ParseError) as error:
        return f"statement: {error}"
    return None


def main():
    public, keyid, *files = sys.argv[1:]
    parts = {"keytype": "ed25519", "scheme": "ed25519", "keyval": {"public": public}}
    key = Key.from_dict(keyid, parts)
    outcomes = []
    for file in files:
        reason = verify(key, file)
        outcomes.append({"file": file, "verified": reason is None, "reason": reason})
    json.dump(outcomes, sys.stdout)


if __name__ == "__main__":
    main()
