import { isEqual } from "../api/meta/is-equal.ts";
import type { Container, Namespace, NetworkPolicy, Pod } from "../api/meta/objects.ts";
import type { Client } from "../client/api/client.ts";
import { createInformer } from "../client/informers/informer.ts";
import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import { keepRules } from "../lib/nftables/keep-rules.ts";
import { createWakeUp } from "../lib/wake-up.ts";
import { compilePolicies } from "./compile/compile-policies.ts";
import type { PolicyTables } from "./nftables/policy-tables.ts";
import { type AttachedPod, isFiltered, observePods } from "./observe-pods.ts";

export interface PolicyEnforcerOptions {
  readonly client: Client;
  readonly nodeName: string;
  readonly tables: PolicyTables;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface PolicyEnforcer {
  /**
   * Puts the policies of a pod in place before its first container starts. Rejects if the rules could not be written: the
   * caller tries again later.
   */
  protect(pod: Pod, addresses: readonly string[], signal: AbortSignal): Promise<void>;
  /** Keeps the rules in sync with policies, pods and namespaces until the signal aborts. The rules stay. */
  run(signal: AbortSignal): Promise<void>;
}

/** Enforces network policies for the pods of this node. */
export function createPolicyEnforcer(options: PolicyEnforcerOptions): PolicyEnforcer {
  const { client, nodeName, tables, clock, logger } = options;
  const policies = createInformer({ client, resource: "networkpolicies", clock, logger, trim: trimPolicy });
  const pods = createInformer({ client, resource: "pods", clock, logger, trim: trimPod });
  const namespaces = createInformer({ client, resource: "namespaces", clock, logger, trim: trimNamespace });
  const changes = createWakeUp();
  /** Pods by uid that the kubelet attached, oldest first. */
  const attached = new Map<string, AttachedPod>();
  /** Those that the written rules know. */
  const written = new WeakSet<AttachedPod>();
  let dirty = true;
  /** The first sync that starts after now. */
  let upcoming = createAttempt();

  function markDirty(): void {
    dirty = true;
    changes.wake();
  }
  policies.onChange((change) => {
    if (change.kind !== "changed" || !isEqual(change.previous.spec, change.object.spec)) markDirty();
  });
  namespaces.onChange((change) => {
    const { object } = change;
    if (change.kind !== "changed" || !isEqual(change.previous.metadata.labels, object.metadata.labels))
      markDirty();
  });
  pods.onChange((change) => {
    const { object } = change;
    if (change.kind === "deleted" || !isFiltered(object)) attached.delete(object.metadata.uid ?? "");
    if (change.kind !== "changed" || isPodChanged(change.previous, object)) markDirty();
  });

  async function sync(): Promise<void> {
    const attempt = upcoming;
    upcoming = createAttempt();
    dirty = false;
    const included = [...attached.values()];
    try {
      const current = [...policies.list()];
      await tables.sync(
        current.length === 0
          ? undefined
          : compilePolicies({
              policies: current,
              pods: observePods(pods.list(), attached, nodeName),
              namespaces: new Map(
                [...namespaces.list()].map(({ metadata }) => [metadata.name ?? "", metadata.labels]),
              ),
            }),
      );
      for (const entry of included) written.add(entry);
      attempt.resolve();
    } catch (error) {
      dirty = true;
      attempt.reject(error);
      throw error;
    }
  }

  return {
    async protect(pod, addresses, signal) {
      const uid = pod.metadata.uid ?? "";
      let entry = attached.get(uid);
      if (!entry || !isEqual(entry.addresses, addresses)) {
        entry = { pod: trimPod(pod), addresses };
        // The runtime has released the address of the pod that had it before.
        for (const [other, before] of attached)
          if (other === uid || before.addresses.some((address) => addresses.includes(address)))
            attached.delete(other);
        attached.set(uid, entry);
      }
      if (written.has(entry)) return;
      const { ended } = upcoming;
      markDirty();
      await abortable(ended, signal);
    },
    async run(signal) {
      const ended = new AbortController();
      const stopped = AbortSignal.any([signal, ended.signal]);
      const running = [policies, pods, namespaces].map((informer) => informer.run(stopped));
      try {
        await Promise.all([policies.synced, pods.synced, namespaces.synced]);
        await keepRules(
          {
            of: "network policies",
            changes,
            isClean: () => !dirty,
            sync,
            isIntact: tables.isIntact,
            invalidate() {
              dirty = true;
            },
          },
          { clock, logger, signal },
        );
      } catch (error) {
        if (!signal.aborted) throw error;
      } finally {
        ended.abort();
        upcoming.reject(new Error("network policies are no longer enforced: the node stops"));
        await Promise.all(running);
      }
    },
  };
}

/** A promise that is settled by others. */
function createAttempt() {
  let settle: { resolve(): void; reject(reason: unknown): void } | undefined;
  const ended = new Promise<void>((resolve, reject) => {
    settle = { resolve, reject };
  });
  // Avoids an unhandled rejection when no pod waits.
  ended.catch(() => {});
  return {
    ended,
    resolve: () => settle?.resolve(),
    reject: (reason: unknown) => settle?.reject(reason),
  };
}

async function abortable(promise: Promise<void>, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  let abort = () => {};
  const aborted = new Promise<never>((_, reject) => {
    abort = () => reject(signal.reason);
  });
  signal.addEventListener("abort", abort, { once: true });
  try {
    await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

/** Whether facts changed that rules depend on. The status of a pod is written often. */
function isPodChanged(before: Pod, after: Pod): boolean {
  return (
    isFiltered(before) !== isFiltered(after) ||
    before.metadata.uid !== after.metadata.uid ||
    before.spec?.nodeName !== after.spec?.nodeName ||
    !isEqual(before.metadata.labels, after.metadata.labels) ||
    !isEqual(before.status?.podIPs, after.status?.podIPs)
  );
}

function trimPolicy({ metadata, spec }: NetworkPolicy): NetworkPolicy {
  const { name, namespace, uid, resourceVersion } = metadata;
  return { metadata: { name, namespace, uid, resourceVersion }, spec } as NetworkPolicy;
}

function trimNamespace({ metadata }: Namespace): Namespace {
  const { name, uid, resourceVersion, labels } = metadata;
  return { metadata: { name, uid, resourceVersion, labels } } as Namespace;
}

function trimPod({ metadata, spec, status }: Pod): Pod {
  const { name, namespace, uid, resourceVersion, labels, creationTimestamp } = metadata;
  const portsOf = (containers: readonly Container[] = []) =>
    containers.map(({ name: container, ports, restartPolicy }) => ({
      name: container,
      ports,
      restartPolicy,
    }));
  return {
    metadata: { name, namespace, uid, resourceVersion, labels, creationTimestamp },
    spec: {
      nodeName: spec?.nodeName,
      hostNetwork: spec?.hostNetwork,
      containers: portsOf(spec?.containers),
      initContainers: portsOf(spec?.initContainers),
    },
    status: { phase: status?.phase, podIPs: status?.podIPs },
  } as Pod;
}
