import { describe, expect, test } from "vitest";
import type { Endpoints, Pod, Service } from "../../../../api/meta/objects.ts";
import {
  checkAddress,
  isAddressOfPod,
  parseProxyTarget,
  podBackend,
  serviceAddresses,
  servicePortName,
} from "./backend-location.ts";

const pod = (podIP: string | undefined, ports: number[] = []): Pod => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "web" },
  spec: {
    containers: [{ name: "a" }, { name: "b", ports: ports.map((containerPort) => ({ containerPort })) }],
  },
  status: { ...(podIP !== undefined && { podIP, podIPs: [{ ip: podIP }] }) },
});

describe("names in requests", () => {
  test.each([
    ["web", { scheme: "http", name: "web", port: "" }],
    ["web:80", { scheme: "http", name: "web", port: "80" }],
    ["https:web:443", { scheme: "https", name: "web", port: "443" }],
    ["https:web:", { scheme: "https", name: "web", port: "" }],
    ["http:web:name", { scheme: "http", name: "web", port: "name" }],
  ])("%s", (id, expected) => expect(parseProxyTarget("pod", id)).toEqual(expected));

  test.each(["", ":80", "ftp:web:80", "a:b:c:d", "https::80"])("%s is rejected", (id) => {
    expect(() => parseProxyTarget("service", id)).toThrow(`invalid service request "${id}"`);
  });
});

describe("backends of pods", () => {
  test.each<[string, Pod, object]>([
    ["web", pod("10.0.0.1"), { scheme: "http", host: "10.0.0.1", port: 80 }],
    ["https:web:", pod("10.0.0.1"), { scheme: "https", host: "10.0.0.1", port: 443 }],
    ["web", pod("10.0.0.1", [8080, 9090]), { scheme: "http", host: "10.0.0.1", port: 8080 }],
    ["web:81", pod("fd00::1", [8080]), { scheme: "http", host: "fd00::1", port: 81 }],
  ])("%s", (id, object, expected) => {
    expect(podBackend(object, parseProxyTarget("pod", id))).toEqual(expected);
  });

  test.each(["http", "0", "65536", "-1", "1e3"])("port %s is unknown", (port) => {
    expect(() => podBackend(pod("10.0.0.1"), { scheme: "http", name: "web", port })).toThrow("unknown port");
  });
});

test.each([
  "",
  "127.0.0.1",
  "::1",
  "::ffff:127.0.0.1",
  "169.254.169.254",
  "::ffff:169.254.169.254",
  "fe80::1",
  "224.0.0.1",
  "ff02::1",
  "0.0.0.0",
  "::",
  "255.255.255.255",
])("the address %j is not allowed", (address) => {
  expect(() => checkAddress(address)).toThrow("address not allowed");
  expect(() => podBackend(pod(address), { scheme: "http", name: "web", port: "80" })).toThrow();
});

describe("services", () => {
  const service: Service = {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "web" },
    spec: {
      ports: [
        { port: 80, name: "http" },
        { port: 443, name: "https" },
      ],
    },
  };
  const endpoints: Endpoints = {
    apiVersion: "v1",
    kind: "Endpoints",
    metadata: { name: "web" },
    subsets: [
      {
        addresses: [{ ip: "10.0.0.1" }, { ip: "10.0.0.2" }],
        notReadyAddresses: [{ ip: "10.0.0.9" }],
        ports: [{ name: "http", port: 8080 }],
      },
      { addresses: [{ ip: "10.0.0.3" }], ports: [{ name: "http", port: 9090 }] },
      { notReadyAddresses: [{ ip: "10.0.0.4" }], ports: [{ name: "https", port: 8443 }] },
    ],
  };

  test("a port is found by its number, and a name is kept", () => {
    expect(servicePortName(service, "80")).toBe("http");
    expect(servicePortName(service, "http")).toBe("http");
    expect(() => servicePortName(service, "81")).toThrow('no service port 81 found for service "web"');
  });

  test("ready addresses of the port, beginning at a random one", () => {
    const all = (random: number) =>
      serviceAddresses(endpoints, { id: "web", portName: "http", random }).map(
        ({ address, port }) => `${address.ip}:${port}`,
      );
    expect(all(0)).toEqual(["10.0.0.1:8080", "10.0.0.2:8080", "10.0.0.3:9090"]);
    expect(all(0.99)).toEqual(["10.0.0.3:9090", "10.0.0.1:8080", "10.0.0.2:8080"]);
    expect(() => serviceAddresses(endpoints, { id: "web:x", portName: "https", random: 0 })).toThrow(
      'no endpoints available for service "web:x"',
    );
  });

  test("an address must be that of its pod", () => {
    expect(isAddressOfPod({ ip: "10.0.0.1" }, pod("10.0.0.1"))).toBe(true);
    expect(isAddressOfPod({ ip: "10.0.0.1" }, pod("10.0.0.2"))).toBe(false);
    expect(isAddressOfPod({ ip: "10.0.0.1" }, undefined)).toBe(false);
  });
});
