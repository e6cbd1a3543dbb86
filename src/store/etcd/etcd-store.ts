import { setMaxListeners } from "node:events";
import type { MethodDefinition } from "@grpc/grpc-js";
import { type Clock, systemClock } from "../../lib/clock.ts";
import {
  checkKey,
  checkValue,
  type Entry,
  isStoreError,
  type ListPage,
  type Store,
  storeClosed,
} from "../store.ts";
import { createEtcdEndpoint, type EtcdTls } from "./endpoint.ts";
import { type CallKind, createEtcdFailover, expectPart } from "./failover.ts";
import {
  type Compare,
  Compare_CompareResult as CompareResult,
  Compare_CompareTarget as CompareTarget,
  type KeyValue,
  KVService,
  type RangeRequest,
  type RequestOp,
  type ResponseOp,
  type TxnRequest,
  type TxnResponse,
} from "./generated/etcd.ts";
import { createEtcdKeys, type EtcdKeys } from "./keys.ts";
import { createEtcdWatches } from "./watches.ts";

export interface EtcdStoreOptions {
  /** Members of one etcd cluster, such as `https://10.0.0.1:2379`. One is used at a time; the others are for failover. */
  endpoints: readonly string[];
  /** Prefix of all keys. */
  keyPrefix?: string;
  /** TLS settings of `https` endpoints. */
  tls?: EtcdTls;
  /** Timeout of a call, including retries. */
  timeoutMs?: number;
  clock?: Clock;
}

const defaultTimeoutMs = 10_000;
/** Timeout for connecting to one member. */
const maxConnectMs = 3_000;
const singleKey = Buffer.alloc(0);

/** Creates a store in an etcd cluster (3.4 or newer), shared by any number of processes. Connects on the first call. */
export function createEtcdStore(options: EtcdStoreOptions): Store {
  const { tls = {}, timeoutMs = defaultTimeoutMs, clock = systemClock } = options;
  const closing = new AbortController();
  const { signal } = closing;
  // Every call in progress adds a listener.
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
    const { key, rangeEnd = singleKey, limit = 0, revision: atRevision = 0, countOnly = false } = wanted;
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
        // Already compacted, perhaps by another process.
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

// Compare-and-set as etcd transactions. A transaction whose comparison fails reads the key, to return the current entry.

export function createTxn(key: Buffer, value: Buffer): TxnRequest {
  return {
    compare: [compareRevision(key, CompareResult.EQUAL, 0)],
    success: [put(key, value)],
    failure: [read(key)],
  };
}

export function updateTxn(key: Buffer, value: Buffer, ifRevision: number): TxnRequest {
  return { compare: presentAt(key, ifRevision), success: [put(key, value)], failure: [read(key)] };
}

export function deleteTxn(key: Buffer, ifRevision: number): TxnRequest {
  const remove: RequestOp = { request: { $case: "requestDeleteRange", value: { key, prevKv: true } } };
  return { compare: presentAt(key, ifRevision), success: [remove], failure: [read(key)] };
}

export type TxnOutcome =
  | { readonly kind: "won"; readonly revision: number; readonly previous: Entry | undefined }
  | { readonly kind: "lost"; readonly current: Entry | undefined };

export function readTxnOutcome(response: TxnResponse, keys: EtcdKeys): TxnOutcome {
  const [kv] = response.responses.map(keyValueOf);
  const entry = kv && keys.toEntry(kv);
  if (!response.succeeded) return { kind: "lost", current: entry };
  return { kind: "won", revision: expectPart(response.header, "a revision").revision, previous: entry };
}

/** etcd reports revision 0 for a missing key, so an `ifRevision` of 0 alone would match it. */
function presentAt(key: Buffer, revision: number): Compare[] {
  return [
    compareRevision(key, CompareResult.EQUAL, revision),
    compareRevision(key, CompareResult.GREATER, 0),
  ];
}

function compareRevision(key: Buffer, result: CompareResult, value: number): Compare {
  return { key, target: CompareTarget.MOD, result, targetUnion: { $case: "modRevision", value } };
}

function put(key: Buffer, value: Buffer): RequestOp {
  return { request: { $case: "requestPut", value: { key, value, prevKv: true } } };
}

function read(key: Buffer): RequestOp {
  const rangeEnd = Buffer.alloc(0);
  return {
    request: { $case: "requestRange", value: { key, rangeEnd, limit: 0, revision: 0, countOnly: false } },
  };
}

function keyValueOf({ response }: ResponseOp): KeyValue | undefined {
  switch (response?.$case) {
    case "responseRange":
      return response.value.kvs[0];
    case "responsePut":
      return response.value.prevKv;
    case "responseDeleteRange":
      return response.value.prevKvs[0];
  }
}
