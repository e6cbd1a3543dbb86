import { describe, expect, test } from "vitest";
import { formatReference, parseReference } from "./reference.ts";

const digest = `sha256:${"0123456789abcdef".repeat(4)}`;

test.each([
  ["busybox", "docker.io/library/busybox:latest"],
  ["busybox:1.36", "docker.io/library/busybox:1.36"],
  ["user/app", "docker.io/user/app:latest"],
  ["index.docker.io/library/busybox", "docker.io/library/busybox:latest"],
  ["docker.io/busybox", "docker.io/library/busybox:latest"],
  ["registry.k8s.io/pause:3.10", "registry.k8s.io/pause:3.10"],
  ["localhost/app", "localhost/app:latest"],
  ["localhost:5000/app:v1", "localhost:5000/app:v1"],
  ["127.0.0.1:5000/a/b/c", "127.0.0.1:5000/a/b/c:latest"],
  ["[::1]:5000/app", "[::1]:5000/app:latest"],
  [`busybox@${digest}`, `docker.io/library/busybox@${digest}`],
  [`quay.io/x/y:tag@${digest}`, `quay.io/x/y:tag@${digest}`],
])("%s is %s", (text, expected) => {
  expect(formatReference(parseReference(text))).toBe(expected);
});

describe("refuses", () => {
  test.each([
    [""],
    ["UPPER"],
    ["a//b"],
    ["a/../b"],
    ["app:"],
    ["app:ta g"],
    [`app:${"t".repeat(129)}`],
    ["app@sha256:1234"],
    ["app@md5:d41d8cd98f00b204e9800998ecf8427e"],
    ["-host.io/app"],
    ["host.io:999999/app"],
    ["host.io/"],
    ["x".repeat(256)],
    ["http://host.io/app"],
  ])("%j", (text) => {
    expect(() => parseReference(text)).toThrow(expect.objectContaining({ code: "invalidReference" }));
  });
});
