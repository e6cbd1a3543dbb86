import { randomUUID } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Pod } from "../../api/meta/objects.ts";
import { StatusError } from "../../api/meta/status-error.ts";
import type { Client } from "../../client/api/client.ts";
import type { CriClient } from "../../cri/cri-client.ts";
import { withDeadline } from "../../lib/abort.ts";
import { type BackoffPolicy, retry } from "../../lib/backoff.ts";
import type { Clock } from "../../lib/clock.ts";
import { writeFileAtomic } from "../../lib/fs/write-file-atomic.ts";
import { isMapping } from "../../lib/is-mapping.ts";
import type { Logger } from "../../lib/logger.ts";
import { isStaticPod } from "../model/cri-labels.ts";
import {
  decideClaim,
  describeRefusal,
  hasMarkOf,
  type KubeletIdentity,
  type ListedSandbox,
  markAnnotations,
  type OwnerFacts,
  readMark,
} from "./decide-claim.ts";

/**
 * Ownership of the sandboxes in the runtime, decided by the data directory when the kubelet starts:
 *
 *     open ── sandboxes of another kubelet exist ── rejects: the kubelet does not start
 *       └── cluster UID read ── equals the recorded one, or is the first ── settled
 *                            └── another UID, and sandboxes of the old cluster exist ── rejects: the kubelet stops
 */
export interface SandboxOwnership {
  /** Whether the kubelet may stop or remove the sandbox. */
  isOwn(sandbox: Pick<ListedSandbox, "id" | "annotations">): boolean;
  /** Annotations that mark a new sandbox of the pod. Waits for the cluster UID, except for static pods. */
  mark(pod: Pod): Promise<Readonly<Record<string, string>>>;
  /** Resolves when the API server has confirmed the cluster. Orphans must not be terminated before. */
  readonly settled: Promise<void>;
  /** Reads the cluster UID. Rejects if sandboxes belong to a cluster other than the API server's. */
  run(signal: AbortSignal): Promise<void>;
}

interface OwnershipOptions {
  readonly client: Pick<Client, "get">;
  readonly cri: { readonly runtime: Pick<CriClient["runtime"], "listPodSandbox"> };
  readonly nodeName: string;
  readonly dataDir: string;
  /** Adopts sandboxes that this kubelet did not create. */
  readonly adopt: boolean;
  readonly clock: Clock;
  readonly logger: Logger;
}

const retryPolicy: BackoffPolicy = { initialMs: 100, maxMs: 5_000, factor: 2, resetAfterMs: 60_000 };
/** Time that the start waits for the API server when the data directory does not identify the cluster. */
const clusterUidTimeoutMs = 10_000;

/** Rejects if the runtime has sandboxes of another kubelet. */
export async function openOwnership(
  options: OwnershipOptions,
  signal: AbortSignal,
): Promise<SandboxOwnership> {
  const { client, cri, nodeName, dataDir, adopt, clock, logger } = options;
  let record = await readIdentity(dataDir);
  let saving = Promise.resolve();
  let isIdSaved = false;
  let unmarked: ReadonlySet<string> = new Set();
  let settle = { resolve: () => {}, reject: (_reason: unknown) => {} };
  const settled = new Promise<void>((resolve, reject) => {
    settle = { resolve, reject };
  });
  settled.catch(() => {});

  const identity = (): KubeletIdentity => ({ nodeName, ...record });

  /** Serializes writes; each writes the latest record. */
  function save(changes: Partial<IdentityRecord>): Promise<void> {
    record = { ...record, ...changes };
    saving = saving.catch(() => {}).then(() => writeIdentity(dataDir, record));
    return saving;
  }

  async function listSandboxes(): Promise<readonly ListedSandbox[]> {
    const onFailure = (error: unknown) =>
      logger.warn("failed to list the sandboxes in the runtime, retrying", { error });
    const list = () => cri.runtime.listPodSandbox({ filter: undefined }, { signal });
    return (await retry(list, { policy: retryPolicy, clock, signal, onFailure })).items;
  }

  /** A failed write is not fatal: the next kubelet reads the UID again. */
  async function saveOrWarn(clusterUid: string): Promise<void> {
    await save({ clusterUid }).catch((error) => logger.warn("failed to save the cluster UID", { error }));
  }

  /** Claims the sandboxes for the given cluster. Throws if some belong to another kubelet. */
  async function claim(sandboxes: readonly ListedSandbox[], clusterUid: string | undefined): Promise<void> {
    const facts = await readOwnerFacts({ dataDir, nodeName }, { ...record, clusterUid });
    const decision = decideClaim(sandboxes, facts, { adopt });
    if (decision.kind === "reject") throw new Error(describeRefusal(decision.notOwned, facts.identity));
    unmarked = decision.unmarked;
    const added = [...decision.adopted].filter((id) => !record.adoptedSandboxes.includes(id));
    if (added.length > 0) logger.warn("sandboxes of another kubelet were adopted", { count: added.length });
    const changed = added.length > 0 || decision.adopted.size !== record.adoptedSandboxes.length;
    if (changed || clusterUid !== record.clusterUid) {
      await save({ clusterUid, adoptedSandboxes: [...decision.adopted] });
    }
  }

  /**
   * Cluster UID for the start. Without a record, own sandboxes look the same as another cluster's, so the API server is
   * asked.
   */
  async function uidForStart(sandboxes: readonly ListedSandbox[]): Promise<string | undefined> {
    const isInDoubt = ({ annotations }: ListedSandbox) => {
      const mark = readMark(annotations);
      return mark?.nodeName === nodeName && mark.clusterUid !== undefined;
    };
    if (adopt || record.clusterUid !== undefined || !sandboxes.some(isInDoubt)) return record.clusterUid;
    return withDeadline({ clock, timeoutMs: clusterUidTimeoutMs, signal }, untilUidRead).catch(() => {
      signal.throwIfAborted();
      return undefined;
    });
  }

  function untilUidRead(until: AbortSignal): Promise<string | undefined> {
    const onFailure = (error: unknown) => logger.debug("failed to read the cluster UID, retrying", { error });
    return retry(() => readClusterUid(client, until), {
      policy: retryPolicy,
      clock,
      signal: until,
      onFailure,
    });
  }

  const found = await listSandboxes();
  await claim(found, await uidForStart(found));

  return {
    isOwn: ({ id, annotations }) => hasMarkOf(annotations, identity()) || unmarked.has(id),
    async mark(pod) {
      if (!isStaticPod(pod)) await settled;
      if (record.clusterUid === undefined && !isIdSaved) {
        await save({});
        isIdSaved = true;
      }
      return markAnnotations(identity());
    },
    settled,
    async run(until) {
      try {
        const clusterUid = await untilUidRead(until);
        const known = record.clusterUid;
        if (clusterUid !== undefined && known === undefined) await saveOrWarn(clusterUid);
        else if (clusterUid !== undefined && known !== clusterUid)
          await claim(await listSandboxes(), clusterUid);
        settle.resolve();
      } catch (error) {
        settle.reject(error);
        if (!until.aborted) throw error;
      }
    },
  };
}

/** Undefined if the node may not read the namespace, or if it does not exist. */
async function readClusterUid(client: Pick<Client, "get">, signal: AbortSignal): Promise<string | undefined> {
  try {
    return (await client.get("namespaces", { name: "kube-system" }, { signal })).metadata.uid;
  } catch (error) {
    if (error instanceof StatusError && (error.code === 403 || error.code === 404)) return undefined;
    throw error;
  }
}

/** Record in the data directory by which a kubelet recognizes its sandboxes without an API server. */
interface IdentityRecord {
  readonly kubeletId: string;
  readonly clusterUid: string | undefined;
  /** Ids of sandboxes that were adopted from another kubelet. */
  readonly adoptedSandboxes: readonly string[];
}

const pathIn = (dataDir: string) => join(dataDir, "identity.json");

/** Reads the record. Returns a new one if the directory has none or an unreadable one. */
async function readIdentity(dataDir: string): Promise<IdentityRecord> {
  const text = await readFile(pathIn(dataDir), "utf8").catch(orEmpty(""));
  return parseIdentity(text) ?? { kubeletId: randomUUID(), clusterUid: undefined, adoptedSandboxes: [] };
}

async function writeIdentity(dataDir: string, record: IdentityRecord): Promise<void> {
  await writeFileAtomic(pathIn(dataDir), `${JSON.stringify(record)}\n`);
}

/** Reads the facts about sandbox ownership from the data directory of a kubelet, which need not be running. */
export async function readOwnerFacts(
  { dataDir, nodeName }: { readonly dataDir: string; readonly nodeName: string },
  record?: IdentityRecord,
): Promise<OwnerFacts> {
  const identity = record ?? (await readIdentity(dataDir));
  return {
    identity: { nodeName, ...identity },
    adopted: new Set(identity.adoptedSandboxes),
    logDirectories: new Set(await readdir(join(dataDir, "logs")).catch(orEmpty<string[]>([]))),
  };
}

function parseIdentity(text: string): IdentityRecord | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isMapping(value) || typeof value.kubeletId !== "string" || value.kubeletId === "") return undefined;
  const { kubeletId, clusterUid, adoptedSandboxes } = value;
  return {
    kubeletId,
    clusterUid: typeof clusterUid === "string" && clusterUid !== "" ? clusterUid : undefined,
    adoptedSandboxes: Array.isArray(adoptedSandboxes)
      ? adoptedSandboxes.filter((id): id is string => typeof id === "string")
      : [],
  };
}

function orEmpty<T>(empty: T): (error: NodeJS.ErrnoException) => T {
  return (error) => {
    if (error.code !== "ENOENT") throw error;
    return empty;
  };
}
