import { type FieldError, FieldErrors } from "../../../meta/field-errors.ts";
import { qualifiedNameProblems } from "../../../meta/names.ts";
import type { LimitRange, LimitRangeItem } from "../../../meta/objects.ts";
import {
  compareQuantities,
  maxMilliValue,
  milliUnits,
  parseQuantity,
  type Quantity,
  wholeUnits,
} from "../../../meta/quantity.ts";
import {
  containerResourceNameProblems,
  mayOvercommit,
  resourceNameProblems,
} from "../../../pod/validation/resources.ts";
import { defaultColumns } from "../../columns.ts";
import { defineKind } from "../../kind-definition.ts";
import type { Strategy } from "../../strategy.ts";

const standardTypes = ["Pod", "Container", "PersistentVolumeClaim"];

const strategy: Strategy<LimitRange> = {
  allowCreateOnUpdate: true,

  applyDefaults({ spec }) {
    for (const item of spec?.limits ?? []) if (item.type === "Container") applyItemDefaults(item);
  },

  validate: validateLimitRange,
  validateUpdate: validateLimitRange,
};

export const limitRangeKind = defineKind<LimitRange>({
  resource: {
    group: "",
    version: "v1",
    plural: "limitranges",
    kind: "LimitRange",
    shortNames: ["limits"],
  },
  strategy,
  columns: defaultColumns,
});

/** A container limit defaults to the maximum, a container request to the limit or to the minimum. */
function applyItemDefaults(item: LimitRangeItem): void {
  const limits = { ...item.max, ...item.default };
  const requests = { ...item.min, ...limits, ...item.defaultRequest };
  if (Object.keys(limits).length > 0) item.default = limits;
  if (Object.keys(requests).length > 0) item.defaultRequest = requests;
}

function validateLimitRange({ spec }: LimitRange): FieldError[] {
  const at = new FieldErrors("spec");
  const types = new Set<string>();
  at.each("limits", spec?.limits, (item, place) => {
    validateType(item.type, place);
    if (types.has(item.type)) place.duplicate("type", item.type);
    types.add(item.type);
    validateItem(item, place);
  });
  return at.errors;
}

function validateType(type: string, at: FieldErrors): void {
  const problems = qualifiedNameProblems(type);
  at.problems("type", type, problems);
  if (problems.length > 0 || type.includes("/") || standardTypes.includes(type)) return;
  at.invalid("type", type, "must be a standard limit type or fully qualified");
}

type AmountField = "max" | "min" | "default" | "defaultRequest" | "maxLimitRequestRatio";

function validateItem(item: LimitRangeItem, at: FieldErrors): void {
  const isPod = item.type === "Pod";
  const nameProblems =
    isPod || item.type === "Container" ? containerResourceNameProblems : resourceNameProblems;
  const names = new Set<string>();
  const checkNames = (field: AmountField) => {
    for (const name of Object.keys(item[field] ?? {})) {
      at.problems(`${field}[${name}]`, name, nameProblems(name));
      names.add(name);
    }
  };
  checkNames("max");
  checkNames("min");
  for (const field of ["default", "defaultRequest"] as const) {
    if (!isPod) checkNames(field);
    else if (Object.keys(item[field] ?? {}).length > 0)
      at.forbidden(field, "may not be specified when `type` is 'Pod'");
  }
  const hasStorage = item.min?.storage !== undefined || item.max?.storage !== undefined;
  if (item.type === "PersistentVolumeClaim" && !hasStorage) {
    const detail = "either minimum or maximum storage value is required, but neither was provided";
    at.required("limits", detail);
  }
  checkNames("maxLimitRequestRatio");
  for (const name of [...names].sort()) validateAmounts(item, name, at);
}

/** Validates that minimum, defaults, maximum and ratio of one resource agree. */
function validateAmounts(item: LimitRangeItem, name: string, at: FieldErrors): void {
  const { max = {}, min = {}, maxLimitRequestRatio = {} } = item;
  const { default: limits = {}, defaultRequest = {} } = item.type === "Pod" ? {} : item;
  const least = min[name];
  const most = max[name];
  const limit = limits[name];
  const request = defaultRequest[name];
  const ratio = maxLimitRequestRatio[name];
  const isMore = (a: string | undefined, b: string | undefined): boolean =>
    a !== undefined && b !== undefined && compareQuantities(parseQuantity(a), parseQuantity(b)) > 0;

  if (isMore(least, most))
    at.invalid(`min[${name}]`, least, `min value ${least} is greater than max value ${most}`);
  const atRequest = `defaultRequest[${name}]`;
  if (isMore(least, request))
    at.invalid(atRequest, request, `min value ${least} is greater than default request value ${request}`);
  if (isMore(request, most))
    at.invalid(atRequest, request, `default request value ${request} is greater than max value ${most}`);
  if (isMore(request, limit)) {
    const detail = `default request value ${request} is greater than default limit value ${limit}`;
    at.invalid(atRequest, request, detail);
  }
  if (isMore(least, limit))
    at.invalid(`default[${name}]`, least, `min value ${least} is greater than default value ${limit}`);
  if (isMore(limit, most))
    at.invalid(`default[${name}]`, most, `default value ${limit} is greater than max value ${most}`);
  if (ratio !== undefined) {
    const problems = ratioProblems(ratio, least, most);
    at.problems(`maxLimitRequestRatio[${name}]`, ratio, problems);
  }
  if (!mayOvercommit(name) && (isMore(limit, request) || isMore(request, limit))) {
    const detail = `default value ${limit} must equal to defaultRequest value ${request} in ${name}`;
    at.invalid(atRequest, request, detail);
  }
}

function ratioProblems(ratio: string, least: string | undefined, most: string | undefined): string[] {
  const problems: string[] = [];
  const value = parseQuantity(ratio);
  if (value.nanos < 1_000_000_000n) problems.push(`ratio ${ratio} is less than 1`);
  if (least === undefined || most === undefined) return problems;
  const [min, max] = [parseQuantity(least), parseQuantity(most)];
  const isPrecise = [value, min, max].every((each) => wholeUnits(each) < maxMilliValue);
  const units = (quantity: Quantity) => (isPrecise ? milliUnits(quantity) : wholeUnits(quantity));
  const largest = units(max) / units(min);
  if ((isPrecise ? milliUnits(value) / 1000 : wholeUnits(value)) > largest)
    problems.push(`ratio ${ratio} is greater than max/min = ${formatFloat(largest)}`);
  return problems;
}

/** Formats a number as Go's `%f`. */
function formatFloat(value: number): string {
  if (Number.isNaN(value)) return "NaN";
  return Number.isFinite(value) ? value.toFixed(6) : "+Inf";
}
