import { expect, test } from "vitest";
import type { Pod } from "../../api/meta/objects.ts";
import { forbidSysctl, isNamespaced } from "./forbid-sysctl.ts";

const pod = (name: string, spec: object = {}): Pod => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "p" },
  spec: { containers: [], securityContext: { sysctls: [{ name, value: "1" }] }, ...spec },
});

test.each<[string, Pod, readonly string[], string | undefined]>([
  ["a safe one", pod("net.ipv4.tcp_syncookies"), [], undefined],
  ["a safe one with slashes", pod("net/ipv4/tcp_syncookies"), [], undefined],
  ["an unsafe one", pod("net.core.somaxconn"), [], '"net.core.somaxconn" not allowlisted'],
  ["an unsafe one that is allowed", pod("net.core.somaxconn"), ["net.core.somaxconn"], undefined],
  ["a sysctl that matches an allowed pattern", pod("kernel.msgmax"), ["kernel.msg*"], undefined],
  [
    "a sysctl that matches no allowed pattern",
    pod("kernel.sem"),
    ["kernel.msg*"],
    '"kernel.sem" not allowlisted',
  ],
  [
    "on the node's network",
    pod("net.ipv4.tcp_syncookies", { hostNetwork: true }),
    [],
    '"net.ipv4.tcp_syncookies" not allowed with host net enabled',
  ],
  [
    "with the node's IPC",
    pod("kernel.shm_rmid_forced", { hostIPC: true }),
    [],
    '"kernel.shm_rmid_forced" not allowed with host ipc enabled',
  ],
])("%s", (_, given, allowed, expected) => {
  expect(forbidSysctl(given, allowed)).toBe(expected && `forbidden sysctl: ${expected}`);
});

test("only namespaced sysctls can be allowed", () => {
  expect(["net.core.*", "kernel.msg*", "fs.mqueue.msg_max"].every(isNamespaced)).toBe(true);
  expect(["kernel.pid_max", "vm.*", "*"].some(isNamespaced)).toBe(false);
});
