import { expect, test } from "vitest";
import { ago, now, type PodParts, podOf } from "../workload.fixture.ts";
import { decideStaleTarget } from "./decide-stale-target.ts";

const target = (seconds: number, reason = "EvictionByEvictionAPI", status = "True") => ({
  status: {
    conditions: [{ type: "DisruptionTarget", status, reason, lastTransitionTime: ago(seconds) }],
  },
});

test.each<[string, PodParts, string]>([
  ["none", {}, "none"],
  ["fresh", target(30), "wait"],
  ["stale", target(121), "clear"],
  ["of the kubelet", target(900, "TerminationByKubelet"), "none"],
  ["cleared already", target(900, "x", "False"), "none"],
  ["being deleted", { ...target(900), deleting: true }, "none"],
  ["ended", { ...target(900), status: { ...target(900).status, phase: "Failed" } }, "none"],
])("%s", (_, parts, kind) => {
  expect(decideStaleTarget(podOf(parts), now).kind).toBe(kind);
});

test("waits for exactly as long as is left", () => {
  expect(decideStaleTarget(podOf(target(30)), now)).toEqual({ kind: "wait", againAfterMs: 90_000 });
});
