import { randomInt } from "node:crypto";
import type * as k8s from "@kubernetes/client-node";
import { invalid } from "../api/field-error.ts";
import type { KubeObject, Wire } from "../api/objects.ts";
import { findResource, type Resource } from "../api/resources.ts";
import { internalError, invalidObject } from "../api/status-error.ts";
import type { Store } from "../store/store.ts";
import type { KindCache } from "./cache/kind-cache.ts";
import { registryPrefix } from "./object-key.ts";

type Service = KubeObject & Wire<k8s.V1Service>;

export const serviceResource = findResource("", "v1", "services") as Resource;

/** 10.96.0.0/16, without its first and last address. */
const addressPrefix = "10.96";
/** The address of the `kubernetes` service, which pods reach the API at. */
export const apiServiceAddress = `${addressPrefix}.0.1`;
const nodePorts = { first: 30_000, count: 2_768 };
const claimPrefix = `${registryPrefix}kindling/claims/`;
const attempts = 1_000;

/**
 * Cluster addresses and node ports of services. Each one in use is a key of the store: two servers cannot give
 * the same one away, for only one of them creates the key.
 */
export interface ServiceAddresses {
  /** Fills in what the service needs and has not got. */
  assign(service: Service, current: Service | undefined): Promise<void>;
  /** Frees what no service had in two runs of it: deleted services, and what a crash or a refused request left. */
  repair(): Promise<void>;
}

export function createServiceAddresses(deps: { store: Store; services: KindCache }): ServiceAddresses {
  const { store, services } = deps;
  let suspects: ReadonlySet<string> = new Set();

  async function claim(name: string, owner: string): Promise<boolean> {
    const result = await store.create(`${claimPrefix}${name}`, Buffer.from(owner));
    return result.kind === "created" || result.current.value.toString() === owner;
  }

  async function claimAny(kind: "ip" | "port", owner: string): Promise<string> {
    for (let attempt = 0; attempt < attempts; attempt++) {
      const candidate =
        kind === "ip" ? randomAddress() : String(nodePorts.first + randomInt(nodePorts.count));
      const taken = await store.get(`${claimPrefix}${kind}/${candidate}`);
      if (!taken && (await claim(`${kind}/${candidate}`, owner))) return candidate;
    }
    throw internalError(
      `no free ${kind === "ip" ? "cluster address" : "node port"} was found for the service`,
    );
  }

  async function assignAddress(service: Service, owner: string): Promise<void> {
    const { spec } = service;
    if (!spec || spec.type === "ExternalName" || spec.clusterIP === "None") return;
    if (!spec.clusterIP) spec.clusterIP = await claimAny("ip", owner);
    else if (!(await claim(`ip/${spec.clusterIP}`, owner))) {
      const error = invalid(
        "spec.clusterIPs",
        [spec.clusterIP],
        "failed to allocate IP: provided IP is already allocated",
      );
      throw invalidObject(serviceResource, service.metadata.name ?? "", [error]);
    }
    spec.clusterIPs = [spec.clusterIP];
    spec.ipFamilies ??= [spec.clusterIP.includes(":") ? "IPv6" : "IPv4"];
    spec.ipFamilyPolicy ??= "SingleStack";
  }

  async function assignPorts(service: Service, owner: string): Promise<void> {
    const { spec } = service;
    if (
      spec?.type !== "NodePort" &&
      (spec?.type !== "LoadBalancer" || spec.allocateLoadBalancerNodePorts === false)
    )
      return;
    for (const [i, port] of (spec.ports ?? []).entries()) {
      if (!port.nodePort) port.nodePort = Number(await claimAny("port", owner));
      else if (!(await claim(`port/${port.nodePort}`, owner))) {
        const error = invalid(
          `spec.ports[${i}].nodePort`,
          port.nodePort,
          "provided port is already allocated",
        );
        throw invalidObject(serviceResource, service.metadata.name ?? "", [error]);
      }
    }
  }

  return {
    async assign(service, current) {
      keepAddress(service, current);
      const owner = `${service.metadata.namespace}/${service.metadata.name}`;
      await assignAddress(service, owner);
      await assignPorts(service, owner);
    },
    async repair() {
      const { entries } = await store.list(claimPrefix);
      const used = new Set<string>();
      for (const cached of services.range(""))
        for (const name of claimsOf(cached.parse())) used.add(claimPrefix + name);
      const unused = entries.filter(({ key }) => !used.has(key));
      // What is unused for the first time may belong to a service that is just being created.
      for (const { key, revision } of unused)
        if (suspects.has(key)) await store.delete(key, { ifRevision: revision });
      suspects = new Set(unused.map(({ key }) => key));
    },
  };
}

/** An update that leaves the address out means the one there is. */
function keepAddress(service: Service, current: Service | undefined): void {
  const before = current?.spec;
  const { spec } = service;
  if (!spec || !before || spec.type === "ExternalName" || before.type === "ExternalName") return;
  spec.clusterIP ||= before.clusterIP;
  for (const port of spec.ports ?? []) {
    port.nodePort ||= before.ports?.find(
      (other) => other.port === port.port && other.protocol === port.protocol,
    )?.nodePort;
    if (!port.nodePort) delete port.nodePort;
  }
}

function claimsOf({ spec }: Service): string[] {
  const ports = (spec?.ports ?? []).flatMap(({ nodePort }) => (nodePort ? [`port/${nodePort}`] : []));
  return [...(spec?.clusterIPs ?? []).map((address) => `ip/${address}`), ...ports];
}

function randomAddress(): string {
  // The first 256 addresses are left to those who choose theirs by hand.
  const number = 256 + randomInt(65_535 - 256);
  return `${addressPrefix}.${number >>> 8}.${number & 255}`;
}
