import type { PodClass } from "../measure/start-signal.ts";

/** Labels shared by all metrics of a class of pods, in the order of `names`. */
export interface ClassLabels {
  readonly names: readonly string[];
  of(podClass: PodClass): Readonly<Record<string, string>>;
  /** Labels without limits, for series whose number is limited elsewhere. */
  exactly(podClass: PodClass): Readonly<Record<string, string>>;
}

export interface ClassLabelOptions {
  /** Keys of the pods' labels and annotations that become labels of the metrics. */
  readonly chosen: readonly string[];
  /** Maximum number of values of a label. */
  readonly valuesPerLabel: number;
  /** Maximum number of classes (combinations of label values). */
  readonly classes: number;
}

/** Value of a label that does not apply. It is not a valid Kubernetes name. */
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

  /** Creates the one labels object of a class; callers use it as a map key. */
  function add(values: readonly string[]): Readonly<Record<string, string>> {
    const labels = named(values);
    byKey.set(keyOf(values), labels);
    return labels;
  }

  const find = (values: readonly string[]) => byKey.get(keyOf(values));

  return {
    names,
    of(podClass) {
      const values = classValues(podClass, chosen).map((value, i) => bounds[i]?.bound(value) ?? otherValue);
      const known = find(values);
      if (known) return known;
      if (whole < classes) {
        whole++;
        return add(values);
      }
      // The namespace is dropped first: RuntimeClass and StorageClass identify the slow plugin and have few values.
      const folded = [otherValue, ...values.slice(1)];
      const rest = values.map(() => otherValue);
      return find(folded) ?? (byKey.size < 2 * classes ? add(folded) : (find(rest) ?? add(rest)));
    },
    exactly: (podClass) => named(classValues(podClass, chosen).map(sanitizeValue)),
  };
}

/** Key with length prefixes, so that no value can be mistaken for a separator. */
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

/** Groups volume counts into few values. */
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

/** Replacement for every value beyond the limit. */
const otherValue = "other";

/** Label values are cut to this length, because annotations can be long. */
const maxValueLength = 128;

/**
 * Limits the number of values of a label: the first `limit` values are kept, later ones become `other`, so that the
 * number of series does not depend on what users write into pods.
 */
export interface BoundedValues {
  bound(value: string): string;
}

export function createBoundedValues(limit: number): BoundedValues {
  const shown = new Map<string, string>();
  return {
    bound(value) {
      const known = shown.get(value);
      if (known !== undefined) return known;
      if (shown.size >= limit) return otherValue;
      const text = sanitizeValue(value);
      shown.set(value, text);
      return text;
    },
  };
}

/** Cuts a value and replaces unpaired surrogates, for which scrapers reject the whole response. */
export function sanitizeValue(value: string): string {
  return Buffer.from(value.slice(0, maxValueLength)).toString();
}
