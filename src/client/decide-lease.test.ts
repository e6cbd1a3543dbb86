import { describe, expect, test } from "vitest";
import type { Lease } from "../api/objects.ts";
import { decideLease, observeLease, releasedSpec } from "./decide-lease.ts";

const now = Date.UTC(2026, 0, 1);
const time = "2026-01-01T00:00:00.000000Z";
const earlier = "2025-12-31T00:00:00.000000Z";

const lease = (spec: Lease["spec"]): Lease => ({
  apiVersion: "coordination.k8s.io/v1",
  kind: "Lease",
  metadata: {},
  spec,
});
const mine = { holderIdentity: "me", leaseDurationSeconds: 15, acquireTime: time, renewTime: time };
const others = { holderIdentity: "other", leaseDurationSeconds: 10, renewTime: earlier, leaseTransitions: 3 };

describe("decideLease", () => {
  test.each([
    ["creates what is not there", undefined, 0, { kind: "create", spec: { ...mine, leaseTransitions: 0 } }],
    ["waits while another's was seen to change lately", others, 9_999, { kind: "wait", holder: "other" }],
    [
      "takes one over that ran out",
      others,
      10_000,
      { kind: "update", spec: { ...mine, leaseTransitions: 4 } },
    ],
    [
      "takes a released one at once",
      { ...others, holderIdentity: "" },
      0,
      { kind: "update", spec: { ...mine, leaseTransitions: 4 } },
    ],
    [
      "renews its own, keeping when it was won",
      { ...mine, acquireTime: earlier, leaseTransitions: 2 },
      0,
      { kind: "update", spec: { ...mine, acquireTime: earlier, leaseTransitions: 2 } },
    ],
    ["takes an empty one", {}, 0, { kind: "update", spec: { ...mine, leaseTransitions: 1 } }],
    [
      "goes by its own duration where the lease has none",
      { holderIdentity: "other" },
      14_999,
      { kind: "wait", holder: "other" },
    ],
  ])("%s", (_, spec, unchangedMs, expected) => {
    const facts = { identity: "me", leaseDurationMs: 15_000, now, observedAt: now - unchangedMs };
    expect(decideLease({ ...facts, lease: spec && lease(spec) })).toEqual(expected);
  });
});

test("observeLease dates a lease by when it was first seen to say so, not by its own times", () => {
  const first = observeLease(undefined, lease(others), 5);
  expect(first.at).toBe(5);
  expect(observeLease(first, { ...lease(others), metadata: { labels: { a: "b" } } }, 90)).toBe(first);
  expect(observeLease(first, lease({ ...others, renewTime: time }), 90).at).toBe(90);
});

test("releasedSpec leaves a lease to the next one, keeping the count", () => {
  expect(releasedSpec(others, now)).toEqual({
    holderIdentity: "",
    leaseDurationSeconds: 1,
    acquireTime: time,
    renewTime: time,
    leaseTransitions: 3,
  });
});
