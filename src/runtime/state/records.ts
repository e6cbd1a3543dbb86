import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createKeyedMutex } from "../../lib/keyed-mutex.ts";
import type { Logger } from "../../lib/logger.ts";
import { invalidArgument, notFound } from "../runtime-error.ts";

/**
 * Objects by id, in memory and as one JSON file each. A change is seen by readers at once and resolves when the file
 * is there. Nothing is synced: after a power cut the containers are gone as well, and an unreadable record is
 * forgotten like a half-made one.
 */
export interface Records<T extends { readonly id: string }> {
  list(): readonly T[];
  get(id: string): T | undefined;
  /** By id or the beginning of one, as people type them. Throws when there is none, or more than one. */
  find(idOrPrefix: string): T;
  put(record: T): Promise<void>;
  /** Changes what is there; does nothing for an object that is gone. */
  change(id: string, change: (record: T) => T): Promise<void>;
  remove(id: string): Promise<void>;
}

interface RecordsOptions<T> {
  readonly directory: string;
  /** In messages: "sandbox", "container". */
  readonly what: string;
  encode(record: T): unknown;
  decode(value: unknown): T;
  readonly logger: Logger;
}

export async function openRecords<T extends { readonly id: string }>(
  options: RecordsOptions<T>,
): Promise<Records<T>> {
  const { directory, what, encode } = options;
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const records = await readRecords(options);
  const writes = createKeyedMutex();
  const fileOf = (id: string) => join(directory, `${id}.json`);

  async function put(record: T): Promise<void> {
    records.set(record.id, record);
    await writes.run(record.id, async () => {
      // What is there now, not what was put: of two puts in a row the first write may already have the second.
      const latest = records.get(record.id);
      if (!latest) return;
      const temporary = `${fileOf(record.id)}.new`;
      await writeFile(temporary, JSON.stringify(encode(latest)), { mode: 0o600 });
      await rename(temporary, fileOf(record.id));
    });
  }

  return {
    list: () => [...records.values()],
    get: (id) => records.get(id),
    find(idOrPrefix) {
      const exact = records.get(idOrPrefix);
      if (exact) return exact;
      if (idOrPrefix === "") throw invalidArgument(`the ${what}'s id is missing`);
      const matches = [...records.values()].filter(({ id }) => id.startsWith(idOrPrefix));
      if (matches.length > 1)
        throw invalidArgument(`${idOrPrefix} is the beginning of ${matches.length} ${what} ids`);
      const [match] = matches;
      if (!match) throw notFound(what, idOrPrefix);
      return match;
    },
    put,
    async change(id, change) {
      const record = records.get(id);
      if (record) await put(change(record));
    },
    async remove(id) {
      records.delete(id);
      await writes.run(id, () => rm(fileOf(id), { force: true }));
    },
  };
}

async function readRecords<T extends { readonly id: string }>({
  directory,
  what,
  decode,
  logger,
}: RecordsOptions<T>): Promise<Map<string, T>> {
  const records = new Map<string, T>();
  for (const name of await readdir(directory)) {
    const path = join(directory, name);
    if (name.endsWith(".json.new")) await rm(path, { force: true });
    if (!name.endsWith(".json")) continue;
    try {
      const record = decode(JSON.parse(await readFile(path, "utf8")));
      records.set(record.id, record);
    } catch (error) {
      logger.warn(`forgetting an unreadable ${what} record`, { path, error });
      await rm(path, { force: true });
    }
  }
  return records;
}
