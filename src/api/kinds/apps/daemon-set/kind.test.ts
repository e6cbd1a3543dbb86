import { describe, expect, test } from "vitest";
import { defaultFeatures } from "../../../meta/feature-gates.ts";
import type { DaemonSet } from "../../../meta/objects.ts";
import { sentences } from "../../../pod/pod.fixture.ts";
import { daemonSetKind } from "./kind.ts";

const { strategy } = daemonSetKind;
const context = { features: defaultFeatures, now: 0 };
const annotation = "deprecated.daemonset.template.generation";

type Spec = NonNullable<DaemonSet["spec"]>;

function makeSet(spec: Partial<Spec> = {}, annotations?: Record<string, string>): DaemonSet {
  const set: DaemonSet = {
    apiVersion: "apps/v1",
    kind: "DaemonSet",
    metadata: { name: "agent", namespace: "default", ...(annotations && { annotations }) },
    spec: {
      selector: { matchLabels: { app: "agent" } },
      template: {
        metadata: { labels: { app: "agent" } },
        spec: { containers: [{ name: "agent", image: "agent:1" }] },
      },
      ...spec,
    },
  };
  strategy.applyDefaults?.(set, context);
  return set;
}

function create(set: DaemonSet): DaemonSet {
  strategy.prepareForCreate?.(set, context);
  return set;
}

const problems = (set: DaemonSet) => sentences(strategy.validate?.(create(set), context) ?? []);
const rolling = (rollingUpdate: object): Partial<Spec> => ({
  updateStrategy: { type: "RollingUpdate", rollingUpdate },
});

test("sets the defaults of upstream", () => {
  expect(create(makeSet())).toMatchObject({
    metadata: { generation: 1, annotations: { [annotation]: "1" } },
    spec: {
      revisionHistoryLimit: 10,
      updateStrategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: 1, maxSurge: 0 } },
      template: { spec: { restartPolicy: "Always" } },
    },
    status: { currentNumberScheduled: 0, desiredNumberScheduled: 0, numberMisscheduled: 0, numberReady: 0 },
  });
  expect(makeSet({ updateStrategy: { type: "OnDelete" } }).spec?.updateStrategy).toEqual({
    type: "OnDelete",
  });
});

test("the template generation is raised with the template only, and users cannot set it", () => {
  const current = create(makeSet({}, { [annotation]: "5" }));
  const update = (next: DaemonSet) => {
    strategy.prepareForUpdate?.(next, current, context);
    return [next.metadata.annotations?.[annotation], next.metadata.generation ?? current.metadata.generation];
  };
  expect(update(makeSet({}, { [annotation]: "9" }))).toEqual(["5", 1]);
  expect(update(makeSet({ minReadySeconds: 3 }))).toEqual(["5", 2]);
  const changed = makeSet();
  if (changed.spec) changed.spec.template.metadata = { labels: { app: "agent", tier: "node" } };
  expect(update(changed)).toEqual(["6", 2]);
});

const place = "spec.updateStrategy.rollingUpdate";

describe("validation", () => {
  test.each<[string, DaemonSet, string[]]>([
    ["the smallest set", makeSet(), []],
    ["surge", makeSet(rolling({ maxSurge: "100%", maxUnavailable: 0 })), []],
    [
      "surge and unavailability",
      makeSet(rolling({ maxSurge: 1, maxUnavailable: 1 })),
      [`${place}.maxSurge: Invalid value: 1: may not be set when maxUnavailable is non-zero`],
    ],
    [
      "neither surge nor unavailability",
      makeSet(rolling({ maxSurge: 0, maxUnavailable: "0%" })),
      [`${place}.maxUnavailable: Required value: cannot be 0 when maxSurge is 0`],
    ],
    [
      "more than 100%",
      makeSet(rolling({ maxUnavailable: "101%" })),
      [`${place}.maxUnavailable: Invalid value: "101%": must not be greater than 100%`],
    ],
    [
      "an unknown strategy",
      makeSet({ updateStrategy: { type: "Recreate" } }),
      [
        'spec.updateStrategy: Unsupported value: {"Type":"Recreate","RollingUpdate":null}: supported values: "RollingUpdate", "OnDelete"',
      ],
    ],
    [
      "an empty selector",
      makeSet({ selector: {} }),
      ["spec.selector: Invalid value: {}: empty selector is invalid for daemonset"],
    ],
    [
      "a selector of other pods",
      makeSet({ selector: { matchLabels: { app: "other" } } }),
      [
        'spec.template.metadata.labels: Invalid value: {"app":"agent"}: `selector` does not match template `labels`',
      ],
    ],
    [
      "negative numbers",
      makeSet({ minReadySeconds: -1, revisionHistoryLimit: -1 }),
      ["minReadySeconds", "revisionHistoryLimit"].map(
        (field) => `spec.${field}: Invalid value: -1: must be greater than or equal to 0`,
      ),
    ],
    [
      "a template generation that is no number",
      makeSet({}, { [annotation]: "many" }),
      ['spec.templateGeneration: Invalid value: "many": must be an integer'],
    ],
  ])("%s", (_, set, expected) => {
    expect(problems(set)).toEqual(expected);
  });

  test("pods run until they are deleted", () => {
    const set = makeSet();
    Object.assign(set.spec?.template.spec ?? {}, { restartPolicy: "OnFailure", activeDeadlineSeconds: 5 });
    expect(problems(set)).toEqual([
      'spec.template.spec.restartPolicy: Unsupported value: "OnFailure": supported values: "Always"',
      "spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in DaemonSet is not Supported",
    ]);
  });

  test("the selector cannot be changed", () => {
    const next = makeSet({ selector: { matchExpressions: [{ key: "app", operator: "Exists" }] } });
    expect(sentences(strategy.validateUpdate?.(next, makeSet(), context) ?? [])[0]).toMatch(
      /^spec.selector: Invalid value: .*: field is immutable$/,
    );
  });

  test("counts of a status are not negative, and collisions are not forgotten", () => {
    const withStatus = (status: object) => Object.assign(makeSet(), { status });
    const errors = strategy.validateStatusUpdate?.(
      withStatus({ numberReady: -1, collisionCount: 1 }),
      withStatus({ collisionCount: 2 }),
      context,
    );
    expect(sentences(errors ?? [])).toEqual([
      "status.numberReady: Invalid value: -1: must be greater than or equal to 0",
      "status.collisionCount: Invalid value: 1: cannot be decremented",
    ]);
  });
});
