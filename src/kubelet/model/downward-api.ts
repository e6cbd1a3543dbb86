import { qualifiedNameProblems } from "../../api/meta/names.ts";
import type { Container, Pod } from "../../api/meta/objects.ts";
import { milliUnits, parseQuantity, wholeUnits } from "../../api/meta/quantity.ts";
import { findContainer } from "../../api/pod/pod-containers.ts";
import { configError } from "./start-error.ts";

export interface Addresses {
  /** Addresses of the pod, the primary one first. */
  readonly podIps: readonly string[];
  readonly hostIps: readonly string[];
}

/** Value of a `fieldRef`. Unlike fieldValue, also supports fields that only environment variables may use. */
export function podField(pod: Pod, fieldPath: string, { podIps, hostIps }: Addresses): string {
  const { spec } = pod;
  switch (fieldPath) {
    case "spec.host":
    case "spec.nodeName":
      return spec?.nodeName ?? "";
    case "spec.serviceAccountName":
      return spec?.serviceAccountName ?? "";
    case "status.hostIP":
      return hostIps[0] ?? "";
    case "status.hostIPs":
      return hostIps.join(",");
    case "status.podIP":
      return podIps[0] ?? "";
    case "status.podIPs":
      return podIps.join(",");
    default:
      return fieldValue(pod, fieldPath);
  }
}

type ResourceList = Readonly<Record<string, string>>;

interface ResourceFieldRef {
  readonly containerName?: string;
  readonly divisor?: string;
  readonly resource: string;
}

/**
 * Value of a `resourceFieldRef` in units of the divisor, rounded up. A limit that the container does not set falls back
 * to the pod's limit, then to the node's allocatable resources.
 */
export function resourceField(
  { pod, container, allocatable }: { pod: Pod; container: Container; allocatable: ResourceList },
  ref: ResourceFieldRef,
): string {
  const { resources = {} } = ref.containerName ? requireContainer(pod, ref.containerName) : container;
  const [, kind, name = ""] =
    /^(limits|requests)\.(cpu|memory|ephemeral-storage|hugepages-.+)$/.exec(ref.resource) ?? [];
  if (kind === undefined) throw configError(`unsupported container resource : ${ref.resource}`);
  const amount = kind === "limits" ? limitOf(name, resources.limits) : (resources.requests?.[name] ?? "0");

  const units = name === "cpu" ? milliUnits : wholeUnits;
  const divisor = parseQuantity(ref.divisor ?? "0").nanos === 0n ? "1" : (ref.divisor ?? "1");
  return String(Math.ceil(units(parseQuantity(amount)) / units(parseQuantity(divisor))));

  function limitOf(resource: string, limits: ResourceList | undefined): string {
    const given = [limits?.[resource], pod.spec?.resources?.limits?.[resource]].find(
      (limit) => limit !== undefined && parseQuantity(limit).nanos !== 0n,
    );
    if (given !== undefined || resource.startsWith("hugepages-")) return given ?? "0";
    return allocatable[resource] ?? "0";
  }
}

function requireContainer({ spec }: Pod, name: string): Container {
  const found = findContainer(spec, name);
  if (!found) throw configError(`container ${name} not found`);
  return found;
}

const subscripted = /^(?<field>.+?)\['(?<key>.*)'\]$/s;

/** Value of a `fieldRef` in a volume. */
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

const escapes: Readonly<Record<string, string>> = {
  "\u0007": "\\a",
  "\b": "\\b",
  "\f": "\\f",
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
  "\v": "\\v",
  '"': '\\"',
  "\\": "\\\\",
};

const printable = /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]$/u;

/** Quotes a string like Go's strconv.Quote, for labels and annotations in downward API files. */
export function quoteGo(text: string): string {
  let quoted = "";
  for (const character of text) quoted += escapes[character] ?? escapeUnprintable(character);
  return `"${quoted}"`;
}

function escapeUnprintable(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  // Go prints the replacement character for a lone surrogate.
  if (code >= 0xd800 && code <= 0xdfff) return "\ufffd";
  if (printable.test(character)) return character;
  if (code < 0x80) return `\\x${hex(code, 2)}`;
  return code < 0x10000 ? `\\u${hex(code, 4)}` : `\\U${hex(code, 8)}`;
}

function hex(code: number, digits: number): string {
  return code.toString(16).padStart(digits, "0");
}
