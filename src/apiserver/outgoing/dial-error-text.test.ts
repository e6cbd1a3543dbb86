import { expect, test } from "vitest";
import { dialErrorText } from "./dial-error-text.ts";

test.each([
  ["ECONNREFUSED", "10.0.0.1", "dial tcp 10.0.0.1:10250: connect: connection refused"],
  ["EHOSTUNREACH", "fd00::1", "dial tcp [fd00::1]:10250: connect: no route to host"],
  ["ETIMEDOUT", "10.0.0.1", "dial tcp 10.0.0.1:10250: i/o timeout"],
  ["ENOTFOUND", "node-1", "dial tcp: lookup node-1: no such host"],
  [
    "DEPTH_ZERO_SELF_SIGNED_CERT",
    "10.0.0.1",
    "tls: failed to verify certificate: x509: certificate signed by unknown authority",
  ],
  ["ECONNRESET", "10.0.0.1", "EOF"],
  ["ESOMETHING", "10.0.0.1", "what Node says"],
])("%s", (code, host, expected) => {
  const error = Object.assign(new Error("what Node says"), { code });
  expect(dialErrorText(error, { host, port: 10250 })).toBe(expected);
});
