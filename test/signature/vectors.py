"""Signatures computed outside JavaScript, so that sign and verify can't be wrong together.

python3 test/signature/vectors.py > test/signature/vectors.json && npx oxfmt test/signature/vectors.json
"""

import base64
import hashlib
import hmac
import json

SECRET = "whsec_dGVzdC1zZWNyZXQtb25l"  # made up: base64 of "test-secret-one"
SUFFIX = SECRET.removeprefix("whsec_")
KEYS = {
    "whole": SECRET.encode(),
    "suffix": SUFFIX.encode(),
    "suffix-base64": base64.b64decode(SUFFIX),
}
BODIES = {
    "text": '{"traceId":"trace-1","note":"caf\u00e9 \U0001f4de"}'.encode(),
    "not UTF-8": bytes([0x7B, 0xFF, 0xFE, 0x00, 0x80, 0x7D]),
    "empty": b"",
}
T = "1767225600"
ISO = "2026-01-01T00:00:00.000Z"
TRACE_ID = "trace-1"
ENCODINGS = {"hex": lambda digest: digest.hex(), "base64": lambda digest: base64.b64encode(digest).decode()}
X_HEADERS = {"x-webhook-traceid": TRACE_ID, "x-webhook-timestamp": ISO}
HEADERS = {"webhook-id": TRACE_ID, "webhook-timestamp": T}

# shape: (before the body, how the header is written)
SHAPES = {
    "t-v1": (f"{T}.", f"t={T},v1=%s"),
    "v1": ("", "v1=%s"),
    "v1-timestamp": (f"{ISO}.", "v1=%s"),
    "sha256": ("", "sha256=%s"),
    "bare": ("", "%s"),
}

vectors = []


def add(scheme, body, key, before, encode, header, written, others):
    digest = hmac.new(KEYS[key], before.encode() + BODIES[body], hashlib.sha256).digest()
    vectors.append(
        {
            "scheme": scheme,
            "body": body,
            "bodyBase64": base64.b64encode(BODIES[body]).decode(),
            "headers": {header: written % encode(digest), **others},
        }
    )


for body in BODIES:
    for key in KEYS:
        for shape, (before, written) in SHAPES.items():
            for encoding, encode in ENCODINGS.items():
                others = {"x-webhook-timestamp": ISO} if shape == "v1-timestamp" else {}
                add(f"{shape}-{encoding}-{key}", body, key, before, encode, "x-webhook-signature", written, others)
        b64 = ENCODINGS["base64"]
        add(f"standard-webhooks-{key}", body, key, f"{TRACE_ID}.{T}.", b64, "webhook-signature", "v1,%s", HEADERS)
        add(f"x-standard-webhooks-{key}", body, key, f"{TRACE_ID}.{ISO}.", b64, "x-webhook-signature", "v1,%s", X_HEADERS)

print(
    json.dumps(
        {
            "computedBy": "python3 test/signature/vectors.py",
            "secret": SECRET,
            "traceId": TRACE_ID,
            "timestamp": ISO,
            "vectors": vectors,
        },
        indent=2,
    )
)
