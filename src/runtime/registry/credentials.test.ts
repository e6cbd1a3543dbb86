import { expect, test } from "vitest";
import { chooseCredential, endpointsFor, parseDockerConfig, parseRegistries } from "./credentials.ts";

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

const config = parseRegistries(
  {
    mirrors: { "docker.io": ["https://mirror.lan", "http://10.0.0.2:5000/proxy/"] },
    plainHttp: ["registry.lan:5000"],
  },
  (why) => new Error(why),
);

test.each([
  ["quay.io", ["https://quay.io/v2/"]],
  ["127.0.0.1:5000", ["http://127.0.0.1:5000/v2/"]],
  ["localhost:5000", ["http://localhost:5000/v2/"]],
  ["[::1]:5000", ["http://[::1]:5000/v2/"]],
  ["127.example.com", ["https://127.example.com/v2/"]],
  ["registry.lan:5000", ["http://registry.lan:5000/v2/"]],
  [
    "docker.io",
    ["https://mirror.lan/v2/", "http://10.0.0.2:5000/proxy/v2/", "https://registry-1.docker.io/v2/"],
  ],
])("%s is at %j", (host, expected) => {
  expect(endpointsFor(host, config).map(({ baseUrl }) => baseUrl.href)).toEqual(expected);
});

test.each([
  ["another host", "docker.io", "https://mirror.lan", "docker.io"],
  [
    "another port of the registry's host",
    "registry.lan:5000",
    "http://registry.lan:5001",
    "registry.lan:5000",
  ],
  ["the registry's own host", "registry.lan:5000", "http://registry.lan:5000/proxy", undefined],
  ["docker.io's own host", "docker.io", "https://registry-1.docker.io", undefined],
])("sends the registry's name to a mirror at %s", (_name, host, mirror, namespace) => {
  const registries = parseRegistries({ mirrors: { [host]: [mirror] } }, (why) => new Error(why));
  expect(endpointsFor(host, registries).map((endpoint) => endpoint.namespace)).toEqual([
    namespace,
    undefined,
  ]);
});
