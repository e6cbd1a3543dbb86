import type { CriClient } from "../cri/cri-client.ts";
import { ImageServiceService, RuntimeServiceService } from "../cri/generated/cri.ts";
import { listenOnSocket, type SocketServer } from "../cri/listen-on-socket.ts";
import { serveCalls } from "../cri/serve-call.ts";
import { type Clock, systemClock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import { sleepUntil } from "../lib/timer-queue.ts";
import { containerCalls } from "./calls/container-calls.ts";
import { execCalls } from "./calls/exec-calls.ts";
import { imageCalls } from "./calls/image-calls.ts";
import { infoCalls, statsCalls } from "./calls/info-calls.ts";
import { endSandbox, sandboxCalls } from "./calls/sandbox-calls.ts";
import { createInProcessClient } from "./in-process-client.ts";
import { endContainer, endingOf, schedulePlanned } from "./model/container-end.ts";
import { createCore, probeScript, type SimulatedCore } from "./model/core.ts";
import { toStatus, unavailable } from "./model/failure.ts";
import { createInFlight, trackCalls } from "./model/in-flight.ts";
import {
  createSimulatedState,
  findContainer,
  type SandboxRecord,
  type SimulatedState,
} from "./model/state.ts";
import { createRuleBook, type Facts, type SimulationRule, type SimulationRules } from "./scripts/rules.ts";

export interface SimulatedRuntimeOptions {
  /** `unix:///path`. Without it, the runtime is only available in-process. */
  readonly listen?: string;
  readonly clock?: Clock;
  readonly logger: Logger;
  /** Initial rules. Without rules, everything succeeds immediately. */
  readonly script?: readonly SimulationRule[];
  /** State of an earlier runtime to continue with. */
  readonly state?: SimulatedState;
  /** Runtime handlers in addition to the default one. Default: `simulated`. */
  readonly handlers?: readonly string[];
  /** Whether all images are present without a pull, except those with a rule for pulls. Default: false. */
  readonly imagesPresent?: boolean;
}

/** CRI runtime without real containers, driven by state, time and rules. */
export interface SimulatedRuntime extends PodFaults, NodeScripts {
  /** In-process client. */
  readonly client: CriClient;
  readonly rules: SimulationRules;
  /** Available runtime handlers; can be modified. */
  readonly handlers: Set<string>;
  /** State for the next runtime, after `close`. */
  readonly state: SimulatedState;
  /** Simulates a reboot: no sandbox is ready, running containers exit with 255, and calls in progress are aborted. */
  reboot(): void;
  /** Rejects all calls on the socket and in-process. Containers keep running. */
  outage(): Promise<void>;
  restore(): Promise<void>;
  close(): Promise<void>;
}

export async function startSimulatedRuntime(options: SimulatedRuntimeOptions): Promise<SimulatedRuntime> {
  const { listen, logger, clock = systemClock } = options;
  const core = createCore({
    state: options.state ?? createSimulatedState(),
    rules: createRuleBook(options.script),
    clock,
    handlers: new Set(["", ...(options.handlers ?? ["simulated"])]),
    imagesPresent: options.imagesPresent ?? false,
  });

  const inFlight = createInFlight();
  const calls = {
    runtime: trackCalls(
      {
        ...infoCalls(core),
        ...sandboxCalls(core),
        ...containerCalls(core),
        ...execCalls(core),
        ...statsCalls(core),
      },
      inFlight,
    ),
    images: trackCalls(imageCalls(core), inFlight),
  };
  const served = {
    runtime: serveCalls(RuntimeServiceService, calls.runtime, { logger, toStatus }),
    images: serveCalls(ImageServiceService, calls.images, { logger, toStatus }),
  };
  let socket: SocketServer | undefined;
  async function open(): Promise<void> {
    if (listen !== undefined) socket = await listenOnSocket(listen, served);
  }
  async function shut(why: string): Promise<void> {
    inFlight.shut(unavailable(why));
    const closing = socket;
    socket = undefined;
    await closing?.close();
  }

  const faults = podFaults(core);
  const scripts = nodeScripts(core);
  await open();
  for (const container of core.state.containers.values()) schedulePlanned(core, container);
  return {
    client: createInProcessClient(calls, clock),
    rules: core.rules,
    handlers: core.handlers,
    state: core.state,
    killSandbox: faults.killSandbox,
    exitContainer: faults.exitContainer,
    awaitVolume: scripts.awaitVolume,
    probeFailure: scripts.probeFailure,
    reboot() {
      inFlight.interrupt(unavailable("the machine restarts"));
      applyReboot(core);
    },
    outage: () => shut("connection refused: the simulated runtime is out of order"),
    async restore() {
      if (!socket) await open();
      inFlight.reopen();
    },
    async close() {
      await shut("the simulated runtime has stopped");
      core.timers.close();
    },
  };
}

/** Faults that can be injected into pods. */
interface PodFaults {
  /** Kills the pod's sandbox: it becomes not ready, and its containers exit with 137. */
  killSandbox(podUid: string): void;
  /** Makes the running container with this name exit. */
  exitContainer(podUid: string, name: string, code: number): void;
}

function podFaults(core: SimulatedCore): PodFaults {
  function sandboxesOf(podUid: string): readonly SandboxRecord[] {
    return core.state.byPod.get(podUid) ?? [];
  }
  return {
    killSandbox(podUid) {
      const sandbox = sandboxesOf(podUid).find(({ state }) => state === "ready");
      if (!sandbox) throw new Error(`pod ${podUid} has no ready sandbox`);
      endSandbox(core, sandbox);
    },
    exitContainer(podUid, name, code) {
      const container = sandboxesOf(podUid)
        .flatMap(({ containers }) => containers)
        .find(({ metadata, state }) => metadata.name === name && state.kind === "running");
      if (!container) throw new Error(`pod ${podUid} has no running container ${name}`);
      endContainer(core, container, endingOf({ code }));
    },
  };
}

/**
 * Sets the state that a runtime finds after a reboot: no sandbox is ready, and running containers have exited with an
 * unknown result. No events are published.
 */
function applyReboot(core: SimulatedCore): void {
  for (const sandbox of core.state.sandboxes.values()) sandbox.state = "notReady";
  for (const container of core.state.containers.values())
    if (container.state.kind === "running")
      endContainer(core, container, { exitCode: 255, reason: "Unknown", message: "" });
}

/** Scripts for operations without a CRI call, which the kubelet of a simulated node requests. */
interface NodeScripts {
  /** Resolves when the volume may be mounted; rejects with the scripted error. */
  awaitVolume(
    volume: Pick<Facts, "namespace" | "pod" | "uid" | "volume">,
    signal: AbortSignal,
  ): Promise<void>;
  /** Scripted failure of a probe; undefined without one. */
  probeFailure(containerId: string, probe: "startup" | "liveness" | "readiness"): string | undefined;
}

function nodeScripts(core: SimulatedCore): NodeScripts {
  return {
    async awaitVolume(volume, signal) {
      const { delayMs = 0, error } = core.rules.scriptFor("volume", volume);
      await sleepUntil(core.clock, core.clock.now() + delayMs, signal);
      if (error !== undefined) throw new Error(error);
    },
    probeFailure: (containerId, probe) =>
      probeScript(core, findContainer(core.state, containerId), probe).failure,
  };
}
