import { expect, test } from "vitest";
import { formatImageName, type ImageName, parseImageName } from "./image-name.ts";

const digest = `sha256:${"ab".repeat(32)}`;
const format = "invalid reference format";

test.each<[text: string, parts: ImageName, inFull: string]>([
  [
    "busybox",
    { host: "docker.io", repository: "library/busybox", tag: "latest" },
    "docker.io/library/busybox:latest",
  ],
  [
    "busybox:1.36",
    { host: "docker.io", repository: "library/busybox", tag: "1.36" },
    "docker.io/library/busybox:1.36",
  ],
  ["team/app", { host: "docker.io", repository: "team/app", tag: "latest" }, "docker.io/team/app:latest"],
  [
    "docker.io/busybox",
    { host: "docker.io", repository: "library/busybox", tag: "latest" },
    "docker.io/library/busybox:latest",
  ],
  [
    "index.docker.io/busybox",
    { host: "docker.io", repository: "library/busybox", tag: "latest" },
    "docker.io/library/busybox:latest",
  ],
  [
    "registry.k8s.io/pause:3.10",
    { host: "registry.k8s.io", repository: "pause", tag: "3.10" },
    "registry.k8s.io/pause:3.10",
  ],
  ["localhost/app", { host: "localhost", repository: "app", tag: "latest" }, "localhost/app:latest"],
  [
    "127.0.0.1:5000/a/b:v1",
    { host: "127.0.0.1:5000", repository: "a/b", tag: "v1" },
    "127.0.0.1:5000/a/b:v1",
  ],
  ["[::1]:5000/app", { host: "[::1]:5000", repository: "app", tag: "latest" }, "[::1]:5000/app:latest"],
  ["Registry/app", { host: "Registry", repository: "app", tag: "latest" }, "Registry/app:latest"],
  ["a.io/b__c/d--e.f", { host: "a.io", repository: "b__c/d--e.f", tag: "latest" }, "a.io/b__c/d--e.f:latest"],
  [
    `busybox@${digest}`,
    { host: "docker.io", repository: "library/busybox", digest },
    `docker.io/library/busybox@${digest}`,
  ],
  [
    `quay.io/x/y:1@${digest}`,
    { host: "quay.io", repository: "x/y", tag: "1", digest },
    `quay.io/x/y:1@${digest}`,
  ],
])("%s", (text, parts, inFull) => {
  const name = parseImageName(text);
  expect(name).toEqual(parts);
  expect(formatImageName(parts)).toBe(inFull);
});

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
  ["a/../b", format],
  ["host.io/", format],
  ["-host.io/app", format],
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
  [`busybox@constructor:${"ab".repeat(32)}`, "unsupported digest algorithm"],
  [`busybox@sha256:${"ab".repeat(31)}`, "invalid checksum digest length"],
  [`busybox@sha256:${"AB".repeat(32)}`, "invalid checksum digest format"],
])("rejects an invalid name (%#)", (text, problem) => {
  expect(parseImageName(text)).toEqual({ problem });
});
