import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { containerDevices, deviceNumbers } from "./gather-facts.ts";

it.each([
  [0x0103, 1, 3],
  [0x8801, 136, 1],
  [0x10_fd05, 253, 261],
  [0x1234_5678, 0x456, 0x1_2378],
])("splits device %i into %i:%i", (rdev, major, minor) => {
  expect(deviceNumbers(rdev)).toEqual({ major, minor });
});

it.runIf(process.getuid?.() === 0)("takes every device of a directory except links", () => {
  const directory = mkdtempSync(join(tmpdir(), "kindling-devices-"));
  const device = { hostPath: directory, containerPath: "/dev/set", permissions: "r" };
  try {
    mkdirSync(join(directory, "below"));
    execFileSync("mknod", [join(directory, "below/zero"), "c", "1", "5"]);
    writeFileSync(join(directory, "file"), "");
    symlinkSync("/nowhere", join(directory, "dangling"));
    symlinkSync(".", join(directory, "circle"));
    symlinkSync("below/zero", join(directory, "zero"));
    expect(containerDevices([device])).toMatchObject([
      { path: "/dev/set/below/zero", type: "c", major: 1, minor: 5, permissions: "r" },
    ]);
    const linked = { ...device, hostPath: join(directory, "zero"), containerPath: "/dev/zero2" };
    expect(containerDevices([linked])).toMatchObject([{ path: "/dev/zero2", major: 1, minor: 5 }]);
  } finally {
    rmSync(directory, { recursive: true });
  }
  expect(() => containerDevices([device])).toThrow(/does not exist/);
});
