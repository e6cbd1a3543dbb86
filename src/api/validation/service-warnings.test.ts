import { expect, test } from "vitest";
import { serviceWarnings } from "./service-warnings.ts";

test.each<[object, string[]]>([
  [{ type: "ClusterIP" }, []],
  [
    { externalIPs: ["1.2.3.4"] },
    ["spec.externalIPs is deprecated and may no longer be implemented in some clusters"],
  ],
  [
    { clusterIP: "None", externalIPs: ["1.2.3.4"], sessionAffinity: "ClientIP", loadBalancerIP: "1.1.1.1" },
    [
      "spec.loadBalancerIP is ignored for headless services",
      "spec.externalIPs is ignored for headless services",
      "spec.SessionAffinity is ignored for headless services",
    ],
  ],
  [
    { type: "ExternalName", externalIPs: ["1.2.3.4"] },
    ['spec.externalIPs is ignored when spec.type is "ExternalName"'],
  ],
  [
    { type: "ClusterIP", externalName: "a.b" },
    ['spec.externalName is ignored when spec.type is not "ExternalName"'],
  ],
  [
    { trafficDistribution: "PreferClose" },
    ['spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"'],
  ],
])("%j", (spec, expected) => {
  expect(serviceWarnings({ spec })).toEqual(expected);
});
