import { expect, test } from "vitest";
import { sealProgram } from "./seal-program.ts";

test.each([
  ["/etc/ld.so.preload\0", "/dev/.kindling/no-\0"],
  ["/etc/ld.so.cache\0", "/dev/.kindling/c\0"],
  ["/etc/nsswitch.conf\0", "/dev/.kindling/nss\0"],
  ["/var/run/nscd/so.dC", "/dev/.kindling/n.dC"],
  ["/etc/passwd\0", "/dev/zero/x\0"],
  ["/etc/group\0", "/dev/zero/\0"],
])("%j leads elsewhere, wherever it stands, and nothing moves", (name, own) => {
  const sealed = sealProgram(Buffer.from(`a\0${name}b${name}`));
  expect(sealed?.toString()).toBe(`a\0${own}b${own}`);
});

test("leaves a program alone that looks nothing up", () => {
  expect(sealProgram(Buffer.from("/etc/fstab\0"))).toBeUndefined();
});
