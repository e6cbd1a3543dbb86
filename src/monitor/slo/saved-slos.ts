import { isMapping } from "../../lib/is-mapping.ts";
import type { SavedSlos } from "./slo-tracker.ts";
import type { Counts } from "./windowed-counts.ts";

/** Whether a file's content is what a tracker saved: anything may be in there. */
export function isSavedSlos(value: unknown): value is SavedSlos {
  return isMapping(value) && Object.values(value).every(isSavedSlo);
}

function isSavedSlo(value: unknown): boolean {
  if (!isMapping(value)) return false;
  const { window, hour, overdue } = value;
  return isSteps(window) && isSteps(hour) && Array.isArray(overdue) && overdue.every(isText);
}

function isSteps(value: unknown): boolean {
  return (
    Array.isArray(value) &&
    value.every(
      (step: unknown) =>
        Array.isArray(step) && Number.isInteger(step[0]) && Array.isArray(step[1]) && step[1].every(isEntry),
    )
  );
}

function isEntry(value: unknown): value is readonly [string, Counts] {
  if (!Array.isArray(value) || !isText(value[0]) || !isMapping(value[1])) return false;
  const { bad, total } = value[1];
  if (typeof bad !== "number" || typeof total !== "number") return false;
  // The key of all is empty; those of classes are pairs.
  return bad >= 0 && total >= bad && (value[0] === "" || isPair(value[0]));
}

function isPair(key: string): boolean {
  try {
    const pair: unknown = JSON.parse(key);
    return Array.isArray(pair) && pair.length === 2 && pair.every(isText);
  } catch {
    return false;
  }
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}
