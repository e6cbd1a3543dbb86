import { isMapping } from "../../../lib/is-mapping.ts";
import type { PodNetworkRequest } from "../network.ts";
import { NetworkError } from "../network-error.ts";
import type { PluginConfig } from "./cni-config.ts";

/** What a runtime can tell plugins that say they want to know. */
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

/** The part of them for one plugin: those that its configuration declares. */
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
  // Bursts without a bound, as containerd has them: a small one would throttle below the rate.
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
  // Upstream's bounds.
  if (!number || !(value >= 1e3 && value <= 1e15))
    throw new NetworkError("invalid", `${JSON.stringify(quantity)} is not a bandwidth from 1k to 1P`);
  return Math.ceil(value);
}
