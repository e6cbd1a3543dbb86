import { describe, expect, it } from "vitest";
import { cgroupDirs, containerCgroup, controllerDir, parseCgroupLayout } from "./cgroup-layout.ts";

const v1 = [
  "30 22 0:26 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct",
  "31 22 0:27 / /sys/fs/cgroup/memory rw,relatime shared:10 - cgroup cgroup rw,memory",
  "32 22 0:28 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,xattr,name=systemd",
];
const v2 = "33 22 0:29 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw,nsdelegate";

describe("parseCgroupLayout", () => {
  it.each([
    ["v1", v1, "v1"],
    ["both", [...v1, v2], "hybrid"],
    ["v2", ["35 24 0:30 / /sys/fs/cgroup rw - cgroup2 cgroup rw"], "v2"],
    ["nothing", ["1 0 8:1 / / rw - ext4 /dev/sda rw"], "none"],
  ])("%s", (_name, lines, kind) => {
    expect(parseCgroupLayout(lines.join("\n")).kind).toBe(kind);
  });

  it("finds the directories of controllers", () => {
    const layout = parseCgroupLayout([...v1, v2].join("\n"));
    expect(controllerDir(layout, "cpuacct", "/a/b")).toBe("/sys/fs/cgroup/cpu,cpuacct/a/b");
    expect(controllerDir(layout, "pids", "/a/b")).toBeUndefined();
    expect(cgroupDirs(layout, "/a")).toEqual([
      "/sys/fs/cgroup/cpu,cpuacct/a",
      "/sys/fs/cgroup/memory/a",
      "/sys/fs/cgroup/systemd/a",
      "/sys/fs/cgroup/unified/a",
    ]);
  });
});

it("joins a container's cgroup to its parent", () => {
  expect(containerCgroup("/kubepods/besteffort/pod1", "c")).toBe("/kubepods/besteffort/pod1/c");
  expect(containerCgroup("", "c")).toBe("/kindling/c");
});
