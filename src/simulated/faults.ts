import { endSandbox } from "./call/sandbox-calls.ts";
import { endContainer, endingOf } from "./container-end.ts";
import type { SimulatedCore } from "./core.ts";
import type { SandboxRecord } from "./records.ts";

/** What can be done to pods from outside. */
export interface PodFaults {
  /** The sandbox of the pod dies: it is not ready, its containers have exited with 137. */
  killSandbox(podUid: string): void;
  /** The running container of that name exits. */
  exitContainer(podUid: string, name: string, code: number): void;
}

export function podFaults(core: SimulatedCore): PodFaults {
  function sandboxesOf(podUid: string): readonly SandboxRecord[] {
    return core.state.byPod.get(podUid) ?? [];
  }
  return {
    killSandbox(podUid) {
      const sandbox = sandboxesOf(podUid).find(({ state }) => state === "ready");
      if (!sandbox) throw new Error(`pod ${podUid} has no sandbox that is ready`);
      endSandbox(core, sandbox);
    },
    exitContainer(podUid, name, code) {
      const container = sandboxesOf(podUid)
        .flatMap(({ containers }) => containers)
        .find(({ metadata, state }) => metadata.name === name && state.kind === "running");
      if (!container) throw new Error(`pod ${podUid} has no container ${name} that runs`);
      endContainer(core, container, endingOf({ code }));
    },
  };
}

/**
 * As a runtime finds its state after the machine has restarted: no sandbox is ready, what ran has ended nobody knows
 * how. Nobody was there to hear of it: there are no events.
 */
export function loseProcesses(core: SimulatedCore): void {
  for (const sandbox of core.state.sandboxes.values()) sandbox.state = "notReady";
  for (const container of core.state.containers.values())
    if (container.state.kind === "running")
      endContainer(core, container, { exitCode: 255, reason: "Unknown", message: "" });
}
