import { describe, expect, test } from "vitest";
import { makePod } from "./make-pod.fixture.ts";
import { kernelHostname, podHostname, renderHosts, renderNodeHosts } from "./pod-hostname.ts";

describe("pod-hostname", () => {
  const long = `${"a".repeat(62)}-${"b".repeat(20)}`;

  describe("podHostname", () => {
    test.each([
      ["the pod's name", {}, {}, "web", ""],
      ["its own", { hostname: "db" }, {}, "db", ""],
      ["with a subdomain", { hostname: "db", subdomain: "set" }, {}, "db", "set.shop.svc.cluster.local"],
      ["too long a name", {}, { name: long }, "a".repeat(62), ""],
      ["an override", { hostnameOverride: "a.example.org", subdomain: "x" }, {}, "a.example.org", ""],
    ])("%s", (_, spec, metadata, hostname, domain) => {
      expect(podHostname(makePod(spec, metadata), "cluster.local")).toEqual({ hostname, domain });
    });

    test.each([
      [{ hostname: "a.b" }, 'pod Hostname "a.b" is not a valid DNS label: must not contain dots'],
      [{ subdomain: "A" }, 'pod Subdomain "A" is not a valid DNS label: a lowercase RFC 1123 label'],
      [{ hostnameOverride: "" }, 'pod HostnameOverride "" is not a valid DNS subdomain: '],
    ])("%j is refused", (spec, message) => {
      expect(() => podHostname(makePod(spec), "cluster.local")).toThrow(message);
    });
  });

  describe("kernelHostname", () => {
    const name = { hostname: "db", domain: "set.shop.svc.cluster.local" };
    test.each([
      [name, undefined, "db"],
      [name, false, "db"],
      [name, true, "db.set.shop.svc.cluster.local"],
      [{ hostname: "db", domain: "" }, true, "db"],
      [{ hostname: "a".repeat(32), domain: "b".repeat(31) }, true, `${"a".repeat(32)}.${"b".repeat(31)}`],
    ])("%j %s is %s", (given, asFqdn, expected) => {
      expect(kernelHostname(given, asFqdn)).toBe(expected);
    });

    test("rejects 65 characters", () => {
      const fqdn = `${"a".repeat(33)}.${"b".repeat(31)}`;
      expect(() => kernelHostname({ hostname: "a".repeat(33), domain: "b".repeat(31) }, true)).toThrow(
        `failed to construct FQDN from pod hostname and cluster domain, FQDN ${fqdn} is too long (64 characters is the max, 65 characters requested)`,
      );
    });
  });
});

describe("render-hosts", () => {
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

  test("with hostNetwork the hosts file is the node's", () => {
    const node = "127.0.0.1\tlocalhost\n";
    const header = "# Kubernetes-managed hosts file (host network).\n";
    expect(renderNodeHosts(node, undefined)).toBe(header + node);
    expect(renderNodeHosts(node, aliases)).toBe(header + node + added);
  });
});
