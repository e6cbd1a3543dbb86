// Clauses: 3542-14
import { hostname } from "node:os";
import { setFlagsFromString } from "node:v8";
import { type Command, InvalidArgumentError, Option } from "commander";
import { connectContentStore } from "../../cri/cri-client.ts";
import { component, createNodeAgent } from "../../node-agent/node-agent.ts";
import { defaultAgentPort } from "../../node-agent/server/agent-server.ts";
import { readGivenFile, UsageError } from "../options/command-errors.ts";
import { type ListenAddress, listenOption } from "../options/common-options.ts";
import { addLogOptions, loggerOf } from "../options/log-options.ts";
import { runComponent } from "../run/run-component.ts";
import { findClientCa } from "../run/serve-metrics.ts";

type NodeAgentFlags = Parameters<typeof loggerOf>[0] & {
  kubeconfig?: string;
  containerdSocket: string;
  nodeName: string;
  listen: ListenAddress;
  progressInterval: number;
  /** Commander drops the "no-" of --no-progress-timeout. */
  progressTimeout: number;
  tlsCertFile?: string;
  tlsPrivateKeyFile?: string;
  clientCaFile?: string;
};

const examples = `
Examples:
  kindling node-agent --kubeconfig agent.kubeconfig --containerd-socket /run/containerd/containerd.sock
  kindling node-agent --node-name worker-1      in a pod on the node worker-1

The socket gives root access to the node. The agent only reads the content store of containerd: it never pulls, removes or
runs anything.`;

export function configure(command: Command): void {
  addLogOptions(command)
    .option("--kubeconfig <file>", "kubeconfig of the cluster (default: the cluster that this pod runs in)")
    .option("--containerd-socket <path>", "socket of containerd", "/run/containerd/containerd.sock")
    .addOption(
      new Option("--node-name <name>", "name of the node")
        .env("NODE_NAME")
        .default(hostname().toLowerCase(), "the host name"),
    )
    .addOption(listenOption(`0.0.0.0:${defaultAgentPort}`))
    .option(
      "--progress-interval <seconds>",
      "seconds between progress events of a pull, at least 10",
      parseSeconds({ min: 10 }),
      30,
    )
    .option(
      "--no-progress-timeout <seconds>",
      "seconds without data after which a pull is reported as stalled, at least 60; 0 disables it",
      parseSeconds({ min: 0 }),
      60,
    )
    .option("--tls-cert-file <file>", "serving certificate (default: a self-signed one)")
    .option("--tls-private-key-file <file>", "private key of --tls-cert-file")
    .option("--client-ca-file <file>", "CA of client certificates (default: the client CA of the cluster)")
    .addHelpText("after", examples)
    .action(runNodeAgent);
}

async function runNodeAgent(flags: NodeAgentFlags): Promise<void> {
  // V8 then returns memory after a burst of pulls, as in the kubelet, and does not enlarge the space for new objects.
  setFlagsFromString("--optimize-for-size");
  setFlagsFromString("--semi-space-growth-factor=1");
  const { nodeName, listen } = flags;
  if ((flags.tlsCertFile === undefined) !== (flags.tlsPrivateKeyFile === undefined))
    throw new UsageError("--tls-cert-file and --tls-private-key-file must be set together");
  const cert = await readGivenFile("--tls-cert-file", flags.tlsCertFile);
  const key = await readGivenFile("--tls-private-key-file", flags.tlsPrivateKeyFile);
  const givenCa = await readGivenFile("--client-ca-file", flags.clientCaFile);
  const logger = loggerOf(flags).component("node-agent");
  const store = connectContentStore(flags.containerdSocket);
  try {
    await runComponent(
      {
        ...(flags.kubeconfig !== undefined && { kubeconfig: flags.kubeconfig }),
        userAgent: component,
        logger,
      },
      async ({ client, clock }, signal) => {
        const clientCa = givenCa ?? (await findClientCa({ client, logger }));
        const agent = await createNodeAgent({
          client,
          store,
          nodeName,
          every: { kind: "time", intervalMs: flags.progressInterval * 1_000 },
          noProgressTimeoutSeconds: flags.progressTimeout,
          serving: { listen, ...(cert && key && { tls: { cert, key } }), ...(clientCa && { clientCa }) },
          clock,
          logger,
        });
        process.stdout.write(`node-agent of ${nodeName} is running on port ${agent.port}\n`);
        await agent.run(signal);
      },
    );
  } finally {
    store.close();
  }
}

function parseSeconds({ min }: { readonly min: number }): (text: string) => number {
  return (text) => {
    const seconds = Number(text);
    if (!/^\d+$/.test(text) || seconds < min)
      throw new InvalidArgumentError(`must be a whole number of seconds, at least ${min}`);
    return seconds;
  };
}
