import { expect, test } from "vitest";
import { findHierarchies } from "./find-hierarchies.ts";

const line = (path: string, type: string, options: string) =>
  `30 24 0:26 / ${path} rw,nosuid shared:9 - ${type} ${type} rw,${options}`;
const other = line("/proc", "proc", "x");
const v1 = [
  line("/sys/fs/cgroup/cpu,cpuacct", "cgroup", "cpu,cpuacct"),
  line("/sys/fs/cgroup/memory", "cgroup", "memory"),
  line("/sys/fs/cgroup/systemd", "cgroup", "name=systemd"),
];
const unified = (path: string) => line(path, "cgroup2", "nsdelegate");
const ofV1 = { version: 1, cpu: "/sys/fs/cgroup/cpu,cpuacct", memory: "/sys/fs/cgroup/memory" };
const roots = ["/sys/fs/cgroup/cpu,cpuacct", "/sys/fs/cgroup/memory", "/sys/fs/cgroup/systemd"];

test.each([
  ["version 1", [other, ...v1], { ...ofV1, roots }],
  [
    "version 1 with an empty version 2 beside it",
    [...v1, unified("/sys/fs/cgroup/unified")],
    { ...ofV1, roots: [...roots, "/sys/fs/cgroup/unified"] },
  ],
  [
    "version 2",
    [other, unified("/sys/fs/cgroup")],
    { version: 2, cpu: "/sys/fs/cgroup", memory: "/sys/fs/cgroup", roots: ["/sys/fs/cgroup"] },
  ],
  [
    "a second mount of the same",
    [...v1, line("/mnt/cpu", "cgroup", "cpu,cpuacct")],
    { ...ofV1, roots: [...roots, "/mnt/cpu"] },
  ],
  ["memory without limits", v1.slice(0, 1), undefined],
  ["none", [other, ""], undefined],
])("%s", (_, lines, expected) => {
  expect(findHierarchies(lines.join("\n"))).toEqual(expected);
});
