import { join } from "node:path";
import { type ControlPlaneOptions, startControlPlane } from "./control-plane.ts";
import { type RunningNode, type RuntimeChoice, startNode } from "./node.ts";

export interface ClusterOptions extends ControlPlaneOptions {
  readonly runtime: RuntimeChoice;
  readonly nodes: number;
}

export interface Cluster {
  readonly url: string;
  readonly kubeconfig: string;
  readonly nodes: readonly RunningNode[];
  /** Ends everything but the containers. */
  close(): Promise<void>;
}

/** All parts in one process. Its nodes are ready, or soon will be, when this resolves. */
export async function startCluster(options: ClusterOptions): Promise<Cluster> {
  const { dataDir, runtime, features, logger } = options;
  const controlPlane = startControlPlane(options);
  const names = Array.from({ length: options.nodes }, (_, i) => `node-${i + 1}`);
  const starting = names.map((name) =>
    startNode({ name, dataDir: join(dataDir, "nodes", name), runtime, controlPlane, features, logger }),
  );
  const close = async () => {
    // Also those that are only just starting when another one fails.
    for (const node of await Promise.allSettled(starting)) {
      if (node.status === "fulfilled") await node.value.close();
    }
    await (await controlPlane).close();
  };
  try {
    const { url, kubeconfig } = await controlPlane;
    return { url, kubeconfig, nodes: await Promise.all(starting), close };
  } catch (error) {
    await close().catch(() => {});
    throw error;
  }
}
