import type { Features } from "../api/feature-gates.ts";
import type { Duration } from "./duration.ts";
import type { Faults } from "./faults.ts";
import type { TestClient } from "./test-client.ts";

export interface TestClusterOptions {
  /** How many; 1 unless told. Named node-1, node-2 and so on. */
  readonly nodes?: number;
  /** Gates that differ from the defaults. */
  readonly features?: Partial<Features>;
  /** `simulated`, unless told: pods are state and time, no processes. `real` runs containers, which takes root. */
  readonly runtime?: "simulated" | "real";
  /** Runtime handlers of simulated nodes, for RuntimeClasses to name. */
  readonly handlers?: readonly string[];
  /** A manifest, or objects, that are there when the cluster is. */
  readonly objects?: string | readonly object[];
  /** Of the API on 127.0.0.1; any that is free unless told. */
  readonly port?: number;
  /** Whether to write the cluster's log to standard error; not unless told. */
  readonly log?: "debug" | "info" | "warn" | "error";
}

/** The time by which the cluster goes. It goes on by itself; moved, it is ahead of the system's. */
export interface ClusterClock {
  /** Milliseconds since the epoch. */
  now(): number;
  /**
   * Moves ahead. Whatever comes due on the way happens in its order: probes, back-offs, deadlines, leases. Resolves
   * when the cluster has nothing more to do at the new time; what it began then goes on.
   */
  advance(duration: Duration): Promise<void>;
}

export interface TestCluster extends AsyncDisposable {
  /** `https://127.0.0.1:40123` */
  readonly url: string;
  /** The path of a file for kubectl and for any client: its user is the cluster's administrator. */
  readonly kubeconfig: string;
  readonly kubeconfigText: string;
  readonly client: TestClient;
  readonly clock: ClusterClock;
  readonly faults: Faults;
  /** Their names. */
  readonly nodes: readonly string[];
  /** Ends all of it and removes its files. Does nothing the second time. */
  close(): Promise<void>;
}
