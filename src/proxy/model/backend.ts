import type { ServicePort } from "./service-port.ts";

/** Service ports by `namespace/name` of their service. */
export type ProxyState = ReadonlyMap<string, readonly ServicePort[]>;

/**
 * Backend that directs connections to services. `sync` calls never overlap.
 *
 * A backend takes over what an earlier process of the same name left behind: its first sync replaces it in one step.
 */
export interface ProxyBackend {
  readonly name: "nftables" | "userspace";
  /** Sentences about what this backend cannot do on this machine. */
  readonly limitations: readonly string[];
  /**
   * Applies the state. `changed` names the services that differ from the last sync; undefined means that everything may
   * differ. After a rejection, the caller syncs everything.
   */
  sync(state: ProxyState, changed: ReadonlySet<string> | undefined): Promise<void>;
  /** Whether the written rules still exist. Another program may have removed them. */
  isIntact(): Promise<boolean>;
  /** Removes everything that the backend has created. */
  remove(): Promise<void>;
  /** Releases resources of this process. Rules stay, so that connections continue. */
  close(): Promise<void>;
}
