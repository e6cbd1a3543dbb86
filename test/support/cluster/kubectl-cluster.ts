import { beforeAll } from "vitest";
import { createKubectl, type Kubectl } from "../kubectl/kubectl.ts";
import { type TestCluster, type TestClusterOptions, useCluster } from "./use-cluster.ts";

/** A cluster for tests that need kubectl. */
export interface KubectlCluster extends TestCluster {
  readonly kubectl: Kubectl;
  apply(...objects: object[]): Promise<void>;
}

/** Starts a cluster like `useCluster`. */
export function useKubectlCluster(options: TestClusterOptions = {}): KubectlCluster {
  const cluster = useCluster(options);
  const extended = {} as KubectlCluster;
  beforeAll(() => {
    const kubectl = createKubectl(cluster.server.kubeconfig);
    const apply = async (...objects: object[]) => {
      const list = { apiVersion: "v1", kind: "List", items: objects };
      await kubectl.ok("apply -f -", { input: JSON.stringify(list) });
    };
    Object.assign(extended, cluster, { kubectl, apply });
  });
  return extended;
}
