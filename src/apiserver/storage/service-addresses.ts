import type * as k8s from "@kubernetes/client-node";
import {
  allocatesNodePorts,
  defaultIpFamilies,
  hasNodePorts,
  needsClusterIP,
  needsHealthCheckNodePort,
  type ServiceSpec,
  validateClusterIps,
} from "../../api/kinds/core/service/addresses.ts";
import { serviceKind } from "../../api/kinds/core/service/kind.ts";
import { type FieldError, FieldErrors, invalid } from "../../api/meta/field-errors.ts";
import type { KubeObject, Wire } from "../../api/meta/objects.ts";
import { invalidObject } from "../../api/meta/status-error.ts";
import { createAsyncQueue } from "../../lib/async-queue.ts";
import type { Logger } from "../../lib/logger.ts";
import type { Store } from "../../store/store.ts";
import type { KindCache } from "./kind-cache.ts";
import {
  addressRange,
  createServiceClaims,
  isServiceAddress,
  nodePortRange,
  type ServiceClaims,
} from "./service-claims.ts";
import type { Change } from "./watcher-index.ts";

type Service = KubeObject & Wire<k8s.V1Service>;

export const serviceResource = serviceKind.resource;

/** Cluster addresses and node ports of services. */
export interface ServiceAddresses {
  /** Allocates the addresses and ports that the service needs. Rejects those that it may not have. */
  assign(service: Service, options: AssignOptions): Promise<void>;
  /** Releases addresses and ports that services no longer use, until the signal aborts. */
  run(signal: AbortSignal): Promise<void>;
  /** Releases addresses and ports that no service uses. */
  repair(): Promise<void>;
}

interface AssignOptions {
  readonly current: Service | undefined;
  /** Whether addresses and ports are chosen without being allocated. */
  readonly dryRun: boolean;
}

interface ServiceAddressesDeps {
  readonly store: Store;
  readonly services: KindCache;
  readonly logger: Logger;
}

/** Maximum number of pending releases. `repair` releases the others. */
const maxUnreleased = 10_000;

export function createServiceAddresses({ store, services, logger }: ServiceAddressesDeps): ServiceAddresses {
  const claims = createServiceClaims(store);

  async function release({ before, after, revision }: Change): Promise<void> {
    if (!before) return;
    const service: Service = before.view();
    const kept = new Set(after ? claimsOf(after.view()) : []);
    const given = claimsOf(service).filter((name) => !kept.has(name));
    if (given.length > 0) await claims.release(given, ownerOf(service), revision);
  }

  return {
    async assign(service, options) {
      const { spec } = service;
      if (!spec) return;
      const problems = initFamilies(spec, options.current?.spec);
      if (problems.length > 0) throw refused(service, problems);
      const taker = createTaker(claims, service, options);
      await assignAddress(service, spec, taker);
      await assignPorts(service, spec, taker);
    },
    async run(signal) {
      const changes = createAsyncQueue<Change>({ capacity: maxUnreleased });
      const unsubscribe = services.watch({ kind: "all" }, (change) => void changes.push(change));
      signal.addEventListener("abort", () => changes.end(), { once: true });
      for await (const change of changes) {
        await release(change).catch((error: unknown) =>
          logger.warn("the addresses of a service were not freed", { error }),
        );
      }
      unsubscribe();
    },
    async repair() {
      const used = new Set<string>();
      for (const cached of services.range("")) for (const name of claimsOf(cached.view())) used.add(name);
      await claims.repair(used);
    },
  };
}

/** Allocates addresses and ports for one request. */
interface Taker {
  take(name: string): Promise<boolean>;
  takeAny(kind: "ip" | "port"): Promise<string>;
}

function createTaker(claims: ServiceClaims, service: Service, { current, dryRun }: AssignOptions): Taker {
  const owner = ownerOf(service);
  const held = new Set(current ? claimsOf(current) : []);
  return {
    async take(name) {
      if (held.has(name)) return true;
      return dryRun ? claims.isFree(name) : claims.claim(name, owner);
    },
    takeAny: (kind) => claims.claimAny(kind, dryRun ? undefined : owner),
  };
}

/**
 * Sets the IP families of the service. Returns the reason if the requested ones are not available in an IPv4 cluster.
 */
function initFamilies(spec: ServiceSpec, current: ServiceSpec | undefined): FieldError[] {
  if (spec.type === "ExternalName") return [];
  const at = new FieldErrors("spec");
  validateClusterIps(spec, at, current);
  if (at.errors.length > 0) return at.errors;
  defaultIpFamilies(spec, "IPv4");
  const open = spec.clusterIP === "None" && Object.keys(spec.selector ?? {}).length === 0;
  if (open) return [];
  if (spec.ipFamilyPolicy === "RequireDualStack") {
    at.invalid(
      "ipFamilyPolicy",
      spec.ipFamilyPolicy,
      "this cluster is not configured for dual-stack services",
    );
  }
  spec.ipFamilies?.forEach((family, i) => {
    if (family !== "IPv4") at.invalid(`ipFamilies[${i}]`, family, "not configured on this cluster");
  });
  return at.errors;
}

async function assignAddress(service: Service, spec: ServiceSpec, taker: Taker): Promise<void> {
  if (spec.type === "ExternalName" || spec.clusterIP === "None") return;
  if (needsClusterIP(spec)) {
    spec.clusterIP = await taker.takeAny("ip");
    spec.clusterIPs = [spec.clusterIP];
    return;
  }
  const { clusterIP = "" } = spec;
  spec.clusterIPs = [clusterIP];
  const problem = await takeAddress(clusterIP, taker);
  if (!problem) return;
  const detail = `failed to allocate IP ${clusterIP}: ${problem}`;
  throw refused(service, [invalid("spec.clusterIPs", [clusterIP], detail)]);
}

/** Allocates an address. Returns the reason if it is not available. */
async function takeAddress(address: string, taker: Taker): Promise<string | undefined> {
  if (!isServiceAddress(address)) {
    return `the provided IP (${address}) is not in the valid range. The range of valid IPs is ${addressRange}`;
  }
  return (await taker.take(`ip/${address}`)) ? undefined : "provided IP is already allocated";
}

async function assignPorts(service: Service, spec: ServiceSpec, taker: Taker): Promise<void> {
  const ports = hasNodePorts(spec) ? (spec.ports ?? []) : [];
  const byPort = new Map<number, number>();
  for (const [i, port] of ports.entries()) {
    if (!port.nodePort && !allocatesNodePorts(spec)) continue;
    // A port that is served over several protocols has one node port.
    const shared = byPort.get(port.port);
    const wanted = port.nodePort || shared || requestedNodePort(ports, port.port);
    if (wanted && wanted !== shared) await takePort(service, taker, `spec.ports[${i}].nodePort`, wanted);
    port.nodePort = wanted || Number(await taker.takeAny("port"));
    byPort.set(port.port, port.nodePort);
  }
  if (!needsHealthCheckNodePort(spec)) return;
  if (spec.healthCheckNodePort)
    await takePort(service, taker, "spec.healthCheckNodePort", spec.healthCheckNodePort);
  else spec.healthCheckNodePort = Number(await taker.takeAny("port"));
}

function requestedNodePort(ports: readonly k8s.V1ServicePort[], number: number): number | undefined {
  return ports.find(({ port, nodePort }) => port === number && nodePort)?.nodePort;
}

async function takePort(service: Service, taker: Taker, field: string, port: number): Promise<void> {
  const { first, last } = nodePortRange;
  if (port < first || port > last) {
    const detail = `provided port is not in the valid range. The range of valid ports is ${first}-${last}`;
    throw refused(service, [invalid(field, port, detail)]);
  }
  if (await taker.take(`port/${port}`)) return;
  throw refused(service, [invalid(field, port, "provided port is already allocated")]);
}

function refused(service: Service, errors: readonly FieldError[]) {
  return invalidObject(serviceResource, service.metadata.name ?? "", errors);
}

function ownerOf({ metadata }: Service): string {
  return `${metadata.namespace}/${metadata.name}`;
}

function claimsOf({ spec }: Service): string[] {
  const ports = [...(spec?.ports ?? []).map(({ nodePort }) => nodePort), spec?.healthCheckNodePort];
  const addresses = (spec?.clusterIPs ?? []).filter((address) => address !== "None");
  return [
    ...addresses.map((address) => `ip/${address}`),
    ...ports.filter(Boolean).map((port) => `port/${port}`),
  ];
}
