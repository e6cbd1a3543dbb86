import { mkdir, readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { writeFileAtomic } from "../../lib/fs/write-file-atomic.ts";
import { createKeyedMutex } from "../../lib/keyed-mutex.ts";
import type { Logger } from "../../lib/logger.ts";
import { invalidArgument, notFound } from "../errors/runtime-error.ts";

/**
 * Store of objects by ID, in memory and in one JSON file each. Readers see a change at once; it resolves when the file
 * is written. Files are not synced: after a power failure the containers are gone as well, and an unreadable record is
 * deleted.
 */
export interface Records<T extends { readonly id: string }> {
  list(): readonly T[];
  get(id: string): T | undefined;
  /** Finds by ID or prefix of an ID. Throws when nothing or more than one object matches. */
  find(idOrPrefix: string): T;
  put(record: T): Promise<void>;
  /** Changes an existing record; does nothing when it does not exist. */
  change(id: string, change: (record: T) => T): Promise<void>;
  remove(id: string): Promise<void>;
}

interface RecordsOptions<T> {
  readonly directory: string;
  /** Kind of object, for messages: "sandbox", "container". */
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
      // Writes the current record, not the one passed: of two puts in a row, the first write may include the second.
      const latest = records.get(record.id);
      if (!latest) return;
      const file = fileOf(record.id);
      await writeFileAtomic(file, JSON.stringify(encode(latest)), { temporary: `${file}.new` });
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
      logger.warn(`deleting an unreadable ${what} record`, { path, error });
      await rm(path, { force: true });
    }
  }
  return records;
}
