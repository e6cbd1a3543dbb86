import { expect, test } from "vitest";
import {
  findPortProblem,
  hasRules,
  type PacketRules,
  renderRemoval,
  renderRules,
  savedPattern,
} from "./packet-rules.ts";

const rules: PacketRules = {
  bridge: "kindling0",
  subnet: "10.88.0.0/16",
  pods: [
    {
      podId: "a1",
      address: "10.88.0.5",
      portMappings: [
        { protocol: "TCP", containerPort: 80, hostPort: 8080, hostIp: "" },
        { protocol: "UDP", containerPort: 53, hostPort: 53, hostIp: "127.0.0.1" },
      ],
    },
  ],
};

test("writes whole chains with a rule for each host port", () => {
  const text = renderRules(rules, "");
  expect(text).toContain(":KDL-PORTS-kindling0 - [0:0]\n");
  expect(text).toContain(
    '-A KDL-PORTS-kindling0 -p tcp --dport 8080 -m comment --comment "kindling pod a1" -j DNAT --to-destination 10.88.0.5:80\n',
  );
  expect(text).toContain("-A KDL-PORTS-kindling0 -p udp -d 127.0.0.1 --dport 53 ");
});

test("jumps to each chain once", () => {
  const jump = "-A POSTROUTING -j KDL-OUT-kindling0\n";
  expect(renderRules(rules, "")).toContain("-I POSTROUTING -j KDL-OUT-kindling0\n");
  expect(renderRules(rules, jump)).not.toContain("-I POSTROUTING");
  expect(renderRules(rules, "-A POSTROUTING -j KDL-OUT-kindling01\n")).toContain("-I POSTROUTING");
});

/** Rules as iptables-save prints them, in another form than they were given in. */
const saved = [
  ":KDL-PORTS-kindling0 - [0:0]",
  "-A PREROUTING -m addrtype --dst-type LOCAL -j KDL-PORTS-kindling0",
  "-A OUTPUT -m addrtype --dst-type LOCAL -j KDL-PORTS-kindling0",
  "-A POSTROUTING -j KDL-OUT-kindling0",
  "-A KDL-PORTS-kindling0 -p tcp -m tcp --dport 8080 -j DNAT --to-destination 10.88.0.5:80",
  "-A KDL-PORTS-kindling0 -d 127.0.0.1/32 -p udp -m udp --dport 53 -j DNAT --to-destination 10.88.0.5:53",
  "-A KDL-OUT-kindling0 -s 10.88.0.0/16 ! -d 10.88.0.0/16 -j MASQUERADE",
  "-A KDL-OUT-kindling0 -s 10.88.0.0/16 -o kindling0 -m conntrack --ctstate DNAT -j MASQUERADE",
  "-A KDL-OUT-kindling0 -s 127.0.0.0/8 -o kindling0 -j MASQUERADE",
  "-A FORWARD -j KDL-FWD-kindling0",
  "-A INPUT -j KDL-IN-kindling0",
  "-A KDL-FWD-kindling0 -i kindling0 -j ACCEPT",
  "-A KDL-FWD-kindling0 -o kindling0 -j ACCEPT",
  "-A KDL-IN-kindling0 -d 127.0.0.0/8 -i kindling0 -m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT -j DROP",
];
const another = [
  "-A KDL-PORTS-kindling0 -p tcp -m tcp --dport 81 -j DNAT --to-destination 10.88.0.6:80",
  "-A KDL-FWD-kindling01 -i kindling01 -j ACCEPT",
];
test.each<[string, readonly string[], boolean]>([
  ["all rules", saved, true],
  ["additional rules", [...saved, ...another], true],
  ["none", [], false],
  ["chains without their rules", saved.filter((line) => !line.startsWith("-A KDL-")), false],
  ["a missing jump", saved.filter((line) => !line.startsWith("-A FORWARD")), false],
  ["a missing rule", saved.filter((line) => !line.includes("--dport 53")), false],
  ["rules of another bridge", saved.map((line) => line.replaceAll("kindling0", "kindling01")), false],
])("hasRules: %s", (_name, lines, there) => {
  const pattern = new RegExp(savedPattern("kindling0"));
  const found = lines.flatMap((line) => pattern.exec(line)?.[0] ?? []);
  // The shell removes trailing spaces.
  for (const text of [lines.join("\n"), found.join("\n").trim()]) expect(hasRules(rules, text)).toBe(there);
});

test("removes the jumps, then the chains, and nothing else", () => {
  const saved = [
    "-A PREROUTING -m addrtype --dst-type LOCAL -j KDL-PORTS-kindling0",
    "-A PREROUTING -j DOCKER",
    "-A POSTROUTING -j KDL-OUT-kindling0",
    "-A POSTROUTING -j KDL-OUT-kindling0",
  ].join("\n");
  const text = renderRemoval(rules, saved);
  expect(text.match(/^-D .*$/gm)).toEqual([
    "-D PREROUTING -m addrtype --dst-type LOCAL -j KDL-PORTS-kindling0",
    "-D POSTROUTING -j KDL-OUT-kindling0",
    "-D POSTROUTING -j KDL-OUT-kindling0",
  ]);
  expect(text.match(/^-X .*$/gm)).toHaveLength(4);
});

const port = { protocol: "TCP" as const, containerPort: 80, hostPort: 8080, hostIp: "" };
test.each([
  ["a free port", { ...port, hostPort: 81 }, undefined],
  ["another protocol", { ...port, protocol: "UDP" as const }, undefined],
  ["a port that is taken everywhere", { ...port, hostIp: "127.0.0.1" }, "is taken by pod a1"],
  ["an IPv6 address", { ...port, hostIp: "::1" }, "is no IPv4 address"],
  ["a line break", { ...port, hostIp: "1.2.3.4\n-F" }, "is no IPv4 address"],
  ["a port out of range", { ...port, containerPort: 70_000 }, "is not from port to port"],
])("findPortProblem: %s", (_name, wanted, problem) => {
  const found = findPortProblem([wanted], rules.pods);
  if (problem) expect(found).toContain(problem);
  else expect(found).toBeUndefined();
});

test("masquerades connections between pods only where a pod bypasses the node, or connects to itself", () => {
  const port = { protocol: "TCP", containerPort: 80, hostPort: 8080, hostIp: "" } as const;
  const pod = { podId: "a", address: "10.88.0.5", portMappings: [port] };
  const rulesOf = (pods: Parameters<typeof renderRules>[0]["pods"]) =>
    renderRules({ bridge: "kindling0", subnet: "10.88.0.0/16", pods }, "");
  const all = "-s 10.88.0.0/16 -o kindling0 -m conntrack --ctstate DNAT -j MASQUERADE";
  const itself = "-s 10.88.0.5 -d 10.88.0.5 -o kindling0 -m conntrack --ctstate DNAT -j MASQUERADE";
  expect(rulesOf([{ ...pod, routed: true }])).toContain(itself);
  expect(rulesOf([{ ...pod, routed: true }])).not.toContain(all);
  expect(rulesOf([pod])).toContain(all);
});
