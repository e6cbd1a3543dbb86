import { type ClusterAccess, loadInClusterAccess, loadKubeconfig } from "../client/cluster-access.ts";
import { KubeconfigError } from "../client/kubeconfig.ts";
import { UsageError } from "./usage-error.ts";

/** The cluster that `--kubeconfig` names; without it, the one in one of whose pods this runs. */
export async function loadAccess(kubeconfig: string | undefined): Promise<ClusterAccess> {
  if (kubeconfig !== undefined) return loadGivenAccess(kubeconfig);
  if (!process.env.KUBERNETES_SERVICE_HOST)
    throw new UsageError("--kubeconfig is missing, and this is not a pod, which would know its cluster");
  return loadInClusterAccess();
}

/** The cluster of a kubeconfig that somebody has named; one that is no good is wrong usage. */
export async function loadGivenAccess(
  kubeconfig: string,
  { context, namedBy = "--kubeconfig" }: { readonly context?: string; readonly namedBy?: string } = {},
): Promise<ClusterAccess> {
  return loadKubeconfig(kubeconfig, { context }).catch((error: unknown) => {
    throw error instanceof KubeconfigError ? new UsageError(`${namedBy}: ${error.message}`) : error;
  });
}
