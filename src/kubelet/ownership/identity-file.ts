import { randomUUID } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { writeFileAtomic } from "../../lib/fs/write-file-atomic.ts";
import { isMapping } from "../../lib/is-mapping.ts";
import type { OwnerFacts } from "./decide-claim.ts";

/** Record in the data directory by which a kubelet recognizes its sandboxes without an API server. */
export interface IdentityRecord {
  readonly kubeletId: string;
  readonly clusterUid: string | undefined;
  /** Ids of sandboxes that were adopted from another kubelet. */
  readonly adoptedSandboxes: readonly string[];
}

const pathIn = (dataDir: string) => join(dataDir, "identity.json");

/** Reads the record. Returns a new one if the directory has none or an unreadable one. */
export async function readIdentity(dataDir: string): Promise<IdentityRecord> {
  const text = await readFile(pathIn(dataDir), "utf8").catch(orEmpty(""));
  return parseIdentity(text) ?? { kubeletId: randomUUID(), clusterUid: undefined, adoptedSandboxes: [] };
}

export async function writeIdentity(dataDir: string, record: IdentityRecord): Promise<void> {
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
