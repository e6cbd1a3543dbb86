import { parseArgs } from "node:util";
import { connectCluster } from "../../src/client/api/create-client.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { createLogger } from "../../src/lib/logger.ts";
import { runRecreateClaim } from "./recreate-claim.ts";

const usage = `usage: recreate-claim --selector LABELS [--kubeconfig FILE] [--namespace NAME] [--timeout-seconds N]

Recreates pods that do not start: deletes the pod and its claims if the pod's sandbox never became ready,
and only the pod otherwise. Applies only to pods and claims with these labels.`;

function readFlags() {
  const { values } = parseArgs({
    options: {
      selector: { type: "string" },
      kubeconfig: { type: "string", default: process.env.KUBECONFIG },
      namespace: { type: "string" },
      "timeout-seconds": { type: "string", default: "120" },
    },
  });
  const { selector: labelSelector, kubeconfig, namespace } = values;
  const timeoutMs = Number(values["timeout-seconds"]) * 1_000;
  if (!labelSelector)
    throw new Error("--selector is required: it selects the pods and claims that may be deleted");
  if (!(timeoutMs > 0)) throw new Error("--timeout-seconds must be a number greater than 0");
  return { labelSelector, kubeconfig, namespace, timeoutMs };
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
