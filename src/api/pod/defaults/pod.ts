import type * as k8s from "@kubernetes/client-node";
import type { Container, Pod, PodSpec, Wire } from "../../meta/objects.ts";
import { formatQuantity } from "../../meta/quantity.ts";
import { containersOf } from "../pod-containers.ts";
import { containerTotals, isPodResource } from "../pod-resources.ts";
import { defaultContainer, defaultResourceList, defaultResourceRequirements } from "./container.ts";
import { defaultVolume } from "./volume.ts";

/** Sets the defaults of a pod spec, in pods and templates. */
function defaultPodSpec(spec: PodSpec): void {
  // Keeps the deprecated field equal to the new one.
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

/** Sets the defaults of a pod, including those that templates do not get. */
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

/** Sets missing pod-level requests to the sum of the container requests, or to the pod-level limit. */
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

/** Sets host ports to container ports, for pods in the host network. */
function defaultHostPorts(container: Container): void {
  for (const port of container.ports ?? []) port.hostPort ||= port.containerPort;
}

/** Sets missing requests to the limits. */
function defaultRequests({ resources }: Container): void {
  if (!resources?.limits) return;
  resources.requests = { ...resources.limits, ...resources.requests };
}

/** Sets the defaults of a pod status. */
export function defaultPodIps({ status }: Pod): void {
  if (!status) return;
  const first = status.podIPs?.[0]?.ip;
  if (!status.podIP) {
    if (first) status.podIP = first;
  } else if (first !== status.podIP) {
    status.podIPs = [{ ip: status.podIP }];
  }
}

export type PodTemplate = Wire<k8s.V1PodTemplateSpec>;

export function defaultPodTemplate(template: PodTemplate | undefined): void {
  if (!template) return;
  template.metadata ??= {};
  template.spec ??= { containers: [] };
  defaultPodSpec(template.spec);
}
