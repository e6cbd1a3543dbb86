import { expect, test } from "vitest";
import { applyDefaultTag, parseImageName } from "./image-name.ts";

const sha256 = `sha256:${"ab".repeat(32)}`;
const none = { tag: "", digest: "" };

test.each([
  ["busybox", { ...none, repository: "docker.io/library/busybox", tag: "latest" }],
  ["busybox:1.36", { ...none, repository: "docker.io/library/busybox", tag: "1.36" }],
  ["team/app", { ...none, repository: "docker.io/team/app", tag: "latest" }],
  ["docker.io/busybox", { ...none, repository: "docker.io/library/busybox", tag: "latest" }],
  ["index.docker.io/busybox", { ...none, repository: "docker.io/library/busybox", tag: "latest" }],
  ["localhost/app", { ...none, repository: "localhost/app", tag: "latest" }],
  ["127.0.0.1:5000/app:v1", { ...none, repository: "127.0.0.1:5000/app", tag: "v1" }],
  ["[::1]:5000/app", { ...none, repository: "[::1]:5000/app", tag: "latest" }],
  ["Registry/app", { ...none, repository: "Registry/app", tag: "latest" }],
  ["a.io/b__c/d--e.f", { ...none, repository: "a.io/b__c/d--e.f", tag: "latest" }],
  [`busybox@${sha256}`, { repository: "docker.io/library/busybox", tag: "", digest: sha256 }],
  [`busybox:1@${sha256}`, { repository: "docker.io/library/busybox", tag: "1", digest: sha256 }],
])("%s", (image, expected) => {
  expect(parseImageName(image)).toEqual(expected);
});

test.each([
  ["busybox", "busybox:latest"],
  ["busybox:1", "busybox:1"],
  ["127.0.0.1:5000/app", "127.0.0.1:5000/app:latest"],
  [`busybox@${sha256}`, `busybox@${sha256}`],
  ["docker.io/library/busybox", "docker.io/library/busybox:latest"],
])("the runtime is asked for %s as %s", (image, asked) => {
  expect(applyDefaultTag(image)).toBe(asked);
});

const format = "invalid reference format";
test.each([
  ["", format],
  [":v1", format],
  ["busy box", format],
  [" busybox", format],
  ["busybox:", format],
  ["busybox:-x", format],
  [`busybox:${"a".repeat(129)}`, format],
  ["a//b", format],
  ["a..b", format],
  ["https://registry.io/app", format],
  ["busybox@sha256:abc", format],
  ["BUSYBOX", `${format}: repository name must be lowercase`],
  ["FOO_bar", `${format}: repository name must be lowercase`],
  ["a.io/Foo:v1", `${format}: repository name must be lowercase`],
  [
    "ab".repeat(32),
    `invalid repository name (${"ab".repeat(32)}), cannot specify 64-byte hexadecimal strings`,
  ],
  ["a".repeat(300), "repository name must not be more than 255 characters"],
  ["a".repeat(1_000_000), "repository name must not be more than 255 characters"],
  [`busybox@md5:${"ab".repeat(16)}`, "unsupported digest algorithm"],
  [`busybox@sha256:${"ab".repeat(31)}`, "invalid checksum digest length"],
  [`busybox@sha256:${"AB".repeat(32)}`, "invalid checksum digest format"],
])("refuses what is no name (%#)", (image, why) => {
  expect(() => parseImageName(image)).toThrow(new Error(`couldn't parse image reference "${image}": ${why}`));
});

test("names are quoted as Go does", () => {
  expect(() => parseImageName('a"\n')).toThrow(`couldn't parse image reference "a\\"\\n": ${format}`);
});
