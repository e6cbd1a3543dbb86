import { type DuplexCall, isGrpcError } from "../../lib/grpc-call.ts";
import { defaultMaxBuffered, type StoreEvent, type WatchOptions } from "../store.ts";
import type { EtcdEndpoint } from "./endpoint.ts";
import { fromEtcdAnswer, isAway } from "./etcd-error.ts";
import type { EtcdFailover } from "./failover.ts";
import { type WatchRequest, type WatchResponse, WatchService } from "./generated/etcd.ts";
import type { EtcdKeys } from "./keys.ts";
import { createEtcdWatcher, type EtcdWatcher } from "./watcher.ts";

/** The watches of one store. They share one stream, which is opened again for all of them when it breaks. */
export interface EtcdWatches {
  watch(prefix: string, options: WatchOptions): AsyncIterable<StoreEvent>;
  /** Resolves once the stream is gone, after the failover's signal aborted. */
  ended(): Promise<void>;
}

export function createEtcdWatches(failover: EtcdFailover<EtcdEndpoint>, keys: EtcdKeys): EtcdWatches {
  const watchers = new Map<number, EtcdWatcher>();
  let lastId = 0;
  let running: Promise<void> | undefined;
  let stream: DuplexCall<WatchRequest, WatchResponse> | undefined;
  /** Those that etcd has not confirmed yet, which it does in the order it was asked. */
  let unconfirmed: EtcdWatcher[] = [];

  async function readStream(endpoint: EtcdEndpoint): Promise<void> {
    stream = endpoint.openStream(WatchService.watch);
    unconfirmed = [];
    for (const watcher of watchers.values()) request(watcher);
    try {
      for await (const response of stream) {
        // A watch that etcd refuses to create is named by its place in the order only.
        const watcher = response.created ? unconfirmed.shift() : watchers.get(response.watchId);
        const error = await watcher?.accept(response);
        if (watcher && error) fail(watcher, error);
      }
    } catch (error) {
      if (isAway(error) || !isGrpcError(error)) throw error;
      failAll(fromEtcdAnswer(error, endpoint.url));
    } finally {
      stream = undefined;
    }
  }

  function request(watcher: EtcdWatcher): void {
    unconfirmed.push(watcher);
    stream?.send(watcher.createRequest());
  }

  function add(watcher: EtcdWatcher): void {
    watchers.set(watcher.id, watcher);
    if (stream) request(watcher);
    running ??= failover.keepRunning(readStream).catch((error: unknown) => {
      running = undefined;
      failAll(error);
    });
  }

  function remove({ id }: EtcdWatcher): void {
    if (watchers.delete(id))
      stream?.send({ requestUnion: { $case: "cancelRequest", value: { watchId: id } } });
  }

  function fail(watcher: EtcdWatcher, error: unknown): void {
    watcher.fail(error);
    remove(watcher);
  }

  function failAll(error: unknown): void {
    for (const watcher of watchers.values()) fail(watcher, error);
  }

  return {
    async *watch(prefix, { fromRevision, signal, maxBuffered = defaultMaxBuffered }) {
      if (signal.aborted) return;
      lastId++;
      const watcher = createEtcdWatcher({ id: lastId, prefix, fromRevision, maxBuffered, keys });
      const end = () => watcher.end();
      signal.addEventListener("abort", end, { once: true });
      add(watcher);
      try {
        for await (const event of watcher.events) {
          if (signal.aborted) return;
          yield event;
        }
      } finally {
        remove(watcher);
        signal.removeEventListener("abort", end);
      }
    },
    ended: async () => running,
  };
}
