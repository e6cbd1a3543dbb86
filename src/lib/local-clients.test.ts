import { expect, test } from "vitest";
import { createLocalClientCheck } from "./local-clients.ts";

test.each([
  { client: "127.0.0.1", accepted: true },
  { client: "192.0.2.1", accepted: true },
  { client: "2001:db8::1", accepted: true },
  { client: "10.88.3.4", accepted: true },
  { client: "fd88::4", accepted: true },
  { client: "192.0.2.2", accepted: false },
  { client: "10.89.0.1", accepted: false },
  { client: "fd89::4", accepted: false },
  { client: "fe80::1", accepted: false },
  { client: "fe80::1%eth0", accepted: false },
  { client: "", accepted: false },
])("accepts $client as a local client: $accepted", ({ client, accepted }) => {
  const isLocal = createLocalClientCheck({
    podSubnets: ["10.88.0.0/16", "fd88::/64"],
    clock: { now: () => 0 },
    readAddresses: () => ["127.0.0.1", "192.0.2.1", "2001:db8::1", "fe80::1"],
  });
  expect(isLocal(client)).toBe(accepted);
  expect(isLocal(client)).toBe(accepted);
});

test("reads the addresses of the machine again for an unknown client, at most once a second", () => {
  let now = 0;
  let addresses = ["192.0.2.1"];
  let reads = 0;
  const isLocal = createLocalClientCheck({
    podSubnets: [],
    clock: { now: () => now },
    readAddresses: () => {
      reads++;
      return addresses;
    },
  });
  expect(isLocal("192.0.2.2")).toBe(false);
  addresses = ["192.0.2.2"];
  now = 999;
  expect(isLocal("192.0.2.2")).toBe(false);
  expect(reads).toBe(1);
  now = 1_000;
  expect(isLocal("192.0.2.2")).toBe(true);
  expect(isLocal("192.0.2.1")).toBe(false);
  expect(reads).toBe(2);
});

test("accepts the addresses of this machine", () => {
  expect(createLocalClientCheck({ podSubnets: [], clock: { now: () => 0 } })("127.0.0.1")).toBe(true);
});
