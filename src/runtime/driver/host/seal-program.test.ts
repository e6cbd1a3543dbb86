import { expect, test } from "vitest";
import { sealProgram } from "./seal-program.ts";

test("leads every name that the loader would look up in the image to the carried directory, in its place", () => {
  const program = Buffer.from(
    "a\0/etc/ld.so.preload\0b\0/etc/nsswitch.conf\0/var/run/nscd/so.dC/etc/ld.so.preload\0",
  );
  const sealed = sealProgram(program);
  expect(sealed?.toString()).toBe(
    "a\0/dev/.kindling/no-\0b\0/dev/.kindling/nss\0/dev/.kindling/n.dC/dev/.kindling/no-\0",
  );
  expect(sealed).toHaveLength(program.length);
});

test("leaves a program alone that looks nothing up", () => {
  expect(sealProgram(Buffer.from("/etc/passwd\0"))).toBeUndefined();
});
