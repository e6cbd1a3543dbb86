import type { CriClient } from "../cri/cri-client.ts";
import { ImageServiceService, RuntimeServiceService } from "../cri/generated/cri.ts";
import { listenOnSocket, type SocketServer } from "../cri/listen-on-socket.ts";
import { serveCalls } from "../cri/serve-call.ts";
import { type Clock, systemClock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import { containerCalls } from "./call/container-calls.ts";
import { execCalls } from "./call/exec-calls.ts";
import { imageCalls } from "./call/image-calls.ts";
import { infoCalls } from "./call/info-calls.ts";
import { sandboxCalls } from "./call/sandbox-calls.ts";
import { statsCalls } from "./call/stats-calls.ts";
import { schedulePlanned } from "./container-end.ts";
import { createCore } from "./core.ts";
import { toStatus, unavailable } from "./failure.ts";
import { loseProcesses, type PodFaults, podFaults } from "./faults.ts";
import { createInFlight, trackCalls } from "./in-flight.ts";
import { createInProcessClient } from "./in-process-client.ts";
import { type NodeScripts, nodeScripts } from "./node-scripts.ts";
import { createRuleBook, type SimulationRule, type SimulationRules } from "./script/rules.ts";
import { createSimulatedState, type SimulatedState } from "./state.ts";

export interface SimulatedRuntimeOptions {
  /** `unix:///path`; without it the runtime is there in this process only. */
  readonly listen?: string;
  readonly clock?: Clock;
  readonly logger: Logger;
  /** The rules to begin with; without any, everything goes well at once. */
  readonly script?: readonly SimulationRule[];
  /** Of an earlier runtime: its pods and images go on here. */
  readonly state?: SimulatedState;
  /** The runtime handlers that pods can name, beside none; `simulated` unless told. */
  readonly handlers?: readonly string[];
  /** Whether every image is here without a pull, but for those that a rule has a pull for; not unless told. */
  readonly imagesPresent?: boolean;
}

/** A CRI runtime without containers behind it: everything is state, time and rules. */
export interface SimulatedRuntime extends PodFaults, NodeScripts {
  /** The calls without a socket. */
  readonly client: CriClient;
  readonly rules: SimulationRules;
  /** The handlers that there are; can be changed. */
  readonly handlers: Set<string>;
  /** For the next one, after `close`. */
  readonly state: SimulatedState;
  /** The machine restarts: no sandbox is ready, containers ended with 255; calls and streams under way break off. */
  reboot(): void;
  /** Nobody answers any more, on the socket or in-process; containers go on. */
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

  await open();
  for (const container of core.state.containers.values()) schedulePlanned(core, container);
  return {
    client: createInProcessClient(calls, clock),
    rules: core.rules,
    handlers: core.handlers,
    state: core.state,
    ...podFaults(core),
    ...nodeScripts(core),
    reboot() {
      inFlight.interrupt(unavailable("the machine restarts"));
      loseProcesses(core);
    },
    outage: () => shut("connection refused: the simulated runtime is out of order"),
    async restore() {
      if (!socket) await open();
      inFlight.reopen();
    },
    async close() {
      await shut("the simulated runtime has stopped");
      core.agenda.close();
    },
  };
}
