import { expect, test } from "vitest";
import type { Pod } from "../../api/meta/objects.ts";
import { makePod, makeService } from "../service-pods/service-pods.fixture.ts";
import { decideSlices } from "./decide-slices.ts";
import { createTriggerTimes, withTriggerTime } from "./trigger-times.ts";

const creationTimestamp = "2026-01-01T00:00:00Z";
const service = makeService({}, { creationTimestamp });

function podReadyAt(name: string, second: number): Pod {
  const pod = makePod(name);
  const lastTransitionTime = `2026-01-01T00:00:0${second}Z`;
  return {
    ...pod,
    status: { ...pod.status, conditions: [{ type: "Ready", status: "True", lastTransitionTime }] },
  };
}

test("the first sync of a service has the time of its creation, later ones that of the earliest change", () => {
  const times = createTriggerTimes();
  expect(times.observe(service, [podReadyAt("a", 1)])).toBe(creationTimestamp);
  expect(times.observe(service, [podReadyAt("a", 1)])).toBeUndefined();
  const later = [podReadyAt("a", 5), podReadyAt("b", 4), makePod("c")];
  expect(times.observe(service, later)).toBe("2026-01-01T00:00:04Z");
  expect(times.observe(service, [podReadyAt("a", 5)])).toBeUndefined();
  times.forget("default/web");
  expect(times.observe(service, [])).toBe(creationTimestamp);
});

test("a slice has the time of its last write only", () => {
  const facts = { service, pods: [], node: () => undefined };
  const [slice] = decideSlices(facts, []).create;
  if (!slice) throw new Error("no slice");
  const written = withTriggerTime(
    { ...slice, metadata: { ...slice.metadata, annotations: { a: "b" } } },
    creationTimestamp,
  );
  expect(written.metadata.annotations).toEqual({
    a: "b",
    "endpoints.kubernetes.io/last-change-trigger-time": creationTimestamp,
  });
  expect(withTriggerTime(written, undefined).metadata.annotations).toEqual({ a: "b" });
});
