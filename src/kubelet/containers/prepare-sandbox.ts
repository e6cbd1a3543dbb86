import { mkdir, readFile } from "node:fs/promises";
import { isIPv6 } from "node:net";
import type { Container, Pod } from "../../api/meta/objects.ts";
import { containersOf } from "../../api/pod/pod-containers.ts";
import type { EventToRecord } from "../../client/events/event-recorder.ts";
import {
  type DNSConfig,
  LinuxSandboxSecurityContext,
  type PodSandboxConfig,
  type PortMapping,
  SecurityProfile_ProfileType as ProfileType,
  Protocol,
} from "../../cri/generated/cri.ts";
import { messageOf } from "../../lib/message-of.ts";
import { parseResolvConf } from "../../lib/resolv-conf.ts";
import { type CpuSettings, sandboxResources } from "../cgroups/linux-resources.ts";
import { sandboxLabels } from "../model/cri-labels.ts";
import type { ContainerNodeFacts, MachineFacts } from "../model/node-facts.ts";
import { podLogDirectory } from "../model/pod-paths.ts";
import { StartError } from "../model/start-error.ts";
import { withMark } from "../ownership/decide-claim.ts";
import {
  idValue,
  namespaceOptions,
  podGroups,
  rejectUserNamespace,
  selinuxOption,
} from "./container-security.ts";
import { podDns, usesClusterDns } from "./pod-dns.ts";
import { kernelHostname, podHostname } from "./pod-hostname.ts";

export interface SandboxDeps {
  /** Current facts about the node: addresses and allocatable resources can change. */
  readonly node: () => ContainerNodeFacts;
  /** Parent of the pods' log directories; upstream's is /var/log/pods. */
  readonly logsDirectory: string;
  /** Addresses of the cluster's DNS servers; empty if it has none. May wait for their start. */
  readonly clusterDns: () => Promise<readonly string[]>;
  readonly clusterDomain: string;
  /** Path of the node's resolv.conf; empty if pods must not use it. */
  readonly resolvConf: string;
  /** Creates the pod's cgroup if it does not exist; see PodCgroups. */
  readonly cgroupParent: (pod: Pod) => Promise<string>;
  /** Annotations that mark the sandbox as this kubelet's; see SandboxOwnership. */
  readonly sandboxMark: (pod: Pod) => Promise<Readonly<Record<string, string>>>;
  readonly cpu: CpuSettings;
}

export interface PreparedSandbox {
  readonly config: PodSandboxConfig;
  /** Events about settings that were changed to fit limits. */
  readonly warnings: readonly EventToRecord[];
}

/**
 * Builds the CRI configuration of the pod's sandbox and creates its log directory. Throws a StartError with the reason
 * `FailedCreatePodSandBox` and the message of the cause.
 */
export async function prepareSandbox(
  deps: SandboxDeps,
  { pod, attempt }: { readonly pod: Pod; readonly attempt: number },
): Promise<PreparedSandbox> {
  const { clusterDomain, cpu, resolvConf } = deps;
  try {
    const logDirectory = podLogDirectory(deps.logsDirectory, pod);
    const { hostIps, machine } = deps.node();
    const [cgroupParent, mark, resolverText, clusterDns] = await Promise.all([
      deps.cgroupParent(pod),
      deps.sandboxMark(pod),
      resolvConf ? readFile(resolvConf, "utf8") : undefined,
      usesClusterDns(pod) ? deps.clusterDns() : [],
      mkdir(logDirectory, { recursive: true, mode: 0o755 }),
    ]);
    const resolver = resolverText === undefined ? undefined : parseResolvConf(resolverText);
    const dns = podDns(pod, { clusterDns, clusterDomain, resolver, nodeIps: hostIps });
    const config = buildSandboxConfig({
      pod,
      attempt,
      mark,
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

export interface SandboxRequest {
  readonly pod: Pod;
  /** 0 for the pod's first sandbox, incremented by each replacement. */
  readonly attempt: number;
  /** Annotations that identify the kubelet; pods cannot set them. */
  readonly mark: Readonly<Record<string, string>>;
  readonly logDirectory: string;
  readonly dns: DNSConfig;
  readonly clusterDomain: string;
  /** Empty lets the runtime choose the cgroup. */
  readonly cgroupParent: string;
  readonly machine: MachineFacts;
  readonly cpu: CpuSettings;
}

/** Throws if the spec cannot be converted. */
export function buildSandboxConfig(request: SandboxRequest): PodSandboxConfig {
  const { pod, attempt, logDirectory, dns, cgroupParent } = request;
  const { name = "", namespace = "", uid = "", annotations = {} } = pod.metadata;
  rejectUserNamespace(pod);
  return {
    metadata: { name, namespace, uid, attempt },
    hostname: sandboxHostname(pod, request.clusterDomain),
    logDirectory,
    dnsConfig: dns,
    portMappings: (pod.spec?.containers ?? []).flatMap(portMappings),
    labels: sandboxLabels(pod),
    annotations: withMark(annotations, request.mark),
    linux: {
      cgroupParent,
      securityContext: sandboxSecurity(pod),
      sysctls: Object.fromEntries(
        (pod.spec?.securityContext?.sysctls ?? []).map((sysctl) => [sysctl.name, sysctl.value]),
      ),
      ...sandboxResources(pod, request),
    },
  };
}

/** A pod on the host network has the node's host name. */
function sandboxHostname(pod: Pod, clusterDomain: string): string {
  if (pod.spec?.hostNetwork) return "";
  return kernelHostname(podHostname(pod, clusterDomain), pod.spec?.setHostnameAsFQDN);
}

function sandboxSecurity(pod: Pod): LinuxSandboxSecurityContext {
  const { runAsUser, runAsGroup, seLinuxOptions } = pod.spec?.securityContext ?? {};
  return LinuxSandboxSecurityContext.fromPartial({
    namespaceOptions: namespaceOptions(pod.spec),
    selinuxOptions: selinuxOption(seLinuxOptions),
    runAsUser: idValue(runAsUser),
    runAsGroup: idValue(runAsGroup),
    ...podGroups(pod),
    privileged: containersOf(pod.spec).some(({ securityContext }) => securityContext?.privileged),
    // The sandbox process only holds the namespaces and never needs more than the default profile.
    seccomp: { profileType: ProfileType.RuntimeDefault, localhostRef: "" },
  });
}

const protocols: Readonly<Record<string, Protocol>> = Protocol;

function portMappings({ ports = [] }: Container): PortMapping[] {
  const seen = new Set<string>();
  return ports.flatMap((port) => {
    const { containerPort, hostPort = 0, hostIP: hostIp = "", protocol = "TCP" } = port;
    const family = hostIp === "" ? "any" : isIPv6(hostIp) ? "v6" : "v4";
    const name = port.name || `${family}-${protocol}-${hostIp}:${containerPort}:${hostPort}`;
    if (seen.has(name)) return [];
    seen.add(name);
    return [{ containerPort, hostPort, hostIp, protocol: protocols[protocol] ?? Protocol.TCP }];
  });
}
