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
} from "../support/machine-traces.ts";
import { runKindling } from "../support/run-kindling.ts";
import { runInTerminal } from "./run-in-terminal.ts";

const titles = [
  "A pull that says how far it is",
  "A pod that cannot start, says so, and heals",
  "An image name that no registry can have",
  "A slow starter under an impatient liveness probe",
  "A StatefulSet that gets stuck, and one that does not",
];

/** What each step has to show, in its own words. */
const shown = [
  /✓ the (kubelet told at every look how much was there|pod's events told it too)/,
  /✓ PodReadyToStartContainers is True.*✓ FailingToStart is True, CreateContainerConfigError: configmap "settings" not found.*✓ the same pod is Ready, and FailingToStart is False/s,
  /✓ FailingToStart is True, InvalidImageName.*✓ the pod is Ready/s,
  /✓ started was false while the program came up.*0 restarts.*✓ started is true and the pod is Ready/s,
  /✓ db-1 is replaced and cannot start.*✓ stuck: Pod db-1 is not ready and of an older revision.*✓ db-1 was replaced and both pods are Ready/s,
];

/** Temporary files of the tour go where nobody else's are: whatever is left there is the tour's. On disk: they are large. */
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
  expect(text.replaceAll(/\s+/g, " ")).toContain("nothing of it is left");
}

// Steps take their time by design: the tours of a group go on side by side.

/** They take more of it on a busy machine. */
const patient = { timeout: 300_000 };

describe("kindling tour, simulated", patient, () => {
  test.concurrent("in a pipe: every step shows what it is there for, in plain text", async (context) => {
    const folder = await ownTemporary(context);
    const run = await runKindling(["tour", "--runtime", "simulated"], { env: { TMPDIR: folder } });
    expect(await run.exit).toBe(0);
    expect(run.output.stderr).toBe("");
    expect(run.output.stdout).not.toContain("\x1b");
    expectWholeTour(run.output.stdout);
    expect(await readdir(folder)).toEqual([]);
  });

  test.concurrent("on a terminal of 80 columns: pictures are drawn over each other and every kept line is whole", async (context) => {
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
    // The spinner's pictures are gone; only what was said stays.
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
    await expect.poll(() => run.screen.lines().join("\n"), { timeout: 100_000 }).toContain("Enter goes on");
    expect(run.screen.lines().join("\n")).not.toContain("2 of 5");
    run.type("\r");
    await expect.poll(() => run.screen.lines().join("\n"), { timeout: 100_000 }).toContain("2 of 5");
    run.type("\x03");
    expect(await run.exit).toBe(1);
    expect(run.screen.lines().join("\n")).toContain("the tour was stopped; nothing of it is left");
    expect(await readdir(folder)).toEqual([]);
  });

  test.concurrent("a reader that goes away ends the tour, which clears up all the same", async (context) => {
    const { expect } = context;
    const folder = await ownTemporary(context);
    const run = await runKindling(["tour", "--runtime", "simulated"], { env: { TMPDIR: folder } });
    await expect.poll(() => run.output.stdout, { timeout: 100_000 }).toContain("1 of 5");
    run.child.stdout?.destroy();
    expect(await run.exit).toBe(1);
    expect(await readdir(folder)).toEqual([]);
  });

  test.concurrent("--list names the steps; wrong usage is told with exit code 2", async () => {
    const list = await runKindling(["tour", "--list"]);
    expect(await list.exit).toBe(0);
    for (const title of titles) expect(list.output.stdout).toContain(title);
    const wrong = await runKindling(["tour", "--step", "6"]);
    expect(await wrong.exit).toBe(2);
    expect(wrong.output.stderr).toContain("there are steps 1 to 5");
    const nobody = await runKindling(["tour", "--pause"]);
    expect(await nobody.exit).toBe(2);
    expect(nobody.output.stderr).toContain("nobody is at a terminal");
  });
});

describe.runIf(process.getuid?.() === 0)("kindling tour, with real containers", patient, () => {
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

  test.concurrent("stopped in the middle, it leaves nothing; killed, the next tour clears up after it", async (context) => {
    const folder = await ownTemporary(context);
    const env = { TMPDIR: folder };
    const stopped = await runKindling(["tour", "--step", "5"], { env });
    await runtimeWithPods(folder, context);
    stopped.child.kill("SIGINT");
    expect(await stopped.exit).toBe(1);
    expect(stopped.output.stderr).toContain("the tour was stopped; nothing of it is left");
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
  });
});
