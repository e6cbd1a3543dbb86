import { createEventRecorder, type EventRecorderOptions } from "../client/event-recorder.ts";
import { createDryRunClient } from "./dry-run-client.ts";
import { createInformers } from "./informers.ts";
import type { ControllerContext } from "./run-controller.ts";
import { runStatefulSetController } from "./stateful-set/stateful-set-controller.ts";

interface ControllerEntry {
  readonly name: string;
  /** Until the signal aborts. Asks for its informers before it first waits. */
  run(context: ControllerContext, signal: AbortSignal): Promise<void>;
}

/** Every controller, in the order in which they start. */
const controllers: readonly ControllerEntry[] = [
  { name: "statefulset", run: runStatefulSetController },
];

export interface ControllersOptions
  extends Pick<ControllerContext, "client" | "clock" | "logger" | "features"> {
  /** Says what would be done, and does nothing. */
  readonly dryRun?: boolean;
}

/** All controllers, until the signal aborts; one that fails ends them all. */
export async function runControllers(options: ControllersOptions, signal: AbortSignal): Promise<void> {
  const { clock, logger, features, dryRun = false } = options;
  const client = dryRun ? createDryRunClient(options.client, logger) : options.client;
  const informers = createInformers({ client, clock, logger });
  const stopping = new AbortController();
  const stop = () => stopping.abort(signal.reason);
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  const recorders = createRecorders({ client, clock, logger });
  const context = { client, clock, logger, features, informers, recorder: recorders.create };

  const running = controllers.map(({ run }) => run(context, stopping.signal));
  const watching = informers.run(stopping.signal);
  const recording = recorders.run(stopping.signal);
  try {
    await Promise.all(running);
  } finally {
    signal.removeEventListener("abort", stop);
    stopping.abort(new Error("the controllers stop"));
    await Promise.allSettled([...running, watching, recording]);
  }
}

function createRecorders(deps: Pick<EventRecorderOptions, "client" | "clock" | "logger">) {
  const recorders: ReturnType<typeof createEventRecorder>[] = [];
  return {
    create(component: string) {
      const recorder = createEventRecorder({ ...deps, component });
      recorders.push(recorder);
      return recorder;
    },
    async run(signal: AbortSignal): Promise<void> {
      await Promise.all(recorders.map((recorder) => recorder.run(signal)));
    },
  };
}
