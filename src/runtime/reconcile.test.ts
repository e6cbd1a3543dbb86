import { expect, test } from "vitest";
import { reconciledState } from "./reconcile.ts";

const exit = { kind: "exited", exitCode: 3, startedAt: 10, finishedAt: 20, oomKilled: false } as const;
const ended = {
  kind: "exited",
  exitCode: 3,
  startedAt: 10,
  finishedAt: 20,
  reason: "Error",
  message: "",
} as const;
const running = { kind: "running", startedAt: 10 } as const;

test.each([
  ["ended while nobody watched", running, exit, ended],
  ["killed for memory", running, { ...exit, oomKilled: true }, { ...ended, reason: "OOMKilled" }],
  ["ended well", running, { ...exit, exitCode: 0 }, { ...ended, exitCode: 0, reason: "Completed" }],
  ["still running", running, { kind: "running", pid: 5, startedAt: 10 }, running],
  [
    "started in the daemon's last moment",
    { kind: "created" },
    { kind: "running", pid: 5, startedAt: 10 },
    running,
  ],
  ["still waiting", { kind: "created" }, { kind: "created" }, { kind: "created" }],
  ["its end is known already", ended, { kind: "missing" }, ended],
] as const)("%s", (_name, recorded, actual, expected) => {
  expect(reconciledState(recorded, actual, 99)).toEqual(expected);
});

test("a container that is gone has ended, nobody knows how", () => {
  expect(reconciledState(running, { kind: "missing" }, 99)).toMatchObject({
    kind: "exited",
    exitCode: 255,
    startedAt: 10,
    finishedAt: 99,
    reason: "Unknown",
  });
});
