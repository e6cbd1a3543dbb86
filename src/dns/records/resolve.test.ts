import type { Answer } from "dns-packet";
import { describe, expect, test } from "vitest";
import { makePod, makeService, makeSlice, viewOf } from "./records.fixture.ts";
import { resolve, soaRecord, type Zone } from "./resolve.ts";

const zone: Zone = { domain: "cluster.local", ttlSeconds: 5 };
const https = { name: "https", port: 443, protocol: "TCP" };

/** Cluster of the examples in the specification. */
const view = viewOf([
  makeService("default/kubernetes", { clusterIP: "10.3.0.1", clusterIPs: ["10.3.0.1"], ports: [https] }),
  makeService("default/six", { clusterIP: "2001:DB8::0:1", clusterIPs: ["2001:DB8::0:1"], ports: [https] }),
  makeService("default/dual", {
    clusterIP: "10.3.0.7",
    clusterIPs: ["10.3.0.7", "2001:db8::7"],
    ports: [{ port: 80 }, { name: "dns", port: 53, protocol: "UDP" }],
  }),
  makeService("default/headless", { clusterIP: "None", clusterIPs: ["None"], ports: [https] }),
  makeSlice("default/headless", {
    ports: [https],
    endpoints: [
      { addresses: ["10.3.0.100"], hostname: "my-pet", conditions: { ready: true } },
      { addresses: ["10.3.0.101"], hostname: "my-pet-2" },
      { addresses: ["10.3.0.102"], conditions: { ready: true } },
      { addresses: ["10.3.0.103"], hostname: "starting", conditions: { ready: false } },
    ],
  }),
  makeSlice("default/headless", {
    addressType: "IPv6",
    ports: [https],
    endpoints: [{ addresses: ["2001:db8:0::100"], hostname: "my-pet", conditions: { ready: true } }],
  }),
  makeService("default/early", { clusterIP: "None", clusterIPs: ["None"], publishNotReadyAddresses: true }),
  makeSlice("default/early", {
    endpoints: [{ addresses: ["10.3.0.110"], hostname: "peer-0", conditions: { ready: false } }],
  }),
  makeService("default/idle", { clusterIP: "None", clusterIPs: ["None"], ports: [https] }),
  makeSlice("default/idle", {
    ports: [https],
    endpoints: [{ addresses: ["10.3.0.111"], conditions: { ready: false } }],
  }),
  makeService("default/foo", { type: "ExternalName", externalName: "www.Example.com." }),
  makeService("default/alias", {
    type: "ExternalName",
    externalName: "kubernetes.default.svc.cluster.local",
  }),
  makeService("default/second", { type: "ExternalName", externalName: "alias.default.svc.cluster.local" }),
  makeService("default/broken", { type: "ExternalName", externalName: "no.default.svc.cluster.local" }),
  makeService("default/circle", { type: "ExternalName", externalName: "circle.default.svc.cluster.local" }),
  makeService("default/address", { type: "ExternalName", externalName: "192.0.2.1" }),
  makeService("default/long", { type: "ExternalName", externalName: `${"x".repeat(64)}.example.com` }),
  makeService("kube-system/kube-dns", { clusterIP: "10.3.0.10", clusterIPs: ["10.3.0.10"] }),
  makePod("default/web", ["10.3.0.200", "2001:db8::200"]),
  makePod("default/done", ["10.3.0.201"], "Succeeded"),
]);

function ask(question: string, from = view): string[] {
  const [name = "", type = ""] = question.split(" ");
  const resolution = resolve(from, zone, { labels: name.split("."), type });
  if (resolution.kind === "outside") return ["outside"];
  const { rcode, answers, additionals, externalName } = resolution;
  return [
    ...(answers.length === 0 || rcode !== "NOERROR" ? [rcode] : []),
    ...answers.map(format),
    ...additionals.map((record) => `+ ${format(record)}`),
    ...(externalName ? [`-> ${externalName}`] : []),
  ];
}

function format(answer: Answer): string {
  if (answer.type === "OPT") throw new Error("resolve does not create OPT records");
  const { name, type, ttl, data } = answer;
  const text = type === "SRV" ? `${data.priority} ${data.weight} ${data.port} ${data.target}` : String(data);
  return `${name} ${ttl} ${type} ${text}`;
}

const reverse6 = (last: string) =>
  `${last}.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa`;

describe("Kubernetes DNS specification 1.1", () => {
  test.each<[section: string, question: string, answer: string[]]>([
    ["2.2", "dns-version.cluster.local TXT", ["dns-version.cluster.local 28800 TXT 1.1.0"]],
    [
      "2.3.1",
      "kubernetes.default.svc.cluster.local A",
      ["kubernetes.default.svc.cluster.local 5 A 10.3.0.1"],
    ],
    ["2.3.1", "six.default.svc.cluster.local AAAA", ["six.default.svc.cluster.local 5 AAAA 2001:db8::1"]],
    ["2.3.1", "dual.default.svc.cluster.local A", ["dual.default.svc.cluster.local 5 A 10.3.0.7"]],
    ["2.3.1", "dual.default.svc.cluster.local AAAA", ["dual.default.svc.cluster.local 5 AAAA 2001:db8::7"]],
    [
      "2.3.2",
      "_https._tcp.kubernetes.default.svc.cluster.local SRV",
      [
        "_https._tcp.kubernetes.default.svc.cluster.local 5 SRV 0 100 443 kubernetes.default.svc.cluster.local",
        "+ kubernetes.default.svc.cluster.local 5 A 10.3.0.1",
      ],
    ],
    [
      "2.3.2 with another protocol",
      "_dns._udp.dual.default.svc.cluster.local SRV",
      [
        "_dns._udp.dual.default.svc.cluster.local 5 SRV 0 100 53 dual.default.svc.cluster.local",
        "+ dual.default.svc.cluster.local 5 A 10.3.0.7",
        "+ dual.default.svc.cluster.local 5 AAAA 2001:db8::7",
      ],
    ],
    ["2.3.2, unnamed ports have none", "_._tcp.dual.default.svc.cluster.local SRV", ["NXDOMAIN"]],
    [
      "2.3.3",
      "1.0.3.10.in-addr.arpa PTR",
      ["1.0.3.10.in-addr.arpa 5 PTR kubernetes.default.svc.cluster.local"],
    ],
    ["2.3.3", `${reverse6("1.0.0")} PTR`, [`${reverse6("1.0.0")} 5 PTR six.default.svc.cluster.local`]],
    [
      "2.4.1",
      "headless.default.svc.cluster.local A",
      ["10.3.0.100", "10.3.0.101", "10.3.0.102"].map((ip) => `headless.default.svc.cluster.local 5 A ${ip}`),
    ],
    [
      "2.4.1 with a host name",
      "my-pet.headless.default.svc.cluster.local A",
      ["my-pet.headless.default.svc.cluster.local 5 A 10.3.0.100"],
    ],
    [
      "2.4.1 without a host name",
      "10-3-0-102.headless.default.svc.cluster.local A",
      ["10-3-0-102.headless.default.svc.cluster.local 5 A 10.3.0.102"],
    ],
    ["2.4.1, not ready", "starting.headless.default.svc.cluster.local A", ["NXDOMAIN"]],
    ["2.4.1 without ready endpoints", "idle.default.svc.cluster.local A", ["NXDOMAIN"]],
    [
      "2.4.1",
      "headless.default.svc.cluster.local AAAA",
      ["headless.default.svc.cluster.local 5 AAAA 2001:db8::100"],
    ],
    [
      "2.4.1 with a host name",
      "my-pet.headless.default.svc.cluster.local AAAA",
      ["my-pet.headless.default.svc.cluster.local 5 AAAA 2001:db8::100"],
    ],
    [
      "2.1, publishNotReadyAddresses makes endpoints ready",
      "peer-0.early.default.svc.cluster.local A",
      ["peer-0.early.default.svc.cluster.local 5 A 10.3.0.110"],
    ],
    [
      "2.4.2",
      "_https._tcp.headless.default.svc.cluster.local SRV",
      [
        ...["my-pet", "my-pet-2", "10-3-0-102"].map(
          (host) =>
            `_https._tcp.headless.default.svc.cluster.local 5 SRV 0 33 443 ${host}.headless.default.svc.cluster.local`,
        ),
        "+ my-pet.headless.default.svc.cluster.local 5 A 10.3.0.100",
        "+ my-pet-2.headless.default.svc.cluster.local 5 A 10.3.0.101",
        "+ 10-3-0-102.headless.default.svc.cluster.local 5 A 10.3.0.102",
        "+ my-pet.headless.default.svc.cluster.local 5 AAAA 2001:db8::100",
      ],
    ],
    [
      "2.4.3",
      "100.0.3.10.in-addr.arpa PTR",
      ["100.0.3.10.in-addr.arpa 5 PTR my-pet.headless.default.svc.cluster.local"],
    ],
    [
      "2.4.3",
      `${reverse6("0.0.1")} PTR`,
      [`${reverse6("0.0.1")} 5 PTR my-pet.headless.default.svc.cluster.local`],
    ],
    ["2.4.3, not ready", "103.0.3.10.in-addr.arpa PTR", ["outside"]],
    [
      "2.5",
      "foo.default.svc.cluster.local A",
      ["foo.default.svc.cluster.local 5 CNAME www.example.com", "-> www.example.com"],
    ],
    [
      "2.5",
      "foo.default.svc.cluster.local AAAA",
      ["foo.default.svc.cluster.local 5 CNAME www.example.com", "-> www.example.com"],
    ],
  ])("%s: %s", (_section, question, answer) => {
    expect(ask(question)).toEqual(answer);
  });
});

describe("resolve", () => {
  test.each<[question: string, answer: string[]]>([
    ["foo.default.svc.cluster.local CNAME", ["foo.default.svc.cluster.local 5 CNAME www.example.com"]],
    [
      "second.default.svc.cluster.local A",
      [
        "second.default.svc.cluster.local 5 CNAME alias.default.svc.cluster.local",
        "alias.default.svc.cluster.local 5 CNAME kubernetes.default.svc.cluster.local",
        "kubernetes.default.svc.cluster.local 5 A 10.3.0.1",
      ],
    ],
    [
      "broken.default.svc.cluster.local A",
      ["NXDOMAIN", "broken.default.svc.cluster.local 5 CNAME no.default.svc.cluster.local"],
    ],
    ["address.default.svc.cluster.local A", ["NXDOMAIN"]],
    ["long.default.svc.cluster.local A", ["NXDOMAIN"]],
    ["x.foo.default.svc.cluster.local A", ["NXDOMAIN"]],
    [
      "headless.default.svc.cluster.local SRV",
      ask("_https._tcp.headless.default.svc.cluster.local SRV").map((line) =>
        line.replace(/^_https\._tcp\./, ""),
      ),
    ],
    // Names that exist without records of this type, and empty names between others.
    ["kubernetes.default.svc.cluster.local AAAA", ["NOERROR"]],
    ["kubernetes.default.svc.cluster.local MX", ["NOERROR"]],
    ["kubernetes.default.svc.cluster.local UNKNOWN_65", ["NOERROR"]],
    ["early.default.svc.cluster.local AAAA", ["NOERROR"]],
    ["_https._tcp.kubernetes.default.svc.cluster.local A", ["NOERROR"]],
    ["_tcp.kubernetes.default.svc.cluster.local A", ["NOERROR"]],
    ["default.svc.cluster.local A", ["NOERROR"]],
    ["svc.cluster.local A", ["NOERROR"]],
    ["pod.cluster.local A", ["NOERROR"]],
    ["default.pod.cluster.local A", ["NOERROR"]],
    ["dns.cluster.local A", ["NOERROR"]],
    ["cluster.local A", ["NOERROR"]],
    ["dns-version.cluster.local A", ["NOERROR"]],
    ["1.0.3.10.in-addr.arpa A", ["NOERROR"]],
    // Names that do not exist.
    ["_udp.kubernetes.default.svc.cluster.local A", ["NXDOMAIN"]],
    ["_http._tcp.kubernetes.default.svc.cluster.local SRV", ["NXDOMAIN"]],
    ["nothing.default.svc.cluster.local A", ["NXDOMAIN"]],
    ["other.svc.cluster.local A", ["NXDOMAIN"]],
    ["kubernetes.other.svc.cluster.local A", ["NXDOMAIN"]],
    ["a.b.c.kubernetes.default.svc.cluster.local A", ["NXDOMAIN"]],
    ["x.dns-version.cluster.local TXT", ["NXDOMAIN"]],
    ["google.com.cluster.local A", ["NXDOMAIN"]],
    ["x.dns.cluster.local A", ["NXDOMAIN"]],
    // The zone itself.
    ["cluster.local NS", ["cluster.local 5 NS ns.dns.cluster.local"]],
    ["ns.dns.cluster.local A", ["ns.dns.cluster.local 5 A 10.3.0.10"]],
    // Pods, by address and only if they exist in the namespace.
    ["10-3-0-200.default.pod.cluster.local A", ["10-3-0-200.default.pod.cluster.local 5 A 10.3.0.200"]],
    ["10-3-0-200.default.pod.cluster.local AAAA", ["NOERROR"]],
    [
      "2001-db8--200.default.pod.cluster.local AAAA",
      ["2001-db8--200.default.pod.cluster.local 5 AAAA 2001:db8::200"],
    ],
    ["10-3-0-200.kube-system.pod.cluster.local A", ["NXDOMAIN"]],
    ["10-3-0-201.default.pod.cluster.local A", ["NXDOMAIN"]],
    ["10-3-0-1.default.pod.cluster.local A", ["NXDOMAIN"]],
    ["web.default.pod.cluster.local A", ["NXDOMAIN"]],
    // Names of others.
    ["example.com A", ["outside"]],
    ["mycluster.local A", ["outside"]],
    ["9.9.9.9.in-addr.arpa PTR", ["outside"]],
    ["3.10.in-addr.arpa PTR", ["outside"]],
    ["300.0.3.10.in-addr.arpa PTR", ["outside"]],
    ["ip6.arpa PTR", ["outside"]],
  ])("%s", (question, answer) => {
    expect(ask(question)).toEqual(answer);
  });

  test("ends after a bounded number of aliases that refer to each other", () => {
    const answers = ask("circle.default.svc.cluster.local A");
    expect(answers).toHaveLength(8);
  });

  test("answers for another cluster domain", () => {
    const other = { domain: "corp.example", ttlSeconds: 5 };
    const labels = "kubernetes.default.svc.corp.example".split(".");
    expect(resolve(view, other, { labels, type: "A" })).toMatchObject({ answers: [{ data: "10.3.0.1" }] });
    const inDefault = "kubernetes.default.svc.cluster.local".split(".");
    expect(resolve(view, other, { labels: inDefault, type: "A" })).toEqual({ kind: "outside" });
  });

  test("the SOA record limits how long clients cache negative responses", () => {
    expect(soaRecord(zone)).toMatchObject({ name: "cluster.local", ttl: 5, data: { minimum: 5 } });
  });
});
