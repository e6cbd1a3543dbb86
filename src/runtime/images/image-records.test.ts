import { expect, test } from "vitest";
import { findImage } from "./image-records.ts";
import type { Image } from "./images.ts";

const digest = `sha256:${"d".repeat(64)}`;
const image = (id: string, repoTags: string[], repoDigests: string[] = []) =>
  ({ id: `sha256:${id.repeat(64)}`, repoTags, repoDigests }) as unknown as Image;
const images = [
  image("a", ["docker.io/library/busybox:latest"], [`docker.io/library/busybox@${digest}`]),
  image("b", ["127.0.0.1:5000/app:v1"]),
];

test.each([
  ["busybox", 0],
  ["busybox:latest", 0],
  ["docker.io/library/busybox", 0],
  [`busybox@${digest}`, 0],
  [`busybox:other@${digest}`, 0],
  [`sha256:${"a".repeat(64)}`, 0],
  ["b".repeat(64), 1],
  ["b".repeat(12), 1],
  ["127.0.0.1:5000/app:v1", 1],
  ["busybox:1", undefined],
  ["app:v1", undefined],
  [`app@${digest}`, undefined],
  ["Not A Reference", undefined],
])("%s", (text, index) => {
  expect(findImage(images, text)).toBe(index === undefined ? undefined : images[index]);
});
