import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { NetworkPolicy } from "../../src/api/meta/objects.ts";
import { silentLogger } from "../../src/lib/logger.ts";
import { compilePolicies } from "../../src/network-policy/compile/compile-policies.ts";
import type { PolicyPod } from "../../src/network-policy/compile/rule-set.ts";
import {
  createPolicyTables,
  type PolicyTables,
  removePolicyTables,
} from "../../src/network-policy/nftables/policy-tables.ts";
import { planService } from "../../src/proxy/model/service-port.ts";
import { createNftablesBackend } from "../../src/proxy/nftables/nftables-backend.ts";
import { openPodNetwork, type PodNetwork } from "../support/network/pod-network.ts";
import { describeWithTool } from "../support/programs/tools.ts";

type Spec = NonNullable<NetworkPolicy["spec"]>;
type Name = "a" | "b" | "c";

const table = "kindling-test-policy";
/** How long a connection may take that is expected to succeed, and one that is expected to get no response. */
const patienceMs = { allowed: 30_000, dropped: 700 };

describeWithTool("nft", "network policies in nftables", () => {
  let network: PodNetwork;
  let tables: PolicyTables;

  beforeAll(async () => {
    network = await openPodNetwork(["a", "b", "c"]);
  });
  afterAll(async () => {
    await removePolicyTables(table);
    await network.close();
  });
  const openTables = () =>
    createPolicyTables({
      table,
      podInterface: network.bridge,
      hardwareAddress: readFileSync(`/sys/class/net/${network.bridge}/address`, "utf8").trim(),
    });
  beforeEach(async () => {
    tables = openTables();
    await tables.sync(undefined);
  });

  const agent = (name: Name | "node") => {
    const found = name === "node" ? network.node : network.pods["abc".indexOf(name)];
    if (!found) throw new Error(`no pod ${name}`);
    return found;
  };
  /** Pods a and b are in the namespace `one`, c is in `two`. */
  const podOf = (name: Name): PolicyPod => ({
    namespace: name === "c" ? "two" : "one",
    labels: { app: name },
    addresses: [agent(name).address, agent(name).address6],
    ports: [
      { name: "serve", protocol: "TCP", port: 8080 },
      { name: "other", protocol: "TCP", port: 80 },
    ],
    isLocal: true,
  });
  const policy = (spec: Partial<Spec>, name = "p"): NetworkPolicy => ({
    apiVersion: "networking.k8s.io/v1",
    kind: "NetworkPolicy",
    metadata: { name, namespace: "one" },
    spec: { podSelector: { matchLabels: { app: "a" } }, ...spec },
  });
  const sync = (policies: readonly NetworkPolicy[], names: readonly Name[] = ["a", "b", "c"]) =>
    tables.sync(
      compilePolicies({
        policies,
        pods: names.map(podOf),
        namespaces: new Map([
          ["one", { team: "one" }],
          ["two", { team: "two" }],
        ]),
      }),
    );

  type Protocol = "tcp" | "udp" | "tcp6";

  async function isReached(connection: string, isExpected: boolean): Promise<boolean> {
    const [from, to, protocol = "tcp"] = connection.split(" ") as [Name, Name, Protocol | undefined];
    const { address, address6 } = agent(to);
    const timeoutMs = isExpected ? patienceMs.allowed : patienceMs.dropped;
    const target = { host: protocol === "tcp6" ? address6 : address, port: 8080, timeoutMs };
    const { text } = await (protocol === "udp" ? agent(from).udp(target) : agent(from).tcp(target));
    return text !== undefined;
  }
  /** Connects for each line `FROM TO [PROTOCOL]`, and expects that exactly the allowed ones succeed. */
  async function expectOnly(allowed: readonly string[], tried: readonly string[]): Promise<void> {
    const reached = await Promise.all(
      tried.map(async (each) => ((await isReached(each, allowed.includes(each))) ? each : [])),
    );
    expect(reached.flat().sort()).toEqual([...allowed].sort());
  }
  /** Expects that exactly these of b, c and the node reach a, by TCP over IPv4 and IPv6 and by UDP. */
  const expectAtA = (allowed: readonly string[]) =>
    expectOnly(
      allowed.map((each) => each.replace(" ", " a ")),
      every("b", "c", "node").map((each) => each.replace(" ", " a ")),
    );
  const every = (...names: string[]) =>
    names.flatMap((name) => [`${name} tcp`, `${name} tcp6`, `${name} udp`]);
  const from = (...peers: NonNullable<NonNullable<Spec["ingress"]>[number]["from"]>) => ({
    ingress: [{ from: peers }],
  });
  const ports = (...list: { port?: number | string; endPort?: number; protocol?: string }[]) => ({
    ingress: [{ ports: list as never }],
  });

  test("pods without a policy accept everything", async () => {
    await sync([policy({ podSelector: { matchLabels: { app: "b" } } })]);
    await expectAtA(every("b", "c", "node"));
  });

  describe("the ingress of an isolated pod", () => {
    test.each<[string, Partial<Spec>, string[]]>([
      ["is closed to all but the node", {}, every("node")],
      ["is open to selected pods", from({ podSelector: { matchLabels: { app: "b" } } }), every("b", "node")],
      [
        "is open to selected namespaces",
        from({ namespaceSelector: { matchLabels: { team: "two" } } }),
        every("c", "node"),
      ],
      [
        "is open to a block without its exceptions",
        from({ ipBlock: { cidr: "10.77.0.0/16", except: ["10.77.1.13/32"] } }),
        ["b tcp", "b udp", ...every("node")],
      ],
      [
        "is open at a port and its protocol",
        ports({ port: 8080, protocol: "UDP" }),
        ["b udp", "c udp", ...every("node")],
      ],
      [
        "is open at a range of ports",
        ports({ port: 8000, endPort: 8100, protocol: "TCP" }),
        ["b tcp", "b tcp6", "c tcp", "c tcp6", ...every("node")],
      ],
      [
        "is closed outside of a range of ports",
        ports({ port: 80, endPort: 8079, protocol: "TCP" }),
        every("node"),
      ],
      [
        "is open at a named port",
        ports({ port: "serve", protocol: "TCP" }),
        ["b tcp", "b tcp6", "c tcp", "c tcp6", ...every("node")],
      ],
      ["is closed at other named ports", ports({ port: "other", protocol: "TCP" }), every("node")],
    ])("%s", async (_, spec, expected) => {
      await sync([policy(spec)]);
      await expectAtA(expected);
    });
  });

  test("policies add up", async () => {
    await sync([
      policy({}, "none"),
      policy(from({ podSelector: { matchLabels: { app: "b" } } }), "b"),
      policy(from({ namespaceSelector: { matchLabels: { team: "two" } } }), "two"),
    ]);
    await expectAtA(every("b", "c", "node"));
  });

  describe("the egress of an isolated pod", () => {
    const egress = (rule?: NonNullable<Spec["egress"]>[number]) =>
      policy({ policyTypes: ["Egress"], egress: rule ? [rule] : [] });

    test("is closed, also to the node, while the pod can be reached", async () => {
      await sync([egress()]);
      await expectOnly([], ["a b", "a b tcp6", "a b udp", "a node", "a node tcp6"]);
      await expectAtA(every("b", "c", "node"));
    });

    test("is open to selected pods at a named port of theirs", async () => {
      const ports = [{ port: "serve" as never, protocol: "TCP" }];
      await sync([egress({ to: [{ podSelector: { matchLabels: { app: "b" } } }], ports })]);
      await expectOnly(["a b", "a b tcp6"], ["a b", "a b tcp6", "a b udp", "a c"]);
    });

    test("needs the ingress policy of the other pod too", async () => {
      const isolateB = policy({ podSelector: { matchLabels: { app: "b" } } }, "b");
      await sync([egress({}), isolateB]);
      await expectOnly(["a c"], ["a b", "a c"]);
    });
  });

  test("a policy applies to pods behind services, and knows clients by their own address", async () => {
    const backend = await createNftablesBackend({
      table: "kindling-test-services",
      podInterface: network.bridge,
      gateway: network.gateway,
      nodePortAddresses: [],
      exposedAddresses: [],
      serviceSubnet: "10.96.0.0/16",
      logger: silentLogger,
    });
    const service = {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "web", namespace: "one" },
      spec: { clusterIP: "10.96.0.7", clusterIPs: ["10.96.0.7"], ports: [{ port: 80, protocol: "TCP" }] },
    };
    const slice = {
      apiVersion: "discovery.k8s.io/v1",
      kind: "EndpointSlice",
      metadata: {},
      addressType: "IPv4",
      ports: [{ port: 8080, protocol: "TCP" }],
      endpoints: [{ addresses: [agent("a").address], nodeName: "here" }],
    };
    const { ports } = planService(service, [slice], { node: { name: "here" }, externalIPs: "ignored" });
    try {
      await backend.sync(new Map([["one/web", ports]]), undefined);
      await sync([
        policy({
          ...from({ podSelector: { matchLabels: { app: "b" } } }),
          policyTypes: ["Ingress", "Egress"],
        }),
      ]);
      const target = { host: "10.96.0.7", port: 80, timeoutMs: patienceMs.allowed };
      expect((await agent("b").tcp(target)).text).toBe(`a ${agent("b").address}`);
      expect(await agent("c").tcp({ ...target, timeoutMs: patienceMs.dropped })).toEqual({
        error: "timeout",
      });
      // A pod reaches itself, although it may not connect to others.
      expect((await agent("a").tcp(target)).text).toMatch(/^a /);
      expect((await agent("node").tcp(target)).text).toMatch(/^a /);
    } finally {
      await backend.remove();
      await backend.close();
    }
  });

  test.each(["0", "1"])(
    "frames to the hardware address of a pod do not bypass its policy (bridge-nf-call-iptables=%s)",
    async (value) => {
      const { address, namespace = "" } = agent("a");
      const inside = (...args: string[]) =>
        execFileSync("ip", ["-n", agent("c").namespace ?? "", ...args]).toString();
      const link = execFileSync("ip", ["-n", namespace, "-brief", "link", "show", "eth0"]).toString();
      const sysctl = "/proc/sys/net/bridge/bridge-nf-call-iptables";
      const before = existsSync(sysctl) ? readFileSync(sysctl, "utf8") : undefined;
      if (before !== undefined) writeFileSync(sysctl, value);
      inside("route", "add", address, "dev", "eth0");
      inside("neighbor", "replace", address, "dev", "eth0", "lladdr", link.split(/\s+/)[2] ?? "");
      try {
        await expectOnly(["c a udp"], ["c a udp"]);
        await sync([policy({})]);
        await expectOnly(["c b udp"], ["c a udp", "c b udp"]);
      } finally {
        inside("route", "delete", address, "dev", "eth0");
        if (before !== undefined) writeFileSync(sysctl, before);
      }
    },
  );

  test("connections continue when a policy that forbids new ones is added", async () => {
    await sync([policy({ podSelector: { matchLabels: { app: "b" } } })]);
    await agent("b").tcp({
      host: agent("a").address,
      port: 8080,
      keep: "long",
      timeoutMs: patienceMs.allowed,
    });
    await sync([policy({})]);
    await expectOnly([], ["b a"]);
    expect(await agent("b").again("long")).toEqual({ text: "still here" });
  });

  test("a pod that is not known yet has no connections, except with the node", async () => {
    const tried = ["a c", "c a", "a node"];
    await sync([policy({ podSelector: { matchLabels: { app: "b" } } })], ["b", "c"]);
    await expectOnly(["node a"], [...tried, "node a"]);
    await sync([policy({ podSelector: { matchLabels: { app: "b" } } })]);
    await expectOnly(tried, tried);
  });

  test("changes are applied, and the last policy removes the tables", async () => {
    await sync([policy({})]);
    await sync([policy(from({ podSelector: { matchLabels: { app: "b" } } }))]);
    await expectAtA(every("b", "node"));
    await sync([
      policy(from({ ipBlock: { cidr: "10.77.1.13/32" } }), "q"),
      policy({ policyTypes: ["Egress"] }),
    ]);
    await expectAtA(["c tcp", "c udp", ...every("node")]);
    await tables.sync(undefined);
    await expectAtA(every("b", "c", "node"));
    expect(execFileSync("nft", ["list", "tables"]).toString()).not.toContain(table);
  });

  test("a restarted process takes the rules over", async () => {
    await sync([policy({})]);
    tables = openTables();
    await expectAtA(every("node"));
    await sync([policy(from({ podSelector: { matchLabels: { app: "b" } } }))]);
    await expectAtA(every("b", "node"));
  });

  test.each([
    ["all rules", ["flush", "ruleset"]],
    ["one chain", ["flush", "chain", "ip", table, "ingress-forward"]],
    ["one table", ["delete", "table", "ip6", table]],
    ["the table of the bridge", ["delete", "table", "bridge", table]],
  ])("removed rules (%s) are noticed and written again", async (_, command) => {
    await sync([policy({})]);
    expect(await tables.isIntact()).toBe(true);
    execFileSync("nft", command);
    expect(await tables.isIntact()).toBe(false);
    await sync([policy({})]);
    expect(await tables.isIntact()).toBe(true);
    await expectAtA(every("node"));
  });
});
