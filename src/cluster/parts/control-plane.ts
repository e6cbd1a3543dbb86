import { mkdir } from "node:fs/promises";
import { builtInKinds } from "../../api/kinds/built-in-kinds.ts";
import type { Features } from "../../api/meta/feature-gates.ts";
import {
  type ApiServer,
  type ApiServerLimits,
  type ApiServerOptions,
  startApiServer,
} from "../../apiserver/api-server.ts";
import { issueClientCertificate, loadOrCreatePki } from "../../apiserver/auth/pki/pki.ts";
import { writeKubeconfig } from "../../apiserver/auth/pki/write-kubeconfig.ts";
import type { StaticTokens } from "../../apiserver/auth/token/token-file.ts";
import { createKindRegistry, type KindRegistry } from "../../apiserver/kinds/kind-registry.ts";
import { authenticatedUser } from "../../apiserver/request/user-info.ts";
import { createHttpTransport } from "../../client/transport/http-transport.ts";
import type { Transport } from "../../client/transport/transport.ts";
import { type Clock, systemClock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import type { Store } from "../../store/store.ts";
import { dataDirPaths } from "../data-dir/data-dir-files.ts";
import { reservePort } from "../host/ports.ts";
import { watchClock } from "../host/watch-clock.ts";
import { createInProcessTransport } from "./in-process-transport.ts";

/** Store of the objects. */
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
  /** Kinds that the API server serves. Default: the built-in kinds. */
  readonly kinds?: KindRegistry;
  readonly logger: Logger;
  readonly kubeconfig?: string;
  readonly limits?: ApiServerLimits;
  readonly staticTokens?: StaticTokens;
  /** Clock of the cluster. Default: the system clock, which is always used for certificates. */
  readonly clock?: Clock;
  /** Metrics of the other parts in the Prometheus text format, served with those of the API server. */
  readonly otherMetrics?: () => string;
  /** Warning for writes of NetworkPolicies, if nothing in the cluster enforces them. Default: none. */
  readonly networkPolicyWarning?: () => string | undefined;
  /** Whether services may have `spec.externalIPs`. Default: denied. */
  readonly externalIPs?: ApiServerOptions["externalIPs"];
  /** Aborts the start and closes the parts that were started. */
  readonly signal?: AbortSignal;
}

/** User name and groups of a client certificate. */
export interface Subject {
  readonly commonName: string;
  readonly organizations?: readonly string[];
}

export interface ControlPlane {
  readonly url: string;
  /** Kubeconfig of the administrator. */
  readonly kubeconfig: string;
  /** CA of the API server's serving and client certificates. */
  readonly ca: string;
  /** Creates a client for a part of the cluster in this process. */
  connect(subject: Subject): Transport;
  /** Lets pods reach the API server at an address of this machine. See ApiServer. */
  listenForPods(host: string): Promise<void>;
  /** Simulates an outage: closes connections and rejects new ones. Stored objects are kept. */
  stopServing(): Promise<void>;
  /** Ends the outage, at the same address. */
  serveAgain(): Promise<void>;
  close(): Promise<void>;
}

/** Starts the API server with its store and certificates. */
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
    // The store is open even if another part failed.
    await opening.then(
      (opened) => opened.close(),
      () => {},
    );
    throw error;
  });
  const serve = (port: number) =>
    startApiServer({
      store,
      kinds: options.kinds ?? createKindRegistry(builtInKinds),
      pki,
      listen: { host: options.listen.host, port },
      features,
      logger,
      staticTokens: options.staticTokens,
      clock: options.clock,
      limits: options.limits,
      otherMetrics: options.otherMetrics,
      networkPolicyWarning: options.networkPolicyWarning,
      externalIPs: options.externalIPs,
    });
  let closing: Promise<void> | undefined;
  const closeStore = () => {
    closing ??= store.close();
    return closing;
  };
  // Requests of parts that are still starting fail immediately.
  const giveUp = () => void closeStore().catch(() => {});
  signal?.addEventListener("abort", giveUp, { once: true });
  let server: ApiServer | undefined;
  let releasePort: (() => Promise<void>) | undefined;
  let podHost: string | undefined;
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
      async listenForPods(host) {
        podHost = host;
        await server?.listenForPods(host);
      },
      async stopServing() {
        await server?.close();
        server = undefined;
        releasePort ??= await reservePort({ host: options.listen.host, port });
      },
      async serveAgain() {
        await releasePort?.();
        releasePort = undefined;
        if (server) return;
        server = await serve(port);
        if (podHost !== undefined) await server.listenForPods(podHost);
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

/** Opens the store. Backends are loaded on demand to keep the start fast. */
async function openStore(options: StoreOptions, directory: string): Promise<Store> {
  switch (options.kind) {
    case "lmdb":
      return (await import("../../store/lmdb/lmdb-store.ts")).openLmdbStore({ directory });
    case "memory":
      return (await import("../../store/local/memory-store.ts")).createMemoryStore();
    case "etcd":
      return (await import("../../store/etcd/etcd-store.ts")).createEtcdStore(options);
  }
}
