import { expect, test } from "vitest";
import { findImage, type ImageStore, imageOf, nameImage } from "./image-store.ts";

test("finds an image by reference, digest, id and id prefix", () => {
  const image = imageOf("busybox:1.36", 5);
  const images: ImageStore = new Map([[image.id, image]]);
  const [byDigest = ""] = image.repoDigests;
  const names = [
    "busybox:1.36",
    "docker.io/library/busybox:1.36",
    byDigest,
    image.id,
    image.id.slice("sha256:".length),
    image.id.slice(0, 20),
  ];
  for (const name of names) expect(findImage(images, name), name).toBe(image);
  for (const name of ["busybox", "", "sha256:", "NO NAME"]) expect(findImage(images, name)).toBeUndefined();
});

const digest = `sha256:${"ab".repeat(32)}`;

test.each([
  ["busybox", "docker.io/library/busybox", "latest"],
  ["127.0.0.1:5000/app", "127.0.0.1:5000/app", "latest"],
  [`quay.io/a/b:tag@${digest}`, "quay.io/a/b", ""],
])("%s", (text, repository, tag) => {
  expect(nameImage(text)).toMatchObject({ repository, tag });
});

test("digests are deterministic, differ by name, and are kept if given", () => {
  expect(nameImage("busybox").digest).toBe(nameImage("docker.io/library/busybox:latest").digest);
  expect(nameImage("busybox").digest).not.toBe(nameImage("busybox:1").digest);
  expect(nameImage(`busybox@${digest}`).digest).toBe(digest);
});

test.each(["", "Upper", "busybox@sha256:12", "x".repeat(600)])("rejects the name %j", (text) => {
  expect(() => nameImage(text)).toThrow(/is not an image reference/);
});
