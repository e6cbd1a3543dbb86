import { isIPv4, isIPv6 } from "node:net";
import { canonicalIPv6 } from "../../api/meta/validate-ip.ts";

/** Returns the canonical form of an IP address, under which indexes find it. Undefined for other text. */
export function canonicalAddress(text: string): string | undefined {
  if (isIPv4(text)) return text;
  return isIPv6(text) && !text.includes("%") ? canonicalIPv6(text) : undefined;
}

/** Parses the first label of a pod's name, in which dashes replace dots or colons: `10-0-0-1`, `2001-db8--1`. */
export function parseDashedAddress(label: string): string | undefined {
  return canonicalAddress(label.replaceAll("-", ".")) ?? canonicalAddress(label.replaceAll("-", ":"));
}

/** Label for an endpoint without a host name. A label must not end with a dash. */
export function dashedAddress(address: string): string {
  const dashed = address.replaceAll(/[.:]/g, "-");
  return `${dashed.startsWith("-") ? "0" : ""}${dashed}${dashed.endsWith("-") ? "0" : ""}`;
}
