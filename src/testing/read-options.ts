import { parseFeatureGates } from "../api/feature-gates.ts";
import type { ClusterOptions } from "../cluster/cluster.ts";
import { createLogger, silentLogger } from "../lib/logger.ts";
import type { TestClusterOptions } from "./test-cluster.ts";

const mostNodes = 5_000;

/** What the options mean for the parts of a cluster. Throws with the one that is wrong. */
export function readOptions(
  { nodes = 1, features = {}, runtime = "simulated", handlers, port = 0, log }: TestClusterOptions,
  isRoot: boolean,
): Omit<ClusterOptions, "dataDir" | "clock"> {
  if (!Number.isInteger(nodes) || nodes < 1 || nodes > mostNodes)
    throw new TypeError(`nodes: ${nodes} is not a whole number from 1 to ${mostNodes}`);
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
    // A test leaves no containers behind.
    ephemeral: true,
    store: { kind: "memory" },
    listen: { host: "127.0.0.1", port },
    logger: log ? createLogger({ format: "text", level: log }) : silentLogger,
  };
}
