import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { temporaryFolder } from "../files/temporary-folder.ts";

/** Files on the node, at `/records` in containers, that these write to and that outlive them. */
export interface Records {
  readonly folder: string;
  /** For the container, and for its pod. */
  readonly mount: object;
  readonly volume: object;
  lines(file: string): Promise<string[]>;
}

export function useRecords(): Records {
  const folder = temporaryFolder();
  return {
    folder,
    mount: { volumeMounts: [{ name: "records", mountPath: "/records" }] },
    volume: { volumes: [{ name: "records", hostPath: { path: folder } }] },
    lines: async (file) =>
      (await readFile(join(folder, file), "utf8").catch(() => "")).split("\n").filter(Boolean),
  };
}
