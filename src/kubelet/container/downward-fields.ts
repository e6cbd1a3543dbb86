import type { Container, Pod } from "../../api/objects.ts";
import { findContainer } from "../../api/pod-containers.ts";
import { milliUnits, parseQuantity, wholeUnits } from "../../api/quantity.ts";
import { configError } from "./config-error.ts";
import { fieldValue } from "./field-value.ts";

export interface Addresses {
  /** The primary one first. */
  readonly podIps: readonly string[];
  readonly hostIps: readonly string[];
}

/** A field of the pod as its containers are told it: what a volume's files can show, and what is known of its place. */
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
 * A request or limit in units of the divisor, rounded up. A limit that the container does not have is the pod's, and
 * what the node can give where the pod has none either.
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
