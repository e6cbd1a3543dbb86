import { expect, test } from "vitest";
import { endpointsFor, parseRegistries } from "./registries-config.ts";

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
