import { expect, test } from "vitest";
import { renderHosts, renderNodeHosts } from "./render-hosts.ts";

const managed = `# Kubernetes-managed hosts file.
127.0.0.1\tlocalhost
::1\tlocalhost ip6-localhost ip6-loopback
fe00::0\tip6-localnet
fe00::0\tip6-mcastprefix
fe00::1\tip6-allnodes
fe00::2\tip6-allrouters
`;
const aliases = [
  { ip: "192.0.2.7", hostnames: ["a.example", "b.example"] },
  { ip: "192.0.2.8", hostnames: ["c.example"] },
];
const added = `
# Entries added by HostAliases.
192.0.2.7\ta.example\tb.example
192.0.2.8\tc.example
`;

test.each([
  ["a name", { podIps: ["10.0.0.2"], hostname: "web", domain: "" }, undefined, "10.0.0.2\tweb\n"],
  [
    "a domain, two addresses",
    { podIps: ["10.0.0.2", "fd00::2"], hostname: "web", domain: "set.shop.svc.cluster.local" },
    [],
    "10.0.0.2\tweb.set.shop.svc.cluster.local\tweb\nfd00::2\tweb.set.shop.svc.cluster.local\tweb\n",
  ],
  ["aliases", { podIps: ["10.0.0.2"], hostname: "web", domain: "" }, aliases, `10.0.0.2\tweb\n${added}`],
])("%s", (_, pod, given, rest) => {
  expect(renderHosts({ ...pod, aliases: given })).toBe(managed + rest);
});

test("on the node's network it is the node's", () => {
  const node = "127.0.0.1\tlocalhost\n";
  const header = "# Kubernetes-managed hosts file (host network).\n";
  expect(renderNodeHosts(node, undefined)).toBe(header + node);
  expect(renderNodeHosts(node, aliases)).toBe(header + node + added);
});
