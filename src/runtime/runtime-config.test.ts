import { expect, test } from "vitest";
import { noConfig, parseRuntimeConfig } from "./runtime-config.ts";

test("parses an empty file as the default configuration", () => {
  expect(parseRuntimeConfig("", "f")).toEqual(noConfig);
});

test("parses handlers, registries and pinned images", () => {
  const text = "handlers: { crun: crun, light: host }\nplainHttp: [registry.lan]\npinnedImages: [busybox]\n";
  const { handlers, registries, pinnedImages } = parseRuntimeConfig(text, "f");
  expect([...pinnedImages]).toEqual(["docker.io/library/busybox:latest"]);
  expect([...handlers]).toEqual([
    ["crun", "crun"],
    ["light", "host"],
  ]);
  expect([...registries.plainHttp]).toEqual(["registry.lan"]);
});

test.each([
  ["[]", "must be a mapping"],
  ["mirror: {}", 'unknown field "mirror"; there are mirrors, plainHttp'],
  ["{", "config.yaml: "],
  ["mirrors: { docker.io: https://m }", "mirrors.docker.io must be a list"],
  ["mirrors: { docker.io: [mirror.lan] }", '"mirror.lan" must begin with http'],
  ["mirrors: []", "mirrors must map"],
  ["plainHttp: yes", "plainHttp must be a list"],
  ["certificateAuthorities: { r.lan: [a] }", "certificateAuthorities.r.lan must be the path"],
  ["certificateAuthorities: { r.lan: ca.pem }", "certificateAuthorities.r.lan must be the path"],
  ["handlers: [runc]", "handlers must map names"],
  ["handlers: { ../x: runc }", '"../x" must be lower-case'],
  ["handlers: { x: 5 }", "handlers.x must be the name or path"],
  ["pinnedImages: busybox", "pinnedImages must be a list"],
  ["pinnedImages: [UPPER CASE]", "pinnedImages: "],
])("rejects %s: %s", (text, why) => {
  expect(() => parseRuntimeConfig(text, "config.yaml")).toThrow(why);
});
