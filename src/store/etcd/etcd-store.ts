import { setMaxListeners } from "node:events";
import type { MethodDefinition } from "@grpc/grpc-js";
import { type Clock, systemClock } from "../../lib/clock.ts";
import type { ListPage, Store } from "../store.ts";
import { checkKey, checkValue, isStoreError, storeClosed } from "../store-error.ts";
import type { EtcdTls } from "./channel.ts";
import { createEtcdEndpoint } from "./endpoint.ts";
import { expectPart } from "./etcd-error.ts";
import { type CallKind, createEtcdFailover } from "./failover.ts";
import { KVService, type RangeRequest, type TxnRequest } from "./generated/etcd.ts";
import { createEtcdKeys } from "./keys.ts";
import { createTxn, deleteTxn, readTxnOutcome, type TxnOutcome, updateTxn } from "./txn.ts";
import { createEtcdWatches } from "./watches.ts";

export interface EtcdStoreOptions {
  /** Members of one etcd cluster, such as `https://10.0.0.1:2379`. One is enough; the others are for when it fails. */
  endpoints: readonly string[];
  /** Put before every key. */
  keyPrefix?: string;
  /** For `https` endpoints. */
  tls?: EtcdTls;
  /** How long a call may take, including its attempts while no member answers. */
  timeoutMs?: number;
  clock?: Clock;
}

const defaultTimeoutMs = 10_000;
/** A member that takes longer to connect is passed over. */
const maxConnectMs = 3_000;
const onlyTheKey = Buffer.alloc(0);

/** A store in an etcd cluster of 3.4 or newer, shared by any number of processes. It connects with its first call. */
export function createEtcdStore(options: EtcdStoreOptions): Store {
  const { tls = {}, timeoutMs = defaultTimeoutMs, clock = systemClock } = options;
  const closing = new AbortController();
  const { signal } = closing;
  // Every call under way listens to it.
  setMaxListeners(0, signal);
  const connectTimeoutMs = Math.min(timeoutMs, maxConnectMs);
  const endpoints = options.endpoints.map((url) =>
    createEtcdEndpoint(url, { tls, connectTimeoutMs, signal }),
  );
  const failover = createEtcdFailover(endpoints, { timeoutMs, clock, signal });
  const keys = createEtcdKeys(options.keyPrefix ?? "");
  const watches = createEtcdWatches(failover, keys);
  const writes = new Set<Promise<unknown>>();
  let closed = false;

  function call<Q, A>(kind: CallKind, method: MethodDefinition<Q, A>, request: Q): Promise<A> {
    return failover.call(kind, (endpoint, timeoutMs) => endpoint.call(method, { request, timeoutMs }));
  }

  async function read(wanted: Partial<RangeRequest> & { key: Buffer }): Promise<ListPage> {
    if (closed) throw storeClosed();
    const { key, rangeEnd = onlyTheKey, limit = 0, revision: atRevision = 0, countOnly = false } = wanted;
    const request = { key, rangeEnd, limit, revision: atRevision, countOnly };
    const response = await call("repeatable", KVService.range, request);
    const { revision } = expectPart(response.header, "a revision");
    return { entries: response.kvs.map(keys.toEntry), more: response.more, revision };
  }

  async function write(request: TxnRequest): Promise<TxnOutcome> {
    const writing = call("once", KVService.txn, request);
    writes.add(writing);
    try {
      return readTxnOutcome(await writing, keys);
    } finally {
      writes.delete(writing);
    }
  }

  function checkWrite(key: string, value?: Buffer): void {
    if (closed) throw storeClosed();
    checkKey(key);
    if (value) checkValue(key, value);
  }

  return {
    shared: true,

    async create(key, value) {
      checkWrite(key, value);
      const outcome = await write(createTxn(keys.toEtcd(key), value));
      if (outcome.kind === "won") return { kind: "created", revision: outcome.revision };
      return { kind: "exists", current: expectPart(outcome.current, "the entry that exists") };
    },

    async update(key, value, { ifRevision }) {
      checkWrite(key, value);
      const outcome = await write(updateTxn(keys.toEtcd(key), value, ifRevision));
      if (outcome.kind === "lost") return { kind: "conflict", current: outcome.current };
      const previous = expectPart(outcome.previous, "the entry that was replaced");
      return { kind: "updated", revision: outcome.revision, previous };
    },

    async delete(key, { ifRevision }) {
      checkWrite(key);
      const outcome = await write(deleteTxn(keys.toEtcd(key), ifRevision));
      if (outcome.kind === "lost") return { kind: "conflict", current: outcome.current };
      const previous = expectPart(outcome.previous, "the entry that was deleted");
      return { kind: "deleted", revision: outcome.revision, previous };
    },

    async get(key, { atRevision } = {}) {
      const { entries } = await read({ key: keys.toEtcd(key), revision: atRevision });
      return entries[0];
    },

    async list(prefix, { limit, after, atRevision } = {}) {
      const page = await read({ ...keys.range(prefix, after), limit, revision: atRevision });
      return { ...page, revision: atRevision ?? page.revision };
    },

    async *watch(prefix, options) {
      if (closed) throw storeClosed();
      yield* watches.watch(prefix, options);
    },

    async compact(revision) {
      if (closed) throw storeClosed();
      try {
        await call("repeatable", KVService.compact, { revision });
      } catch (error) {
        // It is compacted already, perhaps by another process.
        if (!isStoreError(error, "compacted")) throw error;
      }
    },

    async currentRevision() {
      const { revision } = await read({ key: keys.toEtcd("/"), countOnly: true });
      return revision;
    },

    async close() {
      closed = true;
      await Promise.allSettled(writes);
      closing.abort(storeClosed());
      await watches.ended();
    },
  };
}
