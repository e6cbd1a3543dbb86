import { expect, test } from "vitest";
import { decideNetwork, type NetworkFacts } from "./choose-network.ts";

const everything: NetworkFacts = {
  inUse: undefined,
  cniConfig: "present",
  cniConfDir: "/etc/cni/net.d",
  hasCniPlugins: true,
  hasIproute: true,
};
const rows: [string, Partial<NetworkFacts>, string, string][] = [
  ["uses CNI with plugins and a configuration", {}, "cni", "a configuration in /etc/cni/net.d"],
  [
    "uses the bridge with plugins alone",
    { cniConfig: "missing" },
    "bridge",
    "no CNI configuration in /etc/cni/net.d",
  ],
  ["uses the bridge without plugins", { hasCniPlugins: false }, "bridge", "no CNI plugins"],
  [
    "uses the host network without iproute2",
    { hasCniPlugins: false, hasIproute: false },
    "host",
    "no iproute2",
  ],
  ["keeps the bridge of pods of an earlier run", { inUse: "bridge" }, "bridge", "pods of an earlier run"],
  ["keeps CNI of pods of an earlier run", { inUse: "cni", cniConfig: "missing" }, "cni", "stays cni"],
];
test.each(rows)("%s", (_name, facts, network, reason) => {
  const [name, why] = decideNetwork({ ...everything, ...facts });
  expect(name).toBe(network);
  expect(why).toContain(reason);
});
