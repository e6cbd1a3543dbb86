import { readFile } from "node:fs/promises";
import { parse } from "yaml";
import {
  editKubeconfig,
  type Merged,
  mergeKubeconfig,
  unmergeKubeconfig,
} from "../../client/kubeconfig/merge-kubeconfig.ts";
import type { Clock } from "../../lib/clock.ts";

/** Merges the administrator's access from the kubeconfig of the cluster into a kubeconfig of the user. */
export async function mergeAccess(options: {
  readonly dataDir: string;
  /** Kubeconfig of the cluster. */
  readonly kubeconfig: string;
  readonly into: string;
  readonly makeCurrent: boolean;
  readonly clock: Clock;
}): Promise<Merged> {
  const { dataDir, into, makeCurrent, clock } = options;
  const written = parse(await readFile(options.kubeconfig, "utf8"));
  const [{ cluster }] = written.clusters;
  const [{ user }] = written.users;
  let merged: Merged | undefined;
  await editKubeconfig(into, {
    clock,
    change(text) {
      merged = mergeKubeconfig(text, { dataDir, cluster, user, makeCurrent });
      return merged.text;
    },
  });
  if (!merged) throw new Error(`the kubeconfig ${into} was not changed`);
  return merged;
}

/** Removes the access from every file that it was merged into. Missing files are ignored. */
export async function unmergeAccess(
  files: readonly string[],
  { dataDir, clock }: { readonly dataDir: string; readonly clock: Clock },
): Promise<void> {
  for (const file of files) {
    await editKubeconfig(file, {
      clock,
      change: (text) => (text === "" ? undefined : unmergeKubeconfig(text, dataDir)),
    });
  }
}
