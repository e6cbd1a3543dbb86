import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, type TestContext, test } from "vitest";
import {
  findTraces,
  type MachineTraces,
  networkNotes,
  type OwnBridge,
  ownBridges,
} from "../support/cri/machine-traces.ts";
import { runsSlowTests, slowName } from "../support/fuzz/rounds.ts";
import { runKindling } from "../support/programs/run-kindling.ts";
import { describeWithTool } from "../support/programs/tools.ts";
import { runInTerminal } from "./run-in-terminal.ts";

const titles = [
  "A pull that reports its progress",
  "A pod that cannot start, reports it, and recovers",
  "An invalid image name",
  "A slow start with a strict liveness probe",
  "A StatefulSet that gets stuck, and one that does not",
];

/** Text that each step must print. */
const shown = [
  /✓ the (kubelet reported how much of the image was pulled|pod's events reported it too)/,
  /✓ PodReadyToStartContainers is True.*✓ FailingToStart is True, CreateContainerConfigError: configmap "settings" not found.*✓ the same pod is Ready, and FailingToStart is False/s,
  /✓ FailingToStart is True, InvalidImageName.*✓ the pod is Ready/s,
  /✓ started was false while the program started.*0 restarts.*✓ started is true and the pod is Ready/s,
  /✓ db-1 is replaced and cannot start.*✓ stuck: Pod db-1 is not ready and of an older revision.*✓ db-1 was replaced and both pods are Ready/s,
];

/** Folder for the tour's temporary files alone, so that leftovers are found. On disk, because they are large. */
async function ownTemporary({ onTestFinished }: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "kdl-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

function expectWholeTour(text: string): void {
  const parts = text.split(/^\d of 5 {2}/m);
  expect(parts).toHaveLength(6);
  for (const [i, title] of titles.entries()) {
    expect(parts[i + 1]).toContain(title);
    expect(parts[i + 1]?.replaceAll(/\s+/g, " ")).toMatch(shown[i] ?? /^$/);
    expect(text).toMatch(new RegExp(`✓ ${i + 1} ${title}, [\\d.]+ s`));
  }
  expect(text.replaceAll(/\s+/g, " ")).toContain("its cluster is removed");
}

// Steps take their time by design: the tours of a group go on side by side.

/** They take more of it on a busy machine. */
const patient = { timeout: 300_000 };

describe("kindling tour, simulated", patient, () => {
  test
    .skipIf(!runsSlowTests)
    .concurrent(slowName("in a pipe: every step explains its purpose in plain text"), async (context) => {
      const folder = await ownTemporary(context);
      const run = await runKindling(["tour", "--runtime", "simulated"], { env: { TMPDIR: folder } });
      expect(await run.exit).toBe(0);
      expect(run.output.stderr).toBe("");
      expect(run.output.stdout).not.toContain("\x1b");
      expectWholeTour(run.output.stdout);
      expect(await readdir(folder)).toEqual([]);
    });

  test.concurrent("on a terminal of 80 columns: progress is redrawn in place and every remaining line is complete", async (context) => {
    const folder = await ownTemporary(context);
    const run = await runInTerminal(["tour", "--runtime", "simulated", "--step", "2"], {
      columns: 80,
      env: { TMPDIR: folder },
      onTestFinished: context.onTestFinished,
    });
    expect(await run.exit).toBe(0);
    const lines = run.screen.lines();
    const text = lines.join("\n");
    expect(text.replaceAll(/\s+/g, " ")).toMatch(shown[1] ?? /^$/);
    // The spinner is removed; only messages remain.
    expect(run.raw()).toMatch(/[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]/);
    expect(text).not.toMatch(/[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]/);
    expect(await readdir(folder)).toEqual([]);
  });

  test.concurrent("--pause waits for Enter; Ctrl-C there ends the tour and cleans up", async (context) => {
    const { expect } = context;
    const folder = await ownTemporary(context);
    const run = await runInTerminal(["tour", "--runtime", "simulated", "--pause"], {
      columns: 80,
      env: { TMPDIR: folder },
      onTestFinished: context.onTestFinished,
    });
    await expect
      .poll(() => run.screen.lines().join("\n"), { timeout: 100_000 })
      .toContain("Press Enter to continue");
    expect(run.screen.lines().join("\n")).not.toContain("2 of 5");
    run.type("\r");
    await expect.poll(() => run.screen.lines().join("\n"), { timeout: 100_000 }).toContain("2 of 5");
    run.type("\x03");
    expect(await run.exit).toBe(1);
    expect(run.screen.lines().join("\n")).toContain("the tour was stopped; its cluster is removed");
    expect(await readdir(folder)).toEqual([]);
  });

  test.concurrent("the tour ends and cleans up when its reader disconnects", async (context) => {
    const { expect } = context;
    const folder = await ownTemporary(context);
    const run = await runKindling(["tour", "--runtime", "simulated"], { env: { TMPDIR: folder } });
    await expect.poll(() => run.output.stdout, { timeout: 100_000 }).toContain("1 of 5");
    run.child.stdout?.destroy();
    expect(await run.exit).toBe(1);
    expect(await readdir(folder)).toEqual([]);
  });

  test.concurrent("--list names the steps; wrong usage exits with code 2 and a message", async () => {
    const list = await runKindling(["tour", "--list"]);
    expect(await list.exit).toBe(0);
    for (const title of titles) expect(list.output.stdout).toContain(title);
    const wrong = await runKindling(["tour", "--step", "6"]);
    expect(await wrong.exit).toBe(2);
    expect(wrong.output.stderr).toContain("must be a step from 1 to 5");
    const withoutTerminal = await runKindling(["tour", "--pause"]);
    expect(await withoutTerminal.exit).toBe(2);
    expect(withoutTerminal.output.stderr).toContain(
      "--pause waits for Enter, but standard input is not a terminal",
    );
  });
});

describeWithTool(
  "ip",
  "kindling tour, with real containers",
  () => {
    const nothing: MachineTraces = { mounts: [], processes: [], cgroups: [], interfaces: [] };

    /** The tour's runtime, once it has a pod. */
    async function runtimeWithPods(folder: string, { expect }: TestContext) {
      let found: { dataDir: string; podIds: readonly string[]; bridges: readonly OwnBridge[] } | undefined;
      await expect
        .poll(
          async () => {
            const [name] = await readdir(folder);
            const dataDir = join(folder, name ?? "", "cluster/nodes/node-1/runtime");
            const { podIds } = await networkNotes(dataDir);
            found = { dataDir, podIds, bridges: await ownBridges(dataDir).catch(() => []) };
            return podIds.length;
          },
          { timeout: 100_000 },
        )
        .toBeGreaterThan(0);
      if (!found) throw new Error("the tour has no pods");
      return found;
    }

    test.concurrent("the whole tour on a terminal; no container, mount, interface or file is left", async (context) => {
      const folder = await ownTemporary(context);
      const run = await runInTerminal(["tour"], {
        columns: 80,
        rows: 40,
        env: { TMPDIR: folder },
        onTestFinished: context.onTestFinished,
      });
      const { podIds, bridges } = await runtimeWithPods(folder, context);
      expect(await run.exit).toBe(0);
      expectWholeTour(run.screen.lines().join("\n"));
      expect(await readdir(folder)).toEqual([]);
      expect(await findTraces({ dataDir: folder, ids: podIds, bridges })).toEqual(nothing);
    });

    test
      .skipIf(!runsSlowTests)
      .concurrent(
        slowName("a stopped tour leaves nothing behind; the next tour cleans up after a killed one"),
        async (context) => {
          const folder = await ownTemporary(context);
          const env = { TMPDIR: folder };
          const stopped = await runKindling(["tour", "--step", "5"], { env });
          await runtimeWithPods(folder, context);
          stopped.child.kill("SIGINT");
          expect(await stopped.exit).toBe(1);
          expect(stopped.output.stderr).toContain("the tour was stopped; its cluster is removed");
          expect(await readdir(folder)).toEqual([]);

          const killed = await runKindling(["tour", "--step", "5"], { env });
          const { podIds, bridges } = await runtimeWithPods(folder, context);
          killed.child.kill("SIGKILL");
          await killed.exit;
          expect(await readdir(folder)).toHaveLength(1);

          const next = await runKindling(["tour", "--step", "3"], { env });
          expect(await next.exit).toBe(0);
          expect(await readdir(folder)).toEqual([]);
          expect(await findTraces({ dataDir: folder, ids: podIds, bridges })).toEqual(nothing);
        },
      );
  },
  patient,
);
