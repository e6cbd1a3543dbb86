import { open } from "lmdb";
import { ratePerSecond } from "./load.ts";

const value = Buffer.alloc(1_024, 1);
/** A log row contains a header and the value, an index row a revision. */
const logRow = Buffer.alloc(1_024 + 40, 2);
const presentRow = Buffer.alloc(16, 3);

/** Durable puts with lmdb alone, the upper bound for every layer above it. */
export function openRawLmdb(path: string) {
  const root = open({ path: `${path}.mdb`, overlappingSync: false, encoding: "binary" });
  const present = root.openDB<Buffer, string>({ name: "present", encoding: "binary" });
  const log = root.openDB<Buffer, number>({ name: "log", encoding: "binary" });
  let revision = 0;
  return {
    /** `same`: the two rows that the store writes per update; `one`: only the value. */
    putsPerSecond: (writers: number, { rows }: { rows: "same" | "one" }) =>
      ratePerSecond(writers, (writer) => {
        const key = `/bench/put/${writer}`;
        if (rows === "one") return present.put(key, value);
        void log.put(++revision, logRow);
        return present.put(key, presentRow);
      }),
    close: () => root.close(),
  };
}
