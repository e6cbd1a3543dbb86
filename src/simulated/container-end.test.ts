import { expect, test } from "vitest";
import { decideExit, decideStop } from "./container-end.ts";
import type { ContainerScript, ExitScript } from "./script/scripts.ts";

test.each<[string, ExitScript | undefined, number, object | undefined]>([
  ["no script: it stays up", undefined, 0, undefined],
  ["at once", { code: 0 }, 0, { atMs: 1_000, exitCode: 0, reason: "Completed", message: "" }],
  ["later", { code: 1, afterMs: 500 }, 7, { atMs: 1_500, exitCode: 1, reason: "Error", message: "" }],
  ["the last of three", { code: 1, times: 3 }, 2, { atMs: 1_000, exitCode: 1, reason: "Error", message: "" }],
  ["the fourth stays up", { code: 1, times: 3 }, 3, undefined],
  [
    "with its own words",
    { code: 137, reason: "OOMKilled", message: "too much" },
    0,
    { atMs: 1_000, exitCode: 137, reason: "OOMKilled", message: "too much" },
  ],
])("exit: %s", (_name, script, attempt, expected) => {
  expect(decideExit(script, { attempt, startedAt: 1_000 })).toEqual(expected);
});

test.each<[string, ContainerScript, number, object]>([
  ["it ends with its signal", {}, 5_000, { atMs: 0, exitCode: 143 }],
  ["with its own code", { stopExitCode: 0 }, 5_000, { atMs: 0, exitCode: 0, reason: "Completed" }],
  ["in its own time", { stopDelayMs: 3_000 }, 5_000, { atMs: 3_000, exitCode: 143 }],
  ["just in time", { stopDelayMs: 5_000 }, 5_000, { atMs: 5_000, exitCode: 143 }],
  ["too late: it is killed", { stopDelayMs: 6_000 }, 5_000, { atMs: 5_000, exitCode: 137 }],
  ["no grace: at once", { stopDelayMs: 6_000 }, 0, { atMs: 0, exitCode: 137 }],
  ["less than none", {}, -5, { atMs: 0, exitCode: 137 }],
])("stop: %s", (_name, script, graceMs, expected) => {
  expect(decideStop(script, { now: 0, graceMs })).toMatchObject(expected);
});
