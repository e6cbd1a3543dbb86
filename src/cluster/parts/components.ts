import { createHash } from "node:crypto";
import { hostname } from "node:os";
import { resolve } from "node:path";
import type { Features } from "../../api/meta/feature-gates.ts";
import {
  localVolumesUser,
  serviceAccountGroups,
  serviceAccountUsername,
} from "../../apiserver/request/user-info.ts";
import type { Client } from "../../client/api/client.ts";
import { createClient } from "../../client/api/create-client.ts";
import { type LeaderElectionOptions, runWhileLeader } from "../../client/leader-election/leader-election.ts";
import { runControllers } from "../../controllers/controller-manager.ts";
import { upstreamLease } from "../../controllers/shared/controller-names.ts";
import { type Clock, systemClock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import type { Metrics } from "../../lib/metrics/metrics.ts";
import { createScheduler } from "../../scheduler/scheduler.ts";
import { dataDirPaths } from "../data-dir/data-dir-files.ts";
import type { ControlPlane, Subject } from "./control-plane.ts";

/** Scheduler or controllers: a part that only uses the API. */
interface Component {
  stop(): Promise<void>;
}

interface ComponentOptions {
  readonly controlPlane: ControlPlane;
  readonly logger: Logger;
  readonly clock: Clock | undefined;
  readonly metrics: Metrics;
}

interface RunDeps {
  readonly client: Client;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Runs a part that only uses the API, as its own user, until it is stopped. */
function startComponent(
  name: string,
  user: Subject,
  { controlPlane, logger, clock = systemClock }: Omit<ComponentOptions, "metrics">,
  run: (deps: RunDeps, signal: AbortSignal) => Promise<void>,
): Component {
  const client = createClient({ transport: controlPlane.connect(user), userAgent: `kindling-${name}` });
  const stopping = new AbortController();
  const component = logger.component(name);
  const running = run({ client, clock, logger: component }, stopping.signal).catch((error) => {
    // It ends before it is stopped only because of an error; the other parts continue.
    if (!stopping.signal.aborted) component.error(`the ${name} failed`, { error });
  });
  return {
    async stop() {
      stopping.abort(new Error("the cluster stops"));
      await running;
      client.close();
    },
  };
}

/** Starts the scheduler. */
export function startScheduler(options: ComponentOptions): Component {
  const user = { commonName: "system:kube-scheduler" };
  const { metrics } = options;
  return startComponent("scheduler", user, options, ({ client, clock, logger }, signal) =>
    createScheduler({ client, clock, logger, metrics }).run(signal),
  );
}

/**
 * Election with the lease of upstream's controller manager, so that one that is started in addition waits. The identity
 * is derived from the data directory: a cluster that was killed reuses its lease immediately.
 */
function controllerElection(
  dataDir: string,
  { client, logger }: { readonly client: Client; readonly logger: Logger },
): LeaderElectionOptions {
  const directory = createHash("sha256").update(resolve(dataDir)).digest("hex").slice(0, 16);
  return {
    client,
    namespace: "kube-system",
    name: upstreamLease,
    identity: `${hostname()}_${directory}`,
    // System time, because other processes do not use a clock that tests control.
    clock: systemClock,
    monotonicMs: () => performance.now(),
    // Longer than the default, because other managers are rare and a stalled machine should not stop the controllers.
    leaseDurationMs: 60_000,
    renewDeadlineMs: 40_000,
    retryPeriodMs: 5_000,
    onOtherHolder: (holder) =>
      logger.warn(
        `the controllers of this cluster do not run: ${holder} holds the lease kube-system/${upstreamLease}, so another controller manager is at work; stop it to have them run here`,
      ),
    logger,
  };
}

/** Starts the controllers, which run while this process holds the lease. */
export function startControllers(
  options: ComponentOptions & { readonly dataDir: string; readonly features: Features },
): Component {
  const { controlPlane, dataDir, features, metrics } = options;
  // As upstream: one user that may read everything, and for each controller a service account with its own permissions.
  const user = { commonName: "system:kube-controller-manager" };
  return startComponent("controllers", user, options, async ({ client, clock, logger }, signal) => {
    const clients: Client[] = [];
    const connect = (subject: Subject) => {
      const transport = controlPlane.connect(subject);
      const connected = createClient({ transport, userAgent: "kindling-controllers" });
      clients.push(connected);
      return connected;
    };
    const clientAs = (account: string) =>
      connect({
        commonName: serviceAccountUsername("kube-system", account),
        organizations: serviceAccountGroups("kube-system"),
      });
    const classCreator = connect({ commonName: localVolumesUser });
    const localVolumes = { directory: resolve(dataDirPaths(dataDir).volumes), classCreator };
    const rootCa = controlPlane.ca;
    try {
      await runWhileLeader(
        controllerElection(dataDir, { client, logger }),
        (leading) =>
          runControllers(
            { client, clientAs, clock, logger, features, rootCa, localVolumes, metrics },
            leading,
          ),
        signal,
      );
    } finally {
      for (const connected of clients) connected.close();
    }
  });
}
