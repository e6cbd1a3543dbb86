import type { Report } from "../../api/validation/report.ts";
import { type FieldReader, quantityUnits } from "./field-reader.ts";

/** When a pod's events tell how far its image pulls are (KEP-3542). */
export type ImagePullProgress =
  | { readonly kind: "time"; readonly intervalMs: number }
  | { readonly kind: "size"; readonly intervalBytes: number }
  | { readonly kind: "none" };

const field = "imagePullProgressInterval";
/** By what `imagePullProgressType` says. The proposal's default of 30 is one of seconds. */
const rules = {
  time: { min: 10, default: 30, unit: "a number of seconds such as 30", least: "10 seconds" },
  size: { min: 2 ** 30, default: 2 ** 30, unit: "an amount of bytes such as 1Gi", least: "1Gi" },
} as const;

export function readImagePullProgress(reader: FieldReader, at: Report): ImagePullProgress {
  const kind = reader.oneOf("imagePullProgressType", ["none", "size", "time"]);
  if (kind === "none") {
    if (reader.isSet(field) && quantityUnits(reader.raw(field)) === undefined)
      at.invalid(field, reader.raw(field), "must be a number of seconds or an amount of bytes");
    return { kind };
  }
  const interval = readInterval(kind, reader, at);
  return kind === "time" ? { kind, intervalMs: interval * 1_000 } : { kind, intervalBytes: interval };
}

function readInterval(kind: "time" | "size", reader: FieldReader, at: Report): number {
  const rule = rules[kind];
  if (!reader.isSet(field)) return rule.default;
  const value = reader.raw(field);
  const interval = quantityUnits(value);
  if (interval === undefined) at.invalid(field, value, `must be ${rule.unit}`);
  else if (interval < rule.min)
    at.invalid(field, value, `must be at least ${rule.least} where imagePullProgressType is ${kind}`);
  else if (interval > Number.MAX_SAFE_INTEGER) at.invalid(field, value, "is too large");
  return interval ?? rule.default;
}
