import { describe, expect, test } from "vitest";
import type { Lease } from "../../api/meta/objects.ts";
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
const ownSpec = { holderIdentity: "me", leaseDurationSeconds: 15, acquireTime: time, renewTime: time };
const others = { holderIdentity: "other", leaseDurationSeconds: 10, renewTime: earlier, leaseTransitions: 3 };

describe("decideLease", () => {
  test.each([
    ["creates a missing lease", undefined, 0, { kind: "create", spec: { ...ownSpec, leaseTransitions: 0 } }],
    ["waits while another holder's lease changed recently", others, 9_999, { kind: "wait", holder: "other" }],
    [
      "acquires an expired lease",
      others,
      10_000,
      { kind: "update", spec: { ...ownSpec, leaseTransitions: 4 } },
    ],
    [
      "acquires a released lease immediately",
      { ...others, holderIdentity: "" },
      0,
      { kind: "update", spec: { ...ownSpec, leaseTransitions: 4 } },
    ],
    [
      "renews its own lease, keeping the acquire time",
      { ...ownSpec, acquireTime: earlier, leaseTransitions: 2 },
      0,
      { kind: "update", spec: { ...ownSpec, acquireTime: earlier, leaseTransitions: 2 } },
    ],
    ["acquires an empty lease", {}, 0, { kind: "update", spec: { ...ownSpec, leaseTransitions: 1 } }],
    [
      "uses its own duration if the lease has none",
      { holderIdentity: "other" },
      14_999,
      { kind: "wait", holder: "other" },
    ],
  ])("%s", (_, spec, unchangedMs, expected) => {
    const facts = { identity: "me", leaseDurationMs: 15_000, now, observedAt: now - unchangedMs };
    expect(decideLease({ ...facts, lease: spec && lease(spec) })).toEqual(expected);
  });
});

test("observeLease uses the time of the first observation, not the times in the lease", () => {
  const first = observeLease(undefined, lease(others), 5);
  expect(first.at).toBe(5);
  expect(observeLease(first, { ...lease(others), metadata: { labels: { a: "b" } } }, 90)).toBe(first);
  expect(observeLease(first, lease({ ...others, renewTime: time }), 90).at).toBe(90);
});

test("releasedSpec keeps the number of transitions", () => {
  expect(releasedSpec(others, now)).toEqual({
    holderIdentity: "",
    leaseDurationSeconds: 1,
    acquireTime: time,
    renewTime: time,
    leaseTransitions: 3,
  });
});
