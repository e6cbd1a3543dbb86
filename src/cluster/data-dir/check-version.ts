import { readdir, readFile } from "node:fs/promises";
import { versionInfo } from "../../api/meta/version.ts";
import { writeFileDurably } from "../../lib/fs/write-file-atomic.ts";
import { dataDirPaths } from "./data-dir-files.ts";

/** Version of the layout, increased when older versions cannot read the directory any more. */
const currentFormat = 1;

export type FoundVersion =
  /** The directory contains no data of Kindling. */
  | { readonly kind: "none" }
  /** The data is from before directories had a version. */
  | { readonly kind: "unmarked" }
  | { readonly kind: "marked"; readonly format: number; readonly writtenBy: string }
  | { readonly kind: "broken" };

export type VersionDecision =
  | { readonly kind: "keep" }
  | { readonly kind: "mark" }
  | { readonly kind: "reject"; readonly why: string };

export function decideVersion(found: FoundVersion, format = currentFormat): VersionDecision {
  switch (found.kind) {
    case "none":
    case "unmarked":
      return { kind: "mark" };
    case "broken":
      return {
        kind: "reject",
        why: "its version.json cannot be read; restore it, or remove the file if this version of Kindling wrote the data",
      };
    case "marked":
      if (found.format > format) {
        return {
          kind: "reject",
          why: `its data are of a newer Kindling (${found.writtenBy}); run that version, or choose another --data-dir`,
        };
      }
      return { kind: found.format === format ? "keep" : "mark" };
  }
}

/** Rejects directories of newer versions before anything is changed, and writes the version into others. */
export async function checkVersion(dataDir: string): Promise<void> {
  const decision = decideVersion(await findVersion(dataDir));
  if (decision.kind === "reject") throw new Error(`${dataDir} cannot be used: ${decision.why}`);
  if (decision.kind === "mark") {
    const mark = { format: currentFormat, writtenBy: versionInfo.gitVersion };
    const text = `${JSON.stringify(mark)}\n`;
    await writeFileDurably(dataDirPaths(dataDir).version, text, { mode: 0o600, existing: "replace" });
  }
}

export async function findVersion(dataDir: string): Promise<FoundVersion> {
  const paths = dataDirPaths(dataDir);
  const text = await readFile(paths.version, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT" && error.code !== "ENOTDIR") throw error;
    return undefined;
  });
  if (text !== undefined) return parseMark(text);
  const names: readonly string[] = await readdir(paths.pki).catch(() => []);
  return { kind: names.includes("ca.key") ? "unmarked" : "none" };
}

function parseMark(text: string): FoundVersion {
  try {
    const { format, writtenBy } = JSON.parse(text);
    if (Number.isSafeInteger(format)) return { kind: "marked", format, writtenBy: String(writtenBy) };
  } catch {
    // Reported as broken below.
  }
  return { kind: "broken" };
}
