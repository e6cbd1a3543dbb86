import { expect, test } from "vitest";
import { parseImageName } from "./image-name.ts";

const digest = `sha256:${"ab".repeat(32)}`;

test.each([
  ["busybox", "docker.io/library/busybox", "latest"],
  ["busybox:1.36", "docker.io/library/busybox", "1.36"],
  ["team/app:v1", "docker.io/team/app", "v1"],
  ["registry.k8s.io/pause:3.10", "registry.k8s.io/pause", "3.10"],
  ["127.0.0.1:5000/app", "127.0.0.1:5000/app", "latest"],
  ["localhost/app", "localhost/app", "latest"],
  [`quay.io/a/b:tag@${digest}`, "quay.io/a/b", ""],
])("%s", (text, repository, tag) => {
  expect(parseImageName(text)).toMatchObject({ repository, tag });
});

test("digests are stable, differ by name, and are taken where they are given", () => {
  expect(parseImageName("busybox").digest).toBe(parseImageName("docker.io/library/busybox:latest").digest);
  expect(parseImageName("busybox").digest).not.toBe(parseImageName("busybox:1").digest);
  expect(parseImageName(`busybox@${digest}`).digest).toBe(digest);
});

test.each(["", "Upper", "a b", "busybox:", "busybox@sha256:12", "a//..//b:", "x".repeat(600)])(
  "no name: %j",
  (text) => {
    expect(() => parseImageName(text)).toThrow(/is not an image reference/);
  },
);
