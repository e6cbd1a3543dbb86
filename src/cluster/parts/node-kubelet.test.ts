import { expect, test } from "vitest";
import type { Container } from "../../api/meta/objects.ts";
import { simulatedProbes } from "./node-kubelet.ts";

const container: Container = {
  name: "c",
  startupProbe: { tcpSocket: { port: 80 } },
  livenessProbe: { httpGet: { port: 80 } },
  readinessProbe: { exec: { command: ["ready"] } },
};
const target = { container, containerId: "id", ip: "10.0.0.1" };
const options = { timeoutMs: 1_000, signal: new AbortController().signal };

test.each([
  { probe: "startupProbe", fails: "startup", outcome: { kind: "failure", output: "because" } },
  { probe: "livenessProbe", fails: "liveness", outcome: { kind: "failure", output: "because" } },
  { probe: "readinessProbe", fails: "readiness", outcome: { kind: "failure", output: "because" } },
  { probe: "startupProbe", fails: "readiness", outcome: { kind: "success" } },
  { probe: "livenessProbe", fails: "readiness", outcome: { kind: "success" } },
  // Exec probes return the result of the runtime.
  { probe: "readinessProbe", fails: "liveness", outcome: { kind: "failure", output: "exit 3" } },
] as const)("$probe when $fails probes fail", async ({ probe, fails, outcome }) => {
  const handler = simulatedProbes({
    runtime: {
      execSync: async () => ({ exitCode: 3, stdout: Buffer.from("exit 3"), stderr: Buffer.alloc(0) }),
    },
    failureOf: (_id, kind) => (kind === fails ? "because" : undefined),
  });
  expect(await handler(container[probe] ?? {}, target, options)).toEqual(outcome);
});
