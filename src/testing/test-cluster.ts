import type { Features } from "../api/meta/feature-gates.ts";
import type { Faults } from "./faults.ts";
import type { Duration, TestClient } from "./test-client.ts";

export interface TestClusterOptions {
  /** Number of nodes, named node-1, node-2 and so on. Defaults to 1. */
  readonly nodes?: number;
  /** Gates that differ from the defaults. */
  readonly features?: Partial<Features>;
  /** `simulated` (default) runs no processes. `real` runs containers, which requires root. */
  readonly runtime?: "simulated" | "real";
  /** Runtime handlers of simulated nodes, for RuntimeClasses. */
  readonly handlers?: readonly string[];
  /** Manifest or objects to create at the start. */
  readonly objects?: string | readonly object[];
  /** Port of the API on 127.0.0.1. Defaults to any free port. */
  readonly port?: number;
  /** Level of the cluster's log on standard error. Defaults to no log. */
  readonly log?: "debug" | "info" | "warn" | "error";
}

/** Clock of the cluster. It follows the system clock and can be advanced ahead of it. */
export interface ClusterClock {
  /** Milliseconds since the epoch. */
  now(): number;
  /**
   * Advances the time. Probes, back-offs, deadlines and leases that become due run in order. Resolves when the cluster
   * is idle at the new time; operations in progress continue.
   */
  advance(duration: Duration): Promise<void>;
}

export interface TestCluster extends AsyncDisposable {
  /** `https://127.0.0.1:40123` */
  readonly url: string;
  /** Path of a kubeconfig with administrator access. */
  readonly kubeconfig: string;
  readonly kubeconfigText: string;
  readonly client: TestClient;
  readonly clock: ClusterClock;
  readonly faults: Faults;
  /** Names of the nodes. */
  readonly nodes: readonly string[];
  /** Stops the cluster and removes its files. Idempotent. */
  close(): Promise<void>;
}
