import { mkdir, readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { writeFileAtomic } from "../../lib/fs/write-file-atomic.ts";

/** Records of the pods' networks, one JSON file per pod, which survive the daemon. */
export interface PodRecords<T> {
  /** Returns the record; undefined when it is missing or unreadable. */
  read(podId: string): Promise<T | undefined>;
  /** Writes atomically. One call at a time for one pod. */
  write(podId: string, record: T): Promise<void>;
  remove(podId: string): Promise<void>;
  /** IDs of pods with a record, readable or not. */
  ids(): Promise<readonly string[]>;
}

export function createPodRecords<T>(
  directory: string,
  parse: (value: unknown) => T | undefined,
): PodRecords<T> {
  const suffix = ".json";
  const temporarySuffix = ".json.new";
  const pathOf = (podId: string) => join(directory, podId + suffix);
  // Named after the pod too, so that a partly written file is found and removed with the pod.
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
      await writeFileAtomic(pathOf(podId), JSON.stringify(record), { temporary: temporaryPathOf(podId) });
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
