import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Service } from "../../src/api/meta/objects.ts";
import type { ProxyBackend } from "../../src/proxy/model/backend.ts";
import { planService, type ServicePort } from "../../src/proxy/model/service-port.ts";
import { type AgentResult, openPodNetwork, type PodNetwork } from "../support/network/pod-network.ts";

export interface BackendFixture {
  /**
   * Opens the backend with the same name each time, as a restarted process would. It serves node ports at 127.0.0.1, the
   * gateway and the exposed addresses.
   */
  open(network: PodNetwork, exposedAddresses: readonly string[]): Promise<ProxyBackend>;
  /** Whether servers see the address of the client. */
  readonly keepsClientAddress: boolean;
}

type Spec = NonNullable<Service["spec"]>;

/** Tests that each backend of the service proxy passes, with real connections between network namespaces. */
export function backendContract({ open, keepsClientAddress }: BackendFixture): void {
  let network: PodNetwork;
  let backend: ProxyBackend;

  beforeAll(async () => {
    network = await openPodNetwork(["a", "b", "c"]);
    backend = await open(network, []);
  });
  afterAll(async () => {
    await backend.remove();
    await backend.close();
    await network.close();
  });
  beforeEach(() => backend.sync(new Map(), undefined));

  const podNamed = (name: string) => {
    const pod = network.pods["abc".indexOf(name)];
    if (!pod) throw new Error(`no pod ${name}`);
    return pod;
  };

  /** Ports of a service at 10.96.0.7:80 whose endpoints are these pods. A pod in upper case is on another node. */
  function make(pods: string, spec: Spec = {}, status?: Service["status"]): readonly ServicePort[] {
    const isIPv6 = spec.clusterIP?.includes(":") ?? false;
    const ports = spec.ports ?? [{ port: 80, protocol: "TCP" }];
    const clusterIP = spec.clusterIP ?? "10.96.0.7";
    const service: Service = {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "web", namespace: "default" },
      spec: { clusterIP, clusterIPs: [clusterIP], ...spec, ports },
      status,
    };
    const endpoints = [...pods].map((name) => {
      const { address, address6 } = podNamed(name.toLowerCase());
      return {
        addresses: [isIPv6 ? address6 : address],
        nodeName: name === name.toLowerCase() ? "here" : "there",
      };
    });
    const slice = {
      apiVersion: "discovery.k8s.io/v1",
      kind: "EndpointSlice",
      metadata: {},
      addressType: isIPv6 ? "IPv6" : "IPv4",
      ports: [{ port: 8080, protocol: ports[0]?.protocol }],
      endpoints,
    };
    return planService(service, [slice], { node: { name: "here" }, externalIPs: "served" }).ports;
  }

  const sync = (ports: readonly ServicePort[]) =>
    backend.sync(new Map(ports.length > 0 ? [["default/web", ports]] : []), new Set(["default/web"]));

  const serverOf = ({ text, error }: AgentResult) => error ?? text?.split(" ")[0];

  async function servers(times: number, connect: () => Promise<AgentResult>): Promise<string[]> {
    const found = new Set<string>();
    for (let i = 0; i < times; i++) found.add(serverOf(await connect()) ?? "");
    return [...found].sort();
  }

  const service = { host: "10.96.0.7", port: 80 };

  describe("a cluster IP", () => {
    test("leads pods and the node to all endpoints", async () => {
      await sync(make("ab"));
      expect(await servers(30, () => podNamed("c").tcp(service))).toEqual(["a", "b"]);
      expect(await servers(30, () => network.node.tcp(service))).toEqual(["a", "b"]);
    });

    test("leads a pod to itself", async () => {
      await sync(make("a"));
      expect(serverOf(await podNamed("a").tcp(service))).toBe("a");
    });

    test.runIf(keepsClientAddress)("keeps the address of the client", async () => {
      await sync(make("a"));
      expect((await podNamed("c").tcp(service)).text).toBe(`a ${podNamed("c").address}`);
    });

    test("rejects connections without endpoints", async () => {
      await sync(make(""));
      expect(await podNamed("c").tcp(service)).toEqual({ error: "ECONNREFUSED" });
      expect(await network.node.tcp(service)).toEqual({ error: "ECONNREFUSED" });
    });

    test("follows changes of its endpoints, and rejects connections after the service is deleted", async () => {
      await sync(make("a"));
      expect(await servers(3, () => podNamed("c").tcp(service))).toEqual(["a"]);
      await sync(make("b"));
      expect(await servers(3, () => podNamed("c").tcp(service))).toEqual(["b"]);
      await sync(make("ab"));
      expect(await servers(30, () => podNamed("c").tcp(service))).toEqual(["a", "b"]);
      await sync([]);
      expect((await podNamed("c").tcp(service)).text).toBeUndefined();
    });

    test("with internalTrafficPolicy Local uses endpoints of this node only", async () => {
      await sync(make("aB", { internalTrafficPolicy: "Local" }));
      expect(await servers(10, () => podNamed("c").tcp(service))).toEqual(["a"]);
      await sync(make("B", { internalTrafficPolicy: "Local" }));
      expect((await podNamed("c").tcp({ ...service, timeoutMs: 700 })).text).toBeUndefined();
    });

    test("with session affinity leads a client to the same endpoint", async () => {
      await sync(make("ab", { sessionAffinity: "ClientIP" }));
      const first = await servers(12, () => podNamed("c").tcp(service));
      expect(first).toHaveLength(1);
      await sync(make("b", { sessionAffinity: "ClientIP" }));
      expect(await servers(3, () => podNamed("c").tcp(service))).toEqual(["b"]);
      await sync(make("ab", { sessionAffinity: "ClientIP" }));
      expect(await servers(12, () => podNamed("c").tcp(service))).toEqual(["b"]);
    });

    test("of IPv6 leads to endpoints of IPv6", async () => {
      await sync(make("ab", { clusterIP: "fd96::7" }));
      expect(await servers(30, () => podNamed("c").tcp({ host: "fd96::7", port: 80 }))).toEqual(["a", "b"]);
    });
  });

  test("UDP clients with a fixed port reach the new endpoint after a change", async () => {
    const ports = [{ port: 53, protocol: "UDP" }];
    const target = { host: "10.96.0.7", port: 53, from: 5_353 };
    await sync(make("a", { ports }));
    expect(serverOf(await podNamed("c").udp(target))).toBe("a");
    await sync(make("b", { ports }));
    expect(serverOf(await podNamed("c").udp(target))).toBe("b");
  });

  describe("a node port", () => {
    const nodePort: Spec = { type: "NodePort", ports: [{ port: 80, protocol: "TCP", nodePort: 30_080 }] };

    test("is served at 127.0.0.1 and at the gateway, and at no other address", async () => {
      await sync(make("ab", nodePort));
      expect(await servers(30, () => network.node.tcp({ host: "127.0.0.1", port: 30_080 }))).toEqual([
        "a",
        "b",
      ]);
      expect(
        await servers(3, () => podNamed("c").tcp({ host: network.gateway, port: 30_080 })),
      ).not.toContain("timeout");
      expect((await network.node.tcp({ host: "127.0.0.2", port: 30_080 })).error).toBe("ECONNREFUSED");
    });

    test("with externalTrafficPolicy Local leads the node itself to all endpoints", async () => {
      await sync(make("B", { ...nodePort, externalTrafficPolicy: "Local" }));
      expect(serverOf(await network.node.tcp({ host: network.gateway, port: 30_080 }))).toBe("b");
    });

    test("is closed when the service changes its type", async () => {
      await sync(make("a", nodePort));
      await sync(make("a"));
      expect((await network.node.tcp({ host: "127.0.0.1", port: 30_080 })).error).toBe("ECONNREFUSED");
    });
  });

  describe.each(["TCP", "UDP"] as const)(
    "another machine that routes through the node, with %s",
    (protocol) => {
      const connect = protocol === "TCP" ? "tcp" : "udp";
      const reachable = { timeoutMs: 30_000 };
      const unreachable = { timeoutMs: 500 };
      const ports = [{ port: 81, protocol, nodePort: 30_081 }];
      const makeBalancer = (ip: string, spec: Spec = {}) =>
        make(
          "a",
          { type: "LoadBalancer", ports, ...spec },
          { loadBalancer: { ingress: [{ ip, ipMode: "VIP" }] } },
        );

      test("reaches no cluster IP, node port or load balancer", async () => {
        await sync(makeBalancer(network.gateway));
        for (const target of [
          { host: "10.96.0.7", port: 81 },
          { host: network.gateway, port: 81 },
          { host: network.gateway, port: 30_081 },
        ]) {
          expect(serverOf(await podNamed("c")[connect]({ ...target, ...reachable }))).toBe("a");
          expect(serverOf(await network.node[connect]({ ...target, ...reachable }))).toBe("a");
          expect((await network.outside[connect]({ ...target, ...unreachable })).text).toBeUndefined();
        }
        await sync(make("a", { clusterIP: "fd96::7", ports: [{ port: 81, protocol }] }));
        const target = { host: "fd96::7", port: 81 };
        expect(serverOf(await podNamed("c")[connect]({ ...target, ...reachable }))).toBe("a");
        expect((await network.outside[connect]({ ...target, ...unreachable })).text).toBeUndefined();
      });

      test("reaches exposed addresses and external IPs", async () => {
        const { nodeAddress, outside } = network;
        await backend.close();
        backend = await open(network, [nodeAddress]);
        const state = new Map([["default/web", makeBalancer(nodeAddress, { externalIPs: ["192.0.2.77"] })]]);
        await backend.sync(state, undefined);
        for (const target of [
          { host: nodeAddress, port: 81 },
          { host: nodeAddress, port: 30_081 },
          { host: "192.0.2.77", port: 81 },
        ])
          expect(serverOf(await outside[connect]({ ...target, ...reachable }))).toBe("a");
        const clusterIP = { host: "10.96.0.7", port: 81, ...unreachable };
        expect((await outside[connect](clusterIP)).text).toBeUndefined();
        await backend.close();
        backend = await open(network, []);
      });
    },
  );

  test("a load balancer's address leads to the endpoints", async () => {
    const status = { loadBalancer: { ingress: [{ ip: network.gateway, ipMode: "VIP" }] } };
    await sync(make("a", { type: "LoadBalancer", ports: [{ port: 81, protocol: "TCP" }] }, status));
    expect(serverOf(await podNamed("c").tcp({ host: network.gateway, port: 81 }))).toBe("a");
    expect(serverOf(await network.node.tcp({ host: network.gateway, port: 81 }))).toBe("a");
  });

  test.each(["tcp", "udp"] as const)(
    "a load balancer serves only clients in its source ranges (%s)",
    async (connect) => {
      const status = { loadBalancer: { ingress: [{ ip: network.gateway, ipMode: "VIP" }] } };
      const spec = { type: "LoadBalancer", ports: [{ port: 81, protocol: connect.toUpperCase() }] };
      const loadBalancerSourceRanges = [`${podNamed("b").address}/32`];
      await sync(make("a", { ...spec, loadBalancerSourceRanges }, status));
      const target = { host: network.gateway, port: 81 };
      expect(serverOf(await podNamed("b")[connect]({ ...target, timeoutMs: 30_000 }))).toBe("a");
      expect((await podNamed("c")[connect]({ ...target, timeoutMs: 500 })).text).toBeUndefined();
      await sync(make("a", spec, status));
      expect(serverOf(await podNamed("c")[connect]({ ...target, timeoutMs: 30_000 }))).toBe("a");
    },
  );

  test("an external IP leads to the endpoints, and is closed with its service", async () => {
    const external = { host: "192.0.2.77", port: 80 };
    await sync(make("a", { externalIPs: [external.host] }));
    expect(serverOf(await podNamed("c").tcp(external))).toBe("a");
    expect(serverOf(await network.node.tcp(external))).toBe("a");
    expect(serverOf(await network.outside.tcp(external))).toBe("a");
    await sync([]);
    expect((await podNamed("c").tcp({ ...external, timeoutMs: 500 })).text).toBeUndefined();
  });

  test("a restarted backend takes the services over, and then changes them", async () => {
    await sync(make("a"));
    await backend.close();
    backend = await open(network, []);
    await backend.sync(new Map([["default/web", make("a")]]), undefined);
    expect(serverOf(await podNamed("c").tcp(service))).toBe("a");
    await sync(make("b"));
    expect(serverOf(await podNamed("c").tcp(service))).toBe("b");
  });

  test("removes everything that it has created", async () => {
    await sync(make("a"));
    expect(await backend.isIntact()).toBe(true);
    await backend.remove();
    expect((await podNamed("c").tcp({ ...service, timeoutMs: 500 })).text).toBeUndefined();
  });
}
