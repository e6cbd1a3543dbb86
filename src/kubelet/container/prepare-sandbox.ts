import { mkdir, readFile } from "node:fs/promises";
import type { Pod } from "../../api/objects.ts";
import type { EventToRecord } from "../../client/event-recorder.ts";
import type { PodSandboxConfig } from "../../cri/generated/cri.ts";
import { messageOf } from "../../lib/message-of.ts";
import { StartError } from "../start-error.ts";
import type { CpuSettings } from "./linux-resources.ts";
import type { NodeFacts } from "./node-facts.ts";
import { parseResolvConf } from "./parse-resolv-conf.ts";
import { podDns } from "./pod-dns.ts";
import { podLogDirectory } from "./pod-paths.ts";
import { buildSandboxConfig } from "./sandbox-config.ts";

export interface SandboxDeps {
  /** As they are now: addresses and what can be given change. */
  readonly node: () => NodeFacts;
  /** One directory a pod; upstream's is /var/log/pods. */
  readonly logsDirectory: string;
  readonly clusterDns: readonly string[];
  readonly clusterDomain: string;
  /** The node's resolv.conf; empty where pods are not to use it. */
  readonly resolvConf: string;
  /** The cgroup of the pod, made where it is not there yet; see PodCgroups. */
  readonly cgroupParent: (pod: Pod) => Promise<string>;
  readonly cpu: CpuSettings;
}

export interface PreparedSandbox {
  readonly config: PodSandboxConfig;
  /** What was changed to fit. */
  readonly warnings: readonly EventToRecord[];
}

/**
 * The configuration of the pod's sandbox, with the directory for its logs made.
 * Throws a StartError, `FailedCreatePodSandBox`, whose message is the cause alone.
 */
export async function prepareSandbox(
  deps: SandboxDeps,
  { pod, attempt }: { readonly pod: Pod; readonly attempt: number },
): Promise<PreparedSandbox> {
  const { clusterDns, clusterDomain, cpu, resolvConf } = deps;
  try {
    const logDirectory = podLogDirectory(deps.logsDirectory, pod);
    const { hostIps, machine } = deps.node();
    const [cgroupParent, resolverText] = await Promise.all([
      deps.cgroupParent(pod),
      resolvConf ? readFile(resolvConf, "utf8") : undefined,
      mkdir(logDirectory, { recursive: true, mode: 0o755 }),
    ]);
    const resolver = resolverText === undefined ? undefined : parseResolvConf(resolverText);
    const dns = podDns(pod, { clusterDns, clusterDomain, resolver, nodeIps: hostIps });
    const config = buildSandboxConfig({
      pod,
      attempt,
      logDirectory,
      dns: dns.config,
      clusterDomain,
      cgroupParent,
      machine,
      cpu,
    });
    return { config, warnings: dns.warnings };
  } catch (error) {
    const message = messageOf(error);
    throw new StartError("FailedCreatePodSandBox", message, { cause: error });
  }
}
