import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createMounter } from "../../src/kubelet/volumes/mounter.ts";
import { bindSubPath } from "../../src/kubelet/volumes/sub-path.ts";
import { describeWithDrivers, sleepy } from "../support/cri/cri-drivers.ts";
import { execIn, runContainer, runSandbox } from "../support/cri/cri-pod.ts";
import { toolPath } from "../support/programs/tools.ts";

/** Swaps the directory `sub` for the link `evil` and back, as fast as a container that writes to the volume can. */
const swapper = `
  const { renameSync, rmSync } = require("node:fs");
  process.stdout.write("swapping");
  for (;;) {
    try {
      renameSync("sub", "aside");
      renameSync("evil", "sub");
      renameSync("sub", "evil");
      renameSync("aside", "sub");
    } catch {
      // The runtime has made the directory in the moment in which it was missing.
      rmSync("aside", { recursive: true, force: true });
    }
  }`;

describeWithDrivers(
  "a container that changes a volume while another one is created",
  ({ client, driver, runtime }) => {
    function makeVolume(): { outer: string; inner: string; victim: string } {
      const home = mkdtempSync(join(runtime().directory, "race-"));
      const [outer = "", inner = "", victim = ""] = ["outer", "inner", "victim"].map((name) =>
        join(home, name),
      );
      for (const path of [join(outer, "sub"), inner, victim]) mkdirSync(path, { recursive: true });
      writeFileSync(join(inner, "from-inner"), "");
      symlinkSync(victim, join(outer, "evil"));
      return { outer, inner, victim };
    }

    test.runIf(driver === "host" || runcStaysInside())(
      "does not lead the other's mount points out of the volume",
      async () => {
        const { outer, inner, victim } = makeVolume();
        const sandbox = await runSandbox(client());
        const child = spawn(process.execPath, ["-e", swapper], {
          cwd: outer,
          stdio: ["ignore", "pipe", "inherit"],
        });
        try {
          await once(child.stdout, "data");
          for (let attempt = 0; attempt < 12; attempt++) {
            const mounts = [
              { containerPath: "/data", hostPath: outer },
              // Every mount point is another that has to be made.
              ...[0, 1, 2, 3].map((i) => ({
                containerPath: `/data/sub/deep-${attempt}-${i}`,
                hostPath: inner,
              })),
            ];
            const metadata = { name: `c${attempt}`, attempt: 0 };
            // Refused or running, as it happens to meet the directory or the link.
            await runContainer(client(), sandbox, { metadata, mounts, ...sleepy }).catch(() => {});
          }
        } finally {
          child.kill("SIGKILL");
          await once(child, "close");
          await client().runtime.removePodSandbox({ podSandboxId: sandbox });
        }
        expect(readdirSync(victim)).toEqual([]);
      },
    );

    test("gets only its own subPath mounted, also if it replaces the directory", async () => {
      const { outer, victim } = makeVolume();
      writeFileSync(join(outer, "sub/file"), "inside");
      writeFileSync(join(victim, "file"), "the host's");
      const mounter = createMounter();
      const podDir = join(outer, "../pod");
      const volume = { hostPath: outer, readOnly: false };
      const hostPath = await bindSubPath(mounter, { volume, subPath: "sub", podDir });
      try {
        renameSync(join(outer, "sub"), join(outer, "aside"));
        renameSync(join(outer, "evil"), join(outer, "sub"));
        const sandbox = await runSandbox(client());
        const mounts = [{ containerPath: "/data", hostPath }];
        const container = await runContainer(client(), sandbox, { mounts, ...sleepy });
        const { stdout } = await execIn(client(), container, "cat /data/file; echo -n changed > /data/file");
        await client().runtime.removePodSandbox({ podSandboxId: sandbox });
        expect(stdout).toBe("inside");
        expect(readFileSync(join(outer, "aside/file"), "utf8")).toBe("changed");
        expect(readFileSync(join(victim, "file"), "utf8")).toBe("the host's");
      } finally {
        await mounter.unmount(hostPath);
      }
    });
  },
);

/** runc before 1.1.14 loses the same race: CVE-2024-45310. */
function runcStaysInside(): boolean {
  const [, major, minor, patch] = /version (\d+)\.(\d+)\.(\d+)/.exec(runcVersion()) ?? [];
  return Number(major) * 1e6 + Number(minor) * 1e3 + Number(patch) >= 1_001_014;
}

function runcVersion(): string {
  try {
    return execFileSync(toolPath("runc"), ["--version"], { encoding: "utf8" });
  } catch {
    return "";
  }
}
