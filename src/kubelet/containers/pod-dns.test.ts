import { describe, expect, test } from "vitest";
import { makePod } from "./make-pod.fixture.ts";
import { type DnsFacts, podDns } from "./pod-dns.ts";

describe("pod-dns", () => {
  const facts: DnsFacts = {
    clusterDns: ["10.96.0.10"],
    clusterDomain: "cluster.local",
    resolver: { servers: ["192.0.2.53"], searches: ["example.org"], options: ["timeout:1"] },
    nodeIps: ["192.0.2.1"],
  };
  const cluster = {
    servers: ["10.96.0.10"],
    searches: ["shop.svc.cluster.local", "svc.cluster.local", "cluster.local", "example.org"],
    options: ["ndots:5"],
  };

  describe("podDns", () => {
    test.each([
      ["ClusterFirst", {}, cluster],
      ["ClusterFirst", { hostNetwork: true }, facts.resolver],
      ["ClusterFirstWithHostNet", { hostNetwork: true }, cluster],
      ["Default", {}, facts.resolver],
      ["None", {}, { servers: [], searches: [], options: [] }],
    ])("%s %j", (dnsPolicy, spec, config) => {
      expect(podDns(makePod({ dnsPolicy, ...spec }), facts)).toEqual({ config, warnings: [] });
    });

    test("the pod's own settings are added, its options go first", () => {
      const dnsConfig = {
        nameservers: ["10.96.0.10", "1.1.1.1"],
        searches: ["cluster.local", "mine"],
        options: [{ name: "ndots", value: "2" }, { name: "rotate" }],
      };
      expect(podDns(makePod({ dnsConfig }), facts).config).toEqual({
        servers: ["10.96.0.10", "1.1.1.1"],
        searches: [...cluster.searches, "mine"],
        options: ["ndots:2", "rotate"],
      });
    });

    test("without a DNS server of the cluster the node's is used, with a warning", () => {
      const { config, warnings } = podDns(makePod(), { ...facts, clusterDns: [] });
      expect(config).toEqual(facts.resolver);
      expect(warnings).toEqual([
        {
          type: "Warning",
          reason: "MissingClusterDNS",
          message:
            'pod: "web_shop(u-1)". kubelet does not have ClusterDNS IP configured and cannot create Pod using "ClusterFirst" policy. Falling back to "Default" policy.',
        },
      ]);
    });

    test.each([
      [
        ["192.0.2.1", "fd00::1"],
        ["127.0.0.1", "::1"],
      ],
      [[], ["127.0.0.1"]],
    ])("without the node's resolver, on %j", (nodeIps, servers) => {
      const none = { ...facts, resolver: undefined, nodeIps };
      expect(podDns(makePod({ dnsPolicy: "Default" }), none).config).toEqual({
        servers,
        searches: ["."],
        options: [],
      });
      expect(podDns(makePod(), none).config.searches).toEqual(cluster.searches.slice(0, 3));
    });

    const own = (searches: string[], nameservers: string[] = []) =>
      podDns(makePod({ dnsPolicy: "None", dnsConfig: { searches, nameservers } }), facts);

    test("keeps at most three servers", () => {
      const { config, warnings } = own([], ["1.1.1.1", "2.2.2.2", "3.3.3.3", "4.4.4.4"]);
      expect(config.servers).toEqual(["1.1.1.1", "2.2.2.2", "3.3.3.3"]);
      expect(warnings.map(({ reason, message }) => `${reason}: ${message}`)).toEqual([
        "DNSConfigForming: Nameserver limits were exceeded, some nameservers have been omitted, the applied nameserver line is: 1.1.1.1 2.2.2.2 3.3.3.3",
      ]);
    });

    test.each([
      ["32 domains", Array.from({ length: 40 }, (_, i) => `d${i}`), 32],
      ["none over 253 characters", ["a".repeat(254), "b"], 1],
      ["2048 characters in all", Array.from({ length: 10 }, (_, i) => `${i}`.repeat(250)), 8],
    ])("of search domains, %s are kept", (_, searches, kept) => {
      const { config, warnings } = own(searches);
      expect(config.searches).toHaveLength(kept);
      expect(config.searches.join(" ").length).toBeLessThanOrEqual(2_048);
      expect(warnings[0]?.message).toBe(
        `Search Line limits were exceeded, some search paths have been omitted, the applied search line is: ${config.searches.join(" ")}`,
      );
    });
  });
});
