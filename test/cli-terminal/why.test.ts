import { describe, expect, test } from "vitest";
import { makeConfigMap } from "../support/manifests/config-map.ts";
import { useSimulatedNode } from "../support/node/simulated-node.ts";
import { runInTerminal } from "./run-in-terminal.ts";

const parts = useSimulatedNode({ runtime: { imagesPresent: false }, config: { address: "0.0.0.0" } });

const why = (
  args: readonly string[],
  options: { columns: number; rows?: number; env?: Record<string, string> },
) => runInTerminal(["why", "--kubeconfig", parts.node.server.kubeconfig, ...args], options);

describe.each([100, 80, 40])("%i columns wide", (columns) => {
  test("one coloured screen on which only the command exceeds the width", async () => {
    const name = `stuck-${columns}`;
    const env = [{ name: "X", valueFrom: { configMapKeyRef: { name: "settings", key: "greeting" } } }];
    await parts.node.run(name, { containers: [{ name: "c", image: "web:1", env }] });
    await parts.node.untilEvent(name, /configmap "settings" not found/);
    const run = await why([name], { columns });
    expect(await run.exit).toBe(0);
    expect(run.raw()).toContain("\x1b[31mcreating\x1b[0m");
    const lines = run.screen.lines();
    const text = lines.join(" ").replaceAll(/\s+/g, " ");
    expect(lines[0]).toMatch(new RegExp(`^default/${name} {2}creating`));
    expect(text).toContain('CreateContainerConfigError: configmap "settings" not found.');
    expect(text).toContain("This does not resolve without a change.");
    const bars = lines.filter((line) => /[█▒]/.test(line));
    expect(bars.length).toBeGreaterThanOrEqual(3);
    for (const line of bars) expect(line).toMatch(/^ {2}\w.* {2}\S.* s( …)?$/);
    // The command is whole: as copied from the terminal, wrapped or not.
    expect(lines.join("")).toContain("kubectl create configmap settings --from-literal=greeting=VALUE");
  });
});

test("NO_COLOR is honoured", async () => {
  await parts.node.run("plain", { containers: [{ name: "c", image: "web:1" }] });
  const run = await why(["plain"], { columns: 80, env: { NO_COLOR: "1" } });
  expect(await run.exit).toBe(0);
  expect(run.raw()).not.toContain("\x1b");
});

test("--watch draws in place, follows the pod, and ends when it is ready", async () => {
  const env = [{ name: "X", valueFrom: { configMapKeyRef: { name: "later", key: "k" } } }];
  await parts.node.run("watched", { containers: [{ name: "c", image: "web:1", env }] });
  await parts.node.untilEvent("watched", /configmap "later" not found/);
  const run = await why(["watched", "--watch"], { columns: 80 });
  // Drawn over at least once while it is stuck.
  await expect.poll(() => run.raw().split("\x1b[J").length).toBeGreaterThan(3);
  // Of the picture that is just being drawn the first line may be yet to come.
  await expect
    .poll(() => run.screen.lines().filter((line) => line.startsWith("default/watched")))
    .toHaveLength(1);
  await parts.node.client.create("configmaps", makeConfigMap("later", { data: { k: "v" } }));
  expect(await run.exit).toBe(0);
  const lines = run.screen.lines();
  expect(lines[0]).toMatch(/^default\/watched {2}ready/);
  expect(lines).toContain("  ✓ scheduling  ✓ volumes  ✓ sandbox  ✓ pulling  ✓ starting  ✓ ready");
  expect(lines.join("\n")).not.toContain("CreateContainerConfigError");
});

test("--watch on a small terminal shows as many lines as fit", async () => {
  const env = [{ name: "X", valueFrom: { configMapKeyRef: { name: "never", key: "k" } } }];
  await parts.node.run("low", { containers: [{ name: "c", image: "web:1", env }] });
  await parts.node.untilEvent("low", /configmap "never" not found/);
  const run = await why(["low", "--watch"], { columns: 60, rows: 8 });
  await expect.poll(() => run.raw().split("\x1b[J").length).toBeGreaterThan(3);
  await expect
    .poll(() => run.screen.lines().filter((line) => line.startsWith("default/low")))
    .toHaveLength(1);
  // Ctrl-C ends it.
  run.type("\x03");
  expect(await run.exit).toBe(0);
});

test("a running pull has a progress bar", async () => {
  parts.simulated.rules.add({
    match: { image: "*large*" },
    pull: { sizeBytes: 2_000 * 2 ** 20, bytesPerSecond: 20 * 2 ** 20 },
  });
  await parts.node.run("pulling", { containers: [{ name: "c", image: "large:1" }] });
  await parts.node.untilEvent("pulling", /Pulling image "large:1"/);
  const run = await why(["pulling", "--watch"], { columns: 80 });
  await expect.poll(() => run.screen.lines().join("\n")).toMatch(/[█░]{40} {2}\d+ %/);
  await expect
    .poll(() => run.screen.lines().join(" "))
    .toMatch(/being pulled: [\d.]+ of 2000 MiB, about \S+( s)?\s+left/);
  run.type("\x03");
  expect(await run.exit).toBe(0);
});
