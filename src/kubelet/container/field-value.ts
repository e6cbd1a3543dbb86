import { qualifiedNameProblems } from "../../api/names.ts";
import type { Pod } from "../../api/objects.ts";
import { quoteGo } from "../quote-go.ts";
import { configError } from "./config-error.ts";

const subscripted = /^(?<field>.+?)\['(?<key>.*)'\]$/s;

/** A field of a pod as text: all that `fieldRef` of a volume may name, and some of what a variable may. */
export function fieldValue(pod: Pod, fieldPath: string): string {
  const { field, key } = subscripted.exec(fieldPath)?.groups ?? {};
  if (field !== undefined && key !== undefined) return subscriptValue(pod, fieldPath, field, key);
  switch (fieldPath) {
    case "metadata.annotations":
      return formatMap(pod.metadata.annotations);
    case "metadata.labels":
      return formatMap(pod.metadata.labels);
    case "metadata.name":
      return pod.metadata.name ?? "";
    case "metadata.namespace":
      return pod.metadata.namespace ?? "";
    case "metadata.uid":
      return pod.metadata.uid ?? "";
    default:
      throw configError(`unsupported fieldPath: ${fieldPath}`);
  }
}

function subscriptValue(pod: Pod, fieldPath: string, field: string, key: string): string {
  if (field !== "metadata.annotations" && field !== "metadata.labels") {
    throw configError(`fieldPath ${quoteGo(fieldPath)} does not support subscript`);
  }
  const isAnnotation = field === "metadata.annotations";
  const problems = qualifiedNameProblems(isAnnotation ? key.toLowerCase() : key);
  if (problems.length > 0) throw configError(`invalid key subscript in ${fieldPath}: ${problems.join(";")}`);
  const map = (isAnnotation ? pod.metadata.annotations : pod.metadata.labels) ?? {};
  return Object.hasOwn(map, key) ? (map[key] ?? "") : "";
}

function formatMap(map: Readonly<Record<string, string>> = {}): string {
  return Object.entries(map)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, value]) => `${key}=${quoteGo(value)}`)
    .join("\n");
}
