import { type FieldError, FieldErrors } from "../../../meta/field-errors.ts";
import type { ResourceQuota } from "../../../meta/objects.ts";
import { compareQuantities, parseQuantity } from "../../../meta/quantity.ts";
import { isQuotaResource, resourceNameProblems, validateAmount } from "../../../pod/validation/resources.ts";
import { quotaScopes } from "../../../quota/scopes.ts";
import { ageColumn, column, nameColumn, type Sparse } from "../../columns.ts";
import { defineKind } from "../../kind-definition.ts";
import { keepField, type Strategy } from "../../strategy.ts";

type Spec = NonNullable<ResourceQuota["spec"]>;

const strategy: Strategy<ResourceQuota> = {
  returnsDeletedObject: true,

  prepareForCreate(next) {
    next.status = {};
  },

  prepareForUpdate(next, current) {
    keepField(next, current, "status");
  },

  prepareForStatusUpdate(next, current) {
    keepField(next, current, "spec");
  },

  validate({ spec = {} }) {
    const at = new FieldErrors("spec");
    validateSpec(spec, at);
    return at.errors;
  },

  validateUpdate({ spec = {} }, current): FieldError[] {
    const at = new FieldErrors("spec");
    validateSpec(spec, at);
    const before = new Set(current.spec?.scopes);
    const after = new Set(spec.scopes);
    if (before.size !== after.size || [...after].some((scope) => !before.has(scope)))
      at.invalid("scopes", spec.scopes, "field is immutable");
    return at.errors;
  },

  validateStatusUpdate({ status }): FieldError[] {
    const at = new FieldErrors("status");
    validateList(status?.hard, at.child("hard"));
    validateList(status?.used, at.child("used"));
    return at.errors;
  },

  warnings: ({ spec }, _context, current) => (current ? [] : limitWarnings(spec?.hard ?? {})),
};

export const resourceQuotaKind = defineKind<ResourceQuota>({
  resource: {
    group: "",
    version: "v1",
    plural: "resourcequotas",
    kind: "ResourceQuota",
    shortNames: ["quota"],
  },
  subresources: ["status"],
  strategy,
  columns: [
    nameColumn,
    column("Request", "Use and limit of requests and objects", (quota) => amountsCell(quota, isRequest)),
    column("Limit", "Use and limit of container limits", (quota) =>
      amountsCell(quota, (name) => !isRequest(name)),
    ),
    ageColumn,
  ],
});

const isRequest = (name: string) => !name.startsWith("limits.");

/** `pods: 1/10, requests.cpu: 100m/1` */
function amountsCell({ status }: Sparse<ResourceQuota>, isShown: (name: string) => boolean): string {
  const names = Object.keys(status?.hard ?? {}).filter(isShown);
  return names
    .sort()
    .map((name) => `${name}: ${status?.used?.[name] ?? "0"}/${status?.hard?.[name]}`)
    .join(", ");
}

function validateSpec(spec: Spec, at: FieldErrors): void {
  validateList(spec.hard, at.child("hard"));
  const names = Object.keys(spec.hard ?? {})
    .filter(isQuotaResource)
    .sort();
  if (spec.scopes?.length) validateScopes(spec.scopes, names, at);
  if (spec.scopeSelector) validateSelector(spec, names, at.child("scopeSelector"));
}

function validateList(list: Record<string, string> | undefined, at: FieldErrors): void {
  for (const [name, amount] of Object.entries(list ?? {})) {
    const place = at.child(`[${name}]`);
    place.problems("", name, resourceNameProblems(name));
    if (!name.includes("/") && !isQuotaResource(name))
      place.invalid("", name, "must be a standard resource for quota");
    validateAmount(name, amount, place);
  }
}

function validateScopes(scopes: readonly string[], names: readonly string[], at: FieldErrors): void {
  for (const scope of scopes) {
    if (!isKnown(scope)) at.invalid("scopes", scopes, "unsupported scope");
    for (const name of names)
      if (!isValidFor(scope, name)) at.invalid("scopes", scopes, "unsupported scope applied to resource");
  }
  for (let i = conflictsAmong(scopes); i > 0; i--) at.invalid("scopes", scopes, "conflicting scopes");
}

/** Scopes that have no values: a selector can only require that they exist. */
const scopesWithoutValues = [
  ...["BestEffort", "NotBestEffort", "Terminating", "NotTerminating", "CrossNamespacePodAffinity"],
];

const existsOnly =
  "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity";

function validateSelector({ scopes, scopeSelector }: Spec, names: readonly string[], at: FieldErrors): void {
  const requirements = scopeSelector?.matchExpressions ?? [];
  const place = at.child("matchExpressions");
  for (const { scopeName, operator, values = [] } of requirements) {
    if (!isKnown(scopeName)) place.invalid("scopeName", scopeName, "unsupported scope");
    for (const name of names)
      if (!isValidFor(scopeName, name))
        place.invalid("", scopeSelector, "unsupported scope applied to resource");
    if (scopesWithoutValues.includes(scopeName) && operator !== "Exists")
      place.invalid("operator", operator, existsOnly);
    if (operator === "In" || operator === "NotIn") {
      const detail = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector";
      if (values.length === 0) place.required("values", detail);
    } else if (operator === "Exists" || operator === "DoesNotExist") {
      const detail = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector";
      if (values.length > 0) place.invalid("values", values, detail);
    } else place.invalid("operator", operator, "not a valid selector operator");
  }
  const conflicts = conflictsAmong(requirements.map(({ scopeName }) => scopeName));
  for (let i = conflicts; i > 0; i--) place.invalid("", scopes, "conflicting scopes");
}

const isKnown = (scope: string) => quotaScopes.some((known) => known === scope);

function conflictsAmong(scopes: readonly string[]): number {
  const pairs = ["BestEffort", "Terminating"].filter(
    (scope) => scopes.includes(scope) && scopes.includes(`Not${scope}`),
  );
  return pairs.length;
}

const podNames = [
  ...["pods", "cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory"],
];

/** Whether a quota with the scope can limit the resource. */
function isValidFor(scope: string, name: string): boolean {
  if (scope === "BestEffort") return name === "pods";
  if (scope === "VolumeAttributesClass")
    return name === "persistentvolumeclaims" || name === "requests.storage";
  return !isKnown(scope) || podNames.includes(name);
}

function limitWarnings(hard: Record<string, string>): string[] {
  return ["cpu", "memory", "storage", "ephemeral-storage"].flatMap((name) => {
    const mayBeBare = name === "cpu" || name === "memory";
    const requestName = hard[`requests.${name}`] === undefined && mayBeBare ? name : `requests.${name}`;
    const limitName = `limits.${name}`;
    const [request, limit] = [hard[requestName], hard[limitName]];
    if (request === undefined || limit === undefined) return [];
    if (compareQuantities(parseQuantity(request), parseQuantity(limit)) <= 0) return [];
    return `ResourceQuota ${requestName} (${request}) should be less than ${limitName} (${limit})`;
  });
}
