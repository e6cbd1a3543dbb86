import type { Container, Probe } from "../../../src/api/meta/objects.ts";
import { createHandlers } from "../../../src/kubelet/probes/handler/create-handlers.ts";
import type { ProbeOutcome } from "../../../src/kubelet/probes/handler/probe-handler.ts";

interface Options {
  readonly ip?: string;
  readonly timeoutMs?: number;
  readonly ports?: Container["ports"];
  readonly signal?: AbortSignal;
}

/** Runs a network probe once against this machine. */
export function runHandler(probe: Probe, options: Options = {}): Promise<ProbeOutcome> {
  const { ip = "127.0.0.1", timeoutMs = 5_000, ports = [], signal = new AbortController().signal } = options;
  const handlers = createHandlers({
    runtime: { execSync: () => Promise.reject(new Error("no runtime here")) },
  });
  const target = { container: { name: "c", image: "a", ports }, containerId: "id", ip };
  return handlers(probe, target, { timeoutMs, signal });
}
