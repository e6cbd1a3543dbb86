import { setMaxListeners } from "node:events";
import { afterEach, beforeEach, expect } from "vitest";
import { createEtcdStore, type EtcdStoreOptions } from "../../../src/store/etcd/etcd-store.ts";
import type { Store, StoreEvent } from "../../../src/store/store.ts";
import { type EtcdOptions, type EtcdServer, startEtcd, startEtcdCluster } from "./etcd-server.ts";

/** Servers and stores for the tests of one `describe`, closed and removed after each test. */
export function useEtcd() {
  let servers: EtcdServer[] = [];
  let stores: Store[] = [];
  let abort: AbortController;

  beforeEach(() => {
    abort = new AbortController();
    setMaxListeners(0, abort.signal);
  });
  afterEach(async () => {
    abort.abort();
    await Promise.all(stores.map((store) => store.close()));
    await Promise.all(servers.map((server) => server.remove()));
    stores = [];
    servers = [];
  });

  return {
    async start(options?: EtcdOptions): Promise<EtcdServer> {
      const server = await startEtcd(options);
      servers.push(server);
      return server;
    },

    async startCluster(size: number): Promise<EtcdServer[]> {
      servers = await startEtcdCluster(size);
      return servers;
    },

    open(server: EtcdServer | readonly string[], options?: Partial<EtcdStoreOptions>): Store {
      const store = createEtcdStore({ endpoints: "url" in server ? [server.url] : server, ...options });
      stores.push(store);
      return store;
    },

    /** Collects the events of a watch as they come. */
    follow(store: Store, prefix: string, fromRevision: number) {
      const events: StoreEvent[] = [];
      const ended = (async () => {
        for await (const event of store.watch(prefix, { fromRevision, signal: abort.signal }))
          events.push(event);
      })();
      return { events, ended, revisions: () => events.map((event) => event.revision) };
    },
  };
}

/** An expectation of something that is on its way. */
export function eventually<T>(actual: () => T) {
  return expect.poll(actual);
}

export function bytes(text: string): Buffer {
  return Buffer.from(text);
}

export function range(count: number): number[] {
  return [...Array(count).keys()];
}
