import type * as k8s from "@kubernetes/client-node";
import type { Wire } from "../objects.ts";
import { ipFamilyOf, ipProblems, isDualStack } from "./ip.ts";
import type { Report } from "./report.ts";

export type ServiceSpec = Wire<k8s.V1ServiceSpec>;

/** No address of its own: its name resolves to its pods. */
export function isHeadless({ clusterIPs }: ServiceSpec): boolean {
  return clusterIPs?.length === 1 && clusterIPs[0] === "None";
}

/** `clusterIP` is the old name for the first of `clusterIPs`: the two must agree. */
export function validateClusterIps(spec: ServiceSpec, at: Report, current: ServiceSpec | undefined): void {
  const { clusterIP = "", clusterIPs = [], ipFamilies = [] } = spec;
  if (clusterIP !== "" && clusterIPs.length === 0) at.required("clusterIPs");
  else if (clusterIP !== "" && clusterIPs[0] !== clusterIP) {
    at.invalid("clusterIPs", clusterIPs, "first value must match `clusterIP`");
  } else if (clusterIP === "" && clusterIPs.length > 0) {
    at.invalid("clusterIPs", clusterIPs, "must be empty when `clusterIP` is not specified");
  }
  const families = new Set<string>();
  at.each("ipFamilies", ipFamilies, (family, place) => {
    place.oneOf("", family, ["IPv4", "IPv6"]);
    if (families.has(family)) place.duplicate("", family);
    families.add(family);
  });
  at.oneOf("ipFamilyPolicy", spec.ipFamilyPolicy, ["PreferDualStack", "RequireDualStack", "SingleStack"]);
  if (!validateEachAddress(clusterIPs, at, current?.clusterIPs ?? [])) return;
  if (clusterIPs.length > 1 && !isDualStack(clusterIPs)) {
    at.invalid("clusterIPs", clusterIPs, "may specify no more than one IP for each IP family");
  }
  if (isHeadless(spec)) return;
  clusterIPs.forEach((address, i) => {
    const family = ipFamilies[i];
    if (family === undefined || ipFamilyOf(address) === family) return;
    const detail = `expected an ${family} value as indicated by \`ipFamilies[${i}]\``;
    at.invalid(`clusterIPs[${i}]`, address, detail);
  });
}

/** Whether all of them are addresses. */
function validateEachAddress(addresses: readonly string[], at: Report, known: readonly string[]): boolean {
  const before = at.errors.length;
  addresses.forEach((address, i) => {
    if (i > 0 || address !== "None") {
      if (!known.includes(address)) at.problems(`clusterIPs[${i}]`, address, ipProblems(address));
    } else if (addresses.length > 1) {
      at.invalid("clusterIPs", addresses, "'None' must be the first and only value");
    }
  });
  const valid = at.errors.length === before;
  if (addresses.length > 2) at.invalid("clusterIPs", addresses, "may only hold up to 2 values");
  return valid;
}

/** An address once given stays: clients may have remembered it. Only the second of two can be given up. */
export function validateClusterIpUpdate(next: ServiceSpec, current: ServiceSpec, at: Report): void {
  if (next.type === "ExternalName" || current.type === "ExternalName") return;
  const headless = isHeadless(next);
  if (headless && isHeadless(current)) return;
  validateKept("clusterIPs", next, current, at);
  if (headless === isHeadless(current)) validateKept("ipFamilies", next, current, at);
}

function validateKept(
  field: "clusterIPs" | "ipFamilies",
  next: ServiceSpec,
  current: ServiceSpec,
  at: Report,
): void {
  const after = next[field] ?? [];
  const before = current[field] ?? [];
  const [one, what] =
    field === "clusterIPs" ? ["clusterIP", "secondary clusterIP"] : ["ipFamily", "secondary ipFamily"];
  if (before.length > 0 && after.length === 0)
    at.invalid(`${field}[0]`, after, `primary ${one} can not be unset`);
  after.forEach((value, i) => {
    if (i < before.length && value !== before[i])
      at.invalid(`${field}[${i}]`, after, "may not change once set");
  });
  if (before.length > after.length && after.length === 1 && next.ipFamilyPolicy !== "SingleStack") {
    const detail = `must be set to 'SingleStack' when releasing the ${what}`;
    at.invalid("ipFamilyPolicy", next.ipFamilyPolicy, detail);
  }
}
