import { randomInt } from "node:crypto";
import { internalError } from "../../api/meta/status-error.ts";
import type { Store } from "../../store/store.ts";
import { registryPrefix } from "./object-key.ts";

/** 10.96.0.0/16, without its first and last address. */
const addressPrefix = "10.96";
/** Address of the `kubernetes` service, at which pods reach the API. */
export const apiServiceAddress = `${addressPrefix}.0.1`;
export const addressRange = `${addressPrefix}.0.0/16`;
export const nodePortRange = { first: 30_000, last: 32_767 };

const claimPrefix = `${registryPrefix}kindling/claims/`;
const attempts = 1_000;

/**
 * Allocated cluster addresses and node ports. Each is a key in the store: two servers cannot allocate the same one,
 * because only one of them creates the key. Names are `ip/10.96.0.1` and `port/30000`.
 */
export interface ServiceClaims {
  /** Returns false when another owner has it. */
  claim(name: string, owner: string): Promise<boolean>;
  /** Claims a random free one. Without an owner, it is chosen and not claimed. */
  claimAny(kind: "ip" | "port", owner: string | undefined): Promise<string>;
  isFree(name: string): Promise<boolean>;
  /** Releases claims that an owner made until `revision`. Later claims of the owner are kept. */
  release(names: readonly string[], owner: string, revision: number): Promise<void>;
  /** Releases claims that were unused in two consecutive runs: those of crashes and rejected requests. */
  repair(used: ReadonlySet<string>): Promise<void>;
}

export function createServiceClaims(store: Store): ServiceClaims {
  let suspects: ReadonlySet<string> = new Set();

  async function claim(name: string, owner: string): Promise<boolean> {
    const key = claimPrefix + name;
    const value = Buffer.from(owner);
    for (;;) {
      const result = await store.create(key, value);
      if (result.kind === "created") return true;
      if (result.current.value.toString() !== owner) return false;
      // Written again, so that a release of the owner's earlier claims does not release this one.
      const touched = await store.update(key, value, { ifRevision: result.current.revision });
      if (touched.kind === "updated") return true;
    }
  }

  const isFree = async (name: string) => (await store.get(claimPrefix + name)) === undefined;

  return {
    claim,
    isFree,
    async claimAny(kind, owner) {
      for (let attempt = 0; attempt < attempts; attempt++) {
        const candidate = kind === "ip" ? randomAddress() : String(randomPort());
        const name = `${kind}/${candidate}`;
        if (!(await isFree(name))) continue;
        if (owner === undefined || (await claim(name, owner))) return candidate;
      }
      const what = kind === "ip" ? "cluster address" : "node port";
      throw internalError(`no free ${what} was found for the service`);
    },
    async release(names, owner, revision) {
      for (const name of names) {
        const entry = await store.get(claimPrefix + name);
        if (!entry || entry.value.toString() !== owner || entry.revision >= revision) continue;
        await store.delete(entry.key, { ifRevision: entry.revision });
      }
    },
    async repair(used) {
      const { entries } = await store.list(claimPrefix);
      const unused = entries.filter(({ key }) => !used.has(key.slice(claimPrefix.length)));
      // A claim that is unused for the first time may belong to a service that is being created.
      for (const { key, revision } of unused)
        if (suspects.has(key)) await store.delete(key, { ifRevision: revision });
      suspects = new Set(unused.map(({ key }) => key));
    },
  };
}

export function isServiceAddress(address: string): boolean {
  return address.startsWith(`${addressPrefix}.`) && !/\.(0\.0|255\.255)$/.test(address);
}

function randomAddress(): string {
  // The first 256 addresses are reserved for services that choose their address.
  const number = 256 + randomInt(65_535 - 256);
  return `${addressPrefix}.${number >>> 8}.${number & 255}`;
}

function randomPort(): number {
  return randomInt(nodePortRange.first, nodePortRange.last + 1);
}
