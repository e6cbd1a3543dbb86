import { test } from "vitest";
import type { Container } from "../../api/meta/objects.ts";
import {
  type Case,
  exited,
  expectPlan,
  observedContainer,
  running,
  sandbox,
  sidecar,
} from "./decide-pod-actions.fixture.ts";

const hooked = (container: Container): Container => ({
  ...container,
  lifecycle: { postStart: { sleep: { seconds: 5 } } },
});

test.each<Case>([
  {
    name: "a postStart hook that a kubelet before did not bring to its end is run again",
    main: [hooked({ name: "a", image: "i" })],
    sandboxes: [sandbox],
    containers: [observedContainer("a", running)],
    hooks: ["a-0"],
    expected: "hook a-0",
  },
  {
    name: "a hook that has ended is not",
    main: [hooked({ name: "a", image: "i" })],
    sandboxes: [sandbox],
    containers: [observedContainer("a", running)],
    expected: "wait",
  },
  {
    name: "nor is one of a container that has to go",
    main: [hooked({ name: "a", image: "i" })],
    sandboxes: [sandbox],
    containers: [observedContainer("a", running)],
    hooks: ["a-0"],
    probeResults: { "a-0": { kill: { probe: "liveness", message: "m" } } },
    expected: "kill a-0",
  },
  {
    name: "nor one of a container that has ended",
    main: [hooked({ name: "a", image: "i" })],
    restartPolicy: "Never",
    sandboxes: [sandbox],
    containers: [observedContainer("a", exited(0))],
    hooks: ["a-0"],
    expected: "done",
  },
  {
    name: "nothing is started after a sidecar before its hook has ended",
    init: [hooked(sidecar("s"))],
    sandboxes: [sandbox],
    containers: [observedContainer("s", running)],
    hooks: ["s-0"],
    expected: "hook s-0",
  },
  {
    name: "a sidecar's hook beside main containers that run",
    init: [hooked(sidecar("s"))],
    sandboxes: [sandbox],
    containers: [observedContainer("a", running), observedContainer("s", running)],
    hooks: ["s-0"],
    expected: "hook s-0",
  },
])("$name", expectPlan);
