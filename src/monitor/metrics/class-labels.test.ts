import { expect, test } from "vitest";
import { chosenLabelNames, createBoundedValues, createClassLabels, volumesLabel } from "./class-labels.ts";
import { podStart } from "./pod-start.fixture.ts";

const classOf = (given: Parameters<typeof podStart>[0]) => podStart(given).class;

test("3085-12: labels a class by namespace, owner, RuntimeClass, StorageClasses, volumes and chosen labels", () => {
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

test("3085-12: limits the values of each label separately", () => {
  const labels = createClassLabels({ chosen: [], valuesPerLabel: 1, classes: 10 });
  labels.of(classOf({ class: { namespace: "a", runtimeClass: "kata" } }));
  expect(labels.of(classOf({ class: { namespace: "b", runtimeClass: "kata" } }))).toMatchObject({
    namespace: "other",
    runtime_class: "kata",
  });
});

test("3085-12: drops the namespace first and then all labels of classes beyond the limit, and keeps known classes", () => {
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

test("creates at most 2 × limit + 1 classes", () => {
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
])("labels %i volumes as %s", (count, label) => {
  expect(volumesLabel(count)).toBe(label);
});

test("derives a unique label name from each key", () => {
  expect(chosenLabelNames(["app.kubernetes.io/part-of", "team"])).toEqual([
    "pod_app_kubernetes_io_part_of",
    "pod_team",
  ]);
  expect(() => chosenLabelNames(["a-b", "x", "a.b"])).toThrow(
    'the keys "a-b" and "a.b" would both become the label pod_a_b: choose one of them',
  );
});

test("3085-12: replaces values beyond the limit by other and keeps those before it", () => {
  const { bound } = createBoundedValues(2);
  expect(["a", "b", "c", "a", "d", "b"].map(bound)).toEqual(["a", "b", "other", "a", "other", "b"]);
});

test("replaces every value when the limit is 0", () => {
  expect(createBoundedValues(0).bound("a")).toBe("other");
});

test.each([
  ["cuts a long value", "x".repeat(100_000), "x".repeat(128)],
  ["replaces an unpaired surrogate", "a\ud800", "a\ufffd"],
  ["does not split a surrogate pair at the cut", `${"x".repeat(127)}😀`, `${"x".repeat(127)}\ufffd`],
])("%s", (_, value, shown) => {
  expect(createBoundedValues(1).bound(value)).toBe(shown);
});
