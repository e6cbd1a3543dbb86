import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { expect, it, test } from "vitest";
import { checkPrograms, openTools, parseLdd, sealProgram, versionOf } from "./host-tools.ts";

it("finds libraries and the loader in the output of ldd of glibc and musl", () => {
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

it("creates the tools once, and keeps older ones while containers use them", async () => {
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

it("changes the version of the tools with that of a program", () => {
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

const without = (...missing: string[]) => {
  return (name: string) => (missing.includes(name) ? undefined : `/usr/bin/${name}`);
};

it("accepts a machine with all programs", () => {
  expect(() => checkPrograms(without())).not.toThrow();
});

it.each([
  [
    ["ldd"],
    "the host driver needs ldd, not installed here: apt-get install libc-bin, or your system's packages that have it",
  ],
  [
    ["nsenter", "unshare", "script"],
    /needs unshare, nsenter, script, not installed here: apt-get install util-linux bsdutils, .* have them$/,
  ],
])("reports missing programs and their packages: %j", (missing, message) => {
  expect(() => checkPrograms(without(...missing))).toThrow(message);
});

test.each([
  ["/etc/ld.so.preload\0", "/dev/.kindling/no-\0"],
  ["/etc/ld.so.cache\0", "/dev/.kindling/c\0"],
  ["/etc/nsswitch.conf\0", "/dev/.kindling/nss\0"],
  ["/var/run/nscd/so.dC", "/dev/.kindling/n.dC"],
  ["/etc/passwd\0", "/dev/zero/x\0"],
  ["/etc/group\0", "/dev/zero/\0"],
])("replaces %j wherever it occurs, at the same length", (name, own) => {
  const sealed = sealProgram(Buffer.from(`a\0${name}b${name}`));
  expect(sealed?.toString()).toBe(`a\0${own}b${own}`);
});

test("returns undefined for a program without such paths", () => {
  expect(sealProgram(Buffer.from("/etc/fstab\0"))).toBeUndefined();
});
