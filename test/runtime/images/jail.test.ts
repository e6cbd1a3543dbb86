import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { emptyArchiveEnd, formatHeader } from "../../../src/runtime/snapshots/tar-writer.ts";
import { createUnpackPool, unpackCommand } from "../../../src/runtime/snapshots/unpack-pool.ts";
import { unpackProgram } from "../../support/programs/unpack-program.ts";

let dataDir: string;

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), "kindling-jail-"));
  for (const name of ["content", "staging"]) mkdirSync(join(dataDir, name));
});
afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

/** Mount points and options as the jailed process sees them. */
function mountsInJail(): { point: string; options: string[] }[] {
  const readMounts = (pid: string) => {
    try {
      return readFileSync(`/proc/${pid}/mountinfo`, "utf8");
    } catch {
      return "";
    }
  };
  const own = readMounts("self");
  const info = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(readMounts)
    .find((text) => text !== own && text.includes(` ${dataDir}/staging `) && !text.includes(" /old "));
  return (info ?? "")
    .trim()
    .split("\n")
    .map((line) => {
      const fields = line.split(" ");
      return { point: fields[4] ?? "", options: (fields[5] ?? "").split(",") };
    });
}

describe.skipIf(process.getuid?.() !== 0)("the unpack process", () => {
  test("has its own root, in which only the staging directory is writable", async () => {
    const { argv } = await unpackCommand({ dataDir, program: await unpackProgram() });
    let ready: (facts: { jailed: boolean }) => void = () => {};
    const started = new Promise<{ jailed: boolean }>((resolve) => {
      ready = resolve;
    });
    const pool = createUnpackPool({ command: argv, onReady: (facts) => ready(facts) });
    pool.warm();
    try {
      expect(await started).toMatchObject({ jailed: true });
      const writable = mountsInJail()
        .filter(({ options }) => options.includes("rw"))
        .map(({ point }) => point);
      expect(writable.sort()).toEqual(["/proc", join(dataDir, "staging")].sort());
    } finally {
      await pool.close();
    }
  });

  test("can create whiteouts, opaque directories and extended attributes", async () => {
    const { argv } = await unpackCommand({ dataDir, program: await unpackProgram() });
    const [blob, staging] = [join(dataDir, "content/blob"), join(dataDir, "staging/one")];
    const xattrs = new Map([["user.note", Buffer.from("hello")]]);
    const names = ["noted\xff", ".wh.gone\xff", "opaque/.wh..wh..opq"];
    const headers = names.map((name) => formatHeader({ name, type: "file", xattrs }));
    writeFileSync(blob, Buffer.concat([...headers, emptyArchiveEnd]));
    mkdirSync(staging);
    const pool = createUnpackPool({ command: argv });
    try {
      const limits = { maxBytes: 1_000_000, maxEntries: 10 };
      const request = { blob, name: "layer", staging, limits };
      const facts = await pool.unpack(request, new AbortController().signal);
      expect(facts).toMatchObject({ skipped: [], whiteouts: ["gone\xff"], opaque: ["opaque"] });
      const args = ["-c", "--xattrs", "--xattrs-include=*", "-C", join(staging, "fs"), "."];
      const packed = execFileSync("tar", args).toString("latin1");
      expect(packed).toContain("SCHILY.xattr.user.note=hello");
      expect(packed).toContain("SCHILY.xattr.trusted.overlay.opaque=y");
    } finally {
      await pool.close();
    }
  });
});
