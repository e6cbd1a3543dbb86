import { expect, test } from "vitest";
import { withoutRandomIds } from "./error-text.ts";

const id = "0123456789abcdef".repeat(4);

test.each([
  [
    `failed to setup network for sandbox "${id}": no address`,
    'failed to setup network for sandbox "<id>": no address',
  ],
  [
    `mkdir /run/containerd/k8s.io/${id}/rootfs: read-only`,
    "mkdir /run/containerd/k8s.io/<id>/rootfs: read-only",
  ],
  [`/sys/fs/cgroup/cri-containerd-${id}.scope`, "/sys/fs/cgroup/cri-containerd-<id>.scope"],
  [
    'netns: "/var/run/netns/cni-1f0c2b3a-90ab-11ee-b9d1-0242ac120002": exit 1',
    'netns: "/var/run/netns/cni-<id>": exit 1',
  ],
  ["Cannot find device kdl0123456789ab", "Cannot find device <link>"],
  ["open /proc/4711/ns/net: gone", "open /proc/<pid>/ns/net: gone"],
  ["dstFd=/proc/thread-self/fd/11: not a directory", "dstFd=/proc/thread-self/fd/<fd>: not a directory"],
  ["open /tmp/runc-process1234567890: no space", "open /tmp/runc-process<id>: no space"],
  ["write /d/images/staging/l-Ab3_xZ/fs/a", "write /d/images/staging/l-<id>/fs/a"],
  ["open /pods/u/..2026_11_18_08_20_19.aB3dE/key", "open /pods/u/..<version>/key"],
  [
    "read tcp 10.0.0.1:43210->10.0.0.2:443: i/o timeout",
    "read tcp 10.0.0.1:<port>->10.0.0.2:443: i/o timeout",
  ],
  [
    'container create failed: time="2026-11-18T15:04:47Z" level=error msg="runc create failed: exec: \\"a\\": not found"\n',
    'container create failed: runc create failed: exec: "a": not found',
  ],
  ["from runtime list map[runc:0x300942242540]", "from runtime list map[runc:<address>]"],
])("%s has no random part", (text, expected) => {
  expect(withoutRandomIds(text)).toBe(expected);
  expect(withoutRandomIds(expected)).toBe(expected);
});

test.each([
  `failed to pull busybox@sha256:${id}`,
  `open /content/blobs/sha256/${id}: no space left on device`,
  "hostPath /tmp/data-2026 is not a directory",
  "/proc/self/mountinfo: permission denied",
  "dial tcp 10.0.0.2:443: connect: connection refused",
  "pod web_shop(1f0c2b3a-90ab-11ee-b9d1-0242ac120002)",
])("%s stays as it is", (text) => {
  expect(withoutRandomIds(text)).toBe(text);
});
