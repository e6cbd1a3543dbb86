import { expect, test } from "vitest";
import { chosenLabelNames, createClassLabels, volumesLabel } from "./class-labels.ts";
import { podStart } from "./pod-start.fixture.ts";

const classOf = (given: Parameters<typeof podStart>[0]) => podStart(given).class;

test("3085-12: a class is namespace, owner, RuntimeClass, StorageClasses, volumes and what the operator chose", () => {
  const labels = createClassLabels({ chosen: ["team"], valuesPerLabel: 10, classes: 10 });
  const full = { runtimeClass: "kata", storageClasses: ["fast", "slow"], volumes: 4, chosen: { team: "db" } };
  expect(labels.of(classOf({ class: full }))).toEqual({
    namespace: "shop",
    owner_kind: "StatefulSet",
    runtime_class: "kata",
    storage_class: "fast,slow",
    volumes: "3-5",
    pod_team: "db",
  });
  expect(labels.of(classOf({}))).toMatchObject({
    runtime_class: "<none>",
    storage_class: "<none>",
    pod_team: "<none>",
  });
});

test("3085-12: each label has its own limit", () => {
  const labels = createClassLabels({ chosen: [], valuesPerLabel: 1, classes: 10 });
  labels.of(classOf({ class: { namespace: "a", runtimeClass: "kata" } }));
  expect(labels.of(classOf({ class: { namespace: "b", runtimeClass: "kata" } }))).toMatchObject({
    namespace: "other",
    runtime_class: "kata",
  });
});

test("3085-12: with too many classes the namespace goes first, then all; those that were known stay", () => {
  const labels = createClassLabels({ chosen: [], valuesPerLabel: 100, classes: 2 });
  const shown = (namespace: string, runtimeClass: string) => {
    const { namespace: ns, runtime_class } = labels.of(classOf({ class: { namespace, runtimeClass } }));
    return `${ns}/${runtime_class}`;
  };
  expect([
    shown("a", "r1"),
    shown("b", "r2"),
    shown("c", "r1"),
    shown("d", "r2"),
    shown("e", "r3"),
    shown("a", "r1"),
    shown("f", "r1"),
  ]).toEqual(["a/r1", "b/r2", "other/r1", "other/r2", "other/other", "a/r1", "other/r1"]);
});

test("however many values there are, there are no more classes than twice the limit and one", () => {
  const labels = createClassLabels({ chosen: ["team"], valuesPerLabel: 50, classes: 20 });
  const seen = new Set<object>();
  for (let i = 0; i < 5_000; i++) {
    const chosen = { team: `t${i % 61}` };
    seen.add(labels.of(classOf({ class: { namespace: `n${i}`, runtimeClass: `r${i % 13}`, chosen } })));
  }
  expect(seen.size).toBe(41);
});

test.each([
  [0, "0"],
  [2, "2"],
  [5, "3-5"],
  [6, "6-10"],
  [400, "more than 10"],
])("%i volumes are %s", (count, label) => {
  expect(volumesLabel(count)).toBe(label);
});

test("keys become names of labels, each its own", () => {
  expect(chosenLabelNames(["app.kubernetes.io/part-of", "team"])).toEqual([
    "pod_app_kubernetes_io_part_of",
    "pod_team",
  ]);
  expect(() => chosenLabelNames(["a-b", "x", "a.b"])).toThrow(
    'the keys "a-b" and "a.b" would both become the label pod_a_b: choose one of them',
  );
});
