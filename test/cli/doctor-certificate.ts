/**
 * A self-signed certificate for calls.example.com and its key, for a receiver behind TLS in tests. Made up: it protects
 * nothing. Valid for a hundred years, made with
 * `openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 36500 -subj /CN=calls.example.com
 * -addext subjectAltName=DNS:calls.example.com -keyout key.pem -out cert.pem`.
 */
export const cert = `-----BEGIN CERTIFICATE-----
MIIBrTCCAVOgAwIBAgIUCx7RpWQOuXe69fegX92QeXXw3CQwCgYIKoZIzj0EAwIw
HDEaMBgGA1UEAwwRY2FsbHMuZXhhbXBsZS5jb20wIBcNMjYxMTIxMTUyODEwWhgP
MjEyNjEwMjgxNTI4MTBaMBwxGjAYBgNVBAMMEWNhbGxzLmV4YW1wbGUuY29tMFkw
EwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE5kLF0nZKKKp+XIE5rq3YkV4uB7uFTSIN
8TTmUoY9yjU9uRh+Levfq/AO9j10/eFHCaRHmsyxNBO/iZ0JTILS/aNxMG8wHQYD
VR0OBBYEFFRDUhoFbPK1DaZnEqigwH8wHmafMB8GA1UdIwQYMBaAFFRDUhoFbPK1
DaZnEqigwH8wHmafMA8GA1UdEwEB/wQFMAMBAf8wHAYDVR0RBBUwE4IRY2FsbHMu
ZXhhbXBsZS5jb20wCgYIKoZIzj0EAwIDSAAwRQIhAPxg2M5+O36Z0rICGl4evHRT
lMn7uyJ1y5DM1oxk3AW5AiB/JUhIywBpjqmJPWpuh/9Yixqu8olSIptwP0i9J4Hr
hQ==
-----END CERTIFICATE-----
`;

export const key = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgnaeWvt3sRfRYKoqZ
nUjLOYIDJNNKC0a2UCp7XxygyZ2hRANCAATmQsXSdkooqn5cgTmurdiRXi4Hu4VN
Ig3xNOZShj3KNT25GH4t69+r8A72PXT94UcJpEeazLE0E7+JnQlMgtL9
-----END PRIVATE KEY-----
`;
