import { randomUUID } from "node:crypto";
import type { Server } from "node:https";
import type { AddressInfo } from "node:net";
import { networkInterfaces } from "node:os";
import type { Features } from "../api/feature-gates.ts";
import type { Node, Pod } from "../api/objects.ts";
import { findResource, type Resource } from "../api/resources.ts";
import { type Clock, systemClock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import type { Store } from "../store/store.ts";
import { createAdmission } from "./admission/admission.ts";
import { type ApiHandlerDeps, answerRequest } from "./api-handler.ts";
import type { Pki } from "./auth/pki/pki.ts";
import { createTokenAuthenticator } from "./auth/token/authenticate-token.ts";
import { jwks, jwksPath, openidConfiguration, openidConfigurationPath } from "./auth/token/openid.ts";
import { signingKeyOf } from "./auth/token/signing-key.ts";
import type { StaticTokens } from "./auth/token/token-file.ts";
import { bootstrapCluster } from "./bootstrap.ts";
import { loadWatchCache } from "./cache/watch-cache.ts";
import { createDiscoveryHandler } from "./discovery/discovery-handler.ts";
import { createGatekeeper } from "./gatekeeper.ts";
import { createApiListener } from "./http/api-listener.ts";
import { storedKindOf, storedKinds } from "./kinds.ts";
import { createApiMetrics } from "./metrics.ts";
import { createMinuteTicker } from "./minute-ticker.ts";
import { createObjectReader } from "./object-reader.ts";
import { createOpenApiHandler } from "./openapi/openapi-handler.ts";
import { createPages } from "./pages.ts";
import { createRegistry, type Registry } from "./registry.ts";
import { createReviews } from "./reviews.ts";
import { createServiceAddresses, serviceResource } from "./service-addresses.ts";
import { strategyFor } from "./strategy/strategies.ts";
import { createKubeletProxy } from "./subresource/kubelet-proxy.ts";
import { handleToken } from "./subresource/token.ts";
import { boundObjects, createTokenObjects } from "./token-objects.ts";

export interface ApiServerOptions {
  readonly store: Store;
  readonly pki: Pki;
  readonly listen: { readonly host: string; readonly port: number };
  readonly features: Features;
  readonly logger: Logger;
  readonly staticTokens?: StaticTokens;
  readonly clock?: Clock;
}

export interface ApiServer {
  /** `https://127.0.0.1:6443` */
  readonly url: string;
  /** Ends open watches and connections; the store stays open. */
  close(): Promise<void>;
}

const issuer = "https://kubernetes.default.svc.cluster.local";
const apiAudiences = [issuer];

/** Serves the API over a store. Resolves once the server is ready. */
export async function startApiServer(options: ApiServerOptions): Promise<ApiServer> {
  const { store, pki, features, clock = systemClock } = options;
  const logger = options.logger.component("apiserver");
  const stop = new AbortController();

  const cache = await loadWatchCache({ store, clock, logger, kinds: storedKinds });
  const running: Promise<void>[] = [cache.run(stop.signal)];
  const registry = createRegistry({ store, cache, kindOf: storedKindOf });
  const reader = createObjectReader({ store, cache, clock, kindOf: storedKindOf });
  const serviceAddresses = createServiceAddresses({ store, services: registry.cache(serviceResource) });

  const signingKey = signingKeyOf(pki.serviceAccountKey);
  const tokenObjects = createTokenObjects(registry);
  const authenticateToken = createTokenAuthenticator({
    issuer,
    apiAudiences,
    keys: [signingKey],
    objects: boundObjects(tokenObjects),
    ...(options.staticTokens && { staticTokens: options.staticTokens }),
    now: clock.now,
  });
  const gatekeeper = createGatekeeper({ registry, clock, logger, authenticateToken, apiAudiences });
  const ticker = createMinuteTicker(clock);
  running.push(ticker.run(stop.signal));

  const metrics = createApiMetrics({
    watchers: () =>
      storedKinds.reduce((sum, { resource }) => sum + registry.cache(resource).watcherCount(), 0),
    objects: () =>
      storedKinds.map(({ resource }) => ({
        resource: resource.plural,
        count: registry.cache(resource).size(),
      })),
  });
  let ready = false;
  const checks = {
    ping: { name: "ping", check: async () => {} },
    store: { name: "store", check: async () => void (await store.currentRevision()) },
    bootstrap: {
      name: "poststarthook/bootstrap",
      check: async () => {
        if (!ready) throw new Error("the cluster's own objects are still being written");
      },
    },
  };

  const server = createApiListener({
    tls: { cert: pki.serving.cert, key: pki.serving.key, ca: pki.authority.cert },
    logger,
    metrics,
    admitCaller: gatekeeper.admitCaller,
    answer: (request) => answerRequest(handler, request),
    proxy: createProxy(registry, pki, options.listen.host),
  });
  const port = await listen(server, options.listen);
  const url = `https://${formatHost(options.listen.host)}:${port}`;

  const handler: ApiHandlerDeps = {
    registry,
    reader,
    clock,
    features,
    strategyFor,
    admit: createAdmission({ registry, serviceAddresses }),
    everyMinute: ticker.add,
    issueToken: (request, ref) =>
      handleToken(
        { issuer, apiAudiences, key: signingKey, objects: tokenObjects, newId: randomUUID, now: clock.now },
        request,
        ref,
      ),
    review: createReviews({ ...gatekeeper, authenticateToken, apiAudiences, clock }),
    page: createPages({
      discovery: createDiscoveryHandler({ serverAddress: `${formatHost(options.listen.host)}:${port}` }),
      openApi: createOpenApiHandler(),
      openId: new Map([
        [openidConfigurationPath, () => openidConfiguration({ issuer, server: url })],
        [jwksPath, () => jwks([signingKey])],
      ]),
      metrics,
      live: [checks.ping, checks.store],
      ready: [checks.ping, checks.store, checks.bootstrap],
    }),
  };
  async function close(): Promise<void> {
    stop.abort();
    server.closeAllConnections();
    await new Promise<void>((resolve) => server.close(() => resolve()));
    await Promise.all(running);
  }
  try {
    await bootstrapCluster(handler, { port, advertised: advertisedAddress(options.listen.host) });
  } catch (error) {
    await close();
    throw error;
  }
  ready = true;
  logger.info("serving", { url });
  return { url, close };
}

/** Clusters of one machine have their kubelets on loopback; a server that others reach must not be led there. */
function createProxy(registry: Registry, { kubeletClient }: Pki, host: string) {
  const pods = findResource("", "v1", "pods") as Resource;
  const nodes = findResource("", "v1", "nodes") as Resource;
  return createKubeletProxy({
    kubelet: { cert: kubeletClient.cert, key: kubeletClient.key, allowLoopback: isLoopback(host) },
    getPod: async (namespace, name) =>
      (await registry.get({ resource: pods, namespace, name })).parse() as Pod,
    getNode: async (name) => (await registry.get({ resource: nodes, namespace: "", name })).parse() as Node,
  });
}

function listen(server: Server, { host, port }: { host: string; port: number }): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host, port, backlog: 4_096 }, () => {
      server.off("error", reject);
      resolve((server.address() as AddressInfo).port);
    });
  });
}

/** Where pods reach a server that listens there; undefined when only this machine's own processes can. */
function advertisedAddress(host: string): string | undefined {
  if (isLoopback(host)) return undefined;
  if (host !== "0.0.0.0" && host !== "::") return host;
  const all = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  return all.find(({ internal, family }) => !internal && family === "IPv4")?.address;
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || host.startsWith("127.");
}

/** An address as it stands in a URL; all addresses of the machine are reached at the loopback one. */
function formatHost(host: string): string {
  if (host === "0.0.0.0" || host === "::") return "127.0.0.1";
  return host.includes(":") ? `[${host}]` : host;
}
