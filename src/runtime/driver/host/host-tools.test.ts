import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { expect, it } from "vitest";
import { openTools, parseLdd, versionOf } from "./host-tools.ts";

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

it("makes the tools once, and keeps older ones while containers enter by them", async () => {
  const stateDir = mkdtempSync(join(tmpdir(), "kindling-tools-"));
  try {
    mkdirSync(join(stateDir, "carried-tools"));
    const dir = await openTools(stateDir, { inUse: true });
    for (const name of ["setpriv", "env", "ld.so"]) expect(existsSync(join(dir, name)), name).toBe(true);
    expect(readdirSync(stateDir).sort()).toEqual(["carried-tools", basename(dir)]);
    writeFileSync(join(dir, "kept"), "");
    expect(await openTools(stateDir, { inUse: false })).toBe(dir);
    expect(readdirSync(stateDir)).toEqual([basename(dir)]);
    expect(existsSync(join(dir, "kept"))).toBe(true);
  } finally {
    rmSync(stateDir, { recursive: true });
  }
});

it("another version of a program is another version of the tools", () => {
  const folder = mkdtempSync(join(tmpdir(), "kindling-tools-"));
  const program = join(folder, "setpriv");
  try {
    const missing = versionOf([program]);
    writeFileSync(program, "one");
    utimesSync(program, 1, 1);
    const first = versionOf([program]);
    expect(versionOf([program])).toBe(first);
    utimesSync(program, 2, 2);
    expect(new Set([missing, first, versionOf([program])]).size).toBe(3);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
