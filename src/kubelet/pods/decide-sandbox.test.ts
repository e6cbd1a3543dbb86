import { test } from "vitest";
import {
  type Case,
  dead,
  exited,
  expectPlan,
  now,
  observedContainer,
  running,
  sandbox,
} from "./decide-pod-actions.fixture.ts";

test.each<Case>([
  { name: "nothing there", expected: "sandbox 0" },
  {
    name: "sandbox without an address",
    sandboxes: [{ ...sandbox, ips: [] }],
    expected: "stop s0, sandbox 1",
  },
  {
    name: "the host's network needs no address",
    hostNetwork: true,
    sandboxes: [{ ...sandbox, ips: [] }],
    expected: "start main a 0 next 0",
  },
  {
    name: "sandbox stands",
    main: ["a", "b"],
    sandboxes: [sandbox],
    expected: "start main a 0 next 0, start main b 0 next 0",
  },
  {
    name: "two sandboxes claim to be ready",
    sandboxes: [{ ...sandbox, id: "s1", attempt: 1 }, sandbox],
    expected: "stop s1, stop s0, sandbox 2",
  },
  {
    name: "a sandbox that was made just now died",
    sandboxes: [{ ...dead, createdAtMs: now - 400 }],
    expected: "wait",
    again: now + 600,
  },
  {
    name: "sandbox lost: containers of it go with it",
    sandboxes: [dead],
    containers: [observedContainer("a", running)],
    expected: "kill a-0, sandbox 1",
  },
  {
    name: "sandbox lost, must not be restarted",
    restartPolicy: "Never",
    sandboxes: [dead],
    containers: [observedContainer("a", exited(137))],
    expected: "done",
  },
  {
    name: "sandbox lost before any container, must not be restarted",
    restartPolicy: "Never",
    sandboxes: [dead],
    expected: "sandbox 1",
  },
  {
    name: "sandbox lost and replaced: no back-off for its containers",
    sandboxes: [{ ...sandbox, id: "s1", attempt: 1 }, dead],
    containers: [observedContainer("a", exited(255), { restartDelayMs: 40_000 })],
    expected: "start main a 1 next 40000",
  },
  {
    name: "sandbox lost, all had succeeded",
    restartPolicy: "OnFailure",
    sandboxes: [dead],
    containers: [observedContainer("a", exited(0))],
    expected: "done",
  },
])("$name", expectPlan);
