import { endpointsKind } from "../api/kinds/core/endpoints/kind.ts";
import { nodeKind } from "../api/kinds/core/node/kind.ts";
import { podKind } from "../api/kinds/core/pod/kind.ts";
import { serviceKind } from "../api/kinds/core/service/kind.ts";
import type { Features } from "../api/meta/feature-gates.ts";
import type { Endpoints, Node, Pod, Service } from "../api/meta/objects.ts";
import { type Clock, systemClock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import { createMetrics } from "../lib/metrics/metrics.ts";
import { collectGarbage } from "../lib/process/free-used-buffers.ts";
import { stoppable } from "../lib/stoppable.ts";
import { runCompaction } from "../store/compaction.ts";
import type { Store } from "../store/store.ts";
import type { ExternalIPs } from "./admission/built-in-plugins.ts";
import { createAdmission } from "./admission/create-admission.ts";
import type { Pki } from "./auth/pki/pki.ts";
import { aggregateClusterRoles } from "./auth/rbac/aggregate.ts";
import { createRequestAuthorizer } from "./auth/request-authorizer.ts";
import { createReviews } from "./auth/review/reviews.ts";
import { createServiceAccountTokens } from "./auth/token/service-account-tokens.ts";
import type { StaticTokens } from "./auth/token/token-file.ts";
import {
  bootstrapCluster,
  keepApiService,
  type ServerAddress,
  writeApiEndpoints,
} from "./bootstrap/bootstrap-cluster.ts";
import { deleteAllObjects } from "./custom-resources/delete-objects.ts";
import { createRegistrar } from "./custom-resources/registrar.ts";
import { type ApiHandlerDeps, handleRequest } from "./handlers/api-handler.ts";
import { tryCachedGet } from "./handlers/cached-get.ts";
import { createDiscoveryHandler } from "./handlers/discovery/discovery-handler.ts";
import { createWatchEncoders } from "./handlers/encoding/watch-encoder.ts";
import { createOpenApiHandler } from "./handlers/openapi/openapi-handler.ts";
import { createKubeletProxy } from "./handlers/subresources/kubelet-proxy.ts";
import { strategyContext } from "./handlers/verbs/write-deps.ts";
import type { KindRegistry } from "./kinds/kind-registry.ts";
import { createMemoryReclaimer } from "./limits/reclaim-memory.ts";
import {
  createInFlight,
  createWatchLimits,
  defaultMaxWatches,
  type MaxWatches,
} from "./limits/request-limits.ts";
import { createUnreadMemory, defaultMaxUnreadBytes } from "./limits/unread-memory.ts";
import { createWebhookResolver } from "./outgoing/resolve-webhook.ts";
import { createWebhookClient } from "./outgoing/webhook-client.ts";
import { createApiListener, createListenAddress, listenAlso } from "./server/http/api-listener.ts";
import { createInProcessHandler, type InProcessHandler } from "./server/in-process/in-process-handler.ts";
import { createApiMetrics } from "./server/metrics/request-metrics.ts";
import { createMiddleware } from "./server/middleware.ts";
import { createMinuteTicker } from "./server/minute-ticker.ts";
import { createNonResourceHandler, createServerHealth } from "./server/non-resource-handler.ts";
import { createEventExpiry } from "./storage/event-expiry.ts";
import { createObjectReader } from "./storage/object-reader.ts";
import { createObjectStore } from "./storage/object-store.ts";
import { createServiceAddresses, serviceResource } from "./storage/service-addresses.ts";
import { loadWatchCache } from "./storage/watch-cache.ts";

export interface ApiServerOptions {
  readonly store: Store;
  /** The kinds that are served. Kinds may be added and removed while the server runs. */
  readonly kinds: KindRegistry;
  readonly pki: Pki;
  readonly listen: { readonly host: string; readonly port: number };
  readonly features: Features;
  readonly logger: Logger;
  readonly staticTokens?: StaticTokens;
  readonly clock?: Clock;
  readonly limits?: ApiServerLimits;
  /** Metrics of the other components of this process, in the Prometheus text format. Appended to the server's own. */
  readonly otherMetrics?: () => string;
  /** Warning for writes of NetworkPolicies, if nothing in the cluster enforces them. Default: none. */
  readonly networkPolicyWarning?: () => string | undefined;
  /** Whether services may have `spec.externalIPs`. Default: denied. */
  readonly externalIPs?: ExternalIPs;
}

export interface ApiServerLimits {
  readonly maxWatches?: MaxWatches;
  /** Memory for responses that clients have not read yet. */
  readonly maxUnreadBytes?: number;
}

export interface ApiServer {
  /** `https://127.0.0.1:6443` */
  readonly url: string;
  /** Serves components of this process as the HTTPS listener would. */
  readonly handle: InProcessHandler["handle"];
  /**
   * Also listens on an address that pods reach, on a free port, and publishes it as the endpoint of the `kubernetes`
   * service. Without effect if pods reach the server's own address, which is not a loopback address.
   */
  listenForPods(host: string): Promise<void>;
  /** Ends open watches and connections. The store stays open. */
  close(): Promise<void>;
}

/** Serves the API over a store. Resolves when the server is ready. */
export async function startApiServer(options: ApiServerOptions): Promise<ApiServer> {
  const { store, kinds, pki, features, staticTokens, otherMetrics, clock = systemClock } = options;
  const { maxWatches = defaultMaxWatches, maxUnreadBytes = defaultMaxUnreadBytes } = options.limits ?? {};
  const logger = options.logger.component("apiserver");
  const stop = new AbortController();
  const { signal } = stop;
  const address = createListenAddress(options.listen);

  // Storage.
  const cache = await loadWatchCache({ store, clock, logger, kinds });
  const objectStore = createObjectStore({ store, cache });
  const reader = createObjectReader({ store, cache, clock });
  const services = objectStore.cache(serviceResource);
  const serviceAddresses = createServiceAddresses({ store, services, logger });
  const ticker = createMinuteTicker(clock);
  ticker.add(() => {
    serviceAddresses
      .repair()
      .catch((error: unknown) => logger.warn("unused service addresses were not freed", { error }));
  });
  const eventExpiry = createEventExpiry({ objectStore, clock });
  ticker.add(() => {
    eventExpiry
      .deleteExpired()
      .catch((error: unknown) => logger.warn("events that are due were not deleted", { error }));
  });
  aggregateClusterRoles(objectStore, logger);

  // Limits.
  const inFlight = createInFlight();
  const collect = () => collectGarbage("major");
  const reclaimer = createMemoryReclaimer({ clock, signal, collect });
  const watchLimits = createWatchLimits(maxWatches, reclaimer.watchClosed);
  const memory = createUnreadMemory({ clock, maxBytes: maxUnreadBytes });

  const running = [
    cache.run(signal),
    serviceAddresses.run(signal),
    ticker.run(signal),
    memory.run(signal),
    runCompaction(store, {
      clock,
      signal,
      onFailure: (error) => logger.warn("the store was not compacted; trying again later", { error }),
    }),
  ];

  // Authentication, authorization, admission.
  const tokens = createServiceAccountTokens({ objectStore, key: pki.serviceAccountKey, staticTokens, clock });
  const { apiAudiences, authenticate: authenticateToken } = tokens;
  const requestAuthorizer = createRequestAuthorizer({
    objectStore,
    clock,
    logger,
    authenticateToken,
    apiAudiences,
  });
  const { decide: authorize, rbac, rbacSource } = requestAuthorizer;
  const escalation = { authorize, rulesFor: rbac.rulesFor, source: rbacSource };
  const { externalIPs = "denied" } = options;
  const webhooks = { resolve: createWebhookResolver(objectStore), client: createWebhookClient() };
  const admissionMetrics = createMetrics();
  const admission = createAdmission({
    objectStore,
    serviceAddresses,
    escalation,
    externalIPs,
    kinds,
    clock,
    logger,
    metrics: admissionMetrics,
    webhooks,
    strategyContext: () => strategyContext({ features, clock }),
  });
  const review = createReviews({ authorize, rbac, authenticateToken, apiAudiences, clock });

  // Handlers.
  const health = createServerHealth(store);
  const metrics = createApiMetrics({
    watchers: () =>
      cache.kinds().reduce((sum, { resource }) => sum + objectStore.cache(resource).watcherCount(), 0),
    limits: { inFlight, watchLimits, memory },
    objects: () =>
      cache.kinds().map(({ resource }) => ({
        resource: resource.plural,
        count: objectStore.cache(resource).size(),
      })),
    otherMetrics: () => admissionMetrics.text() + (otherMetrics?.() ?? ""),
  });
  const handleNonResource = createNonResourceHandler({
    discovery: createDiscoveryHandler({ kinds, serverAddress: address.hostPort }),
    openApi: createOpenApiHandler({ kinds }),
    openId: tokens.openIdDocuments(address.url),
    metrics,
    health,
  });
  const handler: ApiHandlerDeps = {
    objectStore,
    reader,
    clock,
    features,
    kinds,
    admission,
    rootCa: pki.authority.cert,
    networkPolicyWarning: options.networkPolicyWarning,
    everyMinute: ticker.add,
    watchEncoderFor: createWatchEncoders(clock),
    tokens: tokens.issuing,
    review,
    handleNonResource,
  };
  const registrar = createRegistrar({
    objectStore,
    kinds,
    clock,
    logger,
    webhooks,
    deleteObjects: (kind) => deleteAllObjects(handler, kind),
  });
  await registrar.load();
  running.push(registrar.run(signal));
  const proxy = createKubeletProxy({
    kubelet: { cert: pki.kubeletClient.cert, key: pki.kubeletClient.key, allowLoopback: address.isLoopback },
    admission,
    getPod: async (namespace, name) =>
      (await objectStore.get({ resource: podKind.resource, namespace, name })).parse() as Pod,
    getNode: async (name) =>
      (await objectStore.get({ resource: nodeKind.resource, namespace: "", name })).parse() as Node,
    getService: async (namespace, name) =>
      (await objectStore.get({ resource: serviceKind.resource, namespace, name })).parse() as Service,
    getEndpoints: async (namespace, name) =>
      (await objectStore.get({ resource: endpointsKind.resource, namespace, name })).parse() as Endpoints,
  });

  // Listeners.
  const middleware = createMiddleware({
    logger,
    metrics,
    kinds,
    inFlight,
    watchLimits,
    proxy,
    tryCachedGet: (request) => tryCachedGet(handler, request),
    handleRequest: (request) => handleRequest(handler, request),
  });
  const listener = createApiListener({
    tls: { cert: pki.serving.cert, key: pki.serving.key, ca: pki.authority.cert },
    logger,
    kinds,
    authenticateAndAuthorize: requestAuthorizer.authenticateAndAuthorize,
    middleware,
    memory,
    proxy,
  });
  const inProcess = createInProcessHandler({
    kinds,
    authorize: requestAuthorizer.authorize,
    middleware,
    memory,
  });

  const stopListening = stoppable(listener);
  const otherListeners: (() => Promise<void>)[] = [];
  async function close(): Promise<void> {
    stop.abort();
    inProcess.close();
    webhooks.client.close();
    await Promise.all([stopListening(), ...otherListeners.map((closeListener) => closeListener())]);
    await Promise.all(running);
  }

  try {
    await address.listen(listener);
    const { port, advertised } = address;
    let reachedAt: ServerAddress = { port, advertised };
    await bootstrapCluster(handler, reachedAt);
    keepApiService(handler, () => reachedAt, logger);
    health.setReady();
    const url = address.url();
    logger.info("serving", { url });
    return {
      url,
      handle: inProcess.handle,
      async listenForPods(host) {
        if (!address.isLoopback) return;
        const pods = await listenAlso(listener, host);
        otherListeners.push(pods.close);
        reachedAt = { port: pods.port, advertised: host };
        await writeApiEndpoints(handler, reachedAt);
        logger.info("serving pods", { address: `${host}:${pods.port}` });
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}
