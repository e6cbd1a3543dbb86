import { expect, test } from "vitest";
import type { Pod } from "../../api/meta/objects.ts";
import type { ObservedPod } from "../model/observed-pod.ts";
import { observedContainer, running, sandbox } from "../status/status.fixture.ts";
import { hasPredecessor } from "./worker-factory.ts";

const pod = (uid: string, name = "web-0", namespace = "shop"): Pod => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { uid, name, namespace },
});
const inRuntime = (uid: string, part: Partial<ObservedPod>, name = "web-0"): ObservedPod => ({
  ...{ uid, name, namespace: "shop", sandboxes: [], containers: [] },
  ...part,
});

test.each([
  ["nothing else", [], [], false],
  ["the same name, terminating", [pod("old")], [], true],
  ["another name, terminating", [pod("old", "web-1")], [], false],
  ["another namespace, terminating", [pod("old", "web-0", "bank")], [], false],
  ["the pod itself", [pod("new")], [inRuntime("new", { sandboxes: [sandbox()] })], false],
  ["a ready sandbox of an earlier kubelet", [], [inRuntime("old", { sandboxes: [sandbox()] })], true],
  [
    "a running container of an earlier kubelet",
    [],
    [inRuntime("old", { containers: [observedContainer("c", running)] })],
    true,
  ],
  ["remains that do not run", [], [inRuntime("old", { sandboxes: [sandbox({ ready: false })] })], false],
  ["a ready sandbox of another name", [], [inRuntime("old", { sandboxes: [sandbox()] }, "web-1")], false],
])("a pod waits for: %s", (_name, terminating, unclaimed, expected) => {
  expect(hasPredecessor(pod("new"), { terminating, unclaimed })).toBe(expected);
});
