import { expect, it } from "vitest";
import { parseLdd } from "./host-tools.ts";

it("finds libraries and the loader in ldd's words, of glibc and of musl", () => {
  const glibc = `\tlinux-vdso.so.1 (0x00007f30a7c35000)
\tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f30a7a26000)
\t/lib64/ld-linux-x86-64.so.2 (0x00007f30a7c37000)
`;
  expect(parseLdd(glibc)).toEqual(["/lib/x86_64-linux-gnu/libc.so.6", "/lib64/ld-linux-x86-64.so.2"]);
  const musl =
    "\t/lib/ld-musl-x86_64.so.1 (0x7f)\n\tlibc.musl-x86_64.so.1 => /lib/ld-musl-x86_64.so.1 (0x7f)\n";
  expect(new Set(parseLdd(musl))).toEqual(new Set(["/lib/ld-musl-x86_64.so.1"]));
  expect(parseLdd("\tnot a dynamic executable\n")).toEqual([]);
});
