import { setMaxListeners } from "node:events";
import { createEventRecorder, type EventRecorderOptions } from "../client/event-recorder.ts";
import { runDeploymentController } from "./deployment/deployment-controller.ts";
import { runDisruptionController } from "./disruption/disruption-controller.ts";
import { createDryRunClient } from "./dry-run-client.ts";
import { runEndpointSliceController } from "./endpoint-slice/endpoint-slice-controller.ts";
import { runEndpointsController } from "./endpoints/endpoints-controller.ts";
import { runGarbageCollector } from "./garbage-collector/garbage-collector.ts";
import { createInformers } from "./informers.ts";
import { runNamespaceController } from "./namespace/namespace-controller.ts";
import { runNodeLifecycleController } from "./node-lifecycle/node-lifecycle-controller.ts";
import { runTaintEvictionController } from "./node-lifecycle/taint-eviction-controller.ts";
import { runPersistentVolumeController } from "./persistent-volume/persistent-volume-controller.ts";
import { runPodGcController } from "./pod-gc/pod-gc-controller.ts";
import { runReplicaSetController } from "./replica-set/replica-set-controller.ts";
import type { ControllerContext } from "./run-controller.ts";
import { runServiceAccountController } from "./service-account/service-account-controller.ts";
import { runStatefulSetController } from "./stateful-set/stateful-set-controller.ts";

interface ControllerEntry {
  readonly name: string;
  /** Until the signal aborts. Asks for its informers before it first waits. */
  run(context: ControllerContext, signal: AbortSignal): Promise<void>;
}

/** Every controller, in the order in which they start. */
const controllers: readonly ControllerEntry[] = [
  { name: "statefulset", run: runStatefulSetController },
  { name: "replicaset", run: runReplicaSetController },
  { name: "deployment", run: runDeploymentController },
  { name: "disruption", run: runDisruptionController },
  { name: "podgc", run: runPodGcController },
  { name: "nodelifecycle", run: runNodeLifecycleController },
  { name: "taint-eviction", run: runTaintEvictionController },
  { name: "endpoint", run: runEndpointsController },
  { name: "endpointslice", run: runEndpointSliceController },
  { name: "garbagecollector", run: runGarbageCollector },
  { name: "namespace", run: runNamespaceController },
  { name: "persistentvolume", run: runPersistentVolumeController },
  { name: "serviceaccount", run: runServiceAccountController },
];

export interface ControllersOptions
  extends Pick<
    ControllerContext,
    "client" | "clock" | "logger" | "features" | "rootCa" | "localVolumes" | "metrics"
  > {
  /** Says what would be done, and does nothing. */
  readonly dryRun?: boolean;
}

/** All controllers, until the signal aborts; one that fails ends them all. */
export async function runControllers(options: ControllersOptions, signal: AbortSignal): Promise<void> {
  const { clock, logger, features, rootCa, localVolumes, metrics, dryRun = false } = options;
  const client = dryRun ? createDryRunClient(options.client, logger) : options.client;
  const informers = createInformers({ client, clock, logger });
  const stopping = new AbortController();
  // Every informer, queue and recorder listens to it: many listeners are no leak here.
  setMaxListeners(0, stopping.signal);
  const stop = () => stopping.abort(signal.reason);
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  const recorders = createRecorders({ client, clock, logger });
  const context = {
    client,
    clock,
    logger,
    features,
    rootCa,
    localVolumes,
    metrics,
    informers,
    recorder: recorders.create,
  };

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
      const recorder = createEventRecorder({ ...deps, component, writers: 4 });
      recorders.push(recorder);
      return recorder;
    },
    async run(signal: AbortSignal): Promise<void> {
      await Promise.all(recorders.map((recorder) => recorder.run(signal)));
    },
  };
}
