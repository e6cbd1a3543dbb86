import { expect, test } from "vitest";
import type { Service } from "../../api/objects.ts";
import { serviceVariables } from "./service-variables.ts";

function service(name: string, spec: Service["spec"]): Service {
  return { apiVersion: "v1", kind: "Service", metadata: { name }, spec };
}

test("names and values are upstream's", () => {
  const variables = serviceVariables([
    service("foo-bar", {
      clusterIP: "1.2.3.4",
      ports: [
        { port: 8080, protocol: "TCP" },
        { port: 8081, name: "an-name", protocol: "UDP" },
      ],
    }),
  ]);
  expect([...variables]).toEqual([
    ["FOO_BAR_SERVICE_HOST", "1.2.3.4"],
    ["FOO_BAR_SERVICE_PORT", "8080"],
    ["FOO_BAR_SERVICE_PORT_AN_NAME", "8081"],
    ["FOO_BAR_PORT", "tcp://1.2.3.4:8080"],
    ["FOO_BAR_PORT_8080_TCP", "tcp://1.2.3.4:8080"],
    ["FOO_BAR_PORT_8080_TCP_PROTO", "tcp"],
    ["FOO_BAR_PORT_8080_TCP_PORT", "8080"],
    ["FOO_BAR_PORT_8080_TCP_ADDR", "1.2.3.4"],
    ["FOO_BAR_PORT_8081_UDP", "udp://1.2.3.4:8081"],
    ["FOO_BAR_PORT_8081_UDP_PROTO", "udp"],
    ["FOO_BAR_PORT_8081_UDP_PORT", "8081"],
    ["FOO_BAR_PORT_8081_UDP_ADDR", "1.2.3.4"],
  ]);
});

test("an IPv6 address has brackets in URLs only", () => {
  const variables = serviceVariables([service("v6", { clusterIP: "fd00::1", ports: [{ port: 80 }] })]);
  expect(variables.get("V6_SERVICE_HOST")).toBe("fd00::1");
  expect(variables.get("V6_PORT")).toBe("tcp://[fd00::1]:80");
});

test.each([
  ["headless", { clusterIP: "None", ports: [{ port: 80 }] }],
  ["without an address", { ports: [{ port: 80 }] }],
  ["without ports", { clusterIP: "1.2.3.4" }],
])("a service that is %s has none", (_, spec) => {
  expect([...serviceVariables([service("x", spec)])]).toEqual([]);
});
