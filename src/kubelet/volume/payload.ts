import { Buffer } from "node:buffer";
import { posix } from "node:path";

export interface ProjectedFile {
  readonly data: Buffer;
  readonly mode: number;
  /** Its owner, where that is not the kubelet. */
  readonly uid?: number;
}

/** The files of a volume, by their path in it. */
export type Payload = ReadonlyMap<string, ProjectedFile>;

const maxNameBytes = 255;
const maxPathBytes = 4096;

/** The same payload under clean paths. Throws when one of them could leave the volume or hide the writer's own names. */
export function cleanPayload(payload: Payload): Payload {
  const clean = new Map<string, ProjectedFile>();
  for (const [path, file] of payload) {
    const problem = pathProblem(path);
    if (problem) throw new Error(`invalid path: ${problem}`);
    clean.set(posix.normalize(path).replace(/\/+$/, ""), file);
  }
  return clean;
}

function pathProblem(path: string): string | undefined {
  if (path === "") return 'must not be empty: ""';
  if (path.startsWith("/")) return `must be relative path: ${path}`;
  if (path.includes("\0")) return "must not contain a NUL character";
  if (Buffer.byteLength(path) > maxPathBytes) {
    return `must be less than or equal to ${maxPathBytes} characters`;
  }
  const names = path.split("/");
  if (names.includes("..")) return `must not contain '..': ${path}`;
  if (names.some((name) => Buffer.byteLength(name) > maxNameBytes)) {
    return `filenames must be less than or equal to ${maxNameBytes} characters`;
  }
  const first = posix.normalize(path).split("/")[0] ?? "";
  if (first.startsWith("..")) return `must not start with '..': ${path}`;
  if (first === ".") return `must name a file: ${path}`;
  return undefined;
}

export interface KeySelection {
  /** All keys under their own names unless given. */
  readonly items?: readonly { readonly key: string; readonly path: string; readonly mode?: number }[];
  readonly defaultMode?: number;
  readonly optional?: boolean;
}

/** What the API sets when a manifest says nothing. */
export const usualMode = 0o644;

/** The files that keys of a config map or a secret become. */
export function selectKeys(
  data: ReadonlyMap<string, Buffer>,
  selection: KeySelection,
  missingKey: (key: string) => string,
): Payload {
  const defaultMode = selection.defaultMode ?? usualMode;
  const payload = new Map<string, ProjectedFile>();
  if (!selection.items?.length) {
    for (const [name, bytes] of data) payload.set(name, { data: bytes, mode: defaultMode });
    return payload;
  }
  for (const { key, path, mode } of selection.items) {
    const bytes = data.get(key);
    if (bytes) payload.set(path, { data: bytes, mode: mode ?? defaultMode });
    else if (!selection.optional) throw new Error(missingKey(key));
  }
  return payload;
}
