import type { Container, LifecycleHandler, Pod } from "../../api/objects.ts";
import type { CriClient } from "../../cri/cri-client.ts";
import type { Clock } from "../../lib/clock.ts";
import { requestPath } from "./request-path.ts";

export interface HookTarget {
  readonly pod: Pod;
  readonly container: Container;
  readonly containerId: string;
  readonly podIp: string | undefined;
  readonly signal: AbortSignal;
}

export interface HookDeps {
  readonly cri: CriClient;
  readonly clock: Clock;
}

/** Longer than any grace period: what ends an exec hook is the signal. */
const execTimeoutMs = 24 * 60 * 60_000;

/** Runs a postStart or preStop handler to its end. Throws when it fails. */
export async function runLifecycleHook(
  { cri, clock }: HookDeps,
  handler: LifecycleHandler,
  target: HookTarget,
): Promise<void> {
  const { container, containerId, podIp, signal } = target;
  if (handler.exec) {
    const cmd = handler.exec.command ?? [];
    const { exitCode, stderr, stdout } = await cri.runtime.execSync(
      { containerId, cmd, timeout: 0n },
      { signal, timeoutMs: execTimeoutMs },
    );
    if (exitCode === 0) return;
    const output = Buffer.concat([stdout, stderr]).toString().slice(0, 1_000);
    throw new Error(`command ${JSON.stringify(cmd)} exited with ${exitCode}: ${JSON.stringify(output)}`);
  }
  if (handler.httpGet) {
    await requestPath(handler.httpGet, { container, host: podIp, signal });
    return;
  }
  if (handler.sleep) {
    await clock.sleep(handler.sleep.seconds * 1_000, signal);
    return;
  }
  throw new Error("the hook names no handler of exec, httpGet and sleep");
}
