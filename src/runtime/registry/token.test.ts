import { expect, test } from "vitest";
import { parseChallenge } from "./token.ts";

test.each([
  [undefined, undefined],
  ["", undefined],
  ["Negotiate", undefined],
  ['Basic realm="x"', { kind: "basic" }],
  [
    'Bearer realm="https://auth.docker.io/token",service="registry.docker.io",scope="repository:library/busybox:pull"',
    {
      kind: "bearer",
      realm: "https://auth.docker.io/token",
      service: "registry.docker.io",
      scope: "repository:library/busybox:pull",
    },
  ],
  ['bearer realm="http://a/t", service=plain', { kind: "bearer", realm: "http://a/t", service: "plain" }],
  ['Basic realm="x", Bearer realm="https://a/t"', { kind: "bearer", realm: "https://a/t" }],
  ['Bearer realm="https://a/t?x=\\"y\\""', { kind: "bearer", realm: 'https://a/t?x="y"' }],
  ["Bearer error=invalid", undefined],
])("%s", (header, expected) => {
  expect(parseChallenge(header)).toEqual(expected);
});

test("ignores a header above the length limit", () => {
  expect(parseChallenge(`Bearer realm="https://auth.example/",x="${"a".repeat(5_000)}"`)).toBeUndefined();
});
