import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** What is known of each pod's network, one JSON file per pod: it outlives the daemon. */
export interface PodRecords<T> {
  /** Undefined when there is none, or none that can be read. */
  read(podId: string): Promise<T | undefined>;
  /** As a whole or not at all. One at a time for one pod. */
  write(podId: string, record: T): Promise<void>;
  remove(podId: string): Promise<void>;
  /** Also pods whose record cannot be read. */
  ids(): Promise<readonly string[]>;
}

export function createPodRecords<T>(
  directory: string,
  parse: (value: unknown) => T | undefined,
): PodRecords<T> {
  const suffix = ".json";
  const temporarySuffix = ".json.new";
  const pathOf = (podId: string) => join(directory, podId + suffix);
  // Of the pod too: what a kill leaves half written is found, and removed, with it.
  const temporaryPathOf = (podId: string) => join(directory, podId + temporarySuffix);

  return {
    async read(podId) {
      const text = await readFile(pathOf(podId), "utf8").catch(() => undefined);
      if (text === undefined) return undefined;
      try {
        return parse(JSON.parse(text));
      } catch {
        return undefined;
      }
    },
    async write(podId, record) {
      await mkdir(directory, { recursive: true });
      await writeFile(temporaryPathOf(podId), JSON.stringify(record));
      await rename(temporaryPathOf(podId), pathOf(podId));
    },
    async remove(podId) {
      await rm(temporaryPathOf(podId), { force: true });
      await rm(pathOf(podId), { force: true });
    },
    async ids() {
      const names = await readdir(directory).catch(() => []);
      const ids = names.map((name) => name.replace(/\.json(\.new)?$/, ""));
      return [...new Set(ids)];
    },
  };
}
