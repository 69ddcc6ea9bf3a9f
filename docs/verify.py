#!/usr/bin/env python3
"""A second verifier of proofmark ledgers, written from docs/format.md and the pages beside it, not from the program.

    python3 docs/verify.py [--json] [--pin DIGEST] LEDGER...

It needs Python 3.11, `blake3` and `cryptography`, and the program `zstd` where objects are compressed. It answers by
the axes of `proofmark verify --replay` (docs/findings.md), each PASS, FAIL or NOT CHECKED, and with its exit codes: 0
nothing found, 3 something found, 2 no ledger that this can read, 1 could not run. With several ledgers `--json` prints
one line for each, and the exit code is the gravest. It reads no index, writes nothing, and needs no network. A test
(tests/it/interop/second) holds it and the program to the same answers.

Not checked here, and said so (NOT CHECKED): cards of `regex/v1`, whose patterns are those of a Rust crate; text that
depends on the version of Unicode; evidence too large to judge in Python. One receipt alone cannot be asked for, and
neither can a dossier or a proof. Whether a release is authorized now is not asked either, only whether the recorded
ones follow.

Reading order: JSON, shapes, signatures, receipts, the chain of trust, decisions, files, log; then `Audit`, which
examines a ledger; then what a replay needs: records, identities, scorers, `Replay`, the gate.
"""

import argparse
import base64
import functools
import hashlib
import json
import os
import re
import stat
import string
import struct
import subprocess
import sys
import tomllib
import unicodedata
from datetime import date
from fractions import Fraction

from blake3 import blake3
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

SAFE = 2**53 - 1
RECEIPT_BYTES, NOTE_BYTES, NOTE_SIGNATURES, CONFIG_BYTES = 65_535, 1_000_000, 100, 65_536
BUNDLE_BYTES, WIDTH, OBJECT_BYTES, WINDOW_BYTES = 16_777_472, 256, 2**40, 2**23
LINE_BYTES, RECORDS, VALUES, DEPTH, LABEL_BYTES = 16_777_216, 2_000_000, 33_554_432, 128, 512
JUDGED_BYTES = 2**28  # what is judged again here at most: a limit of this program, and no finding
LISTED = 200

AXES = {
    "structure": "not-plain config-damaged checkpoint-missing checkpoint-malformed bundle-missing bundle-damaged"
    " bundle-differs tile-missing tile-differs beyond-checkpoint receipt-malformed receipt-misplaced reference-broken"
    " reference-kind reference-subject",
    "log": "checkpoint-signature checkpoint-origin root-differs lock-contradicts rolled-back",
    "signatures": "signature-bad signature-key-unknown",
    "trustThen": "genesis-unusable genesis-not-root key-not-allowed trust-reference trust-version trust-log-changed"
    " trust-person-dropped trust-key-dropped trust-key-moved trust-standing trust-signoff-void trust-withdrawn",
    "trustNow": "key-compromised",
    "evidence": "evidence-missing evidence-damaged evidence-sha256 evidence-contradiction",
    "replay": "replay-incomplete replay-unreadable replay-scorer identity-differs card-differs judge-differs"
    " comparison-differs report-differs gate-unreadable gate-differs gate-report-differs authorization-unproven",
    "policy": "asserted-card looks-exceeded decision-target signoff-incomplete rests-on-withdrawn signoff-blocked"
    " signoff-expired rests-on-asserted waiver-check waiver-expired waiver-own withdrawal-of-no-go authorization-size"
    " authorization-root authorization-backdated authorization-differs names-only rests-on-names",
    "completeness": "",
    "pin": "pin-differs",
}
AXIS_OF = {code: axis for axis, codes in AXES.items() for code in codes.split()}


class Bad(Exception):
    """Something is not what it says it is; the text says how."""


class Unable(Exception):
    """Something that this program does not check; the text says why."""


class NoLedger(Exception):
    """Nothing can be said of this folder (exit 2)."""


class Docket:
    """What was found, by axis."""

    def __init__(self):
        self.findings, self.count, self.reasons, self.codes = [], dict.fromkeys(AXES, 0), {}, {}
        self.unproven = set()  # receipts whose evidence does not give what they say

    def find(self, code, text, index=None, file=None):
        axis = AXIS_OF[code]
        self.count[axis] += 1
        self.unproven.update([index] if axis in ("evidence", "replay") else ())
        self.codes[code] = self.codes.get(code, 0) + 1
        if self.codes[code] <= LISTED:
            finding = {"code": code, "axis": axis, "index": index, "file": file, "text": str(text)}
            self.findings.append({name: value for name, value in finding.items() if value is not None})

    def leave(self, axis, reason):
        """Says that an axis, or a part of it, was not checked. The first reason stands."""
        self.reasons.setdefault(axis, reason)

    def status(self, axis):
        return "FAIL" if self.count[axis] else "NOT CHECKED" if axis in self.reasons else "PASS"


# JSON: strict reading and the canonical form (format.md, section 4)


class Decimal(float):
    """A decimal as it is written, kept beside the nearest double."""

    def __new__(cls, literal):
        value = super().__new__(cls, literal)
        value.literal = literal
        return value


def integer(literal):
    if len(literal) > 20 or not -(2**63) <= int(literal) < 2**64:
        raise Bad("an integer beyond 64 bits")
    return int(literal)


def decimal(literal):
    value = Decimal(literal)
    if value in (float("inf"), float("-inf")):
        raise Bad("a decimal beyond the doubles")
    return value


def unique(pairs):
    found = dict(pairs)
    if len(found) != len(pairs):
        raise Bad("a name that stands twice in one object")
    return found


def constant(_):
    raise Bad("NaN or Infinity")


def either(literal):
    """In canonical JSON what is beyond 2^53 - 1 is a double that happens to be whole."""
    return int(literal) if len(literal) < 17 and abs(int(literal)) <= SAFE else decimal(literal)


def decoder(whole_number):
    hooks = {"object_pairs_hook": unique, "parse_float": decimal, "parse_constant": constant}
    return json.JSONDecoder(parse_int=whole_number, **hooks)


RECORDS_DECODER, CANONICAL_DECODER = decoder(integer), decoder(either)


def is_deep(text):
    """Whether brackets are nested beyond the limit. Only texts with many of them are looked through."""
    if text.count("[") + text.count("{") <= DEPTH:
        return False
    depth, inside = 0, re.sub(r'"[^"\\]*(?:\\.[^"\\]*)*"', "", text, flags=re.DOTALL)
    for mark in re.findall(r"[\[\]{}]", inside):
        depth += 1 if mark in "[{" else -1
        if depth > DEPTH:
            return True
    return False


def parse(data, decoder=RECORDS_DECODER):
    """The value of JSON bytes, read strictly."""
    try:
        text = data.decode("utf-8")
        if is_deep(text):
            raise Bad("nesting beyond 128 levels")
        value, end = decoder.raw_decode(text, len(text) - len(text.lstrip(" \t\n\r")))
        if text[end:].strip(" \t\n\r"):
            raise Bad("something after the value")
        if "\\u" in text and holds_surrogate(value):
            raise Bad("a lone surrogate")
        return value
    except (ValueError, RecursionError) as error:
        raise Bad(f"not JSON: {error}") from None


def holds_surrogate(value):
    waiting = [value]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            if re.search("[\ud800-\udfff]", value):
                return True
        elif isinstance(value, dict):
            waiting += [*value.keys(), *value.values()]
        elif isinstance(value, list):
            waiting += value
    return False


def number_text(value):
    """A number as RFC 8785 writes it, which is as ECMAScript does."""
    if isinstance(value, int):
        if abs(value) > SAFE:
            raise Bad("an integer beyond 2^53 - 1")
        return str(value)
    if value == 0:
        return "0"
    sign, mantissa, power = re.fullmatch(r"(-?)([0-9.]+)(?:e([-+][0-9]+))?", float.__repr__(value)).groups()
    whole, _, part = mantissa.partition(".")
    digits = (whole + part).lstrip("0")
    point = int(power or 0) + len(whole) - (len(whole + part) - len(digits))
    digits = digits.rstrip("0")
    if len(digits) <= point <= 21:
        return sign + digits.ljust(point, "0")
    if 0 < point <= 21:
        return f"{sign}{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    return f"{sign}{digits[0]}{'.' if digits[1:] else ''}{digits[1:]}e{point - 1:+d}"


def canonical(value):
    """The canonical JSON text of a value."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, (int, float)):
        return number_text(value)
    if isinstance(value, list):
        return "[" + ",".join(map(canonical, value)) + "]"
    names = sorted(value, key=lambda name: name.encode("utf-16-be"))
    return "{" + ",".join(f"{json.dumps(name, ensure_ascii=False)}:{canonical(value[name])}" for name in names) + "}"


def jcs(value):
    return canonical(value).encode()


def parse_canonical(data):
    """The value of canonical JSON bytes."""
    value = parse(data, CANONICAL_DECODER)
    if jcs(value) != data:
        raise Bad("not canonical JSON")
    return value


# Shapes: a check takes a value and raises `Bad`


def shape(required, optional=()):
    optional = dict(optional)

    def check(value):
        if not isinstance(value, dict):
            raise Bad("not an object")
        for name, member in value.items():
            wanted = required.get(name) or optional.get(name)
            if wanted is None:
                raise Bad(f"an unknown member `{name}`")
            try:
                wanted(member)
            except Bad as error:
                raise Bad(f"`{name}`: {error}") from None
        for name in required:
            if name not in value:
                raise Bad(f"no `{name}`")

    return check


def meets(test, text):
    def check(value):
        if not test(value):
            raise Bad(f"not {text}")

    return check


def matches(pattern, text):
    return meets(lambda value: isinstance(value, str) and re.fullmatch(pattern, value), text)


def every(check, least=0):
    def checked(value):
        if not isinstance(value, list) or len(value) < least:
            raise Bad(f"not an array of {least} or more")
        for item in value:
            check(item)

    return checked


def whole(low, high):
    return meets(lambda value: type(value) is int and low <= value <= high, f"an integer from {low} to {high}")


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def number(low, high=float("inf")):
    return meets(lambda value: is_number(value) and low <= value <= high, f"a number from {low} to {high}")


def one_of(*values):
    return meets(lambda value: isinstance(value, str) and value in values, " or ".join(values))


def in_order(check, key):
    """A list of one or more, each once and in alphabetical order."""

    def checked(value):
        every(check, 1)(value)
        keys = [key(item) for item in value]
        if any(one >= other for one, other in zip(keys, keys[1:])):
            raise Bad("not each once and in alphabetical order")

    return checked


def or_null(check):
    return lambda value: None if value is None else check(value)


def is_text(value, most=1000):
    return (
        isinstance(value, str)
        and 1 <= len(value.encode()) <= most
        and value == value.strip()
        and not re.search("[\x00-\x1f\x7f-\x9f]", value)
    )


INVISIBLE = "\xad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f"


def is_name(value):
    """Whether it is a person's name: no fingerprint, its only space is U+0020, and it shows every character."""
    shown = is_text(value) and len(value) <= 64 and not re.search(rf"[{INVISIBLE}]|(?! )\s", value)
    return shown and not value.upper().startswith("SHA256:")


def is_log_name(value):
    return isinstance(value, str) and is_text(value, 255) and not re.search(rf"[{INVISIBLE}+\s]", value)


def is_moment(value):
    found = isinstance(value, str) and re.fullmatch(
        r"(\d{4})-(\d\d)-(\d\d)T([01]\d|2[0-3]):[0-5]\d:[0-5]\dZ", value, re.A
    )
    try:
        return bool(found) and bool(date(int(found[1]) or 2000, int(found[2]), int(found[3])))
    except ValueError:
        return False


def is_label(value):
    """Whether it can be an `id` or `cluster`."""
    return (
        isinstance(value, str)
        and 1 <= len(value.encode()) <= LABEL_BYTES
        and not value.isspace()
        and not re.search("[\x00-\x1f\x7f-\x9f]", value)
    )


string_ = meets(lambda value: isinstance(value, str), "a string")
boolean = meets(lambda value: isinstance(value, bool), "true or false")
log_name = meets(is_log_name, "a log's name")
true = meets(lambda value: value is True, "true")
text_ = meets(is_text, "a text")
word = meets(lambda value: is_text(value, 200), "a text of at most 200 bytes")
moment = meets(is_moment, "a moment in UTC")
hex64 = matches("[0-9a-f]{64}", "64 hexadecimal digits")
line_name = matches("[a-z0-9][a-z0-9._-]{0,63}", "a line")
count = whole(0, SAFE)
reference = shape({"index": count, "receipt": hex64})
fact = one_of("configuration", "cost", "generation", "model", "prompts", "references", "repeats", "scorer")
unknown_shape = shape({"field": fact}, {"allowed": true})
card_members = {"quality": number(0, 1), "realized_cost": number(0), "grounded_fraction": number(0, 1), "n": count}
card_shape = shape({**card_members, "question_set_id": matches("(?:pm1:)?[0-9a-f]{64}", "a question set identity")})
handed_in_shape = shape({**card_members, "question_set_id": string_})
evidence_shape = shape(
    {
        "role": matches("[a-z0-9][a-z0-9-]{0,31}", "a role"),
        "blake3": hex64,
        "sha256": hex64,
        "size": whole(0, OBJECT_BYTES),
        "mediaType": word,
        "held": boolean,
    }
)
some_count = whole(1, 2**32 - 1)
person_shape = shape(
    {
        "name": meets(is_name, "a name"),
        "keys": every(shape({"key": string_, "status": one_of("active", "retired", "compromised")}), 1),
        "roles": every(one_of("root", "append", "signoff", "witness")),
    }
)
reason_code = matches("[a-z0-9][a-z0-9-]{0,63}", "a code")
KINDS = {
    "signoff": (
        {"target": reference, "decision": one_of("go", "no-go"), "reason": text_, "restsOn": every(reference)},
        {"expires": moment},
    ),
    "withdrawal": ({"target": reference, "reason": text_}, {}),
    "waiver": ({"target": reference, "check": reason_code, "reason": text_, "expires": moment}, {}),
    "authorization": (
        {
            "target": reference,
            "decision": one_of("AUTHORIZED", "BLOCKED"),
            "at": moment,
            "size": whole(1, SAFE),
            "root": hex64,
            "reasons": every(reason_code),
            "restsOn": every(reference),
        },
        {},
    ),
    "scorecard": (
        {
            "line": line_name,
            "basis": one_of("recomputed", "asserted"),
            "card": card_shape,
            "scorer": matches("[!-~]{1,200}", "a scorer identity"),
        },
        {"sealed": true, "unknown": in_order(unknown_shape, lambda unknown: unknown["field"])},
    ),
    "comparison": (
        {
            "base": reference,
            "current": reference,
            "tolerance": number(0),
            "report": shape({"regressed": boolean, "reasons": every(string_), "comparable": boolean}),
        },
        {"allowUnknown": in_order(fact, lambda field: field)},
    ),
    "baseline": ({"line": line_name, "target": reference}, {}),
    "gate": (
        {
            "verdict": one_of("GO", "BLOCKED"),
            "recommended": or_null(string_),
            "minCoverage": number(0, 1),
            "profile": shape({"name": string_, "blake3": hex64}),
            "candidates": shape({"total": count, "passed": count}),
        },
        {},
    ),
    "trust": (
        {
            "version": whole(1, SAFE),
            "log": shape({"origin": string_, "key": string_}),
            "persons": every(person_shape, 1),
            "thresholds": shape({"root": some_count, "signoff": some_count}, {"witness": some_count}),
            "rules": shape(
                {},
                {
                    "appenderMayBeOnlySignoff": boolean,
                    "recomputedOnly": boolean,
                    "namesOnlyIdentity": boolean,
                    "signoffMaxAgeDays": some_count,
                    "maxLooks": some_count,
                },
            ),
        },
        {},
    ),
}
COMMON = {
    "index": count,
    "recordedAt": moment,
    "tool": shape({"name": word, "version": word}),
    "evidence": every(evidence_shape),
}
subject_shape = shape({"name": text_, "digest": shape({"sha256": hex64})})


# Signatures: strict Ed25519 (format.md, section 5)

PRIME = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
CURVE_D = -121665 * pow(121666, -1, PRIME) % PRIME
SMALL_Y = {0, 1, PRIME - 1} | {
    int.from_bytes(bytes.fromhex(y), "little")
    for y in (
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
    )
}


@functools.lru_cache(1024)
def is_large_point(data):
    """Whether 32 bytes encode canonically a point of the curve that is not of small order."""
    y = int.from_bytes(data, "little") % 2**255
    if y >= PRIME or y in SMALL_Y:
        return False
    square = (y * y - 1) * pow(CURVE_D * y * y + 1, -1, PRIME) % PRIME
    return pow(square, (PRIME - 1) // 2, PRIME) == 1


def is_signed(key, signature, message):
    """OpenSSL checks the equation without the cofactor and compares R as bytes; the rest of the rule is here."""
    r, s = int.from_bytes(signature[:32], "little") % 2**255, int.from_bytes(signature[32:], "little")
    if len(signature) != 64 or r >= PRIME or r in SMALL_Y or s >= ORDER or not is_large_point(key):
        return False
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, message)
        return True
    except InvalidSignature:
        return False


def unbase64(text):
    """Standard base64, padded, trailing bits zero."""
    try:
        data = base64.b64decode(text, validate=True)
    except ValueError:
        raise Bad("not base64") from None
    if base64.b64encode(data).decode() != text:
        raise Bad("another spelling of base64")
    return data


def ssh_key(text):
    """The 32 bytes of an OpenSSH public key."""
    found = re.fullmatch("ssh-ed25519 ([A-Za-z0-9+/]+)", text)
    blob = unbase64(found[1]) if found else b""
    head = struct.pack(">I11sI", 11, b"ssh-ed25519", 32)
    if len(blob) != len(head) + 32 or not blob.startswith(head) or not is_large_point(blob[-32:]):
        raise Bad(f"not an Ed25519 key: {text}")
    return blob[-32:]


def fingerprint(key):
    blob = struct.pack(">I11sI", 11, b"ssh-ed25519", 32) + key
    return "SHA256:" + base64.b64encode(hashlib.sha256(blob).digest()).decode().rstrip("=")


def key_hash(name, key):
    return hashlib.sha256(name.encode() + b"\n\x01" + key).digest()[:4]


def log_key_parts(text):
    """Name, hash and last part of a C2SP verifier key, by its form."""
    found = re.fullmatch(r"([^+]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/=]+)", text)
    log_name(found[1] if found else "")
    return found[1], found[2], unbase64(found[3])


def log_key(text):
    """Name and 32 bytes of a verifier key that can be used."""
    name, hashed, data = log_key_parts(text)
    if len(data) != 33 or data[0] != 1 or not is_large_point(data[1:]):
        raise Bad(f"not a verifier key: {text}")
    if key_hash(name, data[1:]).hex() != hashed:
        raise Bad(f"a verifier key with another key's hash: {text}")
    return name, data[1:]


# Receipts (sections 5 and 6)


class Receipt:
    """An entry of the log, parsed."""

    def __init__(self, entry):
        if len(entry) > RECEIPT_BYTES:
            raise Bad("too long")
        form = rb'{"payload":"([A-Za-z0-9+/=]*)","payloadType":"(application/vnd\.in-toto\+json)","signatures":\[' + (
            rb'{"keyid":"(SHA256:[A-Za-z0-9+/]{43})","sig":"([A-Za-z0-9+/=]{88})"}\]}'
        )
        found = re.fullmatch(form, entry)
        if not found:
            raise Bad("not a canonical DSSE envelope with one signature")
        payload, kind, keyid, sig = (group.decode() for group in found.groups())
        unbase64(keyid[7:] + "=")
        self.id, self.keyid, self.signature, statement = (
            blake3(entry).hexdigest(),
            keyid,
            unbase64(sig),
            unbase64(payload),
        )
        if len(self.signature) != 64:
            raise Bad("not a signature of 64 bytes")
        self.sha256 = hashlib.sha256(entry).hexdigest()
        self.signed = f"DSSEv1 {len(kind)} {kind} {len(statement)} ".encode() + statement
        self.read(parse_canonical(statement))

    def read(self, value):
        kind = re.fullmatch("urn:x-proofmark:([a-z]+):v1", str(isinstance(value, dict) and value.get("predicateType")))
        if not kind or kind[1] not in KINDS:
            raise Bad("a kind that this version does not know")
        self.kind = kind[1]
        required, optional = KINDS[self.kind]
        statement = {
            "_type": one_of("https://in-toto.io/Statement/v1"),
            "subject": every(subject_shape, 1),
            "predicateType": string_,
            "predicate": shape({**COMMON, **required}, {"note": text_, "trust": reference, **optional}),
        }
        shape(statement)(value)
        self.body, self.subject = value["predicate"], value["subject"]
        places = [(item["role"], item["blake3"]) for item in self.body["evidence"]]
        if any(one >= two for one, two in zip(places, places[1:])):
            raise Bad("`evidence` is not sorted, or names an object twice in a role")
        check_together(self.kind, self.body)

    def evidence(self, role):
        return [item for item in self.body["evidence"] if item["role"] == role]


def check_together(kind, body):
    """What the members of a kind must be to each other."""
    if kind == "trust":
        return check_trust_body(body)
    holds = True
    if kind == "comparison":
        report = body["report"]
        holds = report["regressed"] != (report["comparable"] and not report["reasons"])
    elif kind == "gate":
        go, passed = body["verdict"] == "GO", body["candidates"]["passed"]
        holds = go == (body["recommended"] is not None) == (passed > 0) and passed <= body["candidates"]["total"]
    elif kind == "signoff":
        holds = body["decision"] == "go" or "expires" not in body
    elif kind == "authorization":
        reasons, last = body["reasons"], max(one["index"] for one in [body["target"], *body["restsOn"]])
        is_sorted = all(one < two for one, two in zip(reasons, reasons[1:]))
        holds = (body["decision"] == "AUTHORIZED") == (not reasons) and is_sorted and last < body["size"]
    places = [one["index"] for one in body.get("restsOn", ())]
    if (
        not holds
        or any(one >= two for one, two in zip(places, places[1:]))
        or places
        and body["target"]["index"] in places
    ):
        raise Bad(f"a {kind} whose members contradict each other")


def check_trust_body(body):
    key = log_key_parts(body["log"]["key"])[2][-32:]
    log_name(body["log"]["origin"])
    persons = body["persons"]
    keys = [ssh_key(record["key"]) for person in persons for record in person["keys"]]
    order = ["root", "append", "signoff", "witness"]
    for person in persons:
        if person["roles"] != [role for role in order if role in person["roles"]]:
            raise Bad("roles that are not each once and in their order")
    if len(set(keys)) != len(keys) or key in keys or len({person["name"] for person in persons}) != len(persons):
        raise Bad("a key or a name that stands twice")
    for role, needed in body["thresholds"].items():
        able = [person for person in persons if role in person["roles"] and "active" in statuses(person)]
        if needed > len(able):
            raise Bad(f"a threshold of {needed} for `{role}` that {len(able)} persons cannot meet")


def statuses(person):
    return [record["status"] for record in person["keys"]]


class Statement:
    """A trust receipt as what decides who may do what."""

    def __init__(self, receipt):
        self.receipt, self.body, self.keys = receipt, receipt.body, {}
        for person in self.body["persons"]:
            for record in person["keys"]:
                key = ssh_key(record["key"])
                self.keys[fingerprint(key)] = (key, record["status"], person)

    def may(self, keyid, role):
        _, status, person = self.keys.get(keyid, (None, None, {}))
        return status == "active" and role in person["roles"]

    def person(self, keyid):
        """The name of the person whose key it is; `None` where it is nobody's."""
        return self.keys[keyid][2]["name"] if keyid in self.keys else None

    def is_good(self, keyid):
        return keyid in self.keys and self.keys[keyid][1] != "compromised"

    def follows(self, old):
        """The rules between one statement and the next that are broken."""
        body, before = self.body, old.body
        if body["version"] != before["version"] + 1:
            return ["trust-version"]
        broken = {"trust-log-changed": body["log"] != before["log"]}
        names = {person["name"] for person in body["persons"]}
        broken["trust-person-dropped"] = any(person["name"] not in names for person in before["persons"])
        order = ("active", "retired", "compromised")
        for keyid, (_, status, person) in old.keys.items():
            _, new_status, new_person = self.keys.get(keyid, (None, None, None))
            if new_person is None:
                broken["trust-key-dropped"] = True
            elif new_person["name"] != person["name"]:
                broken["trust-key-moved"] = True
            elif order.index(new_status) < order.index(status):
                broken["trust-standing"] = True
        return [code for code, is_broken in broken.items() if is_broken]


class Trust(Statement):
    """Receipt 0, which states the log's key too."""

    def __init__(self, receipt):
        if receipt.kind != "trust":
            raise Bad("receipt 0 is not a trust statement")
        super().__init__(receipt)
        self.origin, self.log_key = log_key(self.body["log"]["key"])
        if self.origin != self.body["log"]["origin"]:
            raise Bad("a log key with another name than the log")


class Chain:
    """Which trust statement is in force at which index: a fold over the receipts in their order (section 13)."""

    ROLES = {
        "trust": ["root"],
        "signoff": ["signoff"],
        "waiver": ["signoff"],
        "withdrawal": ["append", "signoff", "root"],
    }

    def __init__(self, first):
        self.index, self.now, self.open = 0, first, {}
        self.known = {keyid: record[0] for keyid, record in first.keys.items()}
        self.on_trust = set()  # trust receipts and sign-offs on them, by index

    def take(self, index, receipt, target):
        """The codes of what is wrong with the next receipt; what is right takes effect. `target` is where it points."""
        body, kind = receipt.body, receipt.kind
        found = [] if body["index"] == index else ["receipt-misplaced"]
        of_trust = target is not None and body["target"]["index"] in self.on_trust
        agrees = kind == "signoff" and of_trust and target.kind == "trust"
        if kind == "trust" or agrees:
            self.on_trust.add(index)
        key = self.known.get(receipt.keyid)
        if key is None:
            found.append("signature-key-unknown")
        elif not is_signed(key, receipt.signature, receipt.signed):
            found.append("signature-bad")
        if not self.allows(receipt, target):
            found.append("key-not-allowed" if index else "genesis-not-root")
        in_force = {"index": self.index, "receipt": self.now.receipt.id} if index else None
        if body.get("trust") != in_force:
            found.append("trust-reference")
        if kind == "withdrawal" and of_trust:
            found.append("trust-withdrawn")
        if agrees and (body["target"]["index"] not in self.open or "expires" in body or body["restsOn"]):
            found.append("trust-signoff-void")
        if kind == "trust":
            proposed = Statement(receipt)
            found += proposed.follows(self.now) if index else ["trust-version"] * (body["version"] != 1)
            if index and not found:
                self.propose(index, proposed)
        elif agrees and not found:
            agreeing = self.open[body["target"]["index"]][1]
            person = {self.now.person(receipt.keyid)}
            agreeing.update(person) if body["decision"] == "go" else agreeing.difference_update(person)
        self.settle()
        return found

    def allows(self, receipt, target):
        """Whether the key may act in a role that receipts like this ask for."""
        is_agreement = receipt.kind == "signoff" and target is not None and target.kind == "trust"
        roles = ["root"] if is_agreement else self.ROLES.get(receipt.kind, ["append"])
        return any(self.now.may(receipt.keyid, role) for role in roles)

    def propose(self, index, proposed):
        person = self.now.person(proposed.receipt.keyid)
        self.open = {at: one for at, one in self.open.items() if self.now.person(one[0].receipt.keyid) != person}
        self.open[index] = (proposed, {person})
        self.known.update({keyid: record[0] for keyid, record in proposed.keys.items()})

    def settle(self):
        for index, (proposed, agreeing) in self.open.items():
            if len(agreeing) >= self.now.body["thresholds"]["root"]:
                self.index, self.now, self.open = index, proposed, {}
                return


# Decisions (section 18)


def days_later(moment, days):
    """The moment so many days later; the same one where that is beyond the year 9999."""
    cycles, days = divmod(days, 146_097)  # 400 years; Python's dates know no year 0
    start = int(moment[:4]) % 400 + 400
    then = date.fromordinal(date(start, int(moment[5:7]), int(moment[8:10])).toordinal() + days)
    year = int(moment[:4]) + then.year - start + 400 * cycles
    return f"{year:04}{then:-%m-%d}{moment[10:]}" if year <= 9999 else moment


class Noted:
    """A receipt, who signed it, and the decisions about it."""

    def __init__(self, index, receipt, then, allowed):
        self.index, self.kind, self.body, self.keyid = index, receipt.kind, receipt.body, receipt.keyid
        self.reference, self.allowed, self.faults, self.looks = (index, receipt.id), allowed, [], 0
        self.person, self.then = then.person(self.keyid), then
        self.who = self.person or self.keyid
        self.signoffs, self.waivers, self.withdrawals = [], [], []
        self.text_held = any(item["held"] for item in receipt.evidence("questions"))
        self.names_only = any(unknown["field"] == "prompts" for unknown in self.body.get("unknown", []))

    def named(self):
        """The receipts that it names, by index and id."""
        members = [self.body[name] for name in ("base", "current", "target") if name in self.body]
        return [(one["index"], one["receipt"]) for one in members + self.body.get("restsOn", [])]

    def lists(self, other):
        return {"index": other.index, "receipt": other.reference[1]} in self.body["restsOn"]

    def open_waivers(self):
        return [waiver for waiver in self.waivers if not waiver.withdrawals]

    def is_by(self, other):
        return self.person is not None and self.person == other.person


class Decisions:
    """What persons decided: a fold over the receipts, each decision held against those before it."""

    RESTABLE = ("scorecard", "comparison", "baseline", "gate", "waiver")
    WAIVABLE = {
        "comparison": ("comparison-regressed", "comparison-incomparable", "comparison-lenient", "must-pass-unknown"),
        "scorecard": ("must-pass-unknown", "asserted-card", "looks-exceeded"),
    }
    # Found elsewhere: as a broken reference, and by the chain of trust.
    ELSEWHERE = ("reference-broken", "trust-withdrawn")
    BY_LOG = (
        "gate-blocked withdrawn no-go signoff-missing only-appender signer-compromised comparison-incomparable"
        " comparison-regressed comparison-lenient must-pass-unknown asserted-card names-only looks-exceeded waiver-faulty"
    ).split()

    def __init__(self):
        self.receipts, self.looks, self.newest, self.authorized, self.decided = {}, {}, "", [], False

    def noted(self, reference):
        one = self.receipts.get(reference[0])
        return one if one and one.reference == tuple(reference) else None

    def take(self, index, receipt, then, allowed):
        """The codes of what the rules in force have against the next receipt."""
        one = Noted(index, receipt, then, allowed)
        kind, body, found = one.kind, one.body, []
        target = self.noted(one.named()[0]) if "target" in body else None
        if kind in ("signoff", "waiver", "withdrawal", "authorization"):
            one.faults = getattr(self, kind)(one, target, then)
            found = [code for code in one.faults if code not in self.ELSEWHERE]
            lists = {"signoff": "signoffs", "waiver": "waivers", "withdrawal": "withdrawals"}
            if target and kind in lists and not (kind == "withdrawal" and one.faults):
                getattr(target, lists[kind]).append(one)
                self.decided = True
        if kind == "authorization":
            self.decided = True
            self.authorized += [one] if body["decision"] == "AUTHORIZED" else []
        elif kind == "scorecard":
            questions = body["card"]["question_set_id"]
            one.looks = self.looks[questions] = self.looks.get(questions, 0) + 1
            rules = then.body["rules"]
            found += ["asserted-card"] if rules.get("recomputedOnly") and body["basis"] == "asserted" else []
            found += ["names-only"] if one.names_only and rules.get("namesOnlyIdentity") is False else []
            found += ["looks-exceeded"] if one.looks > rules.get("maxLooks", one.looks) else []
        self.newest = max(self.newest, body["recordedAt"])
        self.receipts[index] = one
        return found

    # What is wrong with a decision when it is made

    def signoff(self, one, target, then):
        if target and target.kind == "trust":
            return []
        body, listed = one.body, [self.noted(name) for name in one.named()]
        there = [other for other in listed if other]
        found = {"decision-target": target and target.kind not in ("gate", "comparison", "scorecard")}
        if None in listed:
            found["reference-broken"] = True
        else:
            found["signoff-incomplete"] = self.is_incomplete(target, listed)
        if body["decision"] == "go":
            found["signoff-expired"] = body.get("expires", "~") <= body["recordedAt"]
            found["rests-on-withdrawn"] = any(other.withdrawals for other in there)
            found["signoff-blocked"] = target and target.kind == "gate" and target.body["verdict"] != "GO"
            if then.body["rules"].get("recomputedOnly"):
                asserted = [other for other in there if other.body.get("basis") == "asserted"]
                found["rests-on-asserted"] = not all(self.is_excused(one, other, there) for other in asserted)
            by_name = any(other.names_only for other in there)
            found["rests-on-names"] = then.body["rules"].get("namesOnlyIdentity") is False and by_name
        return [code for code, is_so in found.items() if is_so]

    def is_incomplete(self, target, listed):
        known = {other.reference for other in listed}
        wanted = {name for other in listed for name in other.named()}
        wanted |= {waiver.reference for other in listed for waiver in other.open_waivers()}
        return bool(wanted - known) or any(one is not target and one.kind not in self.RESTABLE for one in listed)

    def is_excused(self, one, card, listed):
        """Whether a sign-off lists a waiver that lets an asserted card pass."""
        waivers = [other for other in listed if other in card.waivers and other.body["check"] == "asserted-card"]
        good = [waiver for waiver in waivers if waiver.allowed and not waiver.faults]
        return any(waiver.body["expires"] > one.body["recordedAt"] for waiver in good)

    def waiver(self, one, target, then):
        found = ["waiver-expired"] if one.body["expires"] <= one.body["recordedAt"] else []
        if target:
            found += ["waiver-check"] if one.body["check"] not in self.WAIVABLE.get(target.kind, ()) else []
            found += ["rests-on-withdrawn"] if target.withdrawals else []
            is_own = then.body["rules"].get("appenderMayBeOnlySignoff") is False and one.is_by(target)
            found += ["waiver-own"] if is_own else []
        return found

    def withdrawal(self, one, target, then):
        if not target:
            return []
        about = self.noted(target.named()[0]) if target.kind == "signoff" else target
        if about and about.kind == "trust":
            return ["trust-withdrawn"]
        if target.body.get("decision") == "no-go" and not one.is_by(target):
            return ["withdrawal-of-no-go"]
        return ["decision-target"] if target.kind == "withdrawal" else []

    def authorization(self, one, target, then):
        found = ["decision-target"] if target and target.kind != "gate" else []
        found += ["authorization-size"] if one.body["size"] != one.index else []
        found += ["authorization-backdated"] if one.body["at"] < max(self.newest, one.body["recordedAt"]) else []
        if found or not target:
            return found
        reasons, rests_on = self.release(target, then, one.body["at"])
        stated = {code for code in one.body["reasons"] if code in self.BY_LOG}
        return ["authorization-differs"] if (reasons, rests_on) != (stated, one.named()[1:]) else []

    # What decisions come to

    def release(self, gate, now, at):
        """The reasons against the release of a gate receipt that follow from the log, and what the answer rests on."""
        rules, goes = now.body["rules"], self.goes(gate, now, at)
        rests = {name: self.noted(name) for signoff in goes for name in signoff.named() if name != gate.reference}
        everything = [gate, *rests.values()]
        waivers = [(about, waiver) for about in everything for waiver in about.open_waivers()]
        good = [waiver for about, waiver in waivers if self.is_waived(about, waiver, gate, goes, now, at)]
        appended = [one for one in everything if one.kind in ("gate", "scorecard", "comparison")]
        is_own = bool(goes) and all(any(go.who == one.who for one in appended) for go in goes)
        found = {
            "gate-blocked": gate.body["verdict"] != "GO",
            "withdrawn": any(one.withdrawals for one in everything),
            "no-go": any(self.is_refused(one, now, at) for one in everything),
            "signoff-missing": len(goes) < now.body["thresholds"]["signoff"],
            "only-appender": rules.get("appenderMayBeOnlySignoff") is False and is_own,
            "signer-compromised": any(not now.is_good(one.keyid) for one in everything if one.kind != "waiver"),
            "names-only": rules.get("namesOnlyIdentity") is False and any(one.names_only for one in everything),
            "waiver-faulty": any(waiver.faults for _, waiver in waivers),
        }
        compared = {name for one in everything if one.kind == "comparison" for name in one.named()}
        for one in everything:
            waived = {waiver.body["check"] for waiver in one.waivers if waiver in good}
            found.update({code: True for code in self.failing(one, rules, compared) if code not in waived})
        idle = {waiver.reference for _, waiver in waivers if waiver not in good}
        rests_on = sorted({name for name in rests if name not in idle} | {go.reference for go in goes})
        return {code for code, is_so in found.items() if is_so}, rests_on

    def goes(self, target, now, at):
        """The sign-offs on a receipt that count."""
        last = {signoff.who: signoff for signoff in target.signoffs}
        return [signoff for signoff in last.values() if self.counts(signoff, now, at)]

    def is_refused(self, target, now, at):
        """Whether somebody's NO-GO on a receipt stands."""
        content = {signoff.who for signoff in self.goes(target, now, at)}
        return any(one.who not in content and self.is_standing(one, now) for one in target.signoffs)

    def failing(self, one, rules, compared):
        """The checks that can be waived."""
        found = {}
        if one.kind == "comparison":
            report, current = one.body["report"], self.noted(one.named()[1])
            found["comparison-incomparable"] = not report["comparable"] or one.body["base"] == one.body["current"]
            found["comparison-regressed"] = report["comparable"] and report["regressed"]
            lenient = one.body["tolerance"] > 1e-9 or "allowUnknown" in one.body
            found["comparison-lenient"] = report["comparable"] and lenient
            found["must-pass-unknown"] = not (current and current.text_held)
        elif one.kind == "scorecard":
            found["must-pass-unknown"] = not one.text_held and one.reference not in compared
            found["asserted-card"] = rules.get("recomputedOnly") and one.body["basis"] == "asserted"
            found["looks-exceeded"] = one.looks > rules.get("maxLooks", one.looks)
        return [code for code, is_so in found.items() if is_so]

    def counts(self, signoff, now, at):
        """Whether a person's last sign-off is a GO that counts."""
        body = signoff.body
        ends = [body["expires"]] if "expires" in body else []
        if "signoffMaxAgeDays" in now.body["rules"]:
            ends.append(days_later(body["recordedAt"], now.body["rules"]["signoffMaxAgeDays"]))
        return (
            body["decision"] == "go"
            and signoff.allowed
            and not signoff.faults
            and now.is_good(signoff.keyid)
            and not signoff.withdrawals
            and not any(self.noted(name).withdrawals for name in signoff.named())
            and body["recordedAt"] <= at
            and all(at < end for end in ends)
        )

    def is_standing(self, signoff, now):
        taken_back = any(one.allowed and now.is_good(one.keyid) for one in signoff.withdrawals)
        return signoff.body["decision"] == "no-go" and signoff.allowed and not taken_back

    def is_waived(self, about, waiver, gate, goes, now, at):
        """Whether a waiver counts."""
        concerned = [go for go in goes if about is gate or go.lists(about)]
        return (
            waiver.allowed
            and not waiver.faults
            and now.is_good(waiver.keyid)
            and waiver.body["recordedAt"] <= at < waiver.body["expires"]
            and not (now.body["rules"].get("appenderMayBeOnlySignoff") is False and waiver.is_by(about))
            and all(go.lists(waiver) for go in concerned)
            and any(go.lists(waiver) for go in goes)
        )


# Files (sections 2 and 3)


class Files:
    """The plain files of a folder, found once without following anything."""

    def __init__(self, folder, docket):
        self.folder, self.names, self.special, self.folders = folder, set(), set(), set()
        waiting = [""]
        while waiting:
            inside = waiting.pop()
            with os.scandir(os.path.join(folder, inside)) as found:
                for item in found:
                    name = inside + item.name
                    named = re.fullmatch(r"[A-Za-z0-9._-]+", item.name) and len(name) <= 255
                    mode = item.stat(follow_symlinks=False).st_mode
                    if stat.S_ISDIR(mode):
                        self.folders.add(name)
                        waiting += [name + "/"] if named else []
                    elif not stat.S_ISREG(mode):
                        self.special.add(name)
                        docket.find("not-plain", "a link, FIFO, socket or device", file=name)
                    elif named:
                        self.names.add(name)

    def open(self, name):
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
        return open(os.open(os.path.join(self.folder, name), flags), "rb", buffering=0)

    def read(self, name, limit):
        """The bytes of a file; `None` where there is none."""
        if name not in self.names:
            return None
        with self.open(name) as file:
            data = file.read(limit + 1)
        if len(data) > limit:
            raise Bad(f"more than {limit} bytes")
        return data

    def object(self, evidence):
        """A reader of an object's pieces, at most one byte more than it should have."""
        place, limit = f"objects/{evidence['blake3'][:2]}/{evidence['blake3'][2:]}", evidence["size"] + 1
        if place in self.names:
            return self.pieces(self.open(place), limit)
        if self.is_no_file(place):
            return self.refused(place)
        if place + ".zst" in self.names:
            return self.unpacked(place + ".zst", limit)
        return self.refused(place + ".zst") if self.is_no_file(place + ".zst") else None

    def is_no_file(self, name):
        return name in self.special or name in self.folders

    def refused(self, name):
        raise Bad(f"{name} is not a plain file")
        yield

    def pieces(self, file, limit):
        with file:
            while limit > 0 and (piece := file.read(min(limit, 1 << 20))):
                limit -= len(piece)
                yield piece

    def unpacked(self, name, limit):
        with self.open(name) as file:
            if not re.match(rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18", file.read(4)):
                raise Bad("not a Zstandard file")
            file.seek(0)
            command = ["zstd", "-dcq", "--no-progress", f"--memory={WINDOW_BYTES}"]
            try:
                run = subprocess.Popen(command, stdin=file, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            except OSError:
                raise Unable("the program `zstd` is not there, and objects are compressed") from None
        done = 0
        with run:
            for piece in self.pieces(run.stdout, limit):
                done += len(piece)
                yield piece
            if done >= limit:
                run.kill()
        if done < limit and run.returncode:
            raise Bad("cannot be decompressed")


# The log (sections 11, 12 and 14)


class Note:
    """A C2SP signed note whose text is a checkpoint."""

    def __init__(self, data):
        if len(data) > NOTE_BYTES:
            raise Bad(f"more than {NOTE_BYTES} bytes")
        try:
            note = data.decode("utf-8")
        except ValueError:
            raise Bad("not UTF-8") from None
        text, gap, lines = note.rpartition("\n\n")
        if not gap or not lines.endswith("\n") or re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f]", note):
            raise Bad("not a signed note")
        self.data, self.text, self.signatures = data, (text + "\n").encode(), []
        for line in lines[:-1].split("\n"):
            found = re.fullmatch(r"— ([^\s+]+) ([A-Za-z0-9+/=]+)", line)
            if not found or len(signature := unbase64(found[2])) < 5 or len(self.signatures) == NOTE_SIGNATURES:
                raise Bad("not a signature line of a note")
            self.signatures.append((found[1], signature[:4], signature[4:]))
        head = text.split("\n")
        if len(head) < 3 or "" in head or not re.fullmatch("0|[1-9][0-9]{0,15}", head[1], re.A) or int(head[1]) > SAFE:
            raise Bad("not a checkpoint")
        self.origin, self.size, self.root = head[0], int(head[1]), unbase64(head[2])
        if len(self.root) != 32:
            raise Bad("not a root of 32 bytes")

    def is_signed(self, trust):
        place = (trust.origin, key_hash(trust.origin, trust.log_key))
        ours = [signature for name, hashed, signature in self.signatures if (name, hashed) == place]
        return bool(ours) and all(is_signed(trust.log_key, signature, self.text) for signature in ours)


def sha256(*parts):
    return hashlib.sha256(b"".join(parts)).digest()


class Tree:
    """The tiles of a log as they follow from its leaves, level by level."""

    def __init__(self):
        self.levels = [[]]

    def push(self, leaf):
        self.levels[0].append(leaf)
        at = 0
        while len(self.levels[at]) % WIDTH == 0:
            if at + 1 == len(self.levels):
                self.levels.append([])
            self.levels[at + 1].append(root_of(self.levels[at][-WIDTH:]))
            at += 1

    def size(self):
        return len(self.levels[0])

    def root(self, size):
        return root_of(self.levels[0][:size])


def root_of(hashes):
    """RFC 6962: the left part is the largest power of two that is smaller."""
    hashes = list(hashes)
    if not hashes:
        return sha256()
    while len(hashes) > 1:
        pairs = [sha256(b"\x01", *hashes[at : at + 2]) for at in range(0, len(hashes) - 1, 2)]
        hashes = pairs + hashes[len(hashes) - len(hashes) % 2 :]
    return hashes[0]


def tile_name(level, index, width):
    groups = [f"{index % 1000:03}"]
    while index := index // 1000:
        groups.insert(0, f"x{index % 1000:03}")
    return f"tile/{level}/{'/'.join(groups)}" + (f".p/{width}" if width < WIDTH else "")


def tile_place(name):
    """Level, index and width of a tile or bundle; `None` where it is neither."""
    found = re.fullmatch(r"tile/([0-7]|entries)/((?:x[0-9]{3}/)*)([0-9]{3})(?:\.p/([1-9][0-9]{0,2}))?", name)
    if not found or int(found[4] or 1) >= WIDTH:
        return None
    index = int(found[2].replace("x", "").replace("/", "") + found[3])
    level = found[1] if found[1] == "entries" else int(found[1])
    width = int(found[4] or WIDTH)
    return (level, index, width) if tile_name(level, index, width) == name else None


def split_bundle(data, width):
    """The whole entries at the beginning, at most `width`, and how many bytes are left."""
    entries, at = [], 0
    while len(entries) < width and at + 2 <= len(data):
        end = at + 2 + int.from_bytes(data[at : at + 2], "big")
        if end > len(data):
            break
        entries.append(data[at + 2 : end])
        at = end
    return entries, len(data) - at


def read_cell(files):
    """The note that the lock's cell holds, if it holds one."""
    try:
        data = files.read("lock", 2 * 8192) or b""
    except Bad:
        return None
    best = (0, None)
    for at in (0, 8192):
        slot = data[at : at + 8192]
        sequence, length = struct.unpack(">QI", slot[8:20]) if len(slot) >= 20 else (0, 8192)
        end = 20 + length
        if slot[:8] == b"PMCELL1\n" and len(slot) >= end + 32 and blake3(slot[:end]).digest() == slot[end : end + 32]:
            best = max(best, (sequence, slot[20:end]), key=lambda one: one[0])
    return best[1]


class Audit:
    """One ledger under examination."""

    def __init__(self, folder):
        self.docket = Docket()
        self.files = Files(folder, self.docket)
        self.places = {}
        for name in self.files.names:
            if place := tile_place(name):
                self.places.setdefault(place[:2], set()).add(place[2])
        marks = {"config.toml", "checkpoint"} & self.files.names
        cell = read_cell(self.files)
        if not marks and not self.places and cell is None and not any(map(is_object, self.files.names)):
            raise NoLedger("there is no ledger here")
        self.read_config()
        self.published = self.note("checkpoint", self.files.read)
        self.cell = None
        if cell is not None:
            try:
                self.cell = Note(cell)
            except Bad as error:
                self.docket.find("lock-contradicts", error, file="lock")
        self.size = self.published.size if self.published else self.bundled()
        self.trust = self.read_trust()
        self.tree, self.whole, self.receipts, self.damaged = Tree(), True, {}, set()

    def read_config(self):
        try:
            if self.files.is_no_file("config.toml"):
                raise Bad("not a plain file")
            data = self.files.read("config.toml", CONFIG_BYTES)
            config = {"format": 1} if data is None else tomllib.loads(data.decode("utf-8-sig"))
            stated = config.get("format")
            if type(stated) is int and stated != 1 and -(2**63) <= stated < 2**63:
                raise NoLedger(f"format {stated} of ledgers is not known here")
            defaults = shape({}, {"line": string_, "scorer": string_})
            shape({"format": whole(1, 1)}, {"origin": string_, "defaults": defaults})(config)
        except (Bad, ValueError, RecursionError) as error:
            self.docket.find("config-damaged", error, file="config.toml")

    def note(self, name, read):
        try:
            data = read(name, NOTE_BYTES)
            if data is not None:
                return Note(data)
            self.docket.find("checkpoint-missing", "there is no checkpoint", file=name)
        except Bad as error:
            self.docket.find("checkpoint-malformed", error, file=name)
        return None

    def bundled(self):
        """How many entries the bundles hold without a gap, by their names."""
        entries = 0
        while widths := self.places.get(("entries", entries // WIDTH)):
            entries += max(widths)
            if max(widths) < WIDTH:
                break
        return entries

    def read_trust(self):
        """Receipt 0, out of any version of the first bundle."""
        reason = "there is no first bundle"
        versions = self.places.get(("entries", 0), set()) if self.size else set()
        for width in sorted(versions, key=lambda width: (width > min(self.size, WIDTH), -width)):
            try:
                entries, _ = split_bundle(self.files.read(tile_name("entries", 0, width), BUNDLE_BYTES), 1)
                if entries:
                    return Trust(Receipt(entries[0]))
            except Bad as error:
                reason = error
        self.docket.find("genesis-unusable", reason, index=0)
        return None

    def examine(self, pin):
        docket = self.docket
        for name in ("log", "signatures", "trustThen", "trustNow", "policy", "pin") if not self.trust else ():
            docket.leave(name, "receipt 0, which states the keys, cannot be used")
        if pin is None:
            docket.leave("pin", "no digest was given (--pin)")
        elif self.trust and self.trust.receipt.id != pin:
            docket.find("pin-differs", f"receipt 0 is {self.trust.receipt.id}", index=0)
        self.check_checkpoint()
        self.read_entries()
        self.check_tree()
        self.chain, self.decisions = Chain(self.trust) if self.trust else None, Decisions()
        for index, receipt in self.receipts.items():
            self.check_receipt(index, receipt)
        self.check_standing()
        self.check_policy()
        self.check_evidence()
        self.looked = {}  # by gate run, the held-out records of the recommended candidate, and those of all
        Replay(self).run()
        self.check_authorized()
        if docket.status("log") != "PASS" or "receipt-malformed" in docket.codes:
            docket.leave("completeness", "the log is not whole, so neither is the list of rounds")

    # Log

    def check_checkpoint(self):
        if not self.published:
            self.docket.leave("log", "there is no checkpoint to check")
        elif self.trust:
            if not self.published.is_signed(self.trust):
                self.docket.find("checkpoint-signature", "no good signature by the log key", file="checkpoint")
            if self.published.origin != self.trust.origin:
                self.docket.find("checkpoint-origin", f"of the log {self.published.origin!r}", file="checkpoint")

    def bundle(self, index, size):
        """A bundle's width, bytes and name: the exact one, or, where that is gone, the narrowest of the wider ones."""
        width = min(WIDTH, size - index * WIDTH)
        for there in sorted(self.places.get(("entries", index), ())):
            if there >= width:
                name = tile_name("entries", index, there)
                return width, there, self.files.read(name, BUNDLE_BYTES), name
        return width, width, None, tile_name("entries", index, width)

    def read_entries(self):
        for index in range(-(-self.size // WIDTH)):
            if ("entries", index) not in self.places:
                # A hostile checkpoint may count receipts without end: whatever is missing is one finding.
                self.docket.find("bundle-missing", "from here on", file=tile_name("entries", index, WIDTH))
                self.whole = False
                later = [place[1] for place in self.places if place[0] == "entries" and index < place[1]]
                for after in sorted(later):
                    self.read_bundle(after) if after * WIDTH < self.size else None
                return
            self.read_bundle(index)

    def read_bundle(self, index):
        try:
            width, there, data, name = self.bundle(index, self.size)
            entries, left = split_bundle(data or b"", there)
            if data is None or there > width and (len(entries) != there or left):
                raise Bad("missing")
        except Bad as error:
            code = "bundle-missing" if str(error) == "missing" else "bundle-damaged"
            self.docket.find(code, error, file=tile_name("entries", index, WIDTH))
            self.whole = False
            return
        if len(entries) != there or left:
            self.docket.find("bundle-damaged", f"{len(entries)} whole entries and {left} bytes left over", file=name)
            self.damaged.add(index)
        for older in sorted(self.places[("entries", index)]):
            if older < width:
                self.check_older(tile_name("entries", index, older), data, entries[:older])
        for at, entry in enumerate(entries[:width]):
            if self.whole:
                self.tree.push(sha256(b"\x00", entry))
            try:
                self.receipts[index * WIDTH + at] = Receipt(entry)
            except Bad as error:
                self.receipts[index * WIDTH + at] = None
                self.docket.find("receipt-malformed", error, index=index * WIDTH + at)
        self.whole = self.whole and len(entries) == there and not left

    def check_older(self, name, newer, entries):
        length = sum(2 + len(entry) for entry in entries)
        try:
            if self.files.read(name, BUNDLE_BYTES) == newer[:length]:
                return
        except Bad:
            pass
        self.docket.find("bundle-differs", "not the beginning of the newer version", file=name)

    def check_tree(self):
        docket, tree = self.docket, self.tree
        self.check_tiles()
        if self.whole and tree.size() == self.size:
            if self.published and tree.root(self.size) != self.published.root:
                docket.find(
                    "root-differs", f"the entries have the root {tree.root(self.size).hex()}", file="checkpoint"
                )
        else:
            self.whole = False
            docket.leave("log", "entries are missing, so the root cannot be computed")
        pending = self.check_cell() if self.cell and self.published and self.trust else 0
        for (level, index), widths in self.places.items():
            most = max(width_in(level, index, self.size), width_in(level, index, pending))
            for width in widths:
                if width > most:
                    docket.find("beyond-checkpoint", f"{width} wide", file=tile_name(level, index, width))

    def check_tiles(self):
        """Every tile that follows from the entries must be there, and its narrower versions must be its beginning."""
        for level, hashes in enumerate(self.tree.levels):
            for index in range(-(-len(hashes) // WIDTH)):
                wanted = b"".join(hashes[index * WIDTH : (index + 1) * WIDTH])
                exact = len(wanted) // 32
                if exact < WIDTH and not self.whole:
                    continue
                there = self.places.get((level, index), set())
                if not any(width >= exact for width in there):
                    self.docket.find("tile-missing", "not there", file=tile_name(level, index, exact))
                for width in there:
                    if width <= exact or exact not in there:
                        self.check_tile(tile_name(level, index, width), wanted[: 32 * width], width > exact)

    def check_tile(self, name, wanted, is_wider):
        try:
            found = self.files.read(name, 32 * WIDTH)
            if found == wanted or is_wider and found[: len(wanted)] == wanted:
                return
        except Bad:
            pass
        self.docket.find("tile-differs", "other hashes than those of the entries", file=name)

    def check_cell(self):
        """The lock against the published checkpoint; the size of a commit that is under way."""
        cell, tree = self.cell, self.tree
        if cell.data == self.published.data:
            return 0
        if not cell.is_signed(self.trust):
            self.docket.find("lock-contradicts", "not signed by the log key", file="lock")
        elif self.whole and cell.size <= tree.size():
            if cell.size and tree.root(cell.size) != cell.root:
                self.docket.find("lock-contradicts", "another root at its size", file="lock")
        elif self.whole:
            leaves = self.pending(cell.size)
            if leaves is None:
                self.docket.find("rolled-back", f"receipts up to {cell.size} are not there", file="lock")
            elif root_of(leaves) != cell.root:
                self.docket.find("lock-contradicts", "another root at its size", file="lock")
            else:
                return cell.size
        return 0

    def pending(self, size):
        """The leaves up to the size of an unfinished commit, from staged bundles or published ones."""
        leaves = list(self.tree.levels[0])
        for index in range(len(leaves) // WIDTH, -(-size // WIDTH)):
            try:
                width, there, data, _ = self.bundle(index, size)
                staged = self.files.read(f"staging/bundle-{index}-{width}", BUNDLE_BYTES)
                entries, left = split_bundle(staged or data or b"", width if staged else there)
            except Bad:
                return None
            if len(entries) != (width if staged else there) or left:
                return None
            leaves += [sha256(b"\x00", entry) for entry in entries[len(leaves) - index * WIDTH : width]]
        return leaves

    # Receipts

    def check_receipt(self, index, receipt):
        """Place, references, signature and trust of one receipt."""
        if receipt is None:
            return
        docket, body, trust = self.docket, receipt.body, self.trust
        if body["index"] != index and not trust:
            docket.find("receipt-misplaced", f"its signer said {body['index']}", index=index)
        self.check_references(index, receipt)
        if receipt.kind == "authorization" and body["size"] == index <= self.tree.size():
            if self.tree.root(index).hex() != body["root"]:
                docket.find("authorization-root", f"the log had the root {self.tree.root(index).hex()}", index=index)
        if not trust:
            return
        target = self.receipts.get(body["target"]["index"]) if "target" in body else None
        is_earlier = target and body["target"]["index"] < index and target.id == body["target"]["receipt"]
        target, then = target if is_earlier else None, self.chain.now
        allowed = self.chain.allows(receipt, target)
        codes = self.chain.take(index, receipt, target) + self.decisions.take(index, receipt, then, allowed)
        for code in codes:
            docket.find(code, f"{receipt.kind} by {receipt.keyid}", index=index)

    def check_standing(self):
        """No key is compromised by now that signed anything but parts of the chain of trust."""
        for index, receipt in self.receipts.items() if self.trust else ():
            _, status, _ = self.chain.now.keys.get(receipt.keyid, (None, None, None)) if receipt else (None, "", None)
            if status is None:
                self.docket.leave("trustNow", "some receipts are signed by keys that the trust in force does not list")
            elif status == "compromised" and index not in self.chain.on_trust:
                self.docket.find("key-compromised", receipt.keyid, index=index)

    def check_references(self, index, receipt):
        members = {name: receipt.body[name] for name in ("base", "current", "target") if name in receipt.body}
        about = [self.referred(index, name, reference, receipt) for name, reference in members.items()]
        rest = [self.referred(index, "restsOn", reference, receipt) for reference in receipt.body.get("restsOn", ())]
        subject = [{"name": f"receipt:{one.id}", "digest": {"sha256": one.sha256}} for one in about if one]
        # Where a reference is wrong, what the subject should be is not known.
        if about and None not in about + rest and receipt.subject != subject:
            self.docket.find("reference-subject", "its subject is not what it names", index=index)

    def referred(self, index, member, reference, receipt):
        """The receipt that another names; `None` where that is wrong."""
        target = self.receipts.get(reference["index"]) if reference["index"] < index else None
        is_baseline, of_rounds = receipt.kind == "baseline", receipt.kind in ("baseline", "comparison")
        if target is None or target.id != reference["receipt"]:
            self.docket.find("reference-broken", f"`{member}` is not at its index, or not earlier", index=index)
        elif of_rounds and target.kind != "scorecard" or is_baseline and target.body["line"] != receipt.body["line"]:
            self.docket.find("reference-kind", f"`{member}` is not such a scorecard", index=index)
        else:
            return target
        return None

    def check_policy(self):
        rules = self.chain.now.body["rules"] if self.trust else {}
        about_receipts = rules.get("recomputedOnly") or rules.get("namesOnlyIdentity") is False or "maxLooks" in rules
        if not about_receipts and not self.decisions.decided:
            self.docket.leave("policy", "there is nothing that a rule of the ledger is about: no decision, no limit")

    def check_authorized(self):
        """After the replay: nothing that a recorded AUTHORIZED rests on may have failed."""
        for one in self.decisions.authorized:
            if any(index in self.docket.unproven for index, _ in one.named()):
                self.docket.find("authorization-unproven", "what it rests on is not proven", index=one.index)
            target, most = one.body["target"]["index"], one.then.body["rules"].get("maxLooks")
            subjects = self.looked.get(target, (None, ()))[0]
            looks = sum(subjects in of_all for index, (_, of_all) in self.looked.items() if index <= target)
            if most and subjects and looks > most:
                self.docket.find("authorization-unproven", f"look {looks} at held-out records", index=one.index)

    # Evidence

    def check_evidence(self):
        named, checked = {}, set()
        for index, receipt in self.receipts.items():
            for item in receipt.body["evidence"] if receipt else ():
                place = named.setdefault(item["blake3"], (item["sha256"], item["size"]))
                if place != (item["sha256"], item["size"]):
                    self.docket.find("evidence-contradiction", item["blake3"], index=index)
                if item["held"] and item["blake3"] not in checked:
                    checked.add(item["blake3"])
                    self.check_object(index, item)
        if not checked:
            self.docket.leave("evidence", "no receipt names evidence that the ledger holds")

    def check_object(self, index, item):
        try:
            pieces, size, digests = self.files.object(item), 0, (blake3(), hashlib.sha256())
            if pieces is None:
                return self.docket.find("evidence-missing", item["blake3"], index=index)
            for piece in pieces:
                size += len(piece)
                for digest in digests:
                    digest.update(piece)
            if (size, digests[0].hexdigest()) != (item["size"], item["blake3"]):
                self.docket.find("evidence-damaged", item["blake3"], index=index)
            elif digests[1].hexdigest() != item["sha256"]:
                self.docket.find("evidence-sha256", item["blake3"], index=index)
        except Bad as error:
            self.docket.find("evidence-damaged", error, index=index)
        except Unable as error:
            self.docket.leave("evidence", str(error))


def is_object(name):
    return bool(re.fullmatch(r"objects/[0-9a-f]{2}/[0-9a-f]{62}(\.zst)?", name))


def width_in(level, index, size):
    """How wide a tile or bundle is in a tree of this size."""
    hashes = size if level == "entries" else size // WIDTH**level
    return max(0, min(WIDTH, hashes - index * WIDTH))


# Records (section 7)


def records(data, read, least=1, most=RECORDS):
    """What a JSONL file says, each line read strictly and then by `read`."""
    if len(data) > JUDGED_BYTES or sum(map(data.count, (b",", b"[", b"{"))) > VALUES // 2:
        raise Unable("evidence too large to be judged here")
    lines = data.split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    if not least <= len(lines) <= most:
        raise Bad(f"{len(lines)} records")
    found = []
    for at, line in enumerate(lines, 1):
        if len(line) > LINE_BYTES or line.endswith(b"\r"):
            raise Bad(f"line {at}: too long, or ends in CR LF")
        try:
            found.append(read(parse(line)))
        except Bad as error:
            raise Bad(f"line {at}: {error}") from None
    return found


label_ = meets(is_label, "an id")
query_shape = shape(
    {"text": string_},
    {
        "task": string_,
        "fingerprint": lambda value: None,
        "expected_output": or_null(meets(lambda value: isinstance(value, dict), "an object")),
        "scope": string_,
    },
)
expected_ = meets(lambda value: isinstance(value, str) and value.strip() != "", "a text that is not blank")
annotations = {"id": label_, "cluster": label_, "must_pass": boolean, "salt": hex64}
long_question = shape({"query": query_shape, "expected": expected_}, annotations)
short_question = shape({"question": string_, "expected": expected_}, annotations)
spend_shape = meets(
    lambda value: value is None
    or isinstance(value, dict)
    and all(is_number(value.get(name, 0)) and value.get(name, 0) >= 0 for name in ("frontier_calls", "oracle_calls")),
    "a spend",
)
credit_ = meets(lambda value: is_number(value) and 0 < value < 1, "a number above 0 and below 1")
judgement_shape = shape({"correct": boolean}, {"id": label_, "credit": credit_})


def read_question(value):
    is_short = isinstance(value, dict) and "question" in value
    (short_question if is_short else long_question)(value)
    query = {"text": value["question"]} if is_short else value["query"]
    defaults = {"task": "", "fingerprint": None, "expected_output": None, "scope": "local"}
    return {**value, "query": {**defaults, **query}}


def read_answer(value):
    shape({"reply": or_null(string_), "receipt": lambda value: None}, {"id": label_})(value)
    said = value["receipt"]
    if not isinstance(said, dict) or not isinstance(said.get("status"), str):
        raise Bad("`receipt` has no status")
    or_null(string_)(said.get("degraded_mode"))
    spend_shape(said.get("spend"))
    spend = said.get("spend") or {}
    return {
        "id": value.get("id"),
        "reply": value["reply"],
        "cost": float(spend.get("frontier_calls", 0)) + float(spend.get("oracle_calls", 0)),
        "grounded": said["status"] == "answered" and said.get("degraded_mode") is None,
    }


def read_judgement(value):
    judgement_shape(value)
    if value["correct"] and "credit" in value:
        raise Bad("credit for what is right")
    return value


def read_questions(data):
    questions = records(data, read_question)
    ids = [question["id"] for question in questions if "id" in question]
    if len(set(ids)) != len(ids):
        raise Bad("an id that stands twice")
    if len({"salt" in question for question in questions}) > 1:
        raise Bad("some questions have salts and some have none")
    return questions


def with_ids(items):
    """Answers or judgements, all of which have an id of their own, or none has."""
    named = [item["id"] for item in items if item.get("id") is not None]
    if len(named) not in (0, len(items)) or len(set(named)) != len(named):
        raise Bad("an id that stands twice, or some with an id and some without")
    return items


def joined(ids, items):
    """Answers or judgements in the order of the questions, whose ids these are (`None` where there is none)."""
    if len(items) != len(ids):
        raise Bad(f"{len(items)} records for {len(ids)} questions")
    if items[0].get("id") is None:
        return items
    by_id = {item["id"]: item for item in items}
    if set(by_id) != set(ids):
        raise Bad("other ids than those of the questions")
    return [by_id[name] for name in ids]


# Identity of question sets (sections 8 to 10)


def lp(data):
    return struct.pack(">Q", len(data)) + data


def pm1_leaf(question):
    salt = lp(bytes.fromhex(question["salt"])) if "salt" in question else b""
    material = lp(jcs(question["query"])) + lp(jcs(question["expected"])) + salt
    return blake3(material, derive_key_context="proofmark question v1").digest()


def pm1_id(leaves, scorer):
    material = lp(scorer.encode()) + struct.pack(">Q", len(leaves)) + b"".join(leaves)
    return "pm1:" + blake3(material, derive_key_context="proofmark question set v1").hexdigest()


def read_leaves(data):
    if not re.fullmatch(rb"(?:[0-9a-f]{64}\n)+", data) or len(data) > 65 * RECORDS:
        raise Bad("not a leaf list")
    return [bytes.fromhex(line.decode()) for line in data.split()]


def mixle_value(value):
    if value is None or isinstance(value, bool):
        return {None: b"N", False: b"b0", True: b"b1"}[value]
    if isinstance(value, str):
        return b"s" + lp(value.encode())
    if isinstance(value, float):
        return b"f" + struct.pack("<d", value)
    if isinstance(value, int):
        return b"i" + lp(str(value).encode())
    if isinstance(value, list):
        return b"l" + struct.pack(">Q", len(value)) + b"".join(map(mixle_value, value))
    pairs = sorted((mixle_value(name), mixle_value(member)) for name, member in value.items())
    return b"d" + struct.pack(">Q", len(pairs)) + b"".join(name + member for name, member in pairs)


def mixle_id(questions, scorer):
    default = "mixle.system.scorecard._default_scorer@substring/v2"
    total = hashlib.sha256()
    for question in questions:
        names = ("text", "task", "fingerprint", "expected_output", "scope")
        query = b"".join(mixle_value(name) + mixle_value(question["query"][name]) for name in names)
        head = b"D" + lp(b"mixle.system.core.Query") + struct.pack(">Q", len(names))
        total.update(b"t" + struct.pack(">Q", 2) + head + query + mixle_value(question["expected"]))
    total.update(b"#" + str(len(questions)).encode())
    scorer = default if scorer == "substring/v2" else scorer
    return hashlib.sha256(scorer.encode() + b"\x00" + total.hexdigest().encode()).hexdigest()


def identity(card_id, questions, scorer):
    """The set's identity in the scheme that the card uses."""
    if card_id.startswith("pm1:"):
        return pm1_id([pm1_leaf(question) for question in questions], scorer)
    return mixle_id(questions, scorer)


# Scorers (docs/scorers.md): `judge(expected)` refuses what it cannot judge and gives a judge of replies

LETTERS = "[A-Za-z]"


def settled(text):
    """The text, unless Unicode grew letters after this Python: they may have lower-case forms that it does not know."""
    if not text.isascii() and any(unicodedata.category(letter) == "Cn" for letter in text):
        raise Unable("text with characters that this Python does not know")
    return text


def substring_judge(expected):
    wanted = settled(expected).strip().lower()
    return lambda reply: wanted in settled(reply).strip().lower()


def exact_judge(expected):
    return lambda reply: reply.strip() == expected.strip()


def normalized(text):
    bare = settled(text).lower().translate(dict.fromkeys(map(ord, string.punctuation)))

    def without_article(found):
        if found[0] not in ("a", "an", "the"):
            return found[0]
        beside = bare[max(0, found.start() - 1) : found.start()] + bare[found.end() : found.end() + 1]
        if any(unicodedata.category(letter) in ("Mn", "Mc", "Me", "So") for letter in beside):
            raise Unable("an article beside a mark that may be a letter")
        return " "

    return " ".join(re.sub(r"[^\W_]+", without_article, bare).split())


def normalized_judge(expected):
    wanted = normalized(expected)
    if not wanted:
        raise Bad("nothing is left of the expected answer")
    return lambda reply: normalized(reply) == wanted


def parse_number(text):
    form = r"[+-]?(?:([0-9]+|[0-9]{1,3}(?:,[0-9]{3})+)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
    if not re.fullmatch(form, text.strip()):
        return None
    value = float(text.strip().replace(",", ""))
    return value if abs(value) != float("inf") else None


def numeric_judge(absolute, relative):
    def judge(expected):
        wanted = parse_number(expected)
        if wanted is None:
            raise Bad("an expected answer that is no number")
        allowed = max(absolute, relative * abs(wanted))

        def is_right(reply):
            found = parse_number(reply)
            return found is not None and abs(found - wanted) <= allowed

        return is_right

    return judge


def named_choice(reply):
    """The label that a reply names, or `None`."""
    alone = re.fullmatch(rf"(\({LETTERS}{{1,32}}\)|{LETTERS}{{1,32}}\)?)\.?", reply.strip())
    if alone:
        return alone[1].strip("()")
    places = list(re.finditer(r"answer *(?:is(?=[ :]) *:?|:)", reply, re.IGNORECASE | re.ASCII))
    said = places and re.match(
        rf" *(?:\(({LETTERS}{{1,32}})\)|({LETTERS}{{1,32}}))(?!{LETTERS})(.*)", reply[places[-1].end() :], re.DOTALL
    )
    if not said:
        return None
    label, rest = said[1] or said[2], said[3]
    if rest[:1].isalnum() or rest[:1] and rest[0] in "-_'’":
        return None
    if unicodedata.category(rest[:1] or " ") in ("Mn", "Mc", "Me", "So"):
        raise Unable("a label beside a mark that may be a letter")
    if len(label) == 1:
        bare = said[2] is not None
        is_word = bare and label in "AI" and re.match(f" +{LETTERS}", rest)
        if bare and label.islower() or is_word or lists_another(rest):
            return None
    return label


def lists_another(rest):
    """Whether another single upper-case letter follows; the words "A …" and "I …" are none."""
    found = re.match(
        rf"[ ,/&()]*(?:(?i:or|and)(?!{LETTERS})[ ,/&()]*)?([A-Z])(?!{LETTERS}|['’])(?: *({LETTERS}+))?", rest
    )
    if not found:
        return False
    return not (found[1] in "AI" and found[2] and found[2].lower() not in ("or", "and"))


def choice_judge(expected):
    wanted = expected.strip()
    if not re.fullmatch(f"{LETTERS}{{1,32}}", wanted):
        raise Bad("an expected answer that is no label")
    return lambda reply: (named_choice(reply) or "").lower() == wanted.lower()


def regex_judge(expected):
    raise Unable("regex/v1 is not judged here")


def scorer_of(identity):
    """The judge of a built-in scorer, or the digest of a command's file; `None` where the scorer is not known."""
    built_in = {
        "substring/v2": substring_judge,
        "exact/v1": exact_judge,
        "normalized/v1": normalized_judge,
        "choice/v1": choice_judge,
        "regex/v1": regex_judge,
    }
    part = "[A-Za-z0-9][A-Za-z0-9._-]{0,47}"
    command = re.fullmatch(rf"command/{part}/{part}\?blake3=([0-9a-f]{{64}})", identity)
    name, mark, rest = identity.partition("?")
    if command or name != "numeric/v1":
        return command[1] if command else built_in.get(identity)
    parameters = {"abs": 1e-6, "rel": 0.0}
    given = [parameter.partition("=")[::2] for parameter in rest.split("&")] if mark else []
    for name, value in given:
        if name not in parameters or not re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", value):
            return None
        parameters[name] = float(value)
    if len(given) != len(dict(given)) or not 0 <= parameters["abs"] < float("inf") or not 0 <= parameters["rel"] <= 1:
        return None
    return numeric_judge(parameters["abs"], parameters["rel"])


def is_imported(identity):
    """Whether another tool judged."""
    return identity.startswith("import/")


# Replay (sections 6 and 12)


def card_of(verdicts, credits, answers):
    """Quality, cost and groundedness of a round."""
    cost = partial = 0.0
    for credit in credits:
        partial += credit
    for answer in answers:
        cost += answer["cost"]
    if cost == float("inf"):
        raise Bad("a cost beyond the doubles")
    n = len(answers)
    grounded = sum(answer["grounded"] for answer in answers)
    return {"quality": (sum(verdicts) + partial) / n, "realized_cost": cost, "grounded_fraction": grounded / n, "n": n}


def detect_regression(base, current, tolerance):
    """What mixle's function of that name says of two cards."""
    ids, reasons = (base["question_set_id"], current["question_set_id"]), []
    if not all(ids):
        reasons.append("scorecards are not bound to a held-out question set identity")
    elif ids[0] != ids[1]:
        reasons.append(f"scorecards cover different held-out sets: {ids[0][:12]} != {ids[1][:12]}")
    if base["n"] != current["n"]:
        reasons.append(f"scorecards cover different case counts: {base['n']} != {current['n']}")
    if reasons:
        return {"regressed": True, "reasons": reasons, "comparable": False}
    for axis in ("quality", "grounded_fraction"):
        if current[axis] < base[axis] - tolerance:
            reasons.append(f"{axis} regressed: {base[axis]:.3f} -> {current[axis]:.3f}")
    if current["realized_cost"] > base["realized_cost"] + tolerance:
        reasons.append(f"realized_cost increased: {base['realized_cost']:.3f} -> {current['realized_cost']:.3f}")
    return {"regressed": bool(reasons), "reasons": reasons, "comparable": True}


class Gone(Exception):
    """Evidence is missing or damaged, which is a finding of its own."""


def blakes(receipt, role):
    return [item["blake3"] for item in receipt.evidence(role)]


class Round:
    """What the evidence of a scorecard receipt holds, and the round that it gives, where it gives one."""

    READ = {
        "questions": read_questions,
        "question-leaves": read_leaves,
        "answers": lambda data: with_ids(records(data, read_answer)),
        "judgements": lambda data: with_ids(records(data, read_judgement)),
    }

    def __init__(self, receipt, held):
        self.body, self.scorer = receipt.body, scorer_of(receipt.body["scorer"])
        found = {role: held(role, receipt) for role in self.READ}
        self.roles = {role: self.READ[role](data) for role, data in found.items() if data is not None}
        self.questions, self.leaves = self.roles.get("questions"), self.roles.get("question-leaves")
        has_words = "judgements" in self.roles
        gives = "answers" in self.roles and (
            callable(self.scorer) or has_words if self.questions else self.leaves and has_words
        )
        self.ids, self.flaw, self.card, self.verdicts, self.answers = [], None, {}, [], []
        try:
            stated, scorer = self.body["card"]["question_set_id"], self.body["scorer"]
            self.ids = [identity(stated, self.questions, scorer)] if self.questions else []
        except Bad as error:
            if gives:
                raise
            self.flaw = error
        self.ids += [pm1_id(self.leaves, self.body["scorer"])] if self.leaves else []
        if gives:
            self.judge()

    def judge(self):
        """The verdicts, and the card that follows from them."""
        questions, judgements = self.questions, self.roles.get("judgements")
        if questions:
            ids = [question.get("id") for question in questions]
            self.answers = joined(ids, self.roles["answers"])
        else:
            # The questions are withheld: judgements stand in their order, and answers are joined to the judgements.
            self.answers = joined([judgement.get("id") for judgement in judgements], self.roles["answers"])
            joined([None] * len(self.leaves), [{}] * len(self.answers))
        if questions and callable(self.scorer):
            judges = [self.scorer(question["expected"]) for question in questions]
            replies = [answer["reply"] for answer in self.answers]
            self.verdicts = [reply is not None and judge(reply) for judge, reply in zip(judges, replies)]
            credits = []
        else:
            said = joined(ids, judgements) if questions else judgements
            self.verdicts = [judgement["correct"] for judgement in said]
            credits = [judgement["credit"] for judgement in said if "credit" in judgement]
        self.card = card_of(self.verdicts, credits, self.answers)

    def name(self, at):
        """A question by its id, or else by its place."""
        asked = self.questions[at].get("id") if self.questions else None
        return asked or self.answers[at].get("id") or f"#{at + 1}"


class Replay:
    """Derives again what receipts claim."""

    SINGLE = ("questions", "answers", "question-leaves", "judgements", "judge", "card", "report", "import", "projection")

    def __init__(self, audit):
        self.audit, self.docket, self.files, self.receipts = audit, audit.docket, audit.files, audit.receipts

    def run(self):
        kinds = {"scorecard": self.scorecard, "comparison": self.comparison, "gate": self.gate}
        kinds["authorization"] = self.authorization
        for self.index, self.receipt in self.receipts.items():
            try:
                if self.receipt and self.receipt.kind in kinds:
                    kinds[self.receipt.kind](self.receipt.body)
            except Gone:
                self.docket.unproven.add(self.index)
                self.docket.leave("replay", "some receipts cannot be replayed: their evidence is missing or damaged")
            except Unable as error:
                self.docket.leave("replay", f"receipt {self.index}: {error}")

    def find(self, code, text):
        self.docket.find(code, text, index=self.index)

    def bytes(self, item):
        """The bytes of held evidence, intact."""
        if item["size"] > JUDGED_BYTES:
            raise Unable("evidence too large to be judged here")
        try:
            data = b"".join(self.files.object(item) or ())
        except Bad:
            raise Gone from None
        if len(data) != item["size"] or blake3(data).hexdigest() != item["blake3"]:
            raise Gone
        return data

    def held(self, role, receipt=None):
        """The bytes of the held evidence of a role; `None` where there is none."""
        found = [item for item in (receipt or self.receipt).evidence(role) if item["held"]]
        return self.bytes(found[0]) if found else None

    # Scorecards

    def scorecard(self, body):
        if many := [role for role in self.SINGLE if len(self.receipt.evidence(role)) > 1]:
            return self.find("replay-incomplete", f"several objects in the role `{many[0]}`")
        scorer = scorer_of(body["scorer"])
        self.check_judge(body, scorer)
        try:
            if (data := self.held("card")) is not None:
                handed_in = parse(data)
                handed_in_shape(handed_in)
                self.same_numbers(handed_in, body["card"], handed_in)
            self.derive(body)
        except Bad as error:
            self.find("replay-unreadable", error)
        if is_imported(body["scorer"]):
            raise Unable("the files of other tools are not read here")

    def check_judge(self, body, scorer):
        is_recomputed, files = body["basis"] == "recomputed", self.receipt.evidence("judge")
        if scorer is None and is_recomputed and not is_imported(body["scorer"]):
            self.find("replay-scorer", body["scorer"])
        if isinstance(scorer, str):
            if files and files[0]["blake3"] != scorer:
                self.find("judge-differs", files[0]["blake3"])
            elif not files and is_recomputed:
                self.find("replay-incomplete", "no `judge`")

    def derive(self, body):
        """Identity and card again, from whatever the receipt carries."""
        found = Round(self.receipt, self.held)
        card = body["card"]
        if found.flaw:
            self.find("replay-unreadable", found.flaw)
        if any(one != card["question_set_id"] for one in found.ids):
            self.find("identity-differs", f"{' or '.join(found.ids)}, not {card['question_set_id']}")
        n = len(found.questions or found.leaves or ())
        if n and n != card["n"]:
            self.find("card-differs", f"n is {n}, not {card['n']}")
        self.same_numbers(found.card, card, found.card)
        needed = ["question-leaves" if body.get("sealed") else "questions", "answers"]
        needed += ["judgements"] if body.get("sealed") or isinstance(found.scorer, str) else []
        if is_imported(body["scorer"]):
            needed += ["judgements"]
            if body["basis"] == "recomputed" and self.held("import") is None:
                self.find("replay-incomplete", "no held import")
        missing = [role for role in needed if role not in found.roles]
        if missing and body["basis"] == "recomputed":
            self.find("replay-incomplete", f"no held {', '.join(missing)}")
        if found.card and (data := self.held("report")) is not None:
            if blake3(data).hexdigest() != blake3(self.bridge(found, data)).hexdigest():
                self.find("report-differs", "not the bridge from an earlier round with these questions and answers")

    def bridge(self, new, data):
        """The `bridge.v1` document that a round must carry where it carries one; empty where there can be none."""
        try:
            base = parse(data)["base"]
            reference({name: base[name] for name in ("index", "receipt")})
        except (Bad, TypeError, KeyError, IndexError):
            return b""
        old = self.receipt_at(base) if base["index"] < self.index else None
        same = {role: blakes(old, role) == blakes(self.receipt, role) != [] for role in Round.READ} if old else {}
        if not old or old.kind != "scorecard" or not same["answers"]:
            return b""
        if not same["questions"] and not same["question-leaves"]:
            return b""
        before = self.believed(old)
        if not before.card or len(before.verdicts) != len(new.verdicts):
            return b""
        pairs = list(zip(before.verdicts, new.verdicts))
        only_old, only_new = (
            [before.name(at) for at, one in enumerate(pairs) if one == pair] for pair in ((True, False), (False, True))
        )
        right, wrong = pairs.count((True, True)), pairs.count((False, False))
        document = {
            "schema": "bridge.v1",
            "base": {
                "index": base["index"],
                "receipt": old.id,
                "scorer": old.body["scorer"],
                "scorecard": old.body["card"],
            },
            "bridged": {"scorer": new.body["scorer"], "scorecard": new.body["card"]},
            "n": len(pairs),
            "bothRight": right,
            "bothWrong": wrong,
            "onlyBase": only_old,
            "onlyBridged": only_new,
            "agreement": (right + wrong) / len(pairs),
        }
        return jcs(document)

    def believed(self, receipt):
        """Another round, where its evidence gives its card; what is wrong with it is a finding there."""
        try:
            found = Round(receipt, self.held)
        except Bad:
            raise Gone from None
        body = receipt.body
        differs = any(body["card"][name] != found.card[name] for name in found.card)
        if found.card and (differs or found.ids[0] != body["card"]["question_set_id"]):
            raise Gone
        if not found.card and body["basis"] == "recomputed" and not body.get("sealed"):
            raise Gone
        return found

    def same_numbers(self, derived, stated, members):
        differing = [f"{name} is {derived[name]}" for name in members if derived[name] != stated[name]]
        if differing:
            self.find("card-differs", ", ".join(differing))

    # Comparisons

    def receipt_at(self, reference):
        target = self.receipts.get(reference["index"])
        is_whole = reference["index"] // WIDTH not in self.audit.damaged
        return target if target and is_whole and target.id == reference["receipt"] else None

    def card_at(self, reference):
        target = self.receipt_at(reference)
        if not target or target.kind != "scorecard":
            raise Gone
        return target.body["card"]

    def forbidding(self, body):
        """What is unknown of a round, and nobody allowed; a cost that neither knows is not compared."""
        base, current = (
            {one["field"]: one.get("allowed", False) for one in self.receipt_at(body[side]).body.get("unknown", [])}
            for side in ("base", "current")
        )
        for field in sorted({*base, *current}):
            recorded = all(side.get(field, True) for side in (base, current))
            both_costs = field == "cost" and field in base and field in current
            if not (recorded or both_costs or field in body.get("allowUnknown", [])):
                yield field

    def comparison(self, body):
        base, current = self.card_at(body["base"]), self.card_at(body["current"])
        for field in self.forbidding(body):
            self.find("comparison-differs", f"a comparison although this is unknown: {field}")
        sides = [self.receipt_at(body[side]).body.get("unknown", []) for side in ("base", "current")]
        if any(one["field"] == "cost" for side in sides for one in side):
            base, current = {**base, "realized_cost": 0}, {**current, "realized_cost": 0}
        if detect_regression(base, current, body["tolerance"]) != body["report"]:
            self.find("comparison-differs", detect_regression(base, current, body["tolerance"]))
        if (data := self.held("report")) is None:
            return
        try:
            report = parse_canonical(data)
            meets(lambda value: isinstance(value, dict), "an object")(report)
        except Bad as error:
            return self.find("report-differs", error)
        wanted = {"schema": "compare.v1", "tolerance": body["tolerance"], **body["report"]}
        differing = [name for name, value in wanted.items() if name not in report or jcs(report[name]) != jcs(value)]
        for side, card in (("base", base), ("current", current)):
            found = report.get(side)
            if not isinstance(found, dict) or jcs(found.get("scorecard")) != jcs(card):
                differing.append(side)
        for name in differing:
            self.find("report-differs", f"`{name}` is not that of the receipt")

    # Recorded releases

    def authorization(self, body):
        """No question that must pass fails, or is not known to pass, in what an AUTHORIZED rests on."""
        pairs, alone = [], []
        for reference in body["restsOn"] if body["decision"] == "AUTHORIZED" else ():
            one = self.receipt_at(reference)
            pairs += [one.body] if one and one.kind == "comparison" else []
            alone += [reference] if one and one.kind == "scorecard" else []
        compared = {pair[side]["index"] for pair in pairs for side in ("base", "current")}
        # A round that is in no comparison was taken in by itself.
        by_itself = [{"base": one, "current": one} for one in alone if one["index"] not in compared]
        for pair in pairs + by_itself:
            if self.must_pass_fails(pair):
                self.find("authorization-unproven", "a question that must pass fails")

    def must_pass_fails(self, body):
        receipts = [self.receipt_at(body[side]) for side in ("base", "current")]
        if not all(receipt and receipt.kind == "scorecard" for receipt in receipts):
            return False
        try:
            base, current = [Round(receipt, self.held) for receipt in receipts]
        except Bad:
            raise Gone from None
        named = [at for at, question in enumerate(current.questions or ()) if question.get("must_pass")]
        if body.get("report", {}).get("comparable") and base.verdicts and len(base.verdicts) == len(current.verdicts):
            named += [at for at, question in enumerate(base.questions or ()) if question.get("must_pass")]
        return any(at >= len(current.verdicts) or not current.verdicts[at] for at in named)

    # Gate runs

    def gate(self, body):
        try:
            report = self.gate_report(body)
        except Bad as error:
            return self.find("gate-unreadable", error)
        subjects = {candidate["model"]: candidate["subjects"] for candidate in report["candidates"]}
        self.audit.looked[self.index] = (subjects.get(report["recommended"]), set(subjects.values()))
        passed = sum(candidate["passed"] for candidate in report["candidates"])
        derived = {name: report[name] for name in ("verdict", "recommended", "minCoverage", "profile")}
        derived["candidates"] = {"total": len(report["candidates"]), "passed": passed}
        if any(derived[name] != body[name] for name in derived):
            self.find("gate-differs", derived)
        digest = blake3(jcs(report)).hexdigest()
        if [item["blake3"] for item in self.receipt.evidence("report")] != [digest]:
            self.find("gate-report-differs", f"the report has the BLAKE3 {digest}")

    def gate_report(self, body):
        profiles, predictions = self.receipt.evidence("profile"), self.receipt.evidence("predictions")
        if len(profiles) != 1 or not predictions or not all(item["held"] for item in profiles + predictions):
            raise Bad("no profile, no predictions, or some are not held")
        profile = Profile(self.bytes(profiles[0]))
        for item in predictions:
            records(self.bytes(item), profile.take, least=0, most=2**32 - 1)
        return profile.report(exactly(body["minCoverage"]))


# The gate (docs/gate.md)


def exactly(value):
    """The decimal from 0 to 1 that is written, as a fraction."""
    if not is_number(value):
        raise Bad("not a number")
    literal = getattr(value, "literal", str(value))
    mantissa, _, power = literal.lower().partition("e")
    whole, _, part = mantissa.lstrip("-").partition(".")
    digits = (whole + part).rstrip("0")
    if not digits.strip("0"):
        return Fraction(0)
    if len(power) > 18 or literal[0] == "-":
        raise Bad(f"not from 0 to 1: {literal[:80]}")
    places = len(digits) - len(whole) - int(power or 0)
    if not 0 <= places <= 1100 or int(digits) > 10**places:
        raise Bad(f"not from 0 to 1, or more than 1,100 decimal places: {literal[:80]}")
    return Fraction(int(digits), 10**places)


def plain(fraction):
    """A fraction over a power of ten in decimal, without an exponent."""
    places = 0
    while fraction.denominator > 1 and 10**places % fraction.denominator:
        places += 1
    digits = str(fraction.numerator * 10**places // fraction.denominator).zfill(places + 1)
    return digits[: len(digits) - places] + ("." + digits[len(digits) - places :] if places else "")


def ratio(part, all_):
    return Fraction(part, all_) if all_ else None


def rounded(fraction):
    """The nearest double, rounded once."""
    return None if fraction is None else fraction.numerator / fraction.denominator


def is_blank(text):
    """Nothing but Unicode's White_Space (narrower than Python's, which counts U+001C to U+001F)."""
    return not re.sub("[\x1c-\x1f]", "x", text).strip()


def exact_number(value):
    if exactly(value) != exactly(Decimal(number_text(value))):
        raise Bad("a number that does not survive canonical JSON")


TAKEN = ("model", "subjectKey", "split", "truth", "prediction", "confidence")
METRIC = r"macroF1|precisionAtCoverage|ece|coverage|perClass\.(?P<label>.*)\.(?P<part>precision|recall|f1)"
split_ = one_of("train", "validation", "test")
named_ = meets(lambda value: isinstance(value, str) and not is_blank(value), "a name")
model_ = meets(lambda value: isinstance(value, str) and not is_blank(value) and len(value.encode()) <= 1024, "a name")
member_ = meets(lambda value: isinstance(value, str) and not is_blank(value) and value not in TAKEN, "a member's name")
range_shape = shape({"split": split_, "from": whole(0, 256), "below": whole(0, 256)})
gate_shape = shape(
    {
        "metric": meets(lambda value: isinstance(value, str) and re.fullmatch(METRIC, value, re.DOTALL), "a metric"),
        "comparator": one_of(">=", "<="),
        "limit": exact_number,
    }
)
by_byte = shape({"rule": one_of("first-byte"), "ranges": every(range_shape)})
by_list = shape({"rule": one_of("manifest"), "subjects": lambda value: None})
profile_shape = shape(
    {
        "schema": one_of("profile.v1"),
        "name": named_,
        "labelField": member_,
        "labels": every(lambda value: None, 1),
        "split": lambda value: (by_list if isinstance(value, dict) and "subjects" in value else by_byte)(value),
        "gates": every(gate_shape, 1),
        "minCoverage": exact_number,
        "bins": whole(1, 1000),
    },
    {"itemField": member_},
)


class Profile:
    """A task profile, the records that were read under it, and the report that follows."""

    def __init__(self, data):
        self.terms = parse(data)
        profile_shape(self.terms)
        self.digest = blake3(jcs(self.terms)).hexdigest()
        self.labels, self.gates, self.item = self.terms["labels"], self.terms["gates"], self.terms.get("itemField")
        self.texts = [str(label) for label in self.labels]
        self.check_labels()
        self.check_split()
        rules = [(gate["metric"], gate["comparator"]) for gate in self.gates]
        classes = [re.fullmatch(METRIC, metric, re.DOTALL)["label"] for metric, _ in rules]
        if len(set(rules)) != len(rules) or any(label not in (None, *self.texts) for label in classes):
            raise Bad("a gate that stands twice, or on a class that is no label")
        self.seen, self.models = set(), {}
        names = [name for name in TAKEN if name != "confidence"] + ([self.item] if self.item else [])
        self.record = shape({name: lambda value: None for name in names})
        field = self.terms["labelField"]
        self.truth = shape({field: self.label})
        self.said = or_null(shape({field: self.label, "confidence": exactly}))

    def check_labels(self):
        kinds = {type(label) for label in self.labels}
        if len(self.labels) > 4096 or kinds not in ({int}, {str}) or len(set(self.labels)) != len(self.labels):
            raise Bad("labels that are not all integers or all strings, or that stand twice")
        if any(abs(label) > SAFE if kinds == {int} else is_blank(label) or "->" in label for label in self.labels):
            raise Bad("a label that cannot be")

    def check_split(self):
        split = self.terms["split"]
        if split["rule"] == "first-byte":
            self.owner = {}
            for one in split["ranges"]:
                span = range(one["from"], one["below"])
                if not span or any(byte in self.owner for byte in span):
                    raise Bad("a range that is empty or overlaps")
                self.owner.update(dict.fromkeys(span, one["split"]))
        else:
            self.owner = split["subjects"] if isinstance(split["subjects"], dict) else {}
            for key, name in self.owner.items():
                matches("[0-9a-f]{16}", "a subject")(key)
                split_(name)
        if not {"validation", "test"} <= set(self.owner.values()):
            raise Bad("a split that no subject is in")

    def label(self, value):
        if type(value) is not type(self.labels[0]) or value not in self.labels:
            raise Bad("no label of the profile")

    def take(self, value):
        """One prediction record."""
        self.record(value)
        model_(value["model"])
        matches("[0-9a-f]{16}", "a subject")(value["subjectKey"])
        self.truth(value["truth"])
        self.said(value["prediction"])
        key, split = value["subjectKey"], value["split"]
        owner = self.owner.get(key if self.terms["split"]["rule"] == "manifest" else int(key[:2], 16))
        if not isinstance(split, str) or split != owner:
            raise Bad(f"the subject {key} is in `{owner}`")
        item = b""
        if self.item:
            item = value[self.item]
            (model_ if isinstance(item, str) else whole(-(2**63), 2**64 - 1))(item)
            item = blake3(json.dumps(item, ensure_ascii=False).encode()).digest()[:16]
        if (value["model"], key, item) in self.seen:
            raise Bad(f"a second record of {key}")
        self.seen.add((value["model"], key, item))
        field = self.terms["labelField"]
        truth, said = self.labels.index(value["truth"][field]), value["prediction"]
        suggestion = said and (self.labels.index(said[field]), exactly(said["confidence"]))
        row = (split == "test", bytes.fromhex(key), item, truth, suggestion)
        rows = self.models.setdefault(value["model"], [])
        rows += [row] if split != "train" else []

    def report(self, floor):
        judged = [self.candidate(model, self.models[model], floor) for model in sorted(self.models, key=str.encode)]
        passed = [candidate for candidate in judged if candidate[0]["passed"]]
        # `max` takes the first of equals, and they stand in the order of their names.
        best = max(passed, key=lambda candidate: candidate[1], default=None)
        return {
            "schema": "gate.v1",
            "verdict": "GO" if best else "BLOCKED",
            "recommended": best[0]["model"] if best else None,
            "minCoverage": rounded(floor),
            "profile": {"name": self.terms["name"], "blake3": self.digest},
            "candidates": [candidate[0] for candidate in judged],
        }

    def candidate(self, model, rows, floor):
        """A candidate's report, and by what it is preferred."""
        if len({row[0] for row in rows}) != 2:
            raise Bad(f"no validation or no test records of {model}")
        asked = blake3()
        for is_test, key, item, truth, _ in sorted(rows, key=lambda row: row[:4]):
            asked.update(bytes([1 + is_test]) + key + item + struct.pack(">H", truth))
        validation, test = ([row[3:] for row in rows if row[0] == part] for part in (False, True))
        report = {"model": model, "subjects": asked.hexdigest()}
        cut, reason = choose(validation, floor)
        if cut is None:
            gates = [{**gate, "value": None, "passed": False} for gate in self.gates]
            nothing = dict.fromkeys(("threshold", "thresholdAsWritten", "validation", "test"))
            return {**report, **nothing, "gates": gates, "passed": False, "reasons": [reason]}, None
        measured = Metrics(self, test, cut)
        gates = [measured.gate(gate) for gate in self.gates]
        reasons = [why(gate) for gate in gates if not gate["passed"]]
        if not measured.accepted:
            reasons.append(f"nothing is accepted on test at the threshold {plain(cut)}")
        report |= {
            "threshold": rounded(cut),
            "thresholdAsWritten": plain(cut),
            "validation": Metrics(self, validation, cut).scores(),
            "test": measured.test_scores(),
            "gates": gates,
            "passed": not reasons,
            "reasons": reasons,
        }
        return report, (measured.values["macroF1"], measured.values["precisionAtCoverage"])


def choose(rows, floor):
    """The threshold on validation, or why there is none."""
    said = sorted(((row[1][1], row[1][0] == row[0]) for row in rows if row[1]), reverse=True)
    best, accepted, right = None, 0, 0
    for at, (confidence, is_right) in enumerate(said):
        accepted, right = accepted + 1, right + is_right
        if at + 1 < len(said) and said[at + 1][0] == confidence or accepted < floor * len(rows):
            continue
        best = max(best or (-1,), (Fraction(right, accepted), accepted, confidence))
    if best:
        return best[2], None
    if not said:
        return None, f"there is no suggestion among the {len(rows)} validation records"
    widest = f"the widest accepts {len(said)} of {len(rows)}"
    return None, f"no threshold clears the coverage floor {plain(floor)} on validation: {widest}"


def why(gate):
    rule = f"{gate['comparator']} {plain(exactly(Decimal(number_text(gate['limit']))))}"
    if gate["value"] is None:
        return f"{gate['metric']} has no value on test, so it is not {rule}"
    return f"{gate['metric']} is {plain(exactly(Decimal(number_text(gate['value']))))}, not {rule}"


class Metrics:
    """What is measured of a candidate's records at a threshold; every value is an exact fraction, or `None`."""

    def __init__(self, profile, rows, cut):
        self.profile, self.records, self.suggested = profile, len(rows), sum(row[1] is not None for row in rows)
        taken = [(truth, *said) for truth, said in rows if said and said[1] >= cut]
        self.accepted, self.correct, self.cells = len(taken), sum(row[0] == row[1] for row in taken), {}
        count = profile.terms["bins"]
        self.bins = [[0, 0, Fraction(0)] for _ in range(count)]
        for truth, label, confidence in taken:
            self.cells[truth, label] = self.cells.get((truth, label), 0) + 1
            one = self.bins[min(count - 1, int(confidence * count))]
            one[0], one[1], one[2] = one[0] + 1, one[1] + (truth == label), one[2] + confidence
        self.classes = [self.of_class(label) for label in range(len(profile.labels))]
        scored = [one["f1"] for one in self.classes if one["support"]]
        distance = sum((abs(right - total) for _, right, total in self.bins), Fraction(0))
        self.values = {
            "coverage": ratio(self.accepted, self.records),
            "precisionAtCoverage": ratio(self.correct, self.accepted),
            "macroF1": sum(scored, Fraction(0)) / len(scored) if scored else None,
            "ece": distance / self.accepted if self.accepted else None,
        }

    def of_class(self, label):
        support = sum(count for (truth, _), count in self.cells.items() if truth == label)
        predicted = sum(count for (_, said), count in self.cells.items() if said == label)
        right = self.cells.get((label, label), 0)
        return {
            "precision": ratio(right, predicted),
            "recall": ratio(right, support),
            "f1": ratio(2 * right, support + predicted),
            "support": support,
            "predicted": predicted,
        }

    def gate(self, gate):
        found = re.fullmatch(METRIC, gate["metric"], re.DOTALL)
        if found["label"] is None:
            value = self.values[gate["metric"]]
        else:
            value = self.classes[self.profile.texts.index(found["label"])][found["part"]]
        limit = exactly(gate["limit"])
        passed = value is not None and (value >= limit if gate["comparator"] == ">=" else value <= limit)
        return {**gate, "value": rounded(value), "passed": passed}

    def scores(self):
        values = {name: rounded(value) for name, value in self.values.items()}
        return {"records": self.records, "accepted": self.accepted, "correct": self.correct, **values}

    def test_scores(self):
        texts, count = self.profile.texts, len(self.bins)
        bins = [
            {
                "lower": at / count,
                "upper": (at + 1) / count,
                "count": all_,
                "correct": right,
                "accuracy": rounded(ratio(right, all_)),
                "meanConfidence": rounded(total / all_ if all_ else None),
            }
            for at, (all_, right, total) in enumerate(self.bins)
        ]
        parts = ("precision", "recall", "f1")
        return {
            **self.scores(),
            "perClass": {
                text: {**one, **{part: rounded(one[part]) for part in parts}} for text, one in zip(texts, self.classes)
            },
            "confusion": {f"{texts[truth]}->{texts[said]}": count for (truth, said), count in self.cells.items()},
            "bins": bins,
            "excludedClasses": [label for label, one in zip(self.profile.labels, self.classes) if not one["support"]],
            "abstentions": {
                "no-suggestion": self.records - self.suggested,
                "low-confidence": self.suggested - self.accepted,
            },
        }


# The command line


def verify(folder, pin):
    """What is to be said of one ledger: a document, and the exit code."""
    try:
        audit = Audit(folder)
        audit.examine(pin)
    except NoLedger as error:
        return {"ledger": folder, "exit": 2, "error": str(error)}
    except OSError as error:
        return {"ledger": folder, "exit": 2 if isinstance(error, FileNotFoundError) else 1, "error": str(error)}
    docket = audit.docket
    axes = []
    for axis in AXES:
        one = {"axis": axis, "status": docket.status(axis), "findings": docket.count[axis]}
        axes.append({**one, "reason": docket.reasons[axis]} if axis in docket.reasons else one)
    return {
        "ledger": folder,
        "exit": 3 if docket.findings else 0,
        "genesis": audit.trust.receipt.id if audit.trust else None,
        "size": audit.published.size if audit.published else None,
        "axes": axes,
        "findings": docket.findings,
    }


def text_of(document):
    if "error" in document:
        return f"error: {document['ledger']}: {document['error']}"
    lines = [f"ledger {document['ledger']}, receipt 0 {document['genesis']}, {document['size']} receipts"]
    for one in document["axes"]:
        lines.append(f"{one['axis']:<14}{one['status']:<13}{one.get('reason', '')}".rstrip())
    for found in document["findings"]:
        place = f"#{found['index']}" if "index" in found else found.get("file", "")
        lines.append(f"FAIL {found['code']} {place}: {found['text']}")
    # What comes out of a ledger never reaches a terminal as it stands.
    return "\n".join("".join(mark if mark.isprintable() else "?" for mark in line) for line in lines)


def main():
    parser = argparse.ArgumentParser(description="Verifies proofmark ledgers, independently of proofmark.")
    parser.add_argument("ledger", nargs="+", metavar="LEDGER", help="a ledger's folder")
    parser.add_argument("--json", action="store_true", help="one JSON document a line and ledger")
    parser.add_argument("--pin", metavar="DIGEST", help="the id that receipt 0 must have")
    arguments = parser.parse_args()
    if arguments.pin is not None and not re.fullmatch("[0-9a-f]{64}", arguments.pin):
        parser.error("--pin: 64 hexadecimal digits")
    codes = set()
    for folder in arguments.ledger:
        document = verify(folder, arguments.pin)
        codes.add(document["exit"])
        print(json.dumps(document) if arguments.json else text_of(document), flush=True)
    return next(code for code in (1, 2, 3, 0) if code in codes)


if __name__ == "__main__":
    sys.exit(main())
