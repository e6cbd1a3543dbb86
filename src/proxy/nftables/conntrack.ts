import { tryRunProgram } from "../../lib/process/run-program.ts";
import type { ServicePort } from "../model/service-port.ts";

/** Entries of the connection table to delete: those to a frontend that go to this endpoint. */
export interface StaleFlows {
  /** Undefined for node ports, which have any address of the node. */
  readonly frontend: string | undefined;
  readonly port: number;
  readonly endpoint: string;
}

/**
 * Decides which UDP entries are stale after a change. The kernel translates only the first packet of a connection by the
 * rules, and a UDP client with a fixed port continues its entry forever. Stale are entries to endpoints that a port no
 * longer has, and untranslated entries from the time when a port had no endpoints.
 */
export function findStaleFlows(before: readonly ServicePort[], after: readonly ServicePort[]): StaleFlows[] {
  const stale: StaleFlows[] = [];
  for (const port of before) {
    if (port.protocol !== "UDP") continue;
    const next = after.find((other) => other.name === port.name && other.family === port.family);
    const kept = new Set(next ? addressesOf(next) : []);
    for (const endpoint of addressesOf(port))
      if (!kept.has(endpoint))
        for (const frontend of frontendsOf(port)) stale.push({ ...frontend, endpoint });
  }
  for (const port of after) {
    if (port.protocol !== "UDP" || addressesOf(port).length === 0) continue;
    const previous = before.find((other) => other.name === port.name && other.family === port.family);
    if (previous && addressesOf(previous).length > 0) continue;
    for (const frontend of frontendsOf(port))
      if (frontend.frontend !== undefined) stale.push({ ...frontend, endpoint: frontend.frontend });
  }
  return stale;
}

function addressesOf({ endpoints }: ServicePort): string[] {
  return [...new Set([...endpoints.cluster, ...endpoints.local].map(({ address }) => address))];
}

function frontendsOf({ clusterIP, externalIPs, loadBalancerIPs, port, nodePort }: ServicePort) {
  const addresses = [clusterIP, ...externalIPs, ...loadBalancerIPs];
  return [
    ...addresses.map((frontend) => ({ frontend, port })),
    ...(nodePort === undefined ? [] : [{ frontend: undefined, port: nodePort }]),
  ];
}

/** Deletes entries of the connection table. */
export async function deleteFlows(stale: readonly StaleFlows[]): Promise<void> {
  for (const { frontend, port, endpoint } of stale) {
    const to = frontend === undefined ? [] : ["--orig-dst", frontend];
    const family = endpoint.includes(":") ? "ipv6" : "ipv4";
    const { exitCode, output } = await tryRunProgram(
      "conntrack",
      ["-D", "-f", family, "-p", "udp", ...to, "--orig-port-dst", String(port), "--reply-src", endpoint],
      { timeoutMs: 30_000 },
    );
    // It also fails when there is nothing to delete.
    if (exitCode !== 0 && !output.includes("0 flow entries")) throw new Error(`conntrack: ${output}`);
  }
}

/** Returns why conntrack cannot be used; undefined when it can. */
export async function conntrackProblem(): Promise<string | undefined> {
  const { exitCode, output } = await tryRunProgram("conntrack", ["-C"], { timeoutMs: 10_000 });
  return exitCode === 0 ? undefined : (output.split("\n", 1)[0] ?? "");
}
