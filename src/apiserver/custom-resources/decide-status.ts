import type {
  CustomResourceDefinition,
  DefinitionCondition,
  DefinitionNames,
  DefinitionStatus,
} from "../../api/custom/custom-resource-definition.ts";
import { isConditionTrue } from "../../api/custom/custom-resource-definition.ts";
import { validateStructural } from "../../api/custom/validate-structural.ts";
import { isEqual } from "../../api/meta/is-equal.ts";

interface StatusFacts {
  readonly definition: CustomResourceDefinition;
  /** The other definitions of the group. */
  readonly others: readonly CustomResourceDefinition[];
  /** RFC 3339. */
  readonly now: string;
}

/**
 * Status of a definition: the names that it may use, and whether it is served.
 *
 *     names free ──▶ NamesAccepted, Established      names in use ──▶ not NamesAccepted; Established only if it was before
 *
 * Returns the current status when nothing changes.
 */
export function decideStatus({ definition, others, now }: StatusFacts): DefinitionStatus {
  const current = definition.status ?? {};
  const { accepted, conflict } = decideNames(definition, others);
  const namesAccepted: DefinitionCondition = conflict
    ? { type: "NamesAccepted", status: "False", ...conflict }
    : { type: "NamesAccepted", status: "True", reason: "NoConflicts", message: "no conflicts found" };
  const conditions = [namesAccepted];
  if (!isConditionTrue(definition, "Established"))
    conditions.push(establishedCondition(conflict === undefined));
  let next: DefinitionStatus = { ...current, acceptedNames: accepted };
  for (const condition of conditions) next = withCondition(next, condition, now);
  const violations = structuralViolations(definition);
  next = violations
    ? withCondition(
        next,
        { type: "NonStructuralSchema", status: "True", reason: "Violations", message: violations },
        now,
      )
    : withoutCondition(next, "NonStructuralSchema");
  return isEqual(next, current) ? current : next;
}

function establishedCondition(accepted: boolean): DefinitionCondition {
  return accepted
    ? {
        type: "Established",
        status: "True",
        reason: "InitialNamesAccepted",
        message: "the initial names have been accepted",
      }
    : { type: "Established", status: "False", reason: "NotAccepted", message: "not all names are accepted" };
}

interface NameConflict {
  readonly reason: string;
  readonly message: string;
}

/** Accepts each requested name that no other definition of the group uses. The last conflict is reported. */
function decideNames(
  { spec, status }: CustomResourceDefinition,
  others: readonly CustomResourceDefinition[],
): { accepted: DefinitionNames; conflict: NameConflict | undefined } {
  const requested = spec.names;
  const before: Partial<DefinitionNames> = status?.acceptedNames ?? {};
  const used = others.flatMap((other) => other.status?.acceptedNames ?? []);
  const resources = new Set(
    used.flatMap((names) => [names.plural, names.singular, ...(names.shortNames ?? [])]),
  );
  const kinds = new Set(used.flatMap((names) => [names.kind, names.listKind]));
  const accepted: DefinitionNames = { plural: "", kind: "", ...before };
  let conflict: NameConflict | undefined;
  for (const [field, reason, inUse] of [
    ["plural", "PluralConflict", resources],
    ["singular", "SingularConflict", resources],
    ["kind", "KindConflict", kinds],
    ["listKind", "ListKindConflict", kinds],
  ] as const) {
    const name = requested[field] ?? "";
    if (name !== before[field] && inUse.has(name)) conflict = { reason, message: inUseMessage(name) };
    else accepted[field] = name;
    if (field === "singular") acceptShortNames();
  }
  setList("categories", requested.categories);
  return { accepted, conflict };

  function acceptShortNames(): void {
    const taken = (requested.shortNames ?? []).filter(
      (name) => !before.shortNames?.includes(name) && resources.has(name),
    );
    if (taken.length === 0) setList("shortNames", requested.shortNames);
    else {
      const messages = taken.map(inUseMessage);
      const message = messages.length === 1 ? (messages[0] ?? "") : `[${messages.join(", ")}]`;
      conflict = { reason: "ShortNamesConflict", message };
    }
  }

  function setList(field: "shortNames" | "categories", names: string[] | undefined): void {
    if (names?.length) accepted[field] = names;
    else delete accepted[field];
  }
}

function inUseMessage(name: string): string {
  return `${JSON.stringify(name)} is already in use`;
}

/** Definitions of earlier API versions may have schemas that are not structural. */
function structuralViolations({ spec }: CustomResourceDefinition): string | undefined {
  const errors = (spec.versions ?? []).flatMap(({ schema }, i) =>
    schema?.openAPIV3Schema
      ? validateStructural(schema.openAPIV3Schema, `spec.versions[${i}].schema.openAPIV3Schema`)
      : [],
  );
  const texts = errors.map(({ field, message }) => `${field}: ${message}`);
  if (spec.preserveUnknownFields)
    texts.unshift("spec.preserveUnknownFields: Invalid value: true: must be false");
  return texts.length > 1 ? `[${texts.join(", ")}]` : texts[0];
}

/** Sets a condition. Its transition time changes only with its status. */
export function withCondition(
  status: DefinitionStatus,
  condition: DefinitionCondition,
  now: string,
): DefinitionStatus {
  const conditions = status.conditions ?? [];
  const before = conditions.find(({ type }) => type === condition.type);
  const lastTransitionTime = before?.status === condition.status ? (before.lastTransitionTime ?? now) : now;
  const { type, status: value, reason, message } = condition;
  const next = { lastTransitionTime, message, reason, status: value, type } as DefinitionCondition;
  return {
    ...status,
    conditions: before
      ? conditions.map((other) => (other.type === type ? next : other))
      : [...conditions, next],
  };
}

function withoutCondition(status: DefinitionStatus, type: string): DefinitionStatus {
  if (!status.conditions?.some((condition) => condition.type === type)) return status;
  return { ...status, conditions: status.conditions.filter((condition) => condition.type !== type) };
}
