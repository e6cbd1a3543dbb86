import { randomBytes } from "node:crypto";
import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** What is known of each pod's network, one JSON file per pod: it outlives the daemon. */
export interface PodRecords<T> {
  /** Undefined when there is none, or none that can be read. */
  read(podId: string): Promise<T | undefined>;
  /** As a whole or not at all. */
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
  const pathOf = (podId: string) => join(directory, podId + suffix);

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
      // Named so that neither list nor another writer takes it for a record.
      const temporary = join(directory, `.${randomBytes(8).toString("hex")}`);
      await writeFile(temporary, JSON.stringify(record));
      await rename(temporary, pathOf(podId));
    },
    remove: (podId) => rm(pathOf(podId), { force: true }),
    async ids() {
      const names = await readdir(directory).catch(() => []);
      return names.filter((name) => name.endsWith(suffix)).map((name) => name.slice(0, -suffix.length));
    },
  };
}
