import { expect, test } from "vitest";
import { chooseCredential, parseDockerConfig } from "./credentials.ts";

const file = parseDockerConfig(
  JSON.stringify({
    auths: {
      "https://index.docker.io/v1/": { auth: Buffer.from("hub:secret:with:colons").toString("base64") },
      "127.0.0.1:5000": { username: "local", password: "pw" },
      "quay.io": { identitytoken: "idt" },
      "broken.io": { auth: "bm9jb2xvbg==" },
    },
  }),
);

test.each([
  ["docker.io", undefined, { kind: "basic", username: "hub", password: "secret:with:colons" }],
  ["127.0.0.1:5000", undefined, { kind: "basic", username: "local", password: "pw" }],
  ["quay.io", undefined, { kind: "identityToken", token: "idt" }],
  ["broken.io", undefined, { kind: "anonymous" }],
  ["other.io", undefined, { kind: "anonymous" }],
  ["quay.io", { username: "me", password: "p" }, { kind: "basic", username: "me", password: "p" }],
  ["quay.io", { registryToken: "t" }, { kind: "registryToken", token: "t" }],
  // Issued for another server.
  ["other.io", { username: "me", serverAddress: "https://quay.io" }, { kind: "anonymous" }],
  [
    "quay.io",
    { username: "me", serverAddress: "https://quay.io/v2/" },
    { kind: "basic", username: "me", password: "" },
  ],
])("%s with %j", (host, request, expected) => {
  expect(chooseCredential(host, request, file)).toEqual(expected);
});

test.each(["", "not json", "[]", "null", '{"auths":3}'])(
  "reads no credentials from a docker config of %j",
  (text) => {
    expect(parseDockerConfig(text).size).toBe(0);
  },
);
