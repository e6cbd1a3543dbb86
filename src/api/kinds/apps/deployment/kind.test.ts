import { expect, test } from "vitest";
import { context, useStrategy } from "../../strategy.fixture.ts";

const { createErrors, make, strategy, updateErrors } = useStrategy("apps/v1", "Deployment");

const template = { metadata: { labels: { a: "1" } }, spec: { containers: [{ name: "a", image: "a" }] } };
const base = { selector: { matchLabels: { a: "1" } }, template };

test.each<[object, string[]]>([
  [{}, []],
  [{ strategy: { type: "Recreate" } }, []],
  [
    { strategy: { type: "Recreate", rollingUpdate: {} } },
    ["spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'"],
  ],
  [
    { strategy: { type: "Blue" } },
    [
      'spec.strategy: Unsupported value: {"Type":"Blue","RollingUpdate":null}: supported values: "Recreate", "RollingUpdate"',
    ],
  ],
  [
    { strategy: { rollingUpdate: { maxSurge: 0, maxUnavailable: "0%" } } },
    ['spec.strategy.rollingUpdate.maxUnavailable: Invalid value: "0%": may not be 0 when `maxSurge` is 0'],
  ],
  [
    { minReadySeconds: 600 },
    ["spec.progressDeadlineSeconds: Invalid value: 600: must be greater than minReadySeconds"],
  ],
  [
    { selector: { matchLabels: { a: "2" } } },
    ['spec.template.metadata.labels: Invalid value: {"a":"1"}: `selector` does not match template `labels`'],
  ],
])("create %j", (change, expected) => {
  expect(createErrors({ spec: { ...base, ...change } })).toEqual(expected);
});

test("its selector is immutable", () => {
  const withBoth = { ...template, metadata: { labels: { a: "1", b: "1" } } };
  const selecting = (matchLabels: object) => ({ spec: { selector: { matchLabels }, template: withBoth } });
  expect(updateErrors(selecting({ a: "1" }), selecting({ b: "1" }))).toEqual([
    'spec.selector: Invalid value: {"matchLabels":{"b":"1"}}: field is immutable',
  ]);
});

test("annotations count as a change, status does not", () => {
  const current = make({ spec: base });
  strategy.prepareForCreate?.(current, context);
  const annotated = structuredClone(current);
  annotated.metadata.annotations = { a: "b" };
  strategy.prepareForUpdate?.(annotated, current, context);
  expect(annotated.metadata.generation).toBe(2);
  const observed = { ...structuredClone(current), status: { replicas: 1 } };
  strategy.prepareForUpdate?.(observed, current, context);
  expect(observed.metadata.generation).toBe(1);
  expect(observed.status).toEqual({});
});
