import { status } from "@grpc/grpc-js";
import type { Pod } from "../../api/meta/objects.ts";
import type { CriClient } from "../../cri/cri-client.ts";
import { silentLogger } from "../../lib/logger.ts";
import { createManualClock } from "../../lib/manual-clock.ts";
import type { ObservedContainer } from "../model/observed-pod.ts";

/** Runtime that records stop and exec calls and takes a configurable time for both. */
export function setUpKill(options: { stopMs?: number; hookMs?: number; missing?: boolean } = {}) {
  const clock = createManualClock(0);
  const log: string[] = [];
  const record = (text: string) => log.push(`${clock.now()} ${text}`);
  const runtime = {
    async execSync(request: { containerId: string }, { signal }: { signal: AbortSignal }) {
      record(`hook of ${request.containerId}`);
      await clock.sleep(options.hookMs ?? 0, signal);
      return { exitCode: 0, stdout: Buffer.alloc(0), stderr: Buffer.alloc(0) };
    },
    async stopContainer(request: { containerId: string; timeout: bigint }, call: { signal: AbortSignal }) {
      record(`stop ${request.containerId} within ${request.timeout} s`);
      if (options.missing) {
        throw Object.assign(new Error("gone"), { code: status.NOT_FOUND, details: "gone", metadata: {} });
      }
      await clock.sleep(options.stopMs ?? 0, call.signal);
      return {};
    },
    async stopPodSandbox({ podSandboxId }: { podSandboxId: string }) {
      record(`stop sandbox ${podSandboxId}`);
      return {};
    },
  };
  const deps = {
    cri: { runtime } as unknown as CriClient,
    recorder: {
      record: (_about: unknown, event: { reason: string; message: string; fieldPath?: string }) =>
        void record(`${event.reason}: ${event.message} (${event.fieldPath})`),
    },
    clock,
    logger: silentLogger,
  };
  return { clock, log, deps };
}

export function runningContainer(name: string): ObservedContainer {
  return {
    id: name,
    name,
    sandboxId: "s",
    attempt: 0,
    createdAtMs: 0,
    state: { kind: "running", startedAtMs: 0 },
    image: "web:1",
    imageRef: "sha256:web",
    specHash: "",
    restartDelayMs: 0,
    logPath: "",
  };
}

export function podOf(spec: Pod["spec"]): Pod {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "p", namespace: "n", uid: "u" },
    ...(spec && { spec }),
  };
}
