import { randomInt } from "node:crypto";
import { internalError } from "../../api/status-error.ts";
import type { Store } from "../../store/store.ts";
import { registryPrefix } from "../registry/object-key.ts";

/** 10.96.0.0/16, without its first and last address. */
const addressPrefix = "10.96";
/** The address of the `kubernetes` service, which pods reach the API at. */
export const apiServiceAddress = `${addressPrefix}.0.1`;
export const addressRange = `${addressPrefix}.0.0/16`;
export const nodePortRange = { first: 30_000, last: 32_767 };

const claimPrefix = `${registryPrefix}kindling/claims/`;
const attempts = 1_000;

/**
 * Which cluster addresses and node ports are in use. Each is a key of the store: two servers cannot give the same
 * one away, for only one of them creates the key. Names are `ip/10.96.0.1` and `port/30000`.
 */
export interface ServiceClaims {
  /** False when another owner has it. */
  claim(name: string, owner: string): Promise<boolean>;
  /** A free one, chosen at random; only looked for, and not taken, when no owner is given. */
  claimAny(kind: "ip" | "port", owner: string | undefined): Promise<string>;
  isFree(name: string): Promise<boolean>;
  /** Gives up what an owner had until `revision`; what it claimed again since then stays. */
  release(names: readonly string[], owner: string, revision: number): Promise<void>;
  /** Frees what was unused in two runs of it: what a crash or a refused request left. */
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
      // Written again, so that a release of what the owner had before leaves it alone.
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
      // What is unused for the first time may belong to a service that is just being created.
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
  // The first 256 addresses are left to those who choose theirs by hand.
  const number = 256 + randomInt(65_535 - 256);
  return `${addressPrefix}.${number >>> 8}.${number & 255}`;
}

function randomPort(): number {
  return randomInt(nodePortRange.first, nodePortRange.last + 1);
}
