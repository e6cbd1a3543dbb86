import type { EndpointSlice, Node, Service } from "../api/meta/objects.ts";
import type { Client } from "../client/api/client.ts";
import { createInformer } from "../client/informers/informer.ts";
import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import type { Metrics } from "../lib/metrics/metrics.ts";
import { type KeptRules, keepRules } from "../lib/nftables/keep-rules.ts";
import { createWakeUp } from "../lib/wake-up.ts";
import { createProxyMetrics } from "./health/proxy-metrics.ts";
import { createServiceHealth } from "./health/service-health.ts";
import type { ProxyBackend } from "./model/backend.ts";
import type { ProxyNode } from "./model/choose-endpoints.ts";
import { planService, type ServiceHealthCheck, type ServicePort } from "./model/service-port.ts";

export interface ProxyOptions {
  readonly client: Client;
  readonly nodeName: string;
  readonly backend: ProxyBackend;
  /** Addresses on which health check ports listen. */
  readonly healthCheckHosts: readonly string[];
  /** Whether `spec.externalIPs` are served. */
  readonly externalIPs: "served" | "ignored";
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

export interface Proxy {
  /** Resolves after the first sync. */
  readonly ready: Promise<void>;
  /** State for `/healthz`. */
  health(): ProxyHealth;
  /** Counts a response of a health endpoint. */
  healthChecked(path: "healthz" | "livez", code: number): void;
  /** Keeps the rules in sync with the services until the signal aborts. The rules stay. */
  run(signal: AbortSignal): Promise<void>;
}

interface ProxyHealth {
  readonly healthy: boolean;
  /** Milliseconds since the epoch. */
  readonly lastUpdated: number;
  /** Whether load balancers may use the node: it exists and is not about to be removed. */
  readonly nodeEligible: boolean;
}

/** A proxy whose changes wait for longer than this is unhealthy, as in kube-proxy. */
const unhealthyAfterMs = 60_000;

const serviceLabel = "kubernetes.io/service-name";
/** Annotation with the time of the change that led to a slice. */
const triggerAnnotation = "endpoints.kubernetes.io/last-change-trigger-time";

export function createProxy(options: ProxyOptions): Proxy {
  const { client, nodeName, backend, clock, logger } = options;
  const metrics = createProxyMetrics(options.metrics);
  let settleReady: { resolve(): void; reject(reason: unknown): void } | undefined;
  const ready = new Promise<void>((resolve, reject) => {
    settleReady = { resolve, reject };
  });
  // Avoids an unhandled rejection when `ready` is not awaited.
  ready.catch(() => {});
  let lastUpdated = clock.now();
  /** Time of the oldest change that is not applied. */
  let waitingSince: number | undefined;
  const health = (): ProxyHealth => ({
    healthy: waitingSince === undefined || clock.now() - waitingSince < unhealthyAfterMs,
    lastUpdated,
    nodeEligible: isEligible(nodes.get(nodeName)),
  });
  const services = createInformer({ client, resource: "services", clock, logger, trim: trimService });
  const slices = createInformer({
    client,
    resource: "endpointslices",
    labelSelector: "!service.kubernetes.io/headless",
    clock,
    logger,
    trim: trimSlice,
    indexes: { service: (slice) => [serviceOf(slice)] },
  });
  const nodes = createInformer({
    client,
    resource: "nodes",
    fieldSelector: `metadata.name=${nodeName}`,
    clock,
    logger,
    trim: trimNode,
  });
  const changes = createWakeUp();
  /** Services to plan again. Undefined: all. */
  let dirty: Set<string> | undefined;
  let triggeredAt: number[] = [];
  const state = new Map<string, readonly ServicePort[]>();
  const checks = new Map<string, ServiceHealthCheck>();
  let node: ProxyNode = { name: nodeName };

  function markDirty(service: string, kind: "service" | "endpoint"): void {
    dirty?.add(service);
    const now = clock.now();
    waitingSince ??= now;
    metrics.changed(kind);
    metrics.queued(now);
    changes.wake();
  }
  services.onChange(({ object }) => markDirty(keyOf(object), "service"));
  slices.onChange((change) => {
    const { object } = change;
    const trigger = object.metadata.annotations?.[triggerAnnotation];
    // Slices of the first list describe changes before this process.
    if (!change.listed && trigger && triggeredAt.length < maxTriggers) {
      const at = Date.parse(trigger);
      if (Number.isFinite(at)) triggeredAt.push(at);
    }
    if (change.kind === "changed") markDirty(serviceOf(change.previous), "endpoint");
    markDirty(serviceOf(object), "endpoint");
  });
  nodes.onChange(({ object }) => {
    const zone = object.metadata.labels?.["topology.kubernetes.io/zone"];
    if (zone === node.zone) return;
    node = { name: nodeName, zone };
    dirty = undefined;
    changes.wake();
  });

  const isClean = () => dirty?.size === 0;

  /** Plans the service again. */
  function plan(key: string): void {
    const service = services.get(key);
    const { ports, healthCheck } = service
      ? planService(service, slices.byIndex("service", key), { node, externalIPs: options.externalIPs })
      : { ports: [], healthCheck: undefined };
    if (ports.length > 0) state.set(key, ports);
    else state.delete(key);
    if (healthCheck) checks.set(key, healthCheck);
    else checks.delete(key);
  }

  async function syncOnce(serviceHealth: ReturnType<typeof createServiceHealth>): Promise<void> {
    const work = dirty;
    const triggers = triggeredAt;
    dirty = new Set();
    triggeredAt = [];
    const startedAt = clock.now();
    const keys = work ?? new Set([...state.keys(), ...[...services.list()].map(keyOf)]);
    for (const key of keys) plan(key);
    try {
      await backend.sync(state, work);
    } catch (error) {
      dirty = undefined;
      metrics.failed();
      throw error;
    }
    const endedAt = clock.now();
    lastUpdated = endedAt;
    if (isClean()) waitingSince = undefined;
    metrics.synced({ startedAt, endedAt, isFull: work === undefined, triggeredAt: triggers, state });
    await serviceHealth.sync(checks);
  }

  async function keepInSync(signal: AbortSignal): Promise<void> {
    await Promise.all([services.synced, slices.synced]);
    const serviceHealth = createServiceHealth({
      hosts: options.healthCheckHosts,
      isProxyHealthy: () => health().healthy,
      logger,
    });
    const rules: KeptRules = {
      of: "services",
      changes,
      isClean,
      async sync() {
        await syncOnce(serviceHealth);
        settleReady?.resolve();
      },
      isIntact: backend.isIntact,
      invalidate() {
        dirty = undefined;
      },
    };
    try {
      await keepRules(rules, { clock, logger, signal });
    } finally {
      await serviceHealth.close();
    }
  }

  return {
    ready,
    health,
    healthChecked: metrics.healthChecked,
    async run(signal) {
      const ended = new AbortController();
      const stopped = AbortSignal.any([signal, ended.signal]);
      const running = [services.run(stopped), slices.run(stopped), nodes.run(stopped)];
      try {
        await keepInSync(signal).catch((error) => {
          if (!signal.aborted) throw error;
        });
      } finally {
        ended.abort();
        settleReady?.reject(new Error("the proxy stopped"));
        await Promise.all(running);
        await backend.close();
      }
    },
  };
}

/** Maximum number of changes in one sync whose latency is measured. */
const maxTriggers = 10_000;

function keyOf({ metadata }: Service): string {
  return `${metadata.namespace}/${metadata.name}`;
}

function serviceOf({ metadata }: EndpointSlice): string {
  return `${metadata.namespace}/${metadata.labels?.[serviceLabel] ?? ""}`;
}

function trimService({ metadata, spec, status }: Service): Service {
  const { name, namespace, uid, resourceVersion, labels } = metadata;
  return { metadata: { name, namespace, uid, resourceVersion, labels }, spec, status } as Service;
}

function trimSlice(slice: EndpointSlice): EndpointSlice {
  const { apiVersion, kind, metadata, addressType, endpoints, ports } = slice;
  const { name, namespace, uid, resourceVersion, labels, annotations } = metadata;
  const trigger = annotations?.[triggerAnnotation];
  return {
    apiVersion,
    kind,
    metadata: {
      name,
      namespace,
      uid,
      resourceVersion,
      labels: { [serviceLabel]: labels?.[serviceLabel] ?? "" },
      ...(trigger !== undefined && { annotations: { [triggerAnnotation]: trigger } }),
    },
    addressType,
    ports,
    endpoints: (endpoints ?? []).map(({ addresses, conditions, nodeName, hints }) => ({
      addresses,
      conditions,
      nodeName,
      hints,
    })),
  };
}

function trimNode({ metadata, spec }: Node): Node {
  const { name, uid, resourceVersion, labels, deletionTimestamp } = metadata;
  const { taints } = spec ?? {};
  return { metadata: { name, uid, resourceVersion, labels, deletionTimestamp }, spec: { taints } } as Node;
}

/** Taint of nodes that the cluster autoscaler is about to remove. */
const toBeDeletedTaint = "ToBeDeletedByClusterAutoscaler";

function isEligible(node: Node | undefined): boolean {
  if (!node || node.metadata.deletionTimestamp !== undefined) return false;
  return !node.spec?.taints?.some(({ key }) => key === toBeDeletedTaint);
}
