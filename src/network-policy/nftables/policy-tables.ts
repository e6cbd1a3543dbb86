import { readdir } from "node:fs/promises";
import { nft, runNft } from "../../lib/nftables/run-nft.ts";
import { renderChanges, type TableContent } from "../../lib/nftables/table-content.ts";
import type { RuleSet } from "../compile/rule-set.ts";
import {
  bridgeFrame,
  families,
  ipFrame,
  renderLinks,
  renderPolicyTable,
  renderRules,
  type TableFrame,
} from "./render-rules.ts";

export interface PolicyTablesOptions {
  readonly table: string;
  /** Bridge of this machine through which packets of all pods come. */
  readonly podInterface: string;
  /** Hardware address of that bridge. */
  readonly hardwareAddress: string;
}

/** Packet tables that enforce network policies: one for each IP family and one for the bridge. Calls never overlap. */
export interface PolicyTables {
  /**
   * Applies the rules in one transaction. Undefined: there are no policies, and the tables are removed. The first call
   * replaces the tables of an earlier process.
   */
  sync(rules: RuleSet | undefined): Promise<void>;
  /** Whether the written rules still exist. If another program has changed them, the next sync replaces the tables. */
  isIntact(): Promise<boolean>;
}

/** Content by table. */
type Contents = ReadonlyMap<TableFrame, TableContent>;

export function createPolicyTables(options: PolicyTablesOptions): PolicyTables {
  const { table, podInterface, hardwareAddress } = options;
  const bridge = bridgeFrame(table, hardwareAddress);
  const frames = families.map((family) => ({ family, frame: ipFrame({ family, table, podInterface }) }));
  /** What the kernel has. Undefined at the start and after a failure. */
  let written: Contents | undefined;

  async function render(rules: RuleSet): Promise<Contents> {
    const links = await readdir(`/sys/class/net/${podInterface}/brif`);
    return new Map<TableFrame, TableContent>([
      [bridge, renderLinks(links.filter((link) => /^[\w.-]+$/.test(link)))],
      ...frames.map(({ family, frame }) => [frame, renderRules(rules, family)] as const),
    ]);
  }

  function commandsFor(next: Contents): string[] {
    if (next.size === 0) return written?.size === 0 ? [] : removal(table);
    return [...next].flatMap(([frame, content]) => {
      const before = written?.get(frame);
      return before ? renderChanges(frame, before, content) : renderPolicyTable(frame, content);
    });
  }

  return {
    async sync(rules) {
      const next: Contents = rules ? await render(rules) : new Map();
      const commands = commandsFor(next);
      written = undefined;
      await runNft(commands);
      written = next;
    },
    async isIntact() {
      const found = await Promise.all(
        [...(written ?? [])].map(([frame, content]) => hasRules(frame, content)),
      );
      if (written && found.every(Boolean)) return true;
      written = undefined;
      return false;
    },
  };
}

async function hasRules({ family, table, chains }: TableFrame, content: TableContent): Promise<boolean> {
  const { exitCode, output } = await nft(["--terse", "list", "table", family, table]);
  if (exitCode !== 0) return false;
  const counts = countRules(output);
  const base = [...chains].map(([name, { rules }]) => [name, rules] as const);
  return [...base, ...content.chains].every(([name, rules]) => counts.get(name) === rules.length);
}

/** Counts the rules of each chain in the output of `nft list table`. They are printed in another form than written. */
function countRules(listing: string): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  let chain: string | undefined;
  for (const line of listing.split("\n").map((text) => text.trim())) {
    const name = /^chain (\S+) \{$/.exec(line)?.[1];
    if (name !== undefined) {
      chain = name;
      counts.set(name, 0);
    } else if (line === "}") chain = undefined;
    else if (chain !== undefined && line !== "" && !line.startsWith("type "))
      counts.set(chain, (counts.get(chain) ?? 0) + 1);
  }
  return counts;
}

/** Removes the tables, also those of an earlier process. */
export async function removePolicyTables(table: string): Promise<void> {
  await runNft(removal(table));
}

function removal(table: string): string[] {
  return [...families, "bridge"].flatMap((family) => [
    `add table ${family} ${table}`,
    `delete table ${family} ${table}`,
  ]);
}
