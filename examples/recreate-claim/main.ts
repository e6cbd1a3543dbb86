import { parseArgs } from "node:util";
import { connectCluster } from "../../src/client/create-client.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { createLogger } from "../../src/lib/logger.ts";
import { runRecreateClaim } from "./recreate-claim.ts";

const usage = `usage: recreate-claim --selector LABELS [--kubeconfig FILE] [--namespace NAME] [--patience-seconds N]

Gets pods that do not start going again: deletes pod and claims when the pod's sandbox never became ready,
and only the pod otherwise. Only pods and claims with these labels.`;

function readFlags() {
  const { values } = parseArgs({
    options: {
      selector: { type: "string" },
      kubeconfig: { type: "string", default: process.env.KUBECONFIG },
      namespace: { type: "string" },
      "patience-seconds": { type: "string", default: "120" },
    },
  });
  const { selector: labelSelector, kubeconfig, namespace } = values;
  const patienceMs = Number(values["patience-seconds"]) * 1_000;
  if (!labelSelector) throw new Error("--selector is missing: it says which pods and claims may be deleted");
  if (!(patienceMs > 0)) throw new Error("--patience-seconds must be a number above 0");
  return { labelSelector, kubeconfig, namespace, patienceMs };
}

function fail(code: number, error: unknown): never {
  process.stderr.write(`recreate-claim: ${error instanceof Error ? error.message : error}\n`);
  if (code === 2) process.stderr.write(`${usage}\n`);
  process.exit(code);
}

async function run({ kubeconfig, ...options }: ReturnType<typeof readFlags>): Promise<void> {
  const stop = new AbortController();
  for (const name of ["SIGINT", "SIGTERM"] as const) {
    process.once(name, () => stop.abort(new Error("stopped by a signal")));
  }
  const client = await connectCluster({ kubeconfig, userAgent: "recreate-claim" });
  const logger = createLogger({ format: "text", level: "info" });
  await runRecreateClaim({ client, clock: systemClock, logger, ...options }, stop.signal);
  client.close();
}

try {
  const flags = readFlags();
  await run(flags).catch((error) => fail(1, error));
} catch (error) {
  fail(2, error);
}
