import { isMapping } from "../../../lib/is-mapping.ts";

/** What a plugin answers to ADD; passed on to the next plugin, and to DEL, as it came. */
export type CniResult = Readonly<Record<string, unknown>>;

/** The addresses of the pod itself, without prefix lengths. Some plugins list interfaces of the host too. */
export function addressesOf(result: CniResult): readonly string[] {
  const { ips, interfaces } = result;
  if (!Array.isArray(ips)) return [];
  return ips.filter(isMapping).flatMap((ip) => {
    const { address, interface: index } = ip;
    if (typeof address !== "string") return [];
    const on: unknown =
      Array.isArray(interfaces) && typeof index === "number" ? interfaces[index] : undefined;
    const isHosts = isMapping(on) && (on.sandbox === undefined || on.sandbox === "");
    return isHosts ? [] : [address.split("/")[0] ?? address];
  });
}
