import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type CriRuntime, startCriRuntime } from "../support/cri/cri-runtime.ts";
import { describeWithTool } from "../support/programs/tools.ts";
import type { FakeRegistry } from "../support/registry/fake-registry.ts";
import { startSlowRegistry } from "../support/registry/slow-registry.ts";
import { runInTerminal } from "./run-in-terminal.ts";

describeWithTool("busybox", "3542-8 kindling pull on a terminal", () => {
  let runtime: CriRuntime;
  const registries: FakeRegistry[] = [];

  beforeAll(async () => {
    runtime = await startCriRuntime({ driver: "host" });
  });
  afterAll(async () => {
    for (const registry of registries) await registry.stop();
    await runtime?.stop();
  });

  /** Layers of each pull differ, because layers that are present would not be pulled again. */
  async function pullAt(columns: number, bar: RegExp) {
    let goOn = () => {};
    const beforeTheRest = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    const registry = await startSlowRegistry({
      layerBytes: [400_000, 900_000, 1_300_000],
      pieces: 30,
      pauseMs: 20,
      beforeTheRest,
    });
    registries.push(registry);
    const run = await runInTerminal(["pull", registry.reference, "--runtime-endpoint", runtime.endpoint], {
      columns,
    });
    await expect.poll(run.raw).toMatch(bar);
    goOn();
    const code = await run.exit;
    return { registry, code, lines: run.screen.lines(), raw: run.raw() };
  }

  describe.each([80, 40])("%i columns wide", (columns) => {
    test("progress bars are redrawn in place, and the last state and the image's id remain", async () => {
      const bar = columns === 80 ? /\[=+> *\] [\d.]+ (KiB|MiB) \/ [\d.]+ (KiB|MiB)/ : /\[=+> *\] +\d+ %/;
      const { registry, code, lines, raw } = await pullAt(columns, bar);
      expect(code).toBe(0);
      // Drawn more than once, and all that is left is one picture: a line for each layer, the whole, the id.
      expect(raw.split("\x1b[J").length).toBeGreaterThan(2);
      const shown = lines.filter((line) => line !== "");
      const ids = registry.layers.map(({ digest }) => digest.slice("sha256:".length, "sha256:".length + 12));
      expect(shown.slice(0, 3).map((line) => line.slice(0, 12))).toEqual(ids);
      for (const line of shown.slice(0, 3)) expect(line).toMatch(/^\w{12} {2}done/);
      expect(shown[3]).toMatch(/^2\.5 MiB of 2\.5 MiB/);
      expect(shown.slice(4).join("")).toMatch(/^sha256:[0-9a-f]{64}$/);
      // Nothing but the id may be too long for a line.
      expect(Math.max(...shown.slice(0, 4).map((line) => line.length))).toBeLessThan(columns);
    });
  });

  test("a registry that has no such image: one sentence, exit code 1", async () => {
    const run = await runInTerminal(["pull", "127.0.0.1:9/none:1", "--runtime-endpoint", runtime.endpoint], {
      columns: 80,
    });
    expect(await run.exit).toBe(1);
    expect(run.screen.lines().join("")).toContain("kindling: cannot pull 127.0.0.1:9/none:1");
  });
});
