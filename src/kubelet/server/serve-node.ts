import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import type { Pod } from "../../api/objects.ts";
import type { KubeletConfiguration } from "../configuration/kubelet-configuration.ts";
import { podLogDirectory } from "../container/pod-paths.ts";
import type { PodWorkers } from "../pod-workers.ts";
import type { StatusWriter } from "../status/status-writer.ts";
import { type KubeletServer, type KubeletServerOptions, startKubeletServer } from "./kubelet-server.ts";
import type { ServedPods } from "./served-pods.ts";

export interface ServeNodeOptions
  extends Pick<
    KubeletServerOptions,
    "nodeName" | "client" | "cri" | "progress" | "probes" | "metrics" | "health" | "clock" | "logger"
  > {
  readonly config: KubeletConfiguration;
  /** In place of the file that the configuration names. */
  readonly clientCa?: string;
  readonly workers: Pick<PodWorkers, "list">;
  readonly writer: Pick<StatusWriter, "latest">;
  readonly logsDirectory: string;
}

/** The kubelet's server as its configuration wants it; none where that says so. */
export async function serveNode(options: ServeNodeOptions): Promise<KubeletServer | undefined> {
  const { config, logsDirectory } = options;
  if (!config.enableServer) return undefined;
  const { tlsCertFile, tlsPrivateKeyFile, authentication, authorization } = config;
  const { clientCAFile } = authentication.x509;
  const clientCa = options.clientCa ?? (clientCAFile ? await readFile(clientCAFile) : undefined);
  return startKubeletServer({
    ...options,
    listen: { host: config.address, port: config.port },
    ...(tlsCertFile && {
      tls: { cert: await readFile(tlsCertFile), key: await readFile(tlsPrivateKeyFile) },
    }),
    ...(clientCa && { clientCa }),
    authentication: { anonymous: authentication.anonymous.enabled, webhook: authentication.webhook.enabled },
    authorization,
    pods: servedPods(options),
    logs: { root: logsDirectory, directoryName: (pod) => basename(podLogDirectory(logsDirectory, pod)) },
    config: () => config,
  });
}

function servedPods({ workers, writer }: Pick<ServeNodeOptions, "workers" | "writer">): ServedPods {
  const withStatus = (pod: Pod): Pod => ({ ...pod, status: writer.latest(pod) ?? pod.status ?? {} });
  return {
    find(namespace, name) {
      const pods = workers
        .list()
        .filter(({ metadata }) => metadata.namespace === namespace && metadata.name === name);
      // One that is going may still be here when its successor has come.
      const pod = pods.find(({ metadata }) => !metadata.deletionTimestamp) ?? pods[0];
      return pod && withStatus(pod);
    },
    list: () => workers.list().map(withStatus),
  };
}
