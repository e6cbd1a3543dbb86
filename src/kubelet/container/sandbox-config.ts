import { isIPv6 } from "node:net";
import type { Container, Pod } from "../../api/objects.ts";
import { containersOf } from "../../api/pod-containers.ts";
import {
  type DNSConfig,
  LinuxSandboxSecurityContext,
  type PodSandboxConfig,
  type PortMapping,
  SecurityProfile_ProfileType as ProfileType,
  Protocol,
} from "../../cri/generated/cri.ts";
import { sandboxLabels } from "./cri-labels.ts";
import { type CpuSettings, sandboxResources } from "./linux-resources.ts";
import type { MachineFacts } from "./node-facts.ts";
import { kernelHostname, podHostname } from "./pod-hostname.ts";
import { idValue, namespaceOptions, podGroups, refuseUserNamespace, selinuxOption } from "./pod-security.ts";

export interface SandboxRequest {
  readonly pod: Pod;
  /** 0 for the pod's first sandbox, one more for each that replaces one. */
  readonly attempt: number;
  readonly logDirectory: string;
  readonly dns: DNSConfig;
  readonly clusterDomain: string;
  /** Empty leaves the choice of a cgroup to the runtime. */
  readonly cgroupParent: string;
  readonly machine: MachineFacts;
  readonly cpu: CpuSettings;
}

/** Throws what keeps the pod from having a sandbox. */
export function buildSandboxConfig(request: SandboxRequest): PodSandboxConfig {
  const { pod, attempt, logDirectory, dns, cgroupParent } = request;
  const { name = "", namespace = "", uid = "", annotations = {} } = pod.metadata;
  refuseUserNamespace(pod);
  return {
    metadata: { name, namespace, uid, attempt },
    hostname: sandboxHostname(pod, request.clusterDomain),
    logDirectory,
    dnsConfig: dns,
    portMappings: (pod.spec?.containers ?? []).flatMap(portMappings),
    labels: sandboxLabels(pod),
    annotations,
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

/** On the node's network it has the node's name. */
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
    // What holds the namespaces needs nothing more, whatever the containers may do.
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
