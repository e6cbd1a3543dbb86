import { describe, expect, test } from "vitest";
import type { NetworkPolicy } from "../../api/meta/objects.ts";
import { renderRules } from "../nftables/render-rules.ts";
import { compilePolicies } from "./compile-policies.ts";
import type { PolicyPod } from "./rule-set.ts";

type Spec = NonNullable<NetworkPolicy["spec"]>;

const pod = (namespace: string, app: string, number: number, extra: Partial<PolicyPod> = {}): PolicyPod => ({
  namespace,
  labels: { app },
  addresses: [`10.0.0.${number}`, `fd00::${number}`],
  ports: [],
  isLocal: true,
  ...extra,
});
const pods = [
  pod("a", "web", 1, { ports: [{ name: "http", protocol: "TCP", port: 8080 }] }),
  pod("a", "web", 2, { ports: [{ name: "http", protocol: "TCP", port: 80 }] }),
  pod("a", "client", 3),
  pod("b", "client", 4),
  pod("b", "db", 5, { ports: [{ name: "http", protocol: "UDP", port: 53 }] }),
  pod("c", "client", 6, { isLocal: false }),
];
const namespaces = new Map([
  ["a", { team: "x" }],
  ["b", { team: "y" }],
  ["c", { team: "y" }],
]);

const policy = (name: string, spec: Partial<Spec>, namespace = "a"): NetworkPolicy => ({
  apiVersion: "networking.k8s.io/v1",
  kind: "NetworkPolicy",
  metadata: { name, namespace },
  spec: { podSelector: {}, ...spec },
});
const web = { matchLabels: { app: "web" } };
const client = { matchLabels: { app: "client" } };

const compile = (...policies: NetworkPolicy[]) => compilePolicies({ policies, pods, namespaces });

/** Rules of the only policy in one direction, with the elements of the sets that they name. */
function rulesOf(spec: Partial<Spec>, direction = "ingress", family: "ip" | "ip6" = "ip"): string[] {
  const { chains, elements } = renderRules(compile(policy("p", { podSelector: web, ...spec })), family);
  return (chains.get(`${direction}-a/p`) ?? []).map((rule) =>
    rule.replaceAll(/@(\S+)/g, (_, name: string) => `[${[...(elements.get(name)?.keys() ?? [])].join(" ")}]`),
  );
}

describe("isolation", () => {
  const isolated = (...policies: NetworkPolicy[]) => {
    const { ingress, egress } = compile(...policies).isolated;
    const v4 = (map: ReadonlyMap<string, string>) => [...map.keys()].filter((key) => key.includes("."));
    return { ingress: v4(ingress), egress: v4(egress) };
  };

  test.each<[string, Partial<Spec>, { ingress: string[]; egress: string[] }]>([
    ["all pods of the namespace", {}, { ingress: ["10.0.0.1", "10.0.0.2", "10.0.0.3"], egress: [] }],
    ["selected pods", { podSelector: client }, { ingress: ["10.0.0.3"], egress: [] }],
    [
      "both directions if there are egress rules and no types",
      { podSelector: client, egress: [{}] },
      { ingress: ["10.0.0.3"], egress: ["10.0.0.3"] },
    ],
    ["only egress", { podSelector: client, policyTypes: ["Egress"] }, { ingress: [], egress: ["10.0.0.3"] }],
    [
      "only ingress, although there are egress rules",
      { podSelector: client, policyTypes: ["Ingress"], egress: [{}] },
      { ingress: ["10.0.0.3"], egress: [] },
    ],
    ["no pod", { podSelector: { matchLabels: { app: "none" } } }, { ingress: [], egress: [] }],
  ])("applies to %s", (_, spec, expected) => expect(isolated(policy("p", spec))).toEqual(expected));

  test("does not apply to pods of other nodes", () => {
    expect(isolated(policy("p", {}, "c"))).toEqual({ ingress: [], egress: [] });
  });

  test("leads pods with the same policies to one chain, which drops what none of them allows", () => {
    const rules = compile(policy("all", {}), policy("web", { podSelector: web, ingress: [{}] }));
    const groupOf = (address: string) => rules.isolated.ingress.get(address) ?? "";
    expect(groupOf("10.0.0.1")).toBe(groupOf("10.0.0.2"));
    expect(groupOf("10.0.0.1")).not.toBe(groupOf("10.0.0.3"));
    const { chains, elements } = renderRules(rules, "ip");
    expect(chains.get(groupOf("10.0.0.1"))).toEqual(["jump ingress-a/all", "jump ingress-a/web", "drop"]);
    expect(chains.get(groupOf("10.0.0.3"))).toEqual(["jump ingress-a/all", "drop"]);
    expect(chains.get("ingress-a/all")).toEqual([]);
    expect(elements.get("ingress")?.get("10.0.0.3")).toBe(`goto ${groupOf("10.0.0.3")}`);
    expect(elements.get("own")?.has("10.0.0.3 . 10.0.0.3")).toBe(true);
    expect([...(elements.get("pods")?.keys() ?? [])]).toHaveLength(5);
  });
});

describe("an ingress rule", () => {
  const from = (...peers: NonNullable<NonNullable<Spec["ingress"]>[number]["from"]>) => ({
    ingress: [{ from: peers }],
  });

  test.each<[string, Partial<Spec>, string[]]>([
    ["without peers and ports allows everything", { ingress: [{}] }, ["accept"]],
    ["with empty lists allows everything", { ingress: [{ from: [], ports: [] }] }, ["accept"]],
    [
      "with a pod selector allows pods of the same namespace",
      from({ podSelector: client }),
      ["ip saddr [10.0.0.3] accept"],
    ],
    [
      "with a namespace selector allows all pods of these namespaces",
      from({ namespaceSelector: { matchLabels: { team: "y" } } }),
      ["ip saddr [10.0.0.4 10.0.0.5 10.0.0.6] accept"],
    ],
    [
      "with both selectors allows pods that match both",
      from({ namespaceSelector: {}, podSelector: client }),
      ["ip saddr [10.0.0.3 10.0.0.4 10.0.0.6] accept"],
    ],
    [
      "with several peers allows pods of any of them, in one set",
      from(
        { podSelector: client },
        { namespaceSelector: { matchLabels: { team: "y" } }, podSelector: client },
      ),
      ["ip saddr [10.0.0.3 10.0.0.4 10.0.0.6] accept"],
    ],
    [
      "with a selector that matches no pod allows nothing",
      from({ namespaceSelector: web }),
      ["ip saddr [] accept"],
    ],
    [
      "with an IP block allows the addresses that are not excepted",
      from({ ipBlock: { cidr: "10.1.0.0/16", except: ["10.1.4.0/24", "10.1.5.0/24", "10.1.255.255/32"] } }),
      ["ip saddr { 10.1.0.0-10.1.3.255, 10.1.6.0-10.1.255.254 } accept"],
    ],
    [
      "with overlapping IP blocks merges them",
      from(
        { ipBlock: { cidr: "10.1.0.0/24" } },
        { ipBlock: { cidr: "10.1.0.0/16", except: ["10.1.0.0/17"] } },
      ),
      ["ip saddr { 10.1.0.0-10.1.0.255, 10.1.128.0-10.1.255.255 } accept"],
    ],
    ["with a block of the other family allows nothing", from({ ipBlock: { cidr: "fd01::/64" } }), []],
    [
      "with ports allows these ports of each protocol",
      {
        ingress: [
          {
            ports: [
              { port: 80, protocol: "TCP" },
              { port: 81, endPort: 90, protocol: "TCP" },
              { port: 85, protocol: "TCP" },
              { port: 53, protocol: "UDP" },
              { protocol: "SCTP" },
            ],
          },
        ],
      },
      ["tcp dport { 80-90 } accept", "udp dport { 53 } accept", "sctp dport { 0-65535 } accept"],
    ],
    [
      "with a named port allows the port of that name of each pod",
      { ingress: [{ ports: [{ port: "http" as never, protocol: "TCP" }] }] },
      ["ip daddr . meta l4proto . th dport [10.0.0.1 . tcp . 8080 10.0.0.2 . tcp . 80] accept"],
    ],
    [
      "combines every kind of peer with every kind of port",
      {
        ingress: [
          {
            from: [{ podSelector: client }, { ipBlock: { cidr: "10.9.0.0/16" } }],
            ports: [{ port: 1 as never }, { port: "none" as never }],
          },
        ],
      },
      [
        "ip saddr [10.0.0.3] tcp dport { 1 } accept",
        "ip saddr [10.0.0.3] ip daddr . meta l4proto . th dport [] accept",
        "ip saddr { 10.9.0.0-10.9.255.255 } tcp dport { 1 } accept",
        "ip saddr { 10.9.0.0-10.9.255.255 } ip daddr . meta l4proto . th dport [] accept",
      ],
    ],
  ])("%s", (_, spec, expected) => expect(rulesOf(spec)).toEqual(expected));

  test("of IPv6 uses the IPv6 addresses of the same pods", () => {
    const spec = from(
      { podSelector: client },
      { ipBlock: { cidr: "fd01::/16", except: ["fd01:8000::/17"] } },
    );
    expect(rulesOf(spec, "ingress", "ip6")).toEqual([
      "ip6 saddr [fd00::3] accept",
      "ip6 saddr { fd01::-fd01:7fff:ffff:ffff:ffff:ffff:ffff:ffff } accept",
    ]);
  });
});

test("an egress rule matches the destination, and named ports are those of the destination", () => {
  const spec = {
    policyTypes: ["Egress"],
    egress: [{ to: [{ namespaceSelector: {} }], ports: [{ port: "http" as never, protocol: "UDP" }] }],
  };
  const [rule] = rulesOf(spec, "egress");
  expect(rule).toMatch(
    /^ip daddr \[10.0.0.1 .*10.0.0.6\] ip daddr \. meta l4proto \. th dport \[10\.0\.0\.5 \. udp \. 53\] accept$/,
  );
});

test("policies with equal peers share a set, and a peer of another namespace has its own", () => {
  const ingress = [{ from: [{ podSelector: client }] }];
  const shared = compile(policy("p", { ingress }), policy("q", { ingress }));
  expect(shared.peers.size).toBe(1);
  expect(compile(policy("p", { ingress }), policy("q", { ingress }, "b")).peers.size).toBe(2);
});

test.each([
  ["a name that is too long", `${"x".repeat(120)}`],
  ["a name with characters that nft would read as commands", "x; flush ruleset"],
])("a policy with %s gets a hash as its name", (_, name) => {
  expect([...compile(policy(name, {})).policies.keys()]).toEqual([
    expect.stringMatching(/^ingress-[0-9a-f]{16}$/),
  ]);
});
