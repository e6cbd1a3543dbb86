import { expect, test } from "vitest";
import { context, useStrategy } from "../../strategy.fixture.ts";

const { createErrors, make, strategy } = useStrategy("v1", "Namespace");

test("rejects a finalizer that is neither standard nor qualified", () => {
  expect(createErrors({ spec: { finalizers: ["nope"] } })).toEqual([
    'spec.finalizers: Invalid value: "nope": name is neither a standard finalizer name nor is it fully qualified',
  ]);
});

test("sets the name label and the finalizer, and keeps the namespace until it is empty", () => {
  const namespace = make();
  strategy.prepareForCreate?.(namespace, context);
  expect(namespace).toMatchObject({
    metadata: { labels: { "kubernetes.io/metadata.name": "a" } },
    spec: { finalizers: ["kubernetes"] },
    status: { phase: "Active" },
  });
  expect(strategy.beginDeletion?.(namespace, context)).toBe("hold");
  expect(namespace).toMatchObject({ status: { phase: "Terminating" } });
  const emptied = { ...namespace, spec: { finalizers: [] } };
  expect(strategy.beginDeletion?.(emptied, context)).toBe("go");
});
