import { describe, expect, test } from "vitest";
import type { Node, Pod } from "../../../../api/meta/objects.ts";
import { kubeletEndpoint, logPath, type StreamSubresource, streamPath } from "./kubelet-location.ts";

function makePod(spec: Partial<Pod["spec"]> = {}): Pod {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "web", namespace: "ns" },
    spec: { containers: [{ name: "a" }], ...spec },
  };
}

describe("kubeletEndpoint", () => {
  const makeNode = (addresses: [string, string][], port?: number): Node => ({
    apiVersion: "v1",
    kind: "Node",
    metadata: {},
    status: {
      addresses: addresses.map(([type, address]) => ({ type, address })),
      daemonEndpoints: { kubeletEndpoint: port === undefined ? undefined : { Port: port } },
    },
  });

  test.each<[[string, string][], number | undefined, object]>([
    [
      [
        ["Hostname", "h"],
        ["ExternalIP", "9.9.9.9"],
        ["InternalIP", "10.0.0.1"],
      ],
      1234,
      { host: "10.0.0.1", port: 1234 },
    ],
    [
      [
        ["Hostname", "h"],
        ["ExternalIP", "9.9.9.9"],
      ],
      0,
      { host: "9.9.9.9", port: 10250 },
    ],
    [[["Hostname", "h"]], undefined, { host: "h", port: 10250 }],
  ])("%j port %j", (addresses, port, expected) => {
    expect(kubeletEndpoint(makeNode(addresses, port))).toEqual(expected);
  });

  test("a node without a usable address", () => {
    expect(() => kubeletEndpoint(makeNode([["ExternalDNS", "x"]]))).toThrow(
      "no preferred addresses found; known addresses: [{ExternalDNS x}]",
    );
  });
});

describe("paths on the kubelet", () => {
  const several = { containers: [{ name: "a" }, { name: "b" }], initContainers: [{ name: "i" }] };

  test.each<[StreamSubresource, string, string]>([
    [
      "exec",
      "command=sh&command=-c&command=a%20b&stdin=true&stdout=1&stderr=true&tty=true",
      "/exec/ns/web/a?command=sh&command=-c&command=a+b&error=1&input=1&output=1&tty=1",
    ],
    ["exec", "command=ls&stdout=true&stdin=false&container=a", "/exec/ns/web/a?command=ls&output=1"],
    ["attach", "stdin=true&command=x", "/attach/ns/web/a?input=1"],
    ["portforward", "", "/portForward/ns/web"],
    ["portforward", "ports=80&ports=443", "/portForward/ns/web?port=80%2C443"],
  ])("%s %s", (subresource, query, expected) => {
    expect(streamPath(subresource, makePod(), new URLSearchParams(query))).toBe(expected);
  });

  test("log", () => {
    const options = { container: "i", skipVerify: false, query: new URLSearchParams("follow=true") };
    expect(logPath(makePod(several), options)).toBe("/containerLogs/ns/web/i?follow=true");
  });

  test.each([
    [several, "", "a container name must be specified for pod web, choose one of: [i a b]"],
    [several, "c", "container c is not valid for pod web"],
    [{ containers: [] }, "", "a container name must be specified for pod web"],
  ])("%j, container %j: %s", (spec, container, message) => {
    const query = new URLSearchParams({ container });
    expect(() => streamPath("exec", makePod(spec), query)).toThrow(
      expect.objectContaining({ code: 400, message }),
    );
  });

  test("rejects ports that are not numbers", () => {
    expect(() => streamPath("portforward", makePod(), new URLSearchParams("ports=x"))).toThrow(/ports/);
  });
});
