import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { RunPodSandboxRequest } from "../../src/cri/generated/cri.ts";
import { createMounter } from "../../src/kubelet/volumes/mounter.ts";
import { bindSubPath } from "../../src/kubelet/volumes/sub-path.ts";
import { quoteShell } from "../../src/lib/process/run-program.ts";
import { noConfig } from "../../src/runtime/runtime-config.ts";
import { describeWithDrivers, sleepy } from "../support/cri/cri-drivers.ts";
import { execIn, podConfig, runContainer, runSandbox } from "../support/cri/cri-pod.ts";
import { startCriRuntime } from "../support/cri/cri-runtime.ts";
import { describeWithTool, toolPath } from "../support/programs/tools.ts";

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
    const newVolume = () => makeVolume(mkdtempSync(join(runtime().directory, "race-")));

    test.runIf(driver === "host" || runcStaysInside())(
      "does not lead the other's mount points out of the volume",
      async () => {
        const { outer, inner, victim } = newVolume();
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
      const { outer, victim } = newVolume();
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

/** An OCI runtime that replaces `sub` by the link `evil` after the driver has checked the mounts, then calls runc. */
const swappingRuntime = (outer: string, runc: string) => `#!/bin/sh
bundle= previous=
for word; do
  [ "$previous" != --bundle ] || bundle=$word
  previous=$word
done
cd ${quoteShell(outer)}
if [ -n "$bundle" ] && [ -e evil ] && grep -q /data/sub/deep "$bundle/config.json"; then
  ls sub > seen
  mv sub aside
  mv evil sub
fi
exec ${quoteShell(runc)} "$@"
`;

describeWithTool("busybox", "with runc of any version", () => {
  describeWithTool("conmon", "a mount point in a volume", () => {
    test("exists before runc is called, and does not lead out of the container if it is replaced then", async () => {
      const home = mkdtempSync(join(tmpdir(), "kindling-swap-"));
      const { outer, inner, victim } = makeVolume(home);
      const path = join(home, "swapping-runtime");
      writeFileSync(path, swappingRuntime(outer, toolPath("runc")), { mode: 0o755 });
      const handlers = new Map([["swapping", path]]);
      const runtime = await startCriRuntime({ driver: "oci", runtimeConfig: { ...noConfig, handlers } });
      const { client } = runtime;
      try {
        const request = RunPodSandboxRequest.fromPartial({
          config: podConfig(),
          runtimeHandler: "swapping",
        });
        const { podSandboxId } = await client.runtime.runPodSandbox(request);
        const mounts = [
          { containerPath: "/data", hostPath: outer },
          { containerPath: "/data/sub/deep", hostPath: inner },
        ];
        // Refused or running, depending on the version.
        await runContainer(client, podSandboxId, { mounts, ...sleepy }).catch(() => {});
        expect(readFileSync(join(outer, "seen"), "utf8")).toBe("deep\n");
        expect(readdirSync(victim)).toEqual([]);
        await client.runtime.removePodSandbox({ podSandboxId });
      } finally {
        await runtime.stop();
        rmSync(home, { recursive: true, force: true });
      }
      expect(readFileSync("/proc/self/mountinfo", "utf8")).not.toContain(home);
    });
  });
});

/** A volume with the directory `sub` and the link `evil` out of it, and another volume to mount inside it. */
function makeVolume(home: string): { outer: string; inner: string; victim: string } {
  const [outer = "", inner = "", victim = ""] = ["outer", "inner", "victim"].map((name) => join(home, name));
  for (const path of [join(outer, "sub"), inner, victim]) mkdirSync(path, { recursive: true });
  writeFileSync(join(inner, "from-inner"), "");
  symlinkSync(victim, join(outer, "evil"));
  return { outer, inner, victim };
}

/**
 * runc before 1.1.14 (CVE-2024-45310) checks a mount point and then creates it by its path. A link that replaces the
 * directory between the two leads to the host, and nothing that the driver does before can prevent it.
 */
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
