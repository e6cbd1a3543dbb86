import { Buffer } from "node:buffer";
import { posix } from "node:path";
import { messageOf } from "../../lib/message-of.ts";

export interface ProjectedFile {
  readonly data: Buffer;
  readonly mode: number;
  /** Owner. Defaults to the kubelet's user. */
  readonly uid?: number;
}

/** Files of a volume by relative path. */
export type Payload = ReadonlyMap<string, ProjectedFile>;

const maxNameBytes = 255;
const maxPathBytes = 4096;

/** Normalizes the paths. Throws if one would leave the volume or conflict with the names of the atomic writer. */
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
  /** Keys to use. Defaults to all keys under their own names. */
  readonly items?: readonly { readonly key: string; readonly path: string; readonly mode?: number }[];
  readonly defaultMode?: number;
  readonly optional?: boolean;
}

/** The API's default mode. */
export const usualMode = 0o644;

/** Returns the files for the selected keys of a ConfigMap or Secret. */
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

export interface CollectedErrors {
  /** Runs the function and collects its error. */
  try(attempt: () => void): void;
  add(error: unknown): void;
  /** Throws one error with all collected messages, joined as upstream does. Does nothing if there are none. */
  throwAny(): void;
}

export function collectErrors(): CollectedErrors {
  const messages = new Set<string>();
  const add = (error: unknown) => void messages.add(messageOf(error));
  return {
    try(attempt) {
      try {
        attempt();
      } catch (error) {
        add(error);
      }
    },
    add,
    throwAny() {
      if (messages.size === 0) return;
      const [first = ""] = messages;
      throw new Error(messages.size === 1 ? first : `[${[...messages].join(", ")}]`);
    },
  };
}
