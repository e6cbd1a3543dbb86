import { mkdir } from "node:fs/promises";
import type { Features } from "../api/feature-gates.ts";
import { type ApiServer, startApiServer } from "../apiserver/api-server.ts";
import { issueClientCertificate, loadOrCreatePki } from "../apiserver/auth/pki/pki.ts";
import { writeKubeconfig } from "../apiserver/auth/pki/write-kubeconfig.ts";
import type { StaticTokens } from "../apiserver/auth/token/token-file.ts";
import { authenticatedUser } from "../apiserver/auth/user-info.ts";
import { createHttpTransport } from "../client/http-transport.ts";
import type { Transport } from "../client/transport.ts";
import { type Clock, systemClock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import type { Store } from "../store/store.ts";
import { dataDirPaths } from "./data-dir/data-dir-paths.ts";
import { holdPort } from "./hold-port.ts";
import { createInProcessTransport } from "./in-process-transport.ts";
import { watchClock } from "./watch-clock.ts";

/** Where objects are kept. */
export type StoreOptions =
  | { readonly kind: "lmdb" }
  | { readonly kind: "memory" }
  | {
      readonly kind: "etcd";
      readonly endpoints: readonly string[];
      readonly tls?: { readonly ca?: Buffer; readonly cert?: Buffer; readonly key?: Buffer };
    };

export interface ControlPlaneOptions {
  readonly dataDir: string;
  readonly store: StoreOptions;
  readonly listen: { readonly host: string; readonly port: number };
  readonly features: Features;
  readonly logger: Logger;
  readonly kubeconfig?: string;
  readonly staticTokens?: StaticTokens;
  /** The system's unless told. Certificates are always by the system's: whoever checks them goes by it. */
  readonly clock?: Clock;
  /** Of the other parts of this process, in Prometheus' text format: shown with the API server's. */
  readonly otherMetrics?: () => string;
  /** Ends a start that is under way; what has started is closed. */
  readonly signal?: AbortSignal;
}

/** A user, by the name in its certificate, and the groups it is in. */
export interface Subject {
  readonly commonName: string;
  readonly organizations?: readonly string[];
}

export interface ControlPlane {
  readonly url: string;
  /** The file that makes kubectl the cluster's administrator. */
  readonly kubeconfig: string;
  /** The CA that signed what the API server shows, to clients and to kubelets. */
  readonly ca: string;
  /** For a part of the cluster in this process, as this user. */
  connect(subject: Subject): Transport;
  /** An outage: whoever is connected is cut off and nobody gets through. What is stored stays. */
  stopServing(): Promise<void>;
  /** The end of an outage, at the same address. */
  serveAgain(): Promise<void>;
  close(): Promise<void>;
}

/** The API server with its store and its certificates. */
export async function startControlPlane(options: ControlPlaneOptions): Promise<ControlPlane> {
  const { dataDir, features, logger, signal } = options;
  signal?.throwIfAborted();
  const paths = dataDirPaths(dataDir);
  await mkdir(dataDir, { recursive: true });
  const opening = openStore(options.store, paths.store);
  const [pki, store] = await Promise.all([
    loadOrCreatePki({ directory: paths.pki, hosts: [options.listen.host], now: Date.now() }),
    opening,
  ]).catch(async (error) => {
    // Where only the others have failed, the store is open.
    await opening.then(
      (opened) => opened.close(),
      () => {},
    );
    throw error;
  });
  const serve = (port: number) =>
    startApiServer({
      store,
      pki,
      listen: { ...options.listen, port },
      features,
      logger,
      ...(options.staticTokens && { staticTokens: options.staticTokens }),
      ...(options.clock && { clock: options.clock }),
      otherMetrics: options.otherMetrics,
    });
  let closing: Promise<void> | undefined;
  const closeStore = () => {
    closing ??= store.close();
    return closing;
  };
  // Whatever a start still asks of it fails then, however long the answer would have taken.
  const giveUp = () => void closeStore().catch(() => {});
  signal?.addEventListener("abort", giveUp, { once: true });
  let server: ApiServer | undefined;
  let releasePort: (() => Promise<void>) | undefined;
  try {
    signal?.throwIfAborted();
    server = await serve(options.listen.port);
    const kubeconfig = options.kubeconfig ?? paths.kubeconfig;
    const { cert, key } = pki.admin;
    await writeKubeconfig(kubeconfig, {
      server: server.url,
      ca: pki.authority.cert,
      cert,
      key,
      name: "kindling",
    });
    signal?.throwIfAborted();
    const { url } = server;
    const port = Number(new URL(url).port);
    const stopping = new AbortController();
    const watching = watchClock(
      { clock: systemClock, steadyNow: () => performance.now(), logger, certificate: pki.serving.cert },
      stopping.signal,
    );
    return {
      url,
      kubeconfig,
      ca: pki.authority.cert,
      connect: (subject) =>
        createInProcessTransport({
          user: authenticatedUser({
            username: subject.commonName,
            groups: subject.organizations ?? [],
            extra: {},
          }),
          server: () => server,
          openConnected: () =>
            createHttpTransport({
              access: {
                server: new URL(url),
                tls: {
                  ca: pki.authority.cert,
                  ...issueClientCertificate(pki, { ...subject, now: Date.now() }),
                },
              },
            }),
        }),
      async stopServing() {
        await server?.close();
        server = undefined;
        releasePort ??= await holdPort({ host: options.listen.host, port });
      },
      async serveAgain() {
        await releasePort?.();
        releasePort = undefined;
        server ??= await serve(port);
      },
      async close() {
        stopping.abort();
        await watching;
        await server?.close();
        await releasePort?.();
        await closeStore();
      },
    };
  } catch (error) {
    await server?.close();
    await closeStore();
    signal?.throwIfAborted();
    throw error;
  } finally {
    signal?.removeEventListener("abort", giveUp);
  }
}

/** Backends are loaded when they are chosen: nobody waits for one that is not used. */
async function openStore(options: StoreOptions, directory: string): Promise<Store> {
  switch (options.kind) {
    case "lmdb":
      return (await import("../store/lmdb/lmdb-store.ts")).openLmdbStore({ directory });
    case "memory":
      return (await import("../store/local/memory-store.ts")).createMemoryStore();
    case "etcd":
      return (await import("../store/etcd/etcd-store.ts")).createEtcdStore(options);
  }
}
