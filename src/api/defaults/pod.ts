import type { Container, Pod, PodSpec } from "../objects.ts";
import { containersOf } from "../pod-containers.ts";
import { containerTotals, isPodResource } from "../pod-resources.ts";
import { formatQuantity } from "../quantity.ts";
import { defaultContainer } from "./container.ts";
import { defaultResourceList, defaultResourceRequirements } from "./resource-list.ts";
import { defaultVolume } from "./volume.ts";

/** What pods and templates of pods share. */
export function defaultPodSpec(spec: PodSpec): void {
  // The deprecated name of the field is kept in step with the new one.
  const account = spec.serviceAccountName || spec.serviceAccount;
  if (account) Object.assign(spec, { serviceAccountName: account, serviceAccount: account });
  spec.dnsPolicy ||= "ClusterFirst";
  spec.restartPolicy ||= "Always";
  spec.securityContext ??= {};
  spec.terminationGracePeriodSeconds ??= 30;
  spec.schedulerName ||= "default-scheduler";
  defaultResourceList(spec.overhead);
  defaultResourceRequirements(spec.resources);
  spec.volumes?.forEach(defaultVolume);
  spec.initContainers?.forEach(defaultContainer);
  spec.containers?.forEach(defaultContainer);
  spec.ephemeralContainers?.forEach(defaultContainer);
}

/** What only pods themselves are given. */
export function defaultPod(pod: Pod): void {
  pod.spec ??= { containers: [] };
  const { spec } = pod;
  defaultPodSpec(spec);
  if ((spec.terminationGracePeriodSeconds ?? 0) < 0) spec.terminationGracePeriodSeconds = 1;
  spec.enableServiceLinks ??= true;
  for (const container of containersOf(spec)) {
    defaultRequests(container);
    if (spec.hostNetwork) defaultHostPorts(container);
  }
  if (spec.resources) defaultPodResources(spec, spec.resources);
  defaultPodIps(pod);
}

type Requirements = NonNullable<PodSpec["resources"]>;

/** A pod that limits what its containers share asks for what they ask for, else for the limit. */
function defaultPodResources(spec: PodSpec, resources: Requirements): void {
  const { limits = {}, requests = {} } = resources;
  if (Object.keys({ ...limits, ...requests }).length === 0) return;
  for (const [name, amount] of containerTotals(spec, "limits")) {
    if (isHugePages(name) && !(name in requests)) limits[name] ??= formatQuantity(amount);
  }
  if (Object.keys(limits).length === 0) return;
  for (const [name, amount] of containerTotals(spec, "requests")) {
    if (isPodResource(name) && !isHugePages(name)) requests[name] ??= formatQuantity(amount);
  }
  for (const name in limits) if (isPodResource(name)) requests[name] ??= limits[name] ?? "0";
  Object.assign(resources, { limits, ...(Object.keys(requests).length > 0 && { requests }) });
}

function isHugePages(name: string): boolean {
  return name.startsWith("hugepages-");
}

/** A port of a pod on the host's network is a port of the host. */
function defaultHostPorts(container: Container): void {
  for (const port of container.ports ?? []) port.hostPort ||= port.containerPort;
}

/** A limit without a request is a request too. */
function defaultRequests({ resources }: Container): void {
  if (!resources?.limits) return;
  resources.requests = { ...resources.limits, ...resources.requests };
}

/** All that is given to a status. */
export function defaultPodIps({ status }: Pod): void {
  if (!status) return;
  const first = status.podIPs?.[0]?.ip;
  if (!status.podIP) {
    if (first) status.podIP = first;
  } else if (first !== status.podIP) {
    status.podIPs = [{ ip: status.podIP }];
  }
}
