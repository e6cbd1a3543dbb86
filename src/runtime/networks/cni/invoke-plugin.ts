import { isMapping } from "../../../lib/is-mapping.ts";
import { findProgram } from "../../drivers/find-program.ts";
import { NetworkError, type PodNetworkRequest } from "../network.ts";
import { endLeftoverProcesses, podVariable, runProcess } from "../run-process.ts";
import type { PluginConfig } from "./cni-config.ts";

type CniCommand = "ADD" | "DEL" | "CHECK" | "STATUS" | "VERSION";

export interface PluginCall {
  readonly command: CniCommand;
  readonly type: string;
  readonly config: Readonly<Record<string, unknown>>;
  readonly binDirs: readonly string[];
  readonly timeoutMs: number;
  readonly pod?: PodArguments;
}

export interface PodArguments {
  readonly podId: string;
  readonly namespacePath: string;
  readonly args: string;
  readonly interfaceName: string;
}

/** Runs a plugin, with parameters in the environment and JSON as configuration, result and error. */
export async function invokePlugin(call: PluginCall): Promise<Readonly<Record<string, unknown>>> {
  const { command, type, pod, timeoutMs } = call;
  const path = findProgram(type, call.binDirs);
  if (!path)
    throw new NetworkError("pluginFailed", `CNI plugin ${type} is not in ${call.binDirs.join(" or ")}`);
  const outcome = await runProcess(path, [], {
    input: JSON.stringify(call.config),
    env: {
      CNI_COMMAND: command,
      CNI_PATH: call.binDirs.join(":"),
      ...(pod
        ? {
            CNI_CONTAINERID: pod.podId,
            CNI_NETNS: pod.namespacePath,
            CNI_IFNAME: pod.interfaceName,
            CNI_ARGS: pod.args,
            [podVariable]: pod.podId,
          }
        : {}),
    },
    timeoutMs,
  });
  if (outcome.kind === "timedOut") {
    // Children may have left the process group.
    if (pod) await endLeftoverProcesses(pod.podId, { graceMs: 0 });
    const seconds = timeoutMs / 1_000;
    throw new NetworkError(
      "pluginTimedOut",
      `CNI plugin ${type} did not end ${command} within ${seconds} s${tail(outcome.stderr)}`,
    );
  }
  const response = parse(outcome.stdout);
  if (outcome.exitCode !== 0) {
    const why = response ? describeError(response) : `exit code ${outcome.exitCode}`;
    throw new NetworkError(
      "pluginFailed",
      `CNI plugin ${type} failed to ${command}: ${why}${tail(outcome.stderr)}`,
    );
  }
  if (!response && command === "ADD")
    throw new NetworkError("pluginFailed", `CNI plugin ${type} returned no result for ${command}`);
  return response ?? {};
}

function parse(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isMapping(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function describeError({ code, msg, details }: Record<string, unknown>): string {
  return [msg, details].filter(Boolean).join("; ") + (code === undefined ? "" : ` (code ${code})`);
}

function tail(stderr: string): string {
  const text = stderr.trim().slice(-500);
  return text ? `: ${text}` : "";
}

/** Capability arguments of a pod for plugins that declare them. */
export function capabilityArgs(pod: PodNetworkRequest): Readonly<Record<string, unknown>> {
  const portMappings = pod.portMappings
    .filter(({ hostPort }) => hostPort > 0)
    .map(({ protocol, containerPort, hostPort, hostIp }) => ({
      hostPort,
      containerPort,
      protocol: protocol.toLowerCase(),
      hostIP: hostIp,
    }));
  const bandwidth = bandwidthOf(pod.annotations);
  return {
    ...(portMappings.length > 0 ? { portMappings } : {}),
    ...(bandwidth ? { bandwidth } : {}),
    "io.kubernetes.cri.pod-annotations": pod.annotations,
  };
}

/** Capability arguments that the configuration of a plugin declares. */
export function runtimeConfigFor(
  plugin: PluginConfig,
  args: Readonly<Record<string, unknown>>,
): Record<string, unknown> | undefined {
  const { capabilities } = plugin;
  if (!isMapping(capabilities)) return undefined;
  const wanted = Object.entries(args).filter(([name]) => capabilities[name] === true);
  return wanted.length > 0 ? Object.fromEntries(wanted) : undefined;
}

function bandwidthOf(annotations: Readonly<Record<string, string>>): Record<string, number> | undefined {
  const ingress = annotations["kubernetes.io/ingress-bandwidth"];
  const egress = annotations["kubernetes.io/egress-bandwidth"];
  // Unlimited bursts, as in containerd: a small burst would throttle below the rate.
  const burst = 2 ** 32 - 1;
  const limits = {
    ...(ingress ? { ingressRate: bitsPerSecond(ingress), ingressBurst: burst } : {}),
    ...(egress ? { egressRate: bitsPerSecond(egress), egressBurst: burst } : {}),
  };
  return Object.keys(limits).length > 0 ? limits : undefined;
}

const multipliers: Readonly<Record<string, number>> = {
  ...{ "": 1, k: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15 },
  ...{ Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40, Pi: 2 ** 50 },
};

function bitsPerSecond(quantity: string): number {
  const [, number = "", unit = ""] = /^(\d+(?:\.\d+)?)([a-zA-Z]*)$/.exec(quantity) ?? [];
  const value = Number(number) * (multipliers[unit] ?? Number.NaN);
  // Limits of upstream.
  if (!number || !(value >= 1e3 && value <= 1e15))
    throw new NetworkError("invalid", `${JSON.stringify(quantity)} is not a bandwidth from 1k to 1P`);
  return Math.ceil(value);
}
