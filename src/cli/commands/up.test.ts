import { expect, test } from "vitest";
import { announceUp, sudoUserOf } from "./up.ts";

const up = {
  url: "https://127.0.0.1:6443",
  kubeconfig: "/data/kubeconfig",
  nodes: [{ name: "node-1", runtime: "driver oci" }],
  dashboard: "http://127.0.0.1:6480",
};
const usual = { ephemeral: false, temporary: false, simulated: false, hasKubectl: true };

test("prints the address, how to connect and how to stop", () => {
  expect(announceUp(up, usual)).toBe(`The cluster is up at https://127.0.0.1:6443 with node-1 (driver oci)

  export KUBECONFIG=/data/kubeconfig
  kubectl get pods --all-namespaces

Dashboard  http://127.0.0.1:6480

Ctrl-C stops the cluster; its data is kept and containers keep running.
`);
});

test.each([
  [{ sudoUser: "ana" }, "sudo install -m 600 -o ana /data/kubeconfig ~/kindling.kubeconfig"],
  [{ hasKubectl: false }, "kubectl is not installed"],
  [{ simulated: true }, "Ctrl-C stops the cluster; its data is kept.\n"],
  [{ simulated: true, ephemeral: true, temporary: true }, "Ctrl-C stops the cluster and removes its data.\n"],
  [{ ephemeral: true, temporary: true }, "Ctrl-C stops the cluster and removes its containers and data.\n"],
  [{ ephemeral: true }, "Ctrl-C stops the cluster and its containers; its data is kept.\n"],
  [{ warning: "There are no cgroups here." }, "(driver oci)\nThere are no cgroups here.\n"],
])("%o", (how, says) => {
  expect(announceUp(up, usual)).not.toContain(says);
  expect(announceUp(up, { ...usual, ...how })).toContain(says);
});

test.each([
  [undefined, undefined],
  ["ana", "ana"],
  ["root", undefined],
  ["x; reboot", undefined],
])("sudo of %s", (SUDO_USER, user) => {
  expect(sudoUserOf({ ...(SUDO_USER && { SUDO_USER }) })).toBe(user);
});
