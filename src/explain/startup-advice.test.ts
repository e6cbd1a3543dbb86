import { expect, test } from "vitest";
import type { Container, PodSpec } from "../api/meta/objects.ts";
import { adviceFor, findTight } from "./startup-advice.ts";

const advice = (slowestSeconds: number) => [
  { container: "c", periodSeconds: 5, failureThreshold: 37, slowestSeconds, reason: "3 starts took long" },
];

const startup = (numbers: Container["startupProbe"]) => ({ startupProbe: numbers });
test.each<[string, number, Partial<Container>, object | undefined]>([
  [
    "more than half of its time",
    60,
    startup({ periodSeconds: 10, failureThreshold: 12 }),
    { allowedSeconds: 110 },
  ],
  ["half of its time", 55, startup({ periodSeconds: 10, failureThreshold: 12 }), undefined],
  ["the initial delay counts", 55, startup({ initialDelaySeconds: 100 }), undefined],
  ["defaults", 11, startup({}), { slowestSeconds: 11, allowedSeconds: 20 }],
  ["a liveness probe alone", 11, { livenessProbe: {} }, { allowedSeconds: 20 }],
  [
    "a startup probe holds liveness back",
    11,
    { ...startup({ failureThreshold: 9 }), livenessProbe: {} },
    undefined,
  ],
  ["no probe that kills the container", 600, { readinessProbe: {} }, undefined],
  ["up at once under a probe without patience", 0.4, startup({ failureThreshold: 1 }), undefined],
])("a start that took %s", (_name, slowestSeconds, probes, expected) => {
  const spec = {
    containers: [
      { name: "other", livenessProbe: {} },
      { name: "c", ...probes },
    ],
  };
  const tight = findTight({ pod: podOf(spec), advice: advice(slowestSeconds) });
  if (expected) expect(tight).toMatchObject({ name: "c", ...expected });
  else expect(tight).toBeUndefined();
});

test("includes sidecars but not other init containers", () => {
  const init = (restartPolicy?: string) => [
    { name: "c", startupProbe: {}, ...(restartPolicy && { restartPolicy }) },
  ];
  const ofInit = (restartPolicy?: string) =>
    findTight({
      pod: podOf({ initContainers: init(restartPolicy), containers: [] }),
      advice: advice(60),
    });
  expect(ofInit("Always")?.name).toBe("c");
  expect(ofInit()).toBeUndefined();
});

test("formats the advice for a container with enough observed starts", () => {
  expect(adviceFor({ advice: advice(60) }, "c")).toBe(
    "give container c a startupProbe with periodSeconds: 5 and failureThreshold: 37 (3 starts took long)",
  );
  expect(adviceFor({ advice: advice(60) }, "d")).toBeUndefined();
});

function podOf(spec: PodSpec) {
  return { apiVersion: "v1", kind: "Pod", metadata: {}, spec } as const;
}
