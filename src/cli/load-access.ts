import { type ClusterAccess, loadInClusterAccess, loadKubeconfig } from "../client/cluster-access.ts";
import { UsageError } from "./usage-error.ts";

/** The cluster that `--kubeconfig` names; without it, the one in one of whose pods this runs. */
export async function loadAccess(kubeconfig: string | undefined): Promise<ClusterAccess> {
  if (kubeconfig !== undefined) return loadKubeconfig(kubeconfig);
  if (!process.env.KUBERNETES_SERVICE_HOST)
    throw new UsageError("--kubeconfig is missing, and this is not a pod, which would know its cluster");
  return loadInClusterAccess();
}
