import type { SimulatedCore } from "./core.ts";
import { pauseUntil } from "./pause.ts";
import type { Facts } from "./script/rules.ts";
import { probeScript } from "./scripts-for.ts";
import { findContainer } from "./state.ts";

/** What the rules say of things that CRI has no call for: the kubelet of a simulated node asks here. */
export interface NodeScripts {
  /** Resolves when the volume may be set up; rejects with why it cannot be. */
  awaitVolume(
    volume: Pick<Facts, "namespace" | "pod" | "uid" | "volume">,
    signal: AbortSignal,
  ): Promise<void>;
  /** Why a probe of the container fails; undefined where no rule lets it fail. */
  probeFailure(containerId: string, probe: "startup" | "liveness" | "readiness"): string | undefined;
}

export function nodeScripts(core: SimulatedCore): NodeScripts {
  return {
    async awaitVolume(volume, signal) {
      const { delayMs = 0, error } = core.rules.scriptFor("volume", volume);
      await pauseUntil(core.clock, core.clock.now() + delayMs, signal);
      if (error !== undefined) throw new Error(error);
    },
    probeFailure: (containerId, probe) =>
      probeScript(core, findContainer(core.state, containerId), probe).failure,
  };
}
