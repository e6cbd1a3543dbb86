import { expect, test } from "vitest";
import type { ContainerState, ObservedContainer, ObservedSandbox } from "../observed-pod.ts";
import { findDead } from "./find-dead.ts";

const running: ContainerState = { kind: "running", startedAtMs: 0 };
const ended: ContainerState = {
  kind: "exited",
  startedAtMs: 0,
  finishedAtMs: 1,
  exitCode: 1,
  reason: "",
  message: "",
};

const container = (id: string, sandboxId: string, state: ContainerState): ObservedContainer => ({
  id,
  name: id.slice(0, 1),
  sandboxId,
  attempt: 0,
  createdAtMs: 0,
  state,
  image: "",
  imageRef: "",
  specHash: "",
  restartDelayMs: 0,
  logPath: "",
});
const sandbox = (id: string, ready: boolean): ObservedSandbox => ({
  id,
  attempt: 0,
  ready,
  createdAtMs: 0,
  ips: [],
});

test.each([
  { name: "one that runs", containers: [container("a1", "s", running)], dead: [] },
  { name: "the last that ended is kept", containers: [container("a1", "s", ended)], dead: [] },
  {
    name: "of those that ended only the newest is kept",
    containers: [
      container("a3", "s", running),
      container("a2", "s", ended),
      container("a1", "s", ended),
      container("b1", "s", ended),
    ],
    dead: ["a1"],
  },
])("$name", ({ containers, dead }) => {
  const found = findDead({ uid: "", namespace: "", name: "", sandboxes: [sandbox("s", true)], containers });
  expect(found.containers.map(({ id }) => id)).toEqual(dead);
  expect(found.sandboxes).toEqual([]);
});

test("a sandbox goes once nothing of it is kept", () => {
  const sandboxes = [sandbox("s3", false), sandbox("s2", false), sandbox("s1", false)];
  const containers = [
    container("a3", "s3", running),
    container("a2", "s2", ended),
    container("a1", "s1", ended),
  ];
  const found = findDead({ uid: "", namespace: "", name: "", sandboxes, containers });
  expect(found.containers.map(({ id }) => id)).toEqual(["a1"]);
  expect(found.sandboxes.map(({ id }) => id)).toEqual(["s1"]);
});
