import { setMaxListeners } from "node:events";
import type { Client } from "../client/client.ts";
import { createEventRecorder, type RunningEventRecorder } from "../client/event-recorder.ts";
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
  /** The service account in kube-system that upstream has for it, with the rights that it needs and no others. */
  readonly account: string;
  /** Until the signal aborts. Asks for its informers before it first waits. */
  run(context: ControllerContext, signal: AbortSignal): Promise<void>;
}

/** Every controller, in the order in which they start. */
const controllers: readonly ControllerEntry[] = [
  { account: "statefulset-controller", run: runStatefulSetController },
  { account: "replicaset-controller", run: runReplicaSetController },
  { account: "deployment-controller", run: runDeploymentController },
  { account: "disruption-controller", run: runDisruptionController },
  { account: "pod-garbage-collector", run: runPodGcController },
  { account: "node-controller", run: runNodeLifecycleController },
  { account: "node-controller", run: runTaintEvictionController },
  { account: "endpoint-controller", run: runEndpointsController },
  { account: "endpointslice-controller", run: runEndpointSliceController },
  { account: "generic-garbage-collector", run: runGarbageCollector },
  { account: "namespace-controller", run: runNamespaceController },
  { account: "persistent-volume-binder", run: runPersistentVolumeController },
  { account: "service-account-controller", run: runServiceAccountController },
];

export interface ControllersOptions
  extends Pick<ControllerContext, "clock" | "logger" | "features" | "rootCa" | "localVolumes" | "metrics"> {
  /** Lists and watches everything. Without `clientAs` it is also what every controller acts with. */
  readonly client: Client;
  /** For a controller, as its service account in kube-system. */
  readonly clientAs?: (account: string) => Client;
  /** Says what would be done, and does nothing. */
  readonly dryRun?: boolean;
}

/** All controllers, until the signal aborts; one that fails ends them all. */
export async function runControllers(options: ControllersOptions, signal: AbortSignal): Promise<void> {
  const { client: reader, clientAs, dryRun = false, localVolumes, ...parts } = options;
  const { clock, logger } = parts;
  const actor = (account: string) => {
    const client = clientAs?.(account) ?? reader;
    return dryRun ? createDryRunClient(client, logger) : client;
  };
  const informers = createInformers({ client: reader, clock, logger });
  const stopping = new AbortController();
  // Every informer, queue and recorder listens to it: many listeners are no leak here.
  setMaxListeners(0, stopping.signal);
  const stop = () => stopping.abort(signal.reason);
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  const recorders: RunningEventRecorder[] = [];

  function contextOf(account: string): ControllerContext {
    const client = actor(account);
    return {
      ...parts,
      // Directories are made without asking any client.
      ...(!dryRun && { localVolumes }),
      client,
      clientAs: actor,
      reader,
      informers,
      recorder(component) {
        const recorder = createEventRecorder({ client, clock, logger, component, writers: 4 });
        recorders.push(recorder);
        return recorder;
      },
    };
  }

  const running = controllers.map(({ account, run }) => run(contextOf(account), stopping.signal));
  const watching = informers.run(stopping.signal);
  const recording = recorders.map((recorder) => recorder.run(stopping.signal));
  try {
    await Promise.all(running);
  } finally {
    signal.removeEventListener("abort", stop);
    stopping.abort(new Error("the controllers stop"));
    await Promise.allSettled([...running, watching, ...recording]);
  }
}
