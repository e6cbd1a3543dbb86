import { parseFeatureGates } from "../api/meta/feature-gates.ts";
import type { ClusterOptions } from "../cluster/cluster.ts";
import { createLogger, silentLogger } from "../lib/logger.ts";
import type { TestClusterOptions } from "./test-cluster.ts";

const maxNodes = 5_000;

/** Converts and validates the options. Throws a TypeError that names the invalid one. */
export function readOptions(
  { nodes = 1, features = {}, runtime = "simulated", handlers, port = 0, log }: TestClusterOptions,
  isRoot: boolean,
): Omit<ClusterOptions, "dataDir" | "clock"> {
  if (!Number.isInteger(nodes) || nodes < 1 || nodes > maxNodes)
    throw new TypeError(`nodes: ${nodes} is not a whole number from 1 to ${maxNodes}`);
  if (runtime !== "simulated" && runtime !== "real")
    throw new TypeError(`runtime: ${JSON.stringify(runtime)} is neither "simulated" nor "real"`);
  if (runtime === "real" && nodes > 1)
    throw new TypeError(`nodes: ${nodes} need runtime: "simulated": a machine is one node`);
  if (runtime === "real" && handlers)
    throw new TypeError('handlers: only simulated nodes have them; leave it out with runtime: "real"');
  if (runtime === "real" && !isRoot)
    throw new TypeError('runtime: "real" needs root for its containers; "simulated" needs nothing');
  const gates = Object.entries(features).map(([name, value]) => `${name}=${value}`);
  return {
    nodes,
    features: parseFeatureGates(gates.join(",")),
    runtime:
      runtime === "real"
        ? { kind: "own", driver: "auto" }
        : { kind: "simulated", ...(handlers && { handlers }) },
    // Containers are deleted on close.
    ephemeral: true,
    store: { kind: "memory" },
    listen: { host: "127.0.0.1", port },
    logger: log ? createLogger({ format: "text", level: log }) : silentLogger,
  };
}
