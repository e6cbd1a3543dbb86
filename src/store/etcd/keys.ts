import type { Entry } from "../store.ts";
import type { KeyValue } from "./generated/etcd.ts";

/** Our keys inside etcd's: each one behind a prefix, so that one etcd can serve several stores. */
export interface EtcdKeys {
  toEtcd(key: string): Buffer;
  toEntry(kv: KeyValue): Entry;
  /** All keys that start with `prefix`, or those of them behind `after`. */
  range(prefix: string, after?: string): KeyRange;
}

interface KeyRange {
  key: Buffer;
  rangeEnd: Buffer;
}

/** As a start the first of all keys, as an end the end of them. */
const zero = Buffer.of(0);

export function createEtcdKeys(keyPrefix: string): EtcdKeys {
  const skip = Buffer.byteLength(keyPrefix);
  const toEtcd = (key: string) => Buffer.from(keyPrefix + key);

  return {
    toEtcd,
    toEntry: ({ key, value, modRevision }) => ({
      key: key.toString("utf8", skip),
      value,
      revision: modRevision,
    }),
    range(prefix, after) {
      const start = toEtcd(after === undefined || after < prefix ? prefix : `${after}\0`);
      return { key: start.length === 0 ? zero : start, rangeEnd: endOf(toEtcd(prefix)) };
    },
  };
}

/** The first key behind all those that start with `prefix`. In UTF-8 no byte is the highest, so each has a next. */
function endOf(prefix: Buffer): Buffer {
  const last = prefix.at(-1);
  return last === undefined ? zero : Buffer.concat([prefix.subarray(0, -1), Buffer.of(last + 1)]);
}
