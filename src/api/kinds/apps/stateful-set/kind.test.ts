import { describe, expect, test } from "vitest";
import { defaultFeatures } from "../../../meta/feature-gates.ts";
import type { StatefulSet } from "../../../meta/objects.ts";
import { sentences } from "../../../pod/pod.fixture.ts";
import { statefulSetKind } from "./kind.ts";

const { strategy } = statefulSetKind;

type Spec = NonNullable<StatefulSet["spec"]>;

const on = { features: defaultFeatures, now: 0 };
const off = { features: { ...defaultFeatures, EnforcedRollingUpdateInStatefulSet: false }, now: 0 };

function makeSet(spec: Partial<Spec> = {}): StatefulSet {
  const set: StatefulSet = {
    apiVersion: "apps/v1",
    kind: "StatefulSet",
    metadata: { name: "db", namespace: "default" },
    spec: {
      serviceName: "db",
      selector: { matchLabels: { app: "db" } },
      template: {
        metadata: { labels: { app: "db" } },
        spec: { containers: [{ name: "db", image: "db:1" }] },
      },
      ...spec,
    },
  };
  strategy.applyDefaults?.(set, on);
  return set;
}

function create(set: StatefulSet, context = on): string[] {
  strategy.prepareForCreate?.(set, context);
  return sentences(strategy.validate?.(set, context) ?? []);
}

function update(next: StatefulSet, current: StatefulSet, context = on): string[] {
  strategy.prepareForUpdate?.(next, current, context);
  return sentences(strategy.validateUpdate?.(next, current, context) ?? []);
}

const withType = (type: string, rollingUpdate?: object): Partial<Spec> => ({
  updateStrategy: { type, ...(rollingUpdate && { rollingUpdate }) },
});
const enforced = withType("EnforcedRollingUpdate");
const refused = (type: string, list: string) =>
  `spec.updateStrategy: Invalid value: {"Type":"${type}","RollingUpdate":null}: must be ${list}`;
const two = "'RollingUpdate' or 'OnDelete'";
const three = "'RollingUpdate', 'OnDelete', or 'EnforcedRollingUpdate'";

describe("3541-1 update strategies", () => {
  test.each(["OnDelete", "RollingUpdate", "EnforcedRollingUpdate"])("3541-1 %s is accepted", (type) => {
    expect(create(makeSet(withType(type)))).toEqual([]);
  });

  test("3541-1 the default is RollingUpdate from partition 0", () => {
    expect(makeSet().spec?.updateStrategy).toEqual({
      type: "RollingUpdate",
      rollingUpdate: { partition: 0 },
    });
  });

  test("3541-1 EnforcedRollingUpdate takes partition and maxUnavailable, which starts at partition 0", () => {
    const set = makeSet(withType("EnforcedRollingUpdate", { maxUnavailable: "50%" }));
    expect(set.spec?.updateStrategy?.rollingUpdate).toEqual({ partition: 0, maxUnavailable: "50%" });
    expect(create(set)).toEqual([]);
    expect(create(makeSet(withType("EnforcedRollingUpdate", { partition: 2, maxUnavailable: 1 })))).toEqual(
      [],
    );
  });

  test.each(["RollingUpdate", "EnforcedRollingUpdate"])("3541-1 %s: both are checked", (type) => {
    const place = "spec.updateStrategy.rollingUpdate";
    expect(create(makeSet(withType(type, { partition: -1, maxUnavailable: 0 })))).toEqual([
      `${place}.partition: Invalid value: -1: must be greater than or equal to 0`,
      `${place}.maxUnavailable: Invalid value: 0: cannot be 0`,
    ]);
    expect(create(makeSet(withType(type, { maxUnavailable: "101%" })))).toEqual([
      `${place}.maxUnavailable: Invalid value: "101%": must not be greater than 100%`,
    ]);
    expect(create(makeSet(withType(type, { maxUnavailable: "some" })))[0]).toContain(
      "a valid percent string must be a numeric string followed by an ending '%'",
    );
  });

  test("3541-1 OnDelete takes neither", () => {
    expect(create(makeSet(withType("OnDelete", { partition: 1 })))).toEqual([
      "spec.updateStrategy.rollingUpdate: Invalid value: {\"partition\":1}: only allowed for updateStrategy 'RollingUpdate' or 'EnforcedRollingUpdate'",
    ]);
  });

  test("3541-1 rejects an unknown type with the three supported values", () => {
    expect(create(makeSet(withType("Eager")))).toEqual([refused("Eager", three)]);
  });

  test("3541-1 gate off: rejected on create", () => {
    expect(create(makeSet(enforced), off)).toEqual([refused("EnforcedRollingUpdate", two)]);
    expect(create(makeSet(withType("Eager")), off)).toEqual([refused("Eager", two)]);
  });

  test("3541-1 gate off: rejected on an update that sets it", () => {
    expect(update(makeSet(enforced), makeSet(), off)).toEqual([refused("EnforcedRollingUpdate", two)]);
  });

  test("3541-1 gate off: a stored strategy may be kept, changed and removed", () => {
    const current = makeSet(enforced);
    expect(update(makeSet({ ...enforced, replicas: 5 }), current, off)).toEqual([]);
    const rolled = withType("EnforcedRollingUpdate", { partition: 1 });
    expect(update(makeSet(rolled), current, off)).toEqual([]);
    expect(update(makeSet(withType("RollingUpdate")), current, off)).toEqual([]);
  });

  test("3541-9 gate off: a stored strategy is not changed", () => {
    const current = makeSet(withType("EnforcedRollingUpdate", { partition: 3, maxUnavailable: 2 }));
    const next = structuredClone(current);
    strategy.applyDefaults?.(next, off);
    expect(update(next, current, off)).toEqual([]);
    expect(next).toEqual(current);
  });
});

describe("Recreate, behind its gate", () => {
  const features = { ...defaultFeatures, StatefulSetRecreateStrategy: true };
  const recreating = { features, now: 0 };
  const recreate = withType("Recreate");
  const four = "'RollingUpdate', 'OnDelete', 'EnforcedRollingUpdate', or 'Recreate'";

  test("gate on: accepted, can be set and removed, and listed as a supported value", () => {
    expect(create(makeSet(recreate), recreating)).toEqual([]);
    expect(update(makeSet(recreate), makeSet(), recreating)).toEqual([]);
    expect(update(makeSet(), makeSet(recreate), recreating)).toEqual([]);
    expect(create(makeSet(withType("Eager")), recreating)).toEqual([refused("Eager", four)]);
  });

  test("rejects rollingUpdate and does not default it", () => {
    expect(makeSet(recreate).spec?.updateStrategy).toEqual({ type: "Recreate" });
    expect(create(makeSet(withType("Recreate", { partition: 1 })), recreating)).toEqual([
      "spec.updateStrategy.rollingUpdate: Invalid value: {\"partition\":1}: only allowed for updateStrategy 'RollingUpdate' or 'EnforcedRollingUpdate'",
    ]);
  });

  test("gate off: rejected, but a stored value may be kept and removed", () => {
    expect(create(makeSet(recreate))).toEqual([refused("Recreate", three)]);
    expect(update(makeSet(recreate), makeSet())).toEqual([refused("Recreate", three)]);
    const current = makeSet(recreate);
    expect(update(makeSet({ ...recreate, replicas: 5 }), current)).toEqual([]);
    expect(update(makeSet(withType("OnDelete")), current)).toEqual([]);
  });
});

describe("defaults", () => {
  test("sets the defaults of upstream", () => {
    const { spec } = makeSet({
      volumeClaimTemplates: [{ metadata: { name: "data" }, spec: { accessModes: ["ReadWriteOnce"] } }],
    });
    expect(spec).toMatchObject({
      replicas: 1,
      podManagementPolicy: "OrderedReady",
      revisionHistoryLimit: 10,
      persistentVolumeClaimRetentionPolicy: { whenDeleted: "Retain", whenScaled: "Retain" },
      template: {
        spec: { restartPolicy: "Always", dnsPolicy: "ClusterFirst", schedulerName: "default-scheduler" },
      },
      volumeClaimTemplates: [
        {
          apiVersion: "v1",
          kind: "PersistentVolumeClaim",
          spec: { volumeMode: "Filesystem" },
          status: { phase: "Pending" },
        },
      ],
    });
  });
});

describe("rules", () => {
  test("containers may mount the claims", () => {
    const set = makeSet({
      volumeClaimTemplates: [
        {
          metadata: { name: "data" },
          spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
        },
      ],
    });
    const container = set.spec?.template.spec?.containers[0];
    if (container) container.volumeMounts = [{ name: "data", mountPath: "/data" }];
    expect(create(set)).toEqual([]);
  });

  test.each<[Partial<Spec>, string[]]>([
    [
      { selector: { matchLabels: { app: "other" } } },
      [
        'spec.template.metadata.labels: Invalid value: {"app":"db"}: `selector` does not match template `labels`',
      ],
    ],
    [{ selector: {} }, ["spec.selector: Invalid value: {}: empty selector is invalid for statefulset"]],
    [{ replicas: -1 }, ["spec.replicas: Invalid value: -1: must be greater than or equal to 0"]],
    [
      { minReadySeconds: -1 },
      ["spec.minReadySeconds: Invalid value: -1: must be greater than or equal to 0"],
    ],
    [
      { ordinals: { start: -1 } },
      ["spec.ordinals.start: Invalid value: -1: must be greater than or equal to 0"],
    ],
    [
      { podManagementPolicy: "Chaos" },
      ["spec.podManagementPolicy: Invalid value: \"Chaos\": must be 'OrderedReady' or 'Parallel'"],
    ],
    [
      { persistentVolumeClaimRetentionPolicy: { whenDeleted: "Keep" } },
      [
        'spec.persistentVolumeClaimRetentionPolicy.whenDeleted: Unsupported value: "Keep": supported values: "Retain", "Delete"',
      ],
    ],
    [{ serviceName: "a.b" }, ['spec.serviceName: Invalid value: "a.b": must not contain dots']],
    [
      { volumeClaimTemplates: [{ metadata: { name: "data" }, spec: {} }] },
      [
        "spec.volumeClaimTemplates[0].spec.accessModes: Required value: at least 1 access mode is required",
        "spec.volumeClaimTemplates[0].spec.resources[storage]: Required value",
      ],
    ],
    [
      {
        template: {
          metadata: { labels: { app: "db" } },
          spec: { containers: [{ name: "a", image: "b" }], restartPolicy: "Never", activeDeadlineSeconds: 1 },
        },
      },
      [
        'spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"',
        "spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in StatefulSet is not Supported",
      ],
    ],
  ])("%j", (spec, expected) => {
    expect(create(makeSet(spec))).toEqual(expected);
  });
});

describe("updates", () => {
  const immutable =
    "spec: Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden";

  test.each<Partial<Spec>>([
    { replicas: 3 },
    { ordinals: { start: 2 } },
    { minReadySeconds: 1 },
    { revisionHistoryLimit: 1 },
    { persistentVolumeClaimRetentionPolicy: { whenDeleted: "Delete" } },
    withType("OnDelete"),
  ])("%j passes and raises the generation", (change) => {
    const current = makeSet();
    strategy.prepareForCreate?.(current, on);
    const next = makeSet(change);
    next.metadata.generation = current.metadata.generation;
    expect(update(next, current)).toEqual([]);
    expect(next.metadata.generation).toBe(2);
  });

  test.each<Partial<Spec>>([
    { serviceName: "other" },
    { podManagementPolicy: "Parallel" },
    { volumeClaimTemplates: [{ metadata: { name: "data" }, spec: {} }] },
  ])("%j is refused", (change) => {
    expect(update(makeSet(change), makeSet())).toEqual([immutable]);
  });

  test("spec updates keep the status, and status updates keep the spec", () => {
    const current = { ...makeSet(), status: { replicas: 3, availableReplicas: 3, readyReplicas: 3 } };
    const next = { ...makeSet({ replicas: 9 }), status: { replicas: 7, availableReplicas: 0 } };
    update(next, current);
    expect(next.status).toEqual(current.status);
    const written = {
      ...makeSet({ replicas: 9 }),
      status: { replicas: 2, readyReplicas: 3, availableReplicas: 1 },
    };
    strategy.prepareForStatusUpdate?.(written, current, on);
    expect(written.spec?.replicas).toBe(1);
    expect(sentences(strategy.validateStatusUpdate?.(written, current, on) ?? [])).toEqual([
      "status.readyReplicas: Invalid value: 3: cannot be greater than status.replicas",
    ]);
  });
});
