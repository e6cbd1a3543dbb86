import { expect, test } from "vitest";
import { endpointsFor, noRegistries, parseRegistriesConfig } from "./registries-config.ts";

const config = parseRegistriesConfig(
  'mirrors: { docker.io: ["https://mirror.lan", "http://10.0.0.2:5000/proxy/"] }\nplainHttp: [registry.lan:5000]\n',
  "registries.yaml",
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

test("an empty file is no configuration", () => {
  expect(parseRegistriesConfig("", "f")).toEqual(noRegistries);
});

test.each([
  ["[]", "must be a mapping"],
  ["mirror: {}", 'unknown field "mirror"'],
  ["mirrors: { docker.io: https://m }", "mirrors.docker.io must be a list"],
  ["mirrors: { docker.io: [mirror.lan] }", '"mirror.lan" must begin with http'],
  ["plainHttp: yes", "plainHttp must be a list"],
  ["{", "registries.yaml: "],
])("%s is refused: %s", (text, why) => {
  expect(() => parseRegistriesConfig(text, "registries.yaml")).toThrow(why);
});
