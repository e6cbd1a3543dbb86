import type { Entry } from "../store.ts";
import type { KeyValue } from "./generated/etcd.ts";

/** Maps store keys to etcd keys with a prefix, so that one etcd can serve several stores. */
export interface EtcdKeys {
  toEtcd(key: string): Buffer;
  toEntry(kv: KeyValue): Entry;
  /** Range of all keys that start with `prefix`, or of those after `after`. */
  range(prefix: string, after?: string): KeyRange;
}

interface KeyRange {
  key: Buffer;
  rangeEnd: Buffer;
}

/** In etcd a single zero byte means the first key as start, and no limit as end. */
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

/** First key after all keys with the prefix. UTF-8 has no byte 0xff, so incrementing the last byte cannot overflow. */
function endOf(prefix: Buffer): Buffer {
  const last = prefix.at(-1);
  return last === undefined ? zero : Buffer.concat([prefix.subarray(0, -1), Buffer.of(last + 1)]);
}
