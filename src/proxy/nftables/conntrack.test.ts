import { expect, test } from "vitest";
import { makePort } from "../model/service-port.fixture.ts";
import { findStaleFlows } from "./conntrack.ts";

const udp = (addresses: readonly string[]) =>
  makePort(addresses, { type: "NodePort", ports: [{ port: 53, protocol: "UDP", nodePort: 30_053 }] });

test("finds entries of endpoints that a UDP port no longer has", () => {
  expect(findStaleFlows([udp(["10.0.0.2", "10.0.0.4"])], [udp(["10.0.0.4"])])).toEqual([
    { frontend: "10.96.0.7", port: 53, endpoint: "10.0.0.2" },
    { frontend: undefined, port: 30_053, endpoint: "10.0.0.2" },
  ]);
});

test("finds untranslated entries when a port gets its first endpoint", () => {
  const untranslated = [{ frontend: "10.96.0.7", port: 53, endpoint: "10.96.0.7" }];
  expect(findStaleFlows([udp([])], [udp(["10.0.0.2"])])).toEqual(untranslated);
  expect(findStaleFlows([], [udp(["10.0.0.2"])])).toEqual(untranslated);
});

test("ignores TCP, whose connections end with their endpoint", () => {
  expect(findStaleFlows([makePort(["10.0.0.2"])], [])).toEqual([]);
});
