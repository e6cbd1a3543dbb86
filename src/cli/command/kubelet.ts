import { homedir, hostname } from "node:os";
import { join, resolve } from "node:path";
import { setFlagsFromString } from "node:v8";
import { type Command, InvalidArgumentError, Option } from "commander";
import { defaultFeatures, parseFeatureGates } from "../../api/feature-gates.ts";
import { versionInfo } from "../../api/version.ts";
import { createClient } from "../../client/create-client.ts";
import { createHttpTransport } from "../../client/http-transport.ts";
import { connectCri } from "../../cri/cri-client.ts";
import {
  defaultKubeletConfiguration,
  parseKubeletConfiguration,
} from "../../kubelet/configuration/kubelet-configuration.ts";
import { createKubelet, maxApiConnections } from "../../kubelet/kubelet.ts";
import { messageOf } from "../../lib/message-of.ts";
import { loadGivenAccess } from "../load-access.ts";
import { addLogOptions, loggerOf } from "../log-options.ts";
import { parseGivenFile } from "../read-given-file.ts";
import { runtimeEndpointOption } from "../runtime-endpoint-option.ts";
import { serveUntilStopped } from "../until-stopped.ts";

type KubeletFlags = Parameters<typeof loggerOf>[0] & {
  kubeconfig: string;
  runtimeEndpoint: string;
  nodeName: string;
  nodeIp?: readonly string[];
  dataDir: string;
  config?: string;
  featureGates?: string;
};

const examples = `
Examples:
  kindling kubelet --kubeconfig node.kubeconfig --runtime-endpoint unix:///run/containerd/containerd.sock
  kindling kubelet --kubeconfig node.kubeconfig --node-name worker-1 --config kubelet.yaml`;

export function configure(command: Command): void {
  addLogOptions(command)
    .requiredOption("--kubeconfig <file>", "the API server, and who this node is there (system:node:NAME)")
    .addOption(runtimeEndpointOption())
    .addOption(
      new Option("--node-name <name>", "the node's name").default(
        hostname().toLowerCase(),
        "the machine's name",
      ),
    )
    .option("--node-ip <ip...>", "the node's addresses, instead of the machine's own")
    .option(
      "--data-dir <dir>",
      "where pods' volumes and logs are kept",
      join(homedir(), ".kindling", "kubelet"),
    )
    .option("--config <file>", "a KubeletConfiguration (kubelet.config.k8s.io/v1beta1)")
    .addOption(
      new Option("--feature-gates <list>", "switch features: Name=true,Other=false").argParser(
        checkFeatureGates,
      ),
    )
    .addHelpText("after", examples)
    .action(runKubelet);
}

async function runKubelet(flags: KubeletFlags): Promise<void> {
  // What a burst of pods leaves behind would stay for as long as nothing happens: 99 MB instead of 75 a minute after 15
  // pods. Node warns of flags that are set after the start, but this one is only looked at when a collection decides how
  // far the heap may grow. Given at the start it saves no more, and a first line with `env -S` does not work everywhere.
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
        logger,
      },
      signal,
    );
    const running = kubelet.run(signal);
    // What an init system sends when the power goes: pods get their time, and the API hears of it.
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

/** What is wrong is said at once; what it means depends on the configuration file. */
function checkFeatureGates(text: string): string {
  try {
    parseFeatureGates(text);
    return text;
  } catch (error) {
    throw new InvalidArgumentError(messageOf(error));
  }
}
