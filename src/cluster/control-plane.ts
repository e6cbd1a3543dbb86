import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Features } from "../api/feature-gates.ts";
import { type ApiServer, startApiServer } from "../apiserver/api-server.ts";
import { writeKubeconfig } from "../apiserver/auth/pki/kubeconfig.ts";
import { issueClientCertificate, loadOrCreatePki } from "../apiserver/auth/pki/pki.ts";
import { parseTokenFile } from "../apiserver/auth/token/token-file.ts";
import type { ClusterAccess } from "../client/cluster-access.ts";
import type { Logger } from "../lib/logger.ts";
import type { Store } from "../store/store.ts";

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
  readonly tokenFile?: string;
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
  /** For a component of the cluster's own, under a certificate made for it now. */
  access(subject: Subject): ClusterAccess;
  close(): Promise<void>;
}

/** The API server with its store and its certificates. */
export async function startControlPlane(options: ControlPlaneOptions): Promise<ControlPlane> {
  const { dataDir, features, logger } = options;
  await mkdir(dataDir, { recursive: true });
  const [pki, store, staticTokens] = await Promise.all([
    loadOrCreatePki({ directory: join(dataDir, "pki"), hosts: [options.listen.host], now: Date.now() }),
    openStore(options.store, join(dataDir, "store")),
    options.tokenFile === undefined ? undefined : readTokenFile(options.tokenFile),
  ]);
  let server: ApiServer | undefined;
  try {
    server = await startApiServer({
      store,
      pki,
      listen: options.listen,
      features,
      logger,
      ...(staticTokens && { staticTokens }),
    });
    const kubeconfig = options.kubeconfig ?? join(dataDir, "kubeconfig");
    const { cert, key } = pki.admin;
    await writeKubeconfig(kubeconfig, {
      server: server.url,
      ca: pki.authority.cert,
      cert,
      key,
      name: "kindling",
    });
    const { url, close } = server;
    return {
      url,
      kubeconfig,
      ca: pki.authority.cert,
      access: (subject) => ({
        server: new URL(url),
        tls: { ca: pki.authority.cert, ...issueClientCertificate(pki, { ...subject, now: Date.now() }) },
      }),
      async close() {
        await close();
        await store.close();
      },
    };
  } catch (error) {
    await server?.close();
    await store.close();
    throw error;
  }
}

/** Backends are loaded when they are chosen: nobody waits for one that is not used. */
async function openStore(options: StoreOptions, directory: string): Promise<Store> {
  switch (options.kind) {
    case "lmdb":
      return (await import("../store/lmdb-store.ts")).openLmdbStore({ directory });
    case "memory":
      return (await import("../store/memory-store.ts")).createMemoryStore();
    case "etcd":
      return (await import("../store/etcd-store.ts")).createEtcdStore(options);
  }
}

async function readTokenFile(path: string) {
  return parseTokenFile(await readFile(path, "utf8"), path);
}
