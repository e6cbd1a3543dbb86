import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect } from "vitest";
import type { TarEntry } from "./tar-header.ts";
import { emptyArchiveEnd, formatHeader, pad } from "./tar-writer.ts";
import { type UnpackLimits, type UnpackResult, unpackLayer } from "./unpack-layer.ts";

// Creating devices, owners and opaque directories requires root, as the runtime has it.
export const describeAsRoot = process.getuid?.() === 0 ? describe : describe.skip;

/** Directories that the tests of a file unpack into. Nothing outside may change, whatever an archive contains. */
export function unpackingPlace() {
  let folder = "";
  let umask = 0;
  beforeEach(() => {
    umask = process.umask(0);
    folder = mkdtempSync(join(tmpdir(), "kindling-unpack-"));
    mkdirSync(join(folder, "staging"));
    mkdirSync(join(folder, "outside"));
    writeFileSync(join(folder, "outside/secret"), "untouched");
  });
  afterEach(() => {
    process.umask(umask);
    expect(readdirSync(folder).sort()).toEqual(["blob", "outside", "staging"]);
    expect(readdirSync(join(folder, "outside"))).toEqual(["secret"]);
    expect(readFileSync(join(folder, "outside/secret"), "utf8")).toBe("untouched");
    expect(existsSync("/kindling-escaped")).toBe(false);
    rmSync(folder, { recursive: true, force: true });
  });

  const outside = () => join(folder, "outside");
  const staging = () => join(folder, "staging");
  /** Path in the unpacked layer. */
  const at = (path = "") => join(staging(), "fs", path);
  function unpack(blob: Buffer, limits: Partial<UnpackLimits> = {}): Promise<UnpackResult> {
    writeFileSync(join(folder, "blob"), blob);
    return unpackLayer({
      blob: join(folder, "blob"),
      name: "layer sha256:abc",
      staging: staging(),
      limits: { maxBytes: 50_000_000, maxEntries: 1_000, ...limits },
    });
  }
  return { unpack, outside, staging, at, read: (path: string) => readFileSync(at(path), "utf8") };
}

type Entry = Partial<TarEntry> & Pick<TarEntry, "name"> & { data?: string };

export const file = (name: string, data = "data", rest: Partial<TarEntry> = {}): Entry => ({
  name,
  type: "file",
  data,
  ...rest,
});
export const directory = (name: string, rest: Partial<TarEntry> = {}): Entry => ({
  name,
  type: "directory",
  mode: 0o755,
  ...rest,
});
export const symlink = (name: string, linkName: string): Entry => ({ name, type: "symlink", linkName });
export const hardlink = (name: string, linkName: string): Entry => ({ name, type: "hardlink", linkName });

export function archive(entries: readonly Entry[]): Buffer {
  return Buffer.concat([
    ...entries.flatMap(({ data = "", type = "file", ...entry }) => [
      formatHeader({ ...entry, type, size: type === "file" ? data.length : 0 }),
      pad(Buffer.from(data)),
    ]),
    emptyArchiveEnd,
  ]);
}
