import { loadContextNames } from "../../client/kubeconfig/cluster-access.ts";
import { targetKinds } from "../run/parse-target.ts";
import { kubectlKubeconfig, openFlagClient } from "../run/user-access.ts";
import type { Candidate, Completion } from "./complete-words.ts";

type ClusterCompletion = Extract<Completion, { kind: "cluster" }>;

/** Time that the user waits for completions, which an unavailable cluster does not have. */
const timeoutMs = 3_000;
const maxNames = 500;

/** Lists names in the cluster or the kubeconfig that start with the text. None if they cannot be read. */
export async function listCandidates(completion: ClusterCompletion): Promise<readonly Candidate[]> {
  const words = await listWords(completion).catch(() => []);
  return words
    .filter((word) => word.startsWith(completion.text) && isPrintable(word))
    .map((word) => ({ word }));
}

async function listWords({ of, text, options }: ClusterCompletion): Promise<readonly string[]> {
  const flags = {
    namespace: options["--namespace"],
    kubeconfig: options["--kubeconfig"] ?? (process.env.KUBECONFIG || kubectlKubeconfig()),
    context: options["--context"],
    as: options["--as"],
  };
  if (of === "context") return loadContextNames(flags.kubeconfig);
  const { client, namespace } = await openFlagClient(flags, "kindling-completion");
  const signal = AbortSignal.timeout(timeoutMs);
  const list = async (
    resource: "namespaces" | (typeof targetKinds)[keyof typeof targetKinds]["resource"],
  ) => {
    const scope = resource === "namespaces" ? {} : { namespace };
    const { items } = await client.list(resource, { ...scope, limit: maxNames, signal });
    return items.map(({ metadata }) => metadata.name ?? "");
  };
  const withKind = async (kind: keyof typeof targetKinds, as: string) =>
    (await list(targetKinds[kind].resource)).map((name) => `${as}/${name}`);
  try {
    switch (of) {
      case "namespace":
        return await list("namespaces");
      case "statefulset":
        return await withKind("statefulset", "statefulset");
      case "workload":
        return [
          ...(await withKind("statefulset", "statefulset")),
          ...(await withKind("deployment", "deployment")),
        ];
      case "pod": {
        const [, kind] = /^(pod|statefulset|deployment|replicaset)\//.exec(text) ?? [];
        return kind ? await withKind(kind as keyof typeof targetKinds, kind) : await list("pods");
      }
    }
  } finally {
    client.close();
  }
}

/** Excludes names that a shell or a terminal would interpret. */
function isPrintable(word: string): boolean {
  return /^[\w./:@-]+$/.test(word);
}
