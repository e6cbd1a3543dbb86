import { randomUUID } from "node:crypto";
import type { Server } from "node:https";
import type { AddressInfo } from "node:net";
import { networkInterfaces } from "node:os";
import type { Features } from "../api/feature-gates.ts";
import type { Node, Pod } from "../api/objects.ts";
import { findResource, type Resource } from "../api/resources.ts";
import { type Clock, systemClock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import { stoppable } from "../lib/stoppable.ts";
import { runCompaction } from "../store/compaction.ts";
import type { Store } from "../store/store.ts";
import { createAdmission } from "./admission/admission.ts";
import { type ApiHandlerDeps, answerAtOnce, answerRequest } from "./api-handler.ts";
import type { ApiRequest } from "./api-request.ts";
import { createGatekeeper } from "./auth/gatekeeper.ts";
import type { Pki } from "./auth/pki/pki.ts";
import { createReviews } from "./auth/review/reviews.ts";
import { createTokenAuthenticator } from "./auth/token/authenticate-token.ts";
import { jwks, jwksPath, openidConfiguration, openidConfigurationPath } from "./auth/token/openid.ts";
import { signingKeyOf } from "./auth/token/signing-key.ts";
import type { StaticTokens } from "./auth/token/token-file.ts";
import { boundObjects, createTokenObjects } from "./auth/token/token-objects.ts";
import { aggregateClusterRoles } from "./bootstrap/aggregate-cluster-roles.ts";
import { bootstrapCluster } from "./bootstrap/bootstrap-cluster.ts";
import { keepApiService } from "./bootstrap/keep-api-service.ts";
import { namespaceDefaults } from "./bootstrap/namespace-defaults.ts";
import { loadWatchCache } from "./cache/watch-cache.ts";
import { createDiscoveryHandler } from "./discovery/discovery-handler.ts";
import type { HealthCheck } from "./health.ts";
import { createApiListener } from "./http/api-listener.ts";
import { createInProcessDoor, type InProcessDoor } from "./in-process/in-process-door.ts";
import { createApiMetrics } from "./metrics/api-metrics.ts";
import { createMinuteTicker } from "./minute-ticker.ts";
import { createOpenApiHandler } from "./openapi/openapi-handler.ts";
import { createPages } from "./pages.ts";
import { createObjectReader } from "./registry/object-reader.ts";
import { createRegistry, type Registry } from "./registry/registry.ts";
import { storedKindOf, storedKinds } from "./registry/stored-kinds.ts";
import { createServiceAddresses, serviceResource } from "./service/service-addresses.ts";
import { strategyFor } from "./strategy/strategies.ts";
import { createKubeletProxy } from "./subresource/kubelet-proxy.ts";
import { handleToken } from "./subresource/token.ts";

export interface ApiServerOptions {
  readonly store: Store;
  readonly pki: Pki;
  readonly listen: { readonly host: string; readonly port: number };
  readonly features: Features;
  readonly logger: Logger;
  readonly staticTokens?: StaticTokens;
  readonly clock?: Clock;
  /** Of the other parts of this process, in Prometheus' text format: shown behind its own. */
  readonly otherMetrics?: () => string;
}

export interface ApiServer {
  /** `https://127.0.0.1:6443` */
  readonly url: string;
  /** For parts of this process: the same rights and answers as over HTTPS, without it. */
  answer: InProcessDoor["answer"];
  /** Ends open watches and connections; the store stays open. */
  close(): Promise<void>;
}

const issuer = "https://kubernetes.default.svc.cluster.local";
const apiAudiences = [issuer];

/** Serves the API over a store. Resolves once the server is ready. */
export async function startApiServer(options: ApiServerOptions): Promise<ApiServer> {
  const { store, pki, clock = systemClock } = options;
  const { host } = options.listen;
  const logger = options.logger.component("apiserver");
  const stop = new AbortController();

  const cache = await loadWatchCache({ store, clock, logger, kinds: storedKinds });
  const registry = createRegistry({ store, cache, kindOf: storedKindOf });
  const ticker = createMinuteTicker(clock);
  const running = [
    cache.run(stop.signal),
    ticker.run(stop.signal),
    runCompaction(store, {
      clock,
      signal: stop.signal,
      onFailure: (error) => logger.warn("the store was not compacted; trying again later", { error }),
    }),
  ];
  const services = registry.cache(serviceResource);
  const serviceAddresses = createServiceAddresses({ store, services, logger });
  running.push(serviceAddresses.run(stop.signal));
  ticker.add(() => {
    serviceAddresses
      .repair()
      .catch((error: unknown) => logger.warn("unused service addresses were not freed", { error }));
  });
  aggregateClusterRoles(registry, logger);

  const tokens = createTokens(registry, options, clock);
  const gatekeeper = createGatekeeper({
    registry,
    clock,
    logger,
    authenticateToken: tokens.authenticate,
    apiAudiences,
  });
  const { authorize, rbac, rbacSource } = gatekeeper;
  const admit = createAdmission({
    registry,
    serviceAddresses,
    authorize,
    rulesFor: rbac.rulesFor,
    source: rbacSource,
  });
  const metrics = createApiMetrics({
    watchers: () =>
      storedKinds.reduce((sum, { resource }) => sum + registry.cache(resource).watcherCount(), 0),
    objects: () =>
      storedKinds.map(({ resource }) => ({
        resource: resource.plural,
        count: registry.cache(resource).size(),
      })),
    otherMetrics: options.otherMetrics,
  });
  const health = createHealth(store);

  const proxy = createProxy(registry, pki, host);
  const answering = {
    logger,
    metrics,
    answer: (request: ApiRequest) => answerRequest(handler, request),
    answerAtOnce: (request: Pick<ApiRequest, "info" | "query" | "headers">) => answerAtOnce(handler, request),
  };
  const listener = createApiListener({
    ...answering,
    tls: { cert: pki.serving.cert, key: pki.serving.key, ca: pki.authority.cert },
    admitCaller: gatekeeper.admitCaller,
    proxy,
  });
  const door = createInProcessDoor({
    ...answering,
    admitUser: gatekeeper.admitUser,
    goesToKubelet: (info) => proxy(info) !== undefined,
  });
  const stopListening = stoppable(listener);
  async function close(): Promise<void> {
    stop.abort();
    door.close();
    await stopListening();
    await Promise.all(running);
  }

  // Nobody can ask before the handler is there: requests come in later turns of the event loop.
  let handler: ApiHandlerDeps;
  try {
    const port = await listen(listener, options.listen);
    const url = `https://${formatHost(host)}:${port}`;
    handler = {
      registry,
      reader: createObjectReader({ store, cache, clock, kindOf: storedKindOf }),
      clock,
      features: options.features,
      strategyFor,
      admit,
      companions: ({ kind, metadata }) =>
        kind === "Namespace" ? namespaceDefaults(metadata.name ?? "", pki.authority.cert) : [],
      everyMinute: ticker.add,
      issueToken: (request, ref) => handleToken({ ...tokens.issuing, admit }, request, ref),
      review: createReviews({ authorize, rbac, authenticateToken: tokens.authenticate, apiAudiences, clock }),
      page: createPages({
        discovery: createDiscoveryHandler({ serverAddress: `${formatHost(host)}:${port}` }),
        openApi: createOpenApiHandler(),
        openId: tokens.openId(url),
        metrics,
        ...health.checks,
      }),
    };
    await bootstrapCluster(handler, { port, advertised: advertisedAddress(host) });
    keepApiService(handler, port, logger);
    health.setReady();
    logger.info("serving", { url });
    return { url, answer: door.answer, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Service account tokens: who a token is for, new ones, and what others need to check them. */
function createTokens(registry: Registry, { pki, staticTokens }: ApiServerOptions, { now }: Clock) {
  const key = signingKeyOf(pki.serviceAccountKey);
  const objects = createTokenObjects(registry);
  return {
    authenticate: createTokenAuthenticator({
      issuer,
      apiAudiences,
      keys: [key],
      objects: boundObjects(objects),
      ...(staticTokens && { staticTokens }),
      now,
    }),
    issuing: { issuer, apiAudiences, key, objects, newId: randomUUID, now },
    openId: (server: string): ReadonlyMap<string, () => object> =>
      new Map([
        [openidConfigurationPath, () => openidConfiguration({ issuer, server })],
        [jwksPath, () => jwks([key])],
      ]),
  };
}

function createHealth(store: Store) {
  let ready = false;
  const ping: HealthCheck = { name: "ping", check: async () => {} };
  const storeCheck: HealthCheck = { name: "store", check: async () => void (await store.currentRevision()) };
  const bootstrap: HealthCheck = {
    name: "poststarthook/bootstrap",
    check: async () => {
      if (!ready) throw new Error("the cluster's own objects are still being written");
    },
  };
  return {
    checks: { live: [ping, storeCheck], ready: [ping, storeCheck, bootstrap] },
    setReady: () => {
      ready = true;
    },
  };
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
    server.once("error", (error: NodeJS.ErrnoException) => {
      if (error.code !== "EADDRINUSE") return reject(error);
      reject(
        new Error(
          `port ${port} of ${host} is in use by another process; choose another with --listen ${host}:PORT`,
          { cause: error },
        ),
      );
    });
    server.listen({ host, port, backlog: 4_096 }, () => {
      server.removeAllListeners("error");
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
