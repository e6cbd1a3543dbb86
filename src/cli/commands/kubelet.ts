import { homedir, hostname } from "node:os";
import { join, resolve } from "node:path";
import { setFlagsFromString } from "node:v8";
import { type Command, InvalidArgumentError, Option } from "commander";
import { defaultFeatures, parseFeatureGates } from "../../api/meta/feature-gates.ts";
import { versionInfo } from "../../api/meta/version.ts";
import { createClient } from "../../client/api/create-client.ts";
import { createHttpTransport } from "../../client/transport/http-transport.ts";
import { connectCri } from "../../cri/cri-client.ts";
import {
  defaultKubeletConfiguration,
  parseKubeletConfiguration,
} from "../../kubelet/config/kubelet-configuration.ts";
import { createKubelet, maxApiConnections } from "../../kubelet/kubelet.ts";
import { messageOf } from "../../lib/message-of.ts";
import { parseGivenFile } from "../options/command-errors.ts";
import { adoptSandboxesOption, runtimeEndpointOption } from "../options/common-options.ts";
import { addLogOptions, loggerOf } from "../options/log-options.ts";
import { serveUntilStopped } from "../run/until-stopped.ts";
import { loadGivenAccess } from "../run/user-access.ts";

type KubeletFlags = Parameters<typeof loggerOf>[0] & {
  kubeconfig: string;
  runtimeEndpoint: string;
  nodeName: string;
  nodeIp?: readonly string[];
  dataDir: string;
  adoptSandboxes: boolean;
  config?: string;
  featureGates?: string;
};

const examples = `
Examples:
  kindling kubelet --kubeconfig node.kubeconfig --runtime-endpoint unix:///run/containerd/containerd.sock
  kindling kubelet --kubeconfig node.kubeconfig --node-name worker-1 --config kubelet.yaml

If the runtime has pod sandboxes that another kubelet created, the kubelet refuses to start and changes nothing.
With --adopt-sandboxes it takes them over and terminates those of pods that are not in the API server.`;

export function configure(command: Command): void {
  addLogOptions(command)
    .requiredOption(
      "--kubeconfig <file>",
      "kubeconfig of the API server, with the credentials of this node (system:node:NAME)",
    )
    .addOption(runtimeEndpointOption())
    .addOption(
      new Option("--node-name <name>", "name of the node").default(hostname().toLowerCase(), "the host name"),
    )
    .option("--node-ip <ip...>", "addresses of the node (default: those of the machine)")
    .option(
      "--data-dir <dir>",
      "directory for volumes and logs of pods",
      join(homedir(), ".kindling", "kubelet"),
    )
    .addOption(adoptSandboxesOption())
    .option("--config <file>", "YAML file with a KubeletConfiguration (kubelet.config.k8s.io/v1beta1)")
    .addOption(
      new Option("--feature-gates <list>", "turn features on or off: Name=true,Other=false").argParser(
        checkFeatureGates,
      ),
    )
    .addHelpText("after", examples)
    .action(runKubelet);
}

async function runKubelet(flags: KubeletFlags): Promise<void> {
  // Without this flag V8 keeps the heap of a burst of pods while the kubelet is idle: 99 MB instead of 75 MB one minute
  // after 15 pods. Node discourages setting flags after startup, but V8 reads this one only when a garbage collection
  // limits heap growth. Setting it at startup saves no more, and `env -S` in the first line is not portable.
  setFlagsFromString("--optimize-for-size");
  const config =
    (await parseGivenFile("--config", flags.config, parseKubeletConfiguration)) ??
    defaultKubeletConfiguration;
  const features = parseFeatureGates(flags.featureGates ?? "", {
    ...defaultFeatures,
    ...config.featureGates,
  });
  const logger = loggerOf(flags).component("kubelet");
  const access = await loadGivenAccess(flags.kubeconfig);
  const transport = createHttpTransport({ access, maxConnections: maxApiConnections });
  const client = createClient({ transport, userAgent: "kindling-kubelet" });
  const cri = connectCri(flags.runtimeEndpoint);
  await serveUntilStopped(async (signal) => {
    const kubelet = await createKubelet(
      {
        client,
        cri,
        nodeName: flags.nodeName,
        ...(flags.nodeIp && { nodeIps: flags.nodeIp }),
        dataDir: resolve(flags.dataDir),
        config,
        features,
        version: versionInfo.gitVersion,
        adoptSandboxes: flags.adoptSandboxes,
        logger,
      },
      signal,
    );
    const running = kubelet.run(signal);
    // Signal of an init system on power failure: pods are terminated gracefully and reported to the API.
    process.once(
      "SIGPWR",
      () => void kubelet.shutDown().catch((error) => logger.error("shutdown failed", { error })),
    );
    await Promise.race([kubelet.ready, running]);
    if (!signal.aborted) process.stdout.write(`node ${flags.nodeName} is registered\n`);
    await running;
  }).finally(() => {
    cri.close();
    client.close();
  });
}

/** Validates the option. Its value is applied later, on top of the configuration file. */
function checkFeatureGates(text: string): string {
  try {
    parseFeatureGates(text);
    return text;
  } catch (error) {
    throw new InvalidArgumentError(messageOf(error));
  }
}
