import { expect, test } from "vitest";
import { type NamespaceKind, planSysctls } from "./pin-namespaces.ts";

const all: readonly NamespaceKind[] = ["net", "ipc", "uts"];

test.each([
  ["net.ipv4.ip_local_port_range", "net/ipv4/ip_local_port_range"],
  ["net.ipv4.conf.eth0/100.forwarding", "net/ipv4/conf/eth0.100/forwarding"],
  ["net/ipv4/conf/eth0.100/forwarding", "net/ipv4/conf/eth0.100/forwarding"],
  ["kernel.shm_rmid_forced", "kernel/shm_rmid_forced"],
  ["fs.mqueue.msg_max", "fs/mqueue/msg_max"],
])("maps %s to the file %s", (name, file) => {
  expect(planSysctls({ [name]: "1" }, all)).toEqual([[file, "1"]]);
});

test.each(["kernel.panic", "vm.swappiness", "net/../kernel/panic", "fs.file-max", "kernel.hostname"])(
  "rejects %s, which belongs to the host",
  (name) => {
    expect(() => planSysctls({ [name]: "1" }, all)).toThrow("would change the host");
  },
);

test("rejects a parameter of a namespace that the pod shares with the host", () => {
  expect(() => planSysctls({ "net.core.somaxconn": "1" }, ["ipc"])).toThrow("needs a net namespace");
});
