import { expect, test } from "vitest";
import { decideNetwork, type NetworkFacts } from "./choose-network.ts";

const everything: NetworkFacts = {
  inUse: undefined,
  cniConfig: "present",
  cniConfDir: "/etc/cni/net.d",
  cniPlugins: "all",
  hasIproute: true,
  iptablesProblem: undefined,
};
const rows: [string, Partial<NetworkFacts>, string, string][] = [
  ["plugins and a configuration", {}, "cni", "a configuration in /etc/cni/net.d"],
  ["other plugins with a configuration", { cniPlugins: "some" }, "cni", "a configuration in"],
  ["plugins alone", { cniConfig: "missing" }, "cni", "a configuration of our own"],
  ["plugins without iptables", { cniConfig: "missing", iptablesProblem: "no" }, "bridge", "what ours needs"],
  ["a configuration without plugins", { cniPlugins: "none" }, "bridge", "no CNI plugins"],
  ["nothing at all", { cniPlugins: "none", hasIproute: false }, "host", "no iproute2"],
  ["pods of an earlier run", { inUse: "bridge" }, "bridge", "pods of an earlier run"],
];
test.each(rows)("%s", (_name, facts, network, reason) => {
  const [name, why] = decideNetwork({ ...everything, ...facts });
  expect(name).toBe(network);
  expect(why).toContain(reason);
});
