import { expect, test } from "vitest";
import { applyDefaultTag } from "./apply-default-tag.ts";

const digest = `sha256:${"ab".repeat(32)}`;

test.each([
  ["busybox", "busybox:latest"],
  ["busybox:1", "busybox:1"],
  ["127.0.0.1:5000/app", "127.0.0.1:5000/app:latest"],
  [`busybox@${digest}`, `busybox@${digest}`],
  ["docker.io/library/busybox", "docker.io/library/busybox:latest"],
])("the runtime is asked for %s as %s", (image, asked) => {
  expect(applyDefaultTag(image)).toBe(asked);
});

test.each([
  ["a b", '"a b": invalid reference format'],
  ["BUSYBOX", '"BUSYBOX": invalid reference format: repository name must be lowercase'],
  // Quoted as Go does.
  ['a"\n', '"a\\"\\n": invalid reference format'],
])("refuses %j", (image, why) => {
  expect(() => applyDefaultTag(image)).toThrow(new Error(`couldn't parse image reference ${why}`));
});
