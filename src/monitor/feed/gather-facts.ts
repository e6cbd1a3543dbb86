import { conditionOf } from "../../api/meta/object-facts.ts";
import type { Event, Pod } from "../../api/meta/objects.ts";
import { StatusError } from "../../api/meta/status-error.ts";
import { hasEnded } from "../../api/pod/pod-state.ts";
import type { Client, ObjectKey, ResourceName } from "../../client/api/client.ts";
import type { Existing, KnownClaim, PodFacts } from "../../explain/explanation.ts";
import { pullsFromEvents } from "../../explain/pulls-from-events.ts";
import { withDeadline } from "../../lib/abort.ts";
import type { Clock } from "../../lib/clock.ts";
import { readCrashLogs } from "./crash-logs.ts";
import type { PullView } from "./feed-message.ts";
import { findMissingConfig } from "./missing-config.ts";
import { createPullReader, type PulledPod, parseStartupProbes, type ReadPulls } from "./pull-reader.ts";

export interface GatherDeps {
  readonly client: Client;
  readonly clock: Clock;
}

/**
 * Reads the facts about a pod from the API server and its kubelet. Throws if the pod does not exist. What the caller may
 * not read is omitted and named in `unreadable`.
 */
export async function gatherFacts(
  deps: GatherDeps,
  key: Required<ObjectKey>,
  signal: AbortSignal,
): Promise<PodFacts> {
  const { client, clock } = deps;
  const pod = await client.get("pods", key, { signal });
  const read = createReader(client, signal);
  const node = pod.spec?.nodeName;
  const readKubelet = (endpoint: string) =>
    node && fromKubelet(deps, `/api/v1/nodes/${node}/proxy/${endpoint}/${key.namespace}/${key.name}`, signal);
  const [events, pulls, startup, nodeFact, claims, missing, logs] = await Promise.all([
    read.events({ ...key, kind: "Pod" }),
    node && withNodeDeadline(deps, signal, (limited) => readPulls(deps, { node, ...key }, limited)),
    readKubelet("startupProbes"),
    node ? read.find("nodes", { name: node }) : undefined,
    isStarted(pod) ? undefined : readClaims(read, pod),
    findMissingConfig(client, { pod, now: clock.now() }, signal),
    withNodeDeadline(deps, signal, (limited) => readCrashLogs(client, pod, limited)),
  ]);
  const own = eventsAbout(pod.metadata.uid, events);
  const reported = pulls || [];
  return {
    pod,
    events: own,
    pulls: reported.length > 0 ? reported : pullsFromEvents(own),
    ...parseStartupProbes(startup),
    node: nodeFact,
    claims,
    missing,
    logs,
    unreadable: read.unreadable(),
    now: clock.now(),
  };
}

/** Reads objects as far as the caller may, and records what the caller may not read. */
function createReader(client: Client, signal: AbortSignal) {
  const forbidden = new Set<string>();

  async function unlessForbidden<T>(what: string, request: Promise<T>): Promise<T | undefined> {
    try {
      return await request;
    } catch (error) {
      if (!(error instanceof StatusError) || error.code !== 403) throw error;
      forbidden.add(what);
      return undefined;
    }
  }

  return {
    async find<Name extends ResourceName>(resource: Name, key: ObjectKey) {
      const request = client.get(resource, key, { signal }).then(
        (object): Existing<typeof object> => ({ kind: "found", object }),
        (error: unknown): Existing<never> => {
          if (error instanceof StatusError && error.code === 404) return { kind: "missing" };
          throw error;
        },
      );
      return unlessForbidden(resource, request);
    },
    async events({ namespace, name, kind }: Required<ObjectKey> & { readonly kind: string }) {
      const fieldSelector = `involvedObject.kind=${kind},involvedObject.name=${name}`;
      const list = await unlessForbidden(
        "events",
        client.list("events", { namespace, fieldSelector, signal }),
      );
      return list?.items;
    },
    unreadable: () => [...forbidden].sort(),
  };
}

type Reader = ReturnType<typeof createReader>;

/** Whether the pod's volumes are mounted, or no longer matter. */
function isStarted(pod: Pod): boolean {
  return hasEnded(pod) || conditionOf(pod, "PodReadyToStartContainers")?.status === "True";
}

async function readClaims(read: Reader, pod: Pod): Promise<readonly KnownClaim[]> {
  const { namespace = "default" } = pod.metadata;
  const claims = await Promise.all(
    claimNames(pod).map(async (name): Promise<KnownClaim | undefined> => {
      const [claim, events] = await Promise.all([
        read.find("persistentvolumeclaims", { namespace, name }),
        read.events({ namespace, name, kind: "PersistentVolumeClaim" }),
      ]);
      if (!claim) return undefined;
      if (claim.kind === "missing") return { name, claim, events: [] };
      const { storageClassName } = claim.object.spec ?? {};
      const storageClass = storageClassName
        ? await read.find("storageclasses", { name: storageClassName })
        : undefined;
      return {
        name,
        claim,
        events: eventsAbout(claim.object.metadata.uid, events),
        ...(storageClass && { classExists: storageClass.kind === "found" }),
      };
    }),
  );
  return claims.flatMap((claim) => claim ?? []);
}

function eventsAbout(uid: string | undefined, events: readonly Event[] = []): readonly Event[] {
  return events.filter(({ involvedObject }) => involvedObject.uid === uid);
}

/** Names of the claims that a pod mounts. A generic ephemeral volume has the claim POD-VOLUME. */
function claimNames({ metadata, spec }: Pod): readonly string[] {
  return (spec?.volumes ?? []).flatMap(({ name, persistentVolumeClaim, ephemeral }) =>
    ephemeral ? `${metadata.name}-${name}` : (persistentVolumeClaim?.claimName ?? []),
  );
}

/** Time limit of requests that pass through the API server to a node, which may be unreachable. */
const nodeTimeoutMs = 3_000;

/** Readers by client: a command that watches a pod reads it each second. */
const readers = new WeakMap<Client, ReadPulls>();

/** Reads running pulls from the node. Undefined if the node does not report them, and for callers without permission. */
async function readPulls(
  deps: GatherDeps,
  pod: PulledPod,
  signal: AbortSignal,
): Promise<readonly PullView[] | undefined> {
  const read = readers.get(deps.client) ?? createPullReader(deps);
  readers.set(deps.client, read);
  try {
    return await read(pod, signal);
  } catch (error) {
    if (error instanceof StatusError) return undefined;
    throw error;
  }
}

/** Reads an endpoint of Kindling's kubelet. Undefined for other kubelets and for callers without permission. */
async function fromKubelet(deps: GatherDeps, path: string, signal: AbortSignal): Promise<unknown> {
  return withNodeDeadline(deps, signal, async (limited) => {
    try {
      return await deps.client.request<unknown>("GET", path, { signal: limited });
    } catch (error) {
      if (error instanceof StatusError) return undefined;
      throw error;
    }
  });
}

/** Result of the task; undefined if the node does not respond in time. */
async function withNodeDeadline<T>(
  { clock }: GatherDeps,
  signal: AbortSignal,
  task: (signal: AbortSignal) => Promise<T>,
): Promise<T | undefined> {
  let expired = false;
  try {
    return await withDeadline({ clock, timeoutMs: nodeTimeoutMs, signal }, (limited) => {
      limited.addEventListener("abort", () => {
        expired = true;
      });
      return task(limited);
    });
  } catch (error) {
    if (expired && !signal.aborted) return undefined;
    throw error;
  }
}
