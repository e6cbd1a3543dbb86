import { open } from "lmdb";
import { ratePerSecond } from "./load.ts";

const value = Buffer.alloc(1_024, 1);
/** An event has the value before and after, and a header. */
const event = Buffer.alloc(2 * 1_024 + 40, 2);

/** Durable puts with lmdb and nothing around it: what no layer above can be faster than. */
export function openRawLmdb(path: string) {
  const root = open({ path: `${path}.mdb`, overlappingSync: false, encoding: "binary" });
  const present = root.openDB<Buffer, string>({ name: "present", encoding: "binary" });
  const log = root.openDB<Buffer, number>({ name: "log", encoding: "binary" });
  let revision = 0;
  return {
    /** "same": the two rows that our store writes for an update; "one": the value alone. */
    putsPerSecond: (writers: number, { rows }: { rows: "same" | "one" }) =>
      ratePerSecond(writers, (writer) => {
        const key = `/bench/put/${writer}`;
        if (rows === "same") void log.put(++revision, event);
        return present.put(key, value);
      }),
    close: () => root.close(),
  };
}
