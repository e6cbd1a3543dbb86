import { setMaxListeners } from "node:events";
import type { Client } from "../client/api/client.ts";
import { createEventRecorder, type RunningEventRecorder } from "../client/events/event-recorder.ts";
import { runCronJobController } from "./cron-job/cron-job-controller.ts";
import { runDaemonSetController } from "./daemon-set/daemon-set-controller.ts";
import { runDeploymentController } from "./deployment/deployment-controller.ts";
import { runDisruptionController } from "./disruption/disruption-controller.ts";
import { runEndpointSliceController } from "./endpoint-slice/endpoint-slice-controller.ts";
import { runEndpointSliceMirroringController } from "./endpoint-slice-mirroring/endpoint-slice-mirroring-controller.ts";
import { runEndpointsController } from "./endpoints/endpoints-controller.ts";
import { runGarbageCollector } from "./garbage-collector/garbage-collector.ts";
import { runJobController } from "./job/job-controller.ts";
import { runNamespaceController } from "./namespace/namespace-controller.ts";
import { runNodeLifecycleController } from "./node-lifecycle/node-lifecycle-controller.ts";
import { runTaintEvictionController } from "./node-lifecycle/taint-eviction-controller.ts";
import { runPersistentVolumeController } from "./persistent-volume/persistent-volume-controller.ts";
import { runPodGcController } from "./pod-gc/pod-gc-controller.ts";
import { runReplicaSetController } from "./replica-set/replica-set-controller.ts";
import { runResourceQuotaController } from "./resource-quota/resource-quota-controller.ts";
import { runServiceAccountController } from "./service-account/service-account-controller.ts";
import { type ControllerName, controllerNames } from "./shared/controller-names.ts";
import { createDryRunClient } from "./shared/dry-run-client.ts";
import { createInformers } from "./shared/informers.ts";
import type { ControllerContext } from "./shared/run-controller.ts";
import { runStatefulSetController } from "./stateful-set/stateful-set-controller.ts";
import { runTtlAfterFinishedController } from "./ttl-after-finished/ttl-after-finished-controller.ts";

interface ControllerEntry {
  /** Service account in kube-system with the permissions of this controller, named as upstream. */
  readonly account: string;
  /** Runs until the signal aborts. Requests its informers synchronously, before the informers start. */
  run(context: ControllerContext, signal: AbortSignal): Promise<void>;
}

const controllers: Readonly<Record<ControllerName, ControllerEntry>> = {
  "statefulset-controller": { account: "statefulset-controller", run: runStatefulSetController },
  "replicaset-controller": { account: "replicaset-controller", run: runReplicaSetController },
  "deployment-controller": { account: "deployment-controller", run: runDeploymentController },
  "daemonset-controller": { account: "daemon-set-controller", run: runDaemonSetController },
  "job-controller": { account: "job-controller", run: runJobController },
  "cronjob-controller": { account: "cronjob-controller", run: runCronJobController },
  "ttl-after-finished-controller": {
    account: "ttl-after-finished-controller",
    run: runTtlAfterFinishedController,
  },
  "disruption-controller": { account: "disruption-controller", run: runDisruptionController },
  "pod-garbage-collector-controller": { account: "pod-garbage-collector", run: runPodGcController },
  "node-lifecycle-controller": { account: "node-controller", run: runNodeLifecycleController },
  "taint-eviction-controller": { account: "node-controller", run: runTaintEvictionController },
  "endpoints-controller": { account: "endpoint-controller", run: runEndpointsController },
  "endpointslice-controller": { account: "endpointslice-controller", run: runEndpointSliceController },
  "endpointslice-mirroring-controller": {
    account: "endpointslicemirroring-controller",
    run: runEndpointSliceMirroringController,
  },
  "garbage-collector-controller": { account: "generic-garbage-collector", run: runGarbageCollector },
  "namespace-controller": { account: "namespace-controller", run: runNamespaceController },
  "resourcequota-controller": { account: "resourcequota-controller", run: runResourceQuotaController },
  "persistentvolume-binder-controller": {
    account: "persistent-volume-binder",
    run: runPersistentVolumeController,
  },
  "serviceaccount-controller": { account: "service-account-controller", run: runServiceAccountController },
};

export interface ControllersOptions
  extends Pick<ControllerContext, "clock" | "logger" | "features" | "rootCa" | "localVolumes" | "metrics"> {
  /** Client that may list and watch every resource. Without `clientAs`, controllers also write with it. */
  readonly client: Client;
  /** Returns a client for a controller's service account in kube-system. */
  readonly clientAs?: (account: string) => Client;
  /** Controllers to run. Defaults to all. */
  readonly enabled?: ReadonlySet<ControllerName>;
  /** Logs the writes that would be made instead of making them. */
  readonly dryRun?: boolean;
}

/** Runs the enabled controllers until the signal aborts or one of them fails. */
export async function runControllers(options: ControllersOptions, signal: AbortSignal): Promise<void> {
  const { client: reader, clientAs, enabled, dryRun = false, clock, logger } = options;
  const actor = (account: string) => {
    const client = clientAs?.(account) ?? reader;
    return dryRun ? createDryRunClient(client, logger) : client;
  };
  const informers = createInformers({ client: reader, clock, logger });
  const stopping = new AbortController();
  // Every informer, queue and recorder adds a listener, so that many of them are not a leak.
  setMaxListeners(0, stopping.signal);
  const stop = () => stopping.abort(signal.reason);
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  const recorders: RunningEventRecorder[] = [];

  function contextOf(account: string): ControllerContext {
    const client = actor(account);
    return {
      client,
      clientAs: actor,
      reader,
      clock,
      logger,
      features: options.features,
      informers,
      rootCa: options.rootCa,
      // Directories of volumes are created without a client, so a dry-run client would not prevent it.
      localVolumes: dryRun ? undefined : options.localVolumes,
      metrics: options.metrics,
      recorder(component) {
        const recorder = createEventRecorder({ client, clock, logger, component, writers: 4 });
        recorders.push(recorder);
        return recorder;
      },
    };
  }

  const running = controllerNames
    .filter((name) => enabled?.has(name) ?? true)
    .map((name) => controllers[name])
    .map(({ account, run }) => run(contextOf(account), stopping.signal));
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
