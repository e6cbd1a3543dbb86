import { describe, expect, test } from "vitest";
import type { ObjectMeta } from "../../../api/meta/objects.ts";
import { decideDelete } from "./delete.ts";

const now = Date.parse("2026-01-01T00:00:00Z");

function decide(metadata: ObjectMeta, facts: { grace?: number; held?: boolean; options?: object } = {}) {
  return decideDelete({
    object: { apiVersion: "v1", kind: "Pod", metadata: { name: "x", ...metadata } },
    options: facts.options ?? {},
    gracePeriodSeconds: facts.grace ?? 0,
    held: facts.held ?? false,
    now,
  });
}

describe("decideDelete", () => {
  test("an object without finalizers and grace period is deleted immediately", () => {
    expect(decide({})).toEqual({ kind: "remove" });
  });

  test("a grace period sets deletionTimestamp and increments the generation once", () => {
    expect(decide({ generation: 3 }, { grace: 30 })).toEqual({
      kind: "mark",
      metadata: {
        name: "x",
        generation: 4,
        deletionTimestamp: "2026-01-01T00:00:30Z",
        deletionGracePeriodSeconds: 30,
      },
    });
  });

  const marked = { deletionTimestamp: "2026-01-01T00:00:30Z", deletionGracePeriodSeconds: 30, generation: 4 };
  test.each([
    { name: "the same again changes nothing", grace: 30, plan: { kind: "unchanged" } },
    { name: "a longer grace period is not taken", grace: 60, plan: { kind: "unchanged" } },
    { name: "no grace period removes it", grace: 0, plan: { kind: "remove" } },
    {
      name: "a shorter one moves the time towards the first delete",
      grace: 5,
      plan: {
        kind: "mark",
        metadata: {
          name: "x",
          generation: 4,
          deletionTimestamp: "2026-01-01T00:00:05Z",
          deletionGracePeriodSeconds: 5,
        },
      },
    },
  ])("marked already: $name", ({ grace, plan }) => {
    expect(decide(marked, { grace })).toEqual(plan);
  });

  test("finalizers keep the object, also without a grace period", () => {
    expect(decide({ finalizers: ["a/b"] })).toMatchObject({
      kind: "mark",
      metadata: {
        finalizers: ["a/b"],
        deletionTimestamp: "2026-01-01T00:00:00Z",
        deletionGracePeriodSeconds: 0,
      },
    });
  });

  test("spec.finalizers of a namespace keep it", () => {
    const plan = decide({}, { held: true });
    expect(plan).toMatchObject({ kind: "mark", metadata: { deletionTimestamp: expect.any(String) } });
    // It is deleted when its finalizers are removed.
    expect(plan).not.toHaveProperty("metadata.deletionGracePeriodSeconds");
  });

  test.each([
    { options: { propagationPolicy: "Foreground" }, before: undefined, after: ["foregroundDeletion"] },
    { options: { propagationPolicy: "Orphan" }, before: ["a/b"], after: ["a/b", "orphan"] },
    { options: { propagationPolicy: "Orphan" }, before: ["foregroundDeletion"], after: ["orphan"] },
    { options: { propagationPolicy: "Background" }, before: ["a/b", "orphan"], after: ["a/b"] },
    { options: { orphanDependents: true }, before: undefined, after: ["orphan"] },
    { options: {}, before: ["orphan"], after: ["orphan"] },
  ])("$options on $before leaves $after", ({ options, before, after }) => {
    expect(decide({ finalizers: before }, { options })).toMatchObject({
      kind: "mark",
      metadata: { finalizers: after },
    });
  });

  test("Background removes the last finalizer, and the object is deleted", () => {
    expect(decide({ finalizers: ["orphan"] }, { options: { propagationPolicy: "Background" } })).toEqual({
      kind: "remove",
    });
  });
});
