import { expect, test } from "vitest";
import { allocatesNodePorts, defaultIpFamilies, needsClusterIP, type ServiceSpec } from "./addresses.ts";

test.each<[ServiceSpec, boolean, boolean]>([
  [{ type: "ClusterIP" }, true, false],
  [{ type: "ClusterIP", clusterIP: "10.0.0.1" }, false, false],
  [{ type: "ClusterIP", clusterIP: "None" }, false, false],
  [{ type: "NodePort" }, true, true],
  [{ type: "LoadBalancer", allocateLoadBalancerNodePorts: true }, true, true],
  [{ type: "LoadBalancer", allocateLoadBalancerNodePorts: false }, true, false],
  [{ type: "ExternalName" }, false, false],
])("%j needs an address: %s, node ports: %s", (spec, address, nodePorts) => {
  expect(needsClusterIP(spec)).toBe(address);
  expect(allocatesNodePorts(spec)).toBe(nodePorts);
});

const selector = { app: "a" };

test.each<[ServiceSpec, Partial<ServiceSpec>]>([
  [{ selector }, { ipFamilies: ["IPv4"], ipFamilyPolicy: "SingleStack" }],
  [
    { clusterIPs: ["None"], selector },
    { ipFamilies: ["IPv4"], ipFamilyPolicy: "SingleStack" },
  ],
  [{ clusterIPs: ["None"] }, { ipFamilies: ["IPv4", "IPv6"], ipFamilyPolicy: "RequireDualStack" }],
  [{ ipFamilyPolicy: "PreferDualStack" }, { ipFamilies: ["IPv4"], ipFamilyPolicy: "PreferDualStack" }],
  [{ type: "ExternalName" }, {}],
])("families of %j", (spec, expected) => {
  const service = { ...spec };
  defaultIpFamilies(service, "IPv4");
  expect(service).toEqual({ ...spec, ...expected });
});
