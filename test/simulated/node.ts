import { expect } from "vitest";
import type { CriClient } from "../../src/cri/cri-client.ts";
import { ImageSpec, type PodSandboxConfig, PullImageRequest } from "../../src/cri/generated/cri.ts";
import { silentLogger } from "../../src/lib/logger.ts";
import { createManualClock, type ManualClock } from "../../src/lib/manual-clock.ts";
import {
  type SimulatedRuntime,
  type SimulatedRuntimeOptions,
  startSimulatedRuntime,
} from "../../src/simulated/start-simulated-runtime.ts";
import { podConfig, type SandboxOptions } from "../support/cri/cri-pod.ts";
import { busyboxImage } from "../support/cri/cri-runtime.ts";

/** A simulated runtime in this process with its own clock and `busyboxImage`. */
export interface TestNode {
  readonly clock: ManualClock;
  readonly simulated: SimulatedRuntime;
  readonly client: CriClient;
}

export async function startNode(options: Partial<SimulatedRuntimeOptions> = {}): Promise<TestNode> {
  const clock = createManualClock(1_000_000);
  const simulated = await startSimulatedRuntime({ clock, logger: silentLogger, ...options });
  const image = ImageSpec.fromPartial({ image: busyboxImage });
  await simulated.client.images.pullImage(PullImageRequest.fromPartial({ image }));
  return { clock, simulated, client: simulated.client };
}

/** A pod with annotations of the simulation. */
export function scripted(own: Record<string, string>, options: SandboxOptions = {}): PodSandboxConfig {
  const annotations = Object.entries(own).map(([key, value]) => [`simulated.kindling.dev/${key}`, value]);
  return podConfig({ annotations: Object.fromEntries(annotations), ...options });
}

/** What a promise has come to by now, without waiting for it. */
export async function settled(promise: Promise<unknown>): Promise<boolean> {
  const pending = Symbol("pending");
  const first = await Promise.race([
    promise.catch(() => undefined),
    new Promise((resolve) => setImmediate(resolve, pending)),
  ]);
  return first !== pending;
}

/** That a call fails, once the clock has moved so far. */
export async function failsAfter(
  clock: ManualClock,
  { ms, call, error }: { ms: number; call: Promise<unknown>; error: object },
): Promise<void> {
  const failing = expect(call).rejects.toMatchObject(error);
  await clock.advance(ms - 1);
  expect(await settled(call)).toBe(false);
  await clock.advance(1);
  await failing;
}
