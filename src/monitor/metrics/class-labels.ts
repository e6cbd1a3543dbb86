import type { PodClass } from "../measure/start-signal.ts";
import { createBoundedValues, otherValue, presentable } from "./bounded-values.ts";

/** The labels that every metric of a class of pods has, in the order of `names`. */
export interface ClassLabels {
  readonly names: readonly string[];
  of(podClass: PodClass): Readonly<Record<string, string>>;
  /** Without the limits, for series that are few for another reason. */
  exactly(podClass: PodClass): Readonly<Record<string, string>>;
}

export interface ClassLabelOptions {
  /** Keys of the pods' labels and annotations that become labels of the metrics. */
  readonly chosen: readonly string[];
  /** How many values a label can have. */
  readonly valuesPerLabel: number;
  /** How many classes, which are combinations of values, can be told apart. */
  readonly classes: number;
}

/** Kubernetes allows no such name: it cannot be mistaken for one. */
export const noneValue = "<none>";

const ownNames = ["namespace", "owner_kind", "runtime_class", "storage_class", "volumes"];

export function createClassLabels({ chosen, valuesPerLabel, classes }: ClassLabelOptions): ClassLabels {
  const names = [...ownNames, ...chosenLabelNames(chosen)];
  const bounds = names.map(() => createBoundedValues(valuesPerLabel));
  const byKey = new Map<string, Readonly<Record<string, string>>>();
  let whole = 0;

  function named(values: readonly string[]): Readonly<Record<string, string>> {
    return Object.fromEntries(names.map((name, i) => [name, values[i] ?? ""]));
  }

  /** One object for one class, so that whoever keeps something by class can keep it by object. */
  function add(values: readonly string[]): Readonly<Record<string, string>> {
    const labels = named(values);
    byKey.set(keyOf(values), labels);
    return labels;
  }

  const find = (values: readonly string[]) => byKey.get(keyOf(values));

  return {
    names,
    of(podClass) {
      const values = classValues(podClass, chosen).map((value, i) => bounds[i]?.admit(value) ?? otherValue);
      const known = find(values);
      if (known) return known;
      if (whole < classes) {
        whole++;
        return add(values);
      }
      // Namespaces go first: RuntimeClass and StorageClass say which plugin is slow, and are few.
      const folded = [otherValue, ...values.slice(1)];
      const rest = values.map(() => otherValue);
      return find(folded) ?? (byKey.size < 2 * classes ? add(folded) : (find(rest) ?? add(rest)));
    },
    exactly: (podClass) => named(classValues(podClass, chosen).map(presentable)),
  };
}

/** With their lengths, so that nothing in a value can stand for the end of it. */
function keyOf(values: readonly string[]): string {
  return values.map((value) => `${value.length}:${value}`).join("");
}

function classValues(podClass: PodClass, chosen: readonly string[]): string[] {
  const { namespace, ownerKind, runtimeClass, storageClasses, volumes } = podClass;
  return [
    namespace,
    ownerKind,
    runtimeClass || noneValue,
    storageClasses.join(",") || noneValue,
    volumesLabel(volumes),
    ...chosen.map((key) => podClass.chosen[key] || noneValue),
  ];
}

/** Few values, ordered as text as they are as numbers. */
export function volumesLabel(volumes: number): string {
  if (volumes <= 2) return String(volumes);
  return volumes <= 5 ? "3-5" : volumes <= 10 ? "6-10" : "more than 10";
}

/** `app.kubernetes.io/part-of` becomes `pod_app_kubernetes_io_part_of`. */
export function chosenLabelNames(keys: readonly string[]): string[] {
  const names = keys.map((key) => `pod_${key.replace(/[^a-zA-Z0-9_]/g, "_")}`);
  names.forEach((name, i) => {
    const first = names.indexOf(name);
    if (first !== i) {
      throw new Error(
        `the keys ${JSON.stringify(keys[first])} and ${JSON.stringify(keys[i])} would both become the label ${name}: choose one of them`,
      );
    }
  });
  return names;
}
