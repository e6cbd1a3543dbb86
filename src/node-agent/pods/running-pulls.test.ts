import { expect, test } from "vitest";
import type { Event, Pod } from "../../api/meta/objects.ts";
import { isStarting, runningPulls } from "./running-pulls.ts";

let version = 0;
function event(reason: string, message: string, second: number, fields: Partial<Event> = {}): Event {
  const lastTimestamp = new Date(second * 1_000).toISOString();
  return {
    apiVersion: "v1",
    kind: "Event",
    metadata: { name: `e${++version}`, resourceVersion: String(version) },
    involvedObject: { kind: "Pod", name: "web", fieldPath: "spec.containers{web}" },
    source: { component: "kubelet" },
    reason,
    message,
    lastTimestamp,
    ...fields,
  };
}
const pulling = (second: number, image = "app:1") => event("Pulling", `Pulling image "${image}"`, second);
const progress = (component: string) =>
  event("Pulling", "Pulling Container image app:1: 1Mi of 4Mi", 30, { source: { component } });
const running = { container: "web", image: "app:1", fieldPath: "spec.containers{web}", startedMs: 10_000 };
const init = { involvedObject: { kind: "Pod", name: "web", fieldPath: "spec.initContainers{first}" } };

test.each<[string, () => readonly Event[], unknown[]]>([
  ["no events", () => [], []],
  ["Pulling", () => [pulling(10)], [running]],
  ["Pulling and own progress", () => [pulling(10), progress("kindling-node-agent")], [running]],
  ["Pulling and progress by Kindling's kubelet", () => [pulling(10), progress("kubelet")], []],
  ["Pulled", () => [pulling(10), event("Pulled", 'Successfully pulled image "app:1"', 20)], []],
  ["Failed in the same second", () => [pulling(10), event("Failed", "Failed to pull image", 10)], []],
  [
    "a retry in the second of a BackOff",
    () => [event("BackOff", "Back-off pulling image", 10), pulling(10)],
    [running],
  ],
  [
    "a retry after a failure",
    () => [pulling(3), event("Failed", "Failed to pull image", 5), pulling(10)],
    [running],
  ],
  [
    "a retry that updates its event",
    () => [event("Failed", "Failed to pull image", 5), pulling(10)],
    [running],
  ],
  ["events in another order", () => [event("Pulled", "Successfully pulled", 20), pulling(10)].reverse(), []],
  [
    "an event of the pod",
    () => [event("Pulling", 'Pulling image "app:1"', 10, { involvedObject: { kind: "Pod" } })],
    [],
  ],
  [
    "an init container, then the container",
    () => [
      event("Pulling", 'Pulling image "one"', 5, init),
      event("Pulled", "Successfully pulled", 8, init),
      pulling(10),
    ],
    [running],
  ],
  [
    "another quoted text after the image",
    () => [event("Pulling", 'Pulling image "a" "b', 10)],
    [{ ...running, image: "a" }],
  ],
])("3542-14 running pulls: %s", (_name, events, expected) => {
  expect(runningPulls(events(), { component: "kindling-node-agent" })).toEqual(expected);
});

const pod = (status: Pod["status"], metadata: Pod["metadata"] = {}): Pod => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata,
  spec: { containers: [{ name: "web", image: "app:1" }] },
  status,
});
const container = (state: object) => ({
  name: "web",
  image: "",
  imageID: "",
  ready: false,
  restartCount: 0,
  state,
});

test.each<[string, Pod, boolean]>([
  ["no status yet", pod({}), true],
  ["waiting", pod({ containerStatuses: [container({ waiting: { reason: "ContainerCreating" } })] }), true],
  ["running", pod({ phase: "Running", containerStatuses: [container({ running: {} })] }), false],
  ["succeeded", pod({ phase: "Succeeded" }), false],
  ["being deleted", pod({}, { deletionTimestamp: "2030-01-01T00:00:00Z" }), false],
])("3542-14 a pod may pull: %s", (_name, starting, expected) => {
  expect(isStarting(starting)).toBe(expected);
});
