import { expect, test } from "vitest";
import type { Container } from "../../api/meta/objects.ts";
import { makePod } from "../containers/make-pod.fixture.ts";
import { type ContainerRole, combineProbeResults, type ProbeAnswers } from "./decide-probe.ts";

const container: Container = {
  name: "c",
  image: "a",
  livenessProbe: { terminationGracePeriodSeconds: 7 },
  startupProbe: { terminationGracePeriodSeconds: 9 },
};

const rows: [string, ProbeAnswers, { started: boolean; ready: boolean }][] = [
  ["no probes", {}, { started: true, ready: true }],
  ["950-1 a startup probe without a result", { startup: "unknown" }, { started: false, ready: false }],
  [
    "950-4 with only a startup probe, ready with started",
    { startup: "success" },
    { started: true, ready: true },
  ],
  [
    "950-4 not started is not ready",
    { startup: "unknown", readiness: "success" },
    { started: false, ready: false },
  ],
  [
    "started and not yet ready",
    { startup: "success", readiness: "failure" },
    { started: true, ready: false },
  ],
  ["only a readiness probe", { readiness: "success" }, { started: true, ready: true }],
  ["alive", { liveness: "success" }, { started: true, ready: true }],
];
test.each(rows)("%s", (_name, answers, expected) => {
  expect(combineProbeResults(makePod(), { container, role: "main" }, answers)).toEqual(expected);
});

test("an init container is never ready while it runs", () => {
  expect(combineProbeResults(makePod(), { container, role: "init" }, {})).toEqual({
    started: true,
    ready: false,
  });
});

type Policy = "Always" | "OnFailure" | "Never";
const kills: [string, { policy: Policy; own?: Policy; role?: ContainerRole }, string][] = [
  ["restarts always", { policy: "Always" }, "Container c failed startup probe, will be restarted"],
  ["restarts on failure", { policy: "OnFailure" }, "Container c failed startup probe, will be restarted"],
  ["restarts never", { policy: "Never" }, "Container c failed startup probe"],
  ["its own policy counts", { policy: "Always", own: "Never" }, "Container c failed startup probe"],
  ["either way", { policy: "Never", own: "Always" }, "Container c failed startup probe, will be restarted"],
  ["a sidecar", { policy: "Always", role: "sidecar" }, "Init container c failed startup probe"],
];
test.each(kills)("950-3 kill message: %s", (_name, { policy, own, role = "main" }, message) => {
  const pod = makePod({ restartPolicy: policy });
  const subject = { container: { ...container, restartPolicy: own }, role };
  const probeResult = combineProbeResults(pod, subject, { startup: "failure" });
  expect(probeResult).toEqual({
    started: false,
    ready: false,
    kill: { probe: "startup", message, gracePeriodSeconds: 9 },
  });
});

test("950-7 each probe has its own grace period", () => {
  const probeResult = combineProbeResults(
    makePod(),
    { container, role: "main" },
    { startup: "success", liveness: "failure" },
  );
  expect(probeResult.kill).toEqual({
    probe: "liveness",
    message: "Container c failed liveness probe, will be restarted",
    gracePeriodSeconds: 7,
  });
});
