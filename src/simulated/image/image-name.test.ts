import { expect, test } from "vitest";
import { nameImage } from "./image-name.ts";

const digest = `sha256:${"ab".repeat(32)}`;

test.each([
  ["busybox", "docker.io/library/busybox", "latest"],
  ["127.0.0.1:5000/app", "127.0.0.1:5000/app", "latest"],
  [`quay.io/a/b:tag@${digest}`, "quay.io/a/b", ""],
])("%s", (text, repository, tag) => {
  expect(nameImage(text)).toMatchObject({ repository, tag });
});

test("digests are stable, differ by name, and are taken where they are given", () => {
  expect(nameImage("busybox").digest).toBe(nameImage("docker.io/library/busybox:latest").digest);
  expect(nameImage("busybox").digest).not.toBe(nameImage("busybox:1").digest);
  expect(nameImage(`busybox@${digest}`).digest).toBe(digest);
});

test.each(["", "Upper", "busybox@sha256:12", "x".repeat(600)])("no name: %j", (text) => {
  expect(() => nameImage(text)).toThrow(/is not an image reference/);
});
