import { invalidArchive, shown } from "./tar-header.ts";

const maxPathLength = 4_096;

/**
 * An entry's name as a path below the root: no leading slash, no `.` parts. Names that climb with `..` are refused:
 * no honest tool writes them.
 */
export function cleanEntryPath(name: string): string {
  if (name.includes("\0")) throw invalidArchive("has a name with a NUL byte");
  if (name.length > maxPathLength) throw invalidArchive(`has a name of ${name.length} bytes`);
  const parts = name.split("/").filter((part) => part !== "" && part !== ".");
  if (parts.includes("..")) throw invalidArchive(`has an entry that leaves the root: ${shown(name)}`);
  return parts.join("/");
}

export type EntryMeaning =
  | { readonly kind: "plain" }
  /** The path below the layers underneath is gone. */
  | { readonly kind: "whiteout"; readonly path: string }
  /** What the layers underneath have in the directory is hidden. */
  | { readonly kind: "opaque"; readonly directory: string }
  /** aufs's own files: nothing of the image. */
  | { readonly kind: "ignored" };

/** What `.wh.` names mean, by the image specification. */
export function meaningOf(path: string): EntryMeaning {
  const slash = path.lastIndexOf("/");
  const directory = slash === -1 ? "" : path.slice(0, slash);
  const name = path.slice(slash + 1);
  if (!name.startsWith(".wh.")) return { kind: "plain" };
  if (name === ".wh..wh..opq") return { kind: "opaque", directory };
  if (name.startsWith(".wh..wh.")) return { kind: "ignored" };
  const hidden = name.slice(".wh.".length);
  if (hidden === "" || hidden === "." || hidden === "..") {
    throw invalidArchive(`has a whiteout that names nothing: ${shown(path)}`);
  }
  return { kind: "whiteout", path: directory === "" ? hidden : `${directory}/${hidden}` };
}
