import { expect, test } from "vitest";
import { addressesOf, isVersionAtLeast, parseCniConfig } from "./cni-config.ts";
import { capabilityArgs, runtimeConfigFor } from "./invoke-plugin.ts";
import { renderMasqueradeRemoval } from "./run-chain.ts";

const somePodRequest = {
  ...{ podId: "id", namespace: "ns", name: "n", uid: "u" },
  portMappings: [],
  annotations: {},
};

test("parses a configuration of one plugin as a list", () => {
  const conf = { cniVersion: "0.3.1", name: "n", type: "ptp", mtu: 1400 };
  expect(parseCniConfig(JSON.stringify(conf), "f")).toEqual({
    name: "n",
    cniVersion: "0.3.1",
    disableCheck: false,
    plugins: [conf],
  });
});

test.each([
  ["[]", "is not an object"],
  ["{", "is not JSON"],
  ['{"plugins":[{"type":"a"}]}', "has no name"],
  ['{"name":"n","plugins":[]}', "lists no plugins"],
  ['{"name":"n","plugins":[{}]}', "has a plugin without a type"],
  ['{"name":"n","plugins":[{"type":"../../bin/sh"}]}', "has a plugin of the type"],
  ['{"name":"n","cniVersion":"new","plugins":[{"type":"a"}]}', 'has the version "new"'],
])("rejects %s", (text, why) => {
  expect(() => parseCniConfig(text, "/etc/cni/net.d/x.conf")).toThrow(`/etc/cni/net.d/x.conf ${why}`);
});

test.each([
  ["0.3.1", "0.4.0", false],
  ["0.4.0", "0.4.0", true],
  ["1.0.0", "0.4.0", true],
  ["0.10.0", "0.4.0", true],
])("version %s is at least %s: %s", (version, wanted, is) => {
  expect(isVersionAtLeast(version, wanted)).toBe(is);
});

test("passes a plugin the capabilities that it declares", () => {
  const args = capabilityArgs({
    ...somePodRequest,
    portMappings: [
      { protocol: "TCP", containerPort: 80, hostPort: 8080, hostIp: "" },
      { protocol: "TCP", containerPort: 81, hostPort: 0, hostIp: "" },
    ],
    annotations: { "kubernetes.io/egress-bandwidth": "1.5Mi" },
  });
  const of = (capabilities: object) => runtimeConfigFor({ type: "x", capabilities }, args);
  expect(of({ portMappings: true, bandwidth: false })).toEqual({
    portMappings: [{ hostPort: 8080, containerPort: 80, protocol: "tcp", hostIP: "" }],
  });
  expect(of({ bandwidth: true })).toEqual({
    bandwidth: { egressRate: 1_572_864, egressBurst: 4_294_967_295 },
  });
  expect(of({ dns: true })).toBeUndefined();
});

test.each(["10", "2P", "fast", "-1M", "1X"])("rejects the bandwidth %s", (quantity) => {
  const annotations = { "kubernetes.io/ingress-bandwidth": quantity };
  expect(() => capabilityArgs({ ...somePodRequest, annotations })).toThrow("is not a bandwidth");
});

test("takes the addresses of interfaces inside the pod", () => {
  const interfaces = [{ name: "br0" }, { name: "eth0", sandbox: "/ns" }];
  const ips = [
    { address: "10.0.0.1/24", interface: 0 },
    { address: "10.0.0.5/24", interface: 1 },
    { address: "fd00::5/64", interface: 1 },
  ];
  expect(addressesOf({ interfaces, ips })).toEqual(["10.0.0.5", "fd00::5"]);
  expect(addressesOf({ ips: [{ version: "4", address: "10.0.0.7/16" }] })).toEqual(["10.0.0.7"]);
  expect(addressesOf({})).toEqual([]);
});

test("removes the masquerading rules of one pod only", () => {
  const chain = `CNI-${"0a".repeat(12)}`;
  const rule = (pod: string) =>
    `-A POSTROUTING -s 10.0.0.5/32 -m comment --comment "name: \\"net\\" id: \\"${pod}\\"" -j ${chain}`;
  expect(renderMasqueradeRemoval(rule("b"), { podId: "a", networkName: "net" })).toBeUndefined();
  expect(renderMasqueradeRemoval(rule("a"), { podId: "a", networkName: "net" })).toBe(
    `*nat\n:${chain} - [0:0]\n${rule("a").replace("-A", "-D")}\n-X ${chain}\nCOMMIT\n`,
  );
});
