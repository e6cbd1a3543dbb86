import type { Pod } from "../../api/objects.ts";
import { isSidecar } from "../../api/pod-resources.ts";
import type { ObservedPod } from "../observed-pod.ts";
import { type KillDeps, killContainer } from "./kill-container.ts";

export interface StopOptions {
  readonly pod: Pod;
  readonly observed: ObservedPod | undefined;
  readonly graceSeconds: number;
  readonly signal: AbortSignal;
}

/** Stops all that runs of a pod: main containers at once, then sidecars from the last to the first, then sandboxes. */
export async function stopPod(deps: KillDeps, options: StopOptions): Promise<void> {
  const { pod, observed, graceSeconds, signal } = options;
  if (!observed) return;
  const running = observed.containers.filter(({ state }) => state.kind !== "exited");
  const stopped = new Map<string, Promise<void>>();
  for (const wave of stopWaves(
    pod,
    running.map(({ name }) => name),
  )) {
    const before = Promise.allSettled(stopped.values()).then(() => {});
    const ofWave = running.filter(({ name }) => wave.includes(name));
    for (const container of ofWave) {
      const killed = killContainer(deps, {
        pod,
        observed: container,
        podIp: observed.sandboxes[0]?.ips[0],
        message: `Stopping container ${container.name}`,
        gracePeriodSeconds: graceSeconds,
        turn: before,
        signal,
      });
      stopped.set(container.id, killed);
    }
  }
  await Promise.all(stopped.values());
  await Promise.all(
    observed.sandboxes
      .filter(({ ready }) => ready)
      .map(({ id }) => deps.cri.runtime.stopPodSandbox({ podSandboxId: id }, { signal })),
  );
}

/** Names in the order in which they are stopped; those in one array together. */
export function stopWaves(pod: Pod, running: readonly string[]): readonly (readonly string[])[] {
  const sidecars = (pod.spec?.initContainers ?? []).filter(isSidecar).map(({ name }) => name);
  const others = running.filter((name) => !sidecars.includes(name));
  return [others, ...sidecars.toReversed().map((name) => [name])].filter((wave) => wave.length > 0);
}
