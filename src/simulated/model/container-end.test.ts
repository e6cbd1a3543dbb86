import { expect, test } from "vitest";
import type { ContainerScript, ExitScript } from "../scripts/scripts.ts";
import { decideExit, decideStop } from "./container-end.ts";

test.each<[string, ExitScript | undefined, number, object | undefined]>([
  ["no script: keeps running", undefined, 0, undefined],
  ["exits immediately", { code: 0 }, 0, { atMs: 1_000, exitCode: 0, reason: "Completed", message: "" }],
  ["exits later", { code: 1, afterMs: 500 }, 7, { atMs: 1_500, exitCode: 1, reason: "Error", message: "" }],
  [
    "exits in the last of three attempts",
    { code: 1, times: 3 },
    2,
    { atMs: 1_000, exitCode: 1, reason: "Error", message: "" },
  ],
  ["keeps running in the fourth attempt", { code: 1, times: 3 }, 3, undefined],
  [
    "has its own message",
    { code: 137, reason: "OOMKilled", message: "too much" },
    0,
    { atMs: 1_000, exitCode: 137, reason: "OOMKilled", message: "too much" },
  ],
])("exit: %s", (_name, script, attempt, expected) => {
  expect(decideExit(script, { attempt, startedAt: 1_000 })).toEqual(expected);
});

test.each<[string, ContainerScript, number, object]>([
  ["exits with its stop signal", {}, 5_000, { atMs: 0, exitCode: 143 }],
  ["exits with its own code", { stopExitCode: 0 }, 5_000, { atMs: 0, exitCode: 0, reason: "Completed" }],
  ["exits after a delay", { stopDelayMs: 3_000 }, 5_000, { atMs: 3_000, exitCode: 143 }],
  ["exits just before the grace period ends", { stopDelayMs: 5_000 }, 5_000, { atMs: 5_000, exitCode: 143 }],
  ["is killed after the grace period", { stopDelayMs: 6_000 }, 5_000, { atMs: 5_000, exitCode: 137 }],
  ["is killed immediately without a grace period", { stopDelayMs: 6_000 }, 0, { atMs: 0, exitCode: 137 }],
  ["is killed immediately with a negative grace period", {}, -5, { atMs: 0, exitCode: 137 }],
])("stop: %s", (_name, script, graceMs, expected) => {
  expect(decideStop(script, { now: 0, graceMs })).toMatchObject(expected);
});
