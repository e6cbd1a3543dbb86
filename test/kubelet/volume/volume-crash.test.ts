import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { rounds } from "../../support/fuzz/rounds.ts";
import { bundle } from "../../support/programs/bundle.ts";
import { crashPod, putVersion } from "./volume-crash-pod.ts";
import { canMount, type VolumesOnMachine, volumesOnMachine } from "./volumes-on-machine.ts";

const kills = rounds(4);

describe.skipIf(!canMount())("volumes and kill -9 (skipped where this process may not mount)", () => {
  let machine: VolumesOnMachine;
  let writer = "";
  beforeAll(async () => {
    machine = volumesOnMachine();
    writer = await bundle("test/kubelet/volume/volume-writer.ts");
  });
  afterAll(() => machine.remove());

  async function runAndKill(run: number): Promise<void> {
    const child = spawn(process.execPath, [writer, machine.podsDir, `${run}`], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    await once(child.stdout, "data");
    await delay(Math.random() * 60);
    child.kill("SIGKILL");
    await once(child, "close");
  }

  /** The version that each content volume holds: one, or none yet. */
  function versionsOf(directory: string): string[] {
    const data = join(machine.podsDir, "u-1/volumes", directory, "..data");
    let names: string[];
    try {
      names = readdirSync(data);
    } catch {
      return [];
    }
    return [...new Set(names.map((name) => readFileSync(join(data, name), "utf8")))];
  }

  const directories = ["kubernetes.io~configmap/config", "kubernetes.io~secret/key"];

  test(`after ${kills} kills the old or the new version is complete, and the next start repairs the volume`, async () => {
    for (let run = 0; run < kills; run++) {
      await runAndKill(run);
      for (const directory of directories) expect(versionsOf(directory).length).toBeLessThanOrEqual(1);

      const volumes = machine.restart();
      putVersion(machine.api, `after.${run}`);
      const mounted = await volumes.setUp(crashPod(), new AbortController().signal);
      const shown = ["a", "b", "c", `only-after.${run}`];
      for (const name of ["config", "key"]) {
        const hostPath = mounted.get(name)?.hostPath ?? "";
        const names = readdirSync(hostPath);
        expect(names.filter((entry) => !entry.startsWith(".."))).toEqual(shown);
        expect(names.filter((entry) => entry.startsWith(".."))).toHaveLength(2);
        for (const key of shown) expect(readFileSync(join(hostPath, key), "utf8")).toBe(`after.${run}`);
      }
      // One tmpfs each, however many kubelets there were.
      expect(machine.mounts()).toHaveLength(2);
    }
    await machine.restart().tearDown("u-1");
    expect([machine.mounts(), readdirSync(machine.podsDir)]).toEqual([[], []]);
  });
});
