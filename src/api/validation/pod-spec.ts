import { dnsLabelProblems, dnsSubdomainProblems, qualifiedNameProblems, rangeProblems } from "../names.ts";
import type { ObjectMeta, PodSpec } from "../objects.ts";
import { validateAffinity } from "./affinity.ts";
import type { PodFacts } from "./container.ts";
import { validateAllContainers } from "./containers.ts";
import { validateDns } from "./dns.ts";
import { validateLabels } from "./labels.ts";
import { validatePodResources } from "./pod-resources.ts";
import type { Report } from "./report.ts";
import { validateResourceRequirements } from "./resources.ts";
import { validateSchedulingGates, validateToleration, validateTopologySpread } from "./scheduling.ts";
import { validatePodSecurityContext } from "./security-context.ts";
import { validateVolumes } from "./volume.ts";
import { eachContainer, validateHostProcess, validateOs } from "./windows.ts";

/** `podMeta` is given for pods themselves; templates have none yet. */
export function validatePodSpec(spec: PodSpec, at: Report, podMeta?: ObjectMeta): void {
  if (spec.terminationGracePeriodSeconds === undefined) at.required("terminationGracePeriodSeconds");
  const facts: PodFacts = {
    volumes: validateVolumes(spec.volumes ?? [], at.child("volumes"), podMeta),
    claimNames: new Set(spec.resourceClaims?.map(({ name }) => name)),
    gracePeriodSeconds: spec.terminationGracePeriodSeconds ?? 0,
    restartPolicy: spec.restartPolicy,
    hostUsers: spec.hostUsers ?? true,
    os: spec.os?.name,
  };
  if (spec.resourceClaims) validateResourceClaims(spec.resourceClaims, at);
  validateAllContainers(spec, at, facts);
  if (spec.resources) validatePodResources(spec, at.child("resources"), facts.claimNames);
  validateHostNamespaces(spec, at, podMeta !== undefined);
  at.requiredOneOf("restartPolicy", spec.restartPolicy, ["Always", "OnFailure", "Never"]);
  validateDns(spec, at);
  if (spec.nodeSelector) validateLabels(spec.nodeSelector, at.child("nodeSelector"));
  validatePodSecurityContext(spec, at.child("securityContext"));
  if (spec.affinity) validateAffinity(spec.affinity, at.child("affinity"));
  at.each("readinessGates", spec.readinessGates, ({ conditionType }, place) => {
    place.problems("conditionType", conditionType, qualifiedNameProblems(conditionType));
  });
  if (spec.schedulingGates) validateSchedulingGates(spec.schedulingGates, at.child("schedulingGates"));
  if (spec.topologySpreadConstraints) {
    validateTopologySpread(spec.topologySpreadConstraints, at.child("topologySpreadConstraints"));
  }
  validateHostProcess(spec, at);
  validateHostname(spec, at);
  validateNames(spec, at);
  at.each("tolerations", spec.tolerations, validateToleration);
  at.oneOf("preemptionPolicy", spec.preemptionPolicy, ["PreemptLowerPriority", "Never"]);
  if (spec.overhead) {
    validateResourceRequirements({ limits: spec.overhead }, at.child("overhead"), facts);
  }
  validateOs(spec, at);
  validateEnvFiles(spec, at);
}

function validateNames(spec: PodSpec, at: Report): void {
  for (const field of ["serviceAccountName", "nodeName", "priorityClassName"] as const) {
    const name = spec[field];
    if (name) at.problems(field, name, dnsSubdomainProblems(name));
  }
  const { runtimeClassName, activeDeadlineSeconds } = spec;
  if (runtimeClassName !== undefined) {
    at.problems("runtimeClassName", runtimeClassName, dnsSubdomainProblems(runtimeClassName));
  }
  if (activeDeadlineSeconds !== undefined) {
    const problems = rangeProblems(activeDeadlineSeconds, 1, 2 ** 31 - 1);
    at.problems("activeDeadlineSeconds", activeDeadlineSeconds, problems);
  }
}

function validateHostname(spec: PodSpec, at: Report): void {
  const { hostname, subdomain, hostnameOverride } = spec;
  if (hostname) at.problems("hostname", hostname, dnsLabelProblems(hostname));
  if (subdomain) at.problems("subdomain", subdomain, dnsLabelProblems(subdomain));
  if (hostnameOverride === undefined) return;
  const refuse = (reason: string) => at.forbidden("hostnameOverride", `may not be specified when ${reason}`);
  if (spec.setHostnameAsFQDN) refuse("setHostnameAsFQDN is true");
  if (spec.hostNetwork) refuse("hostNetwork is true");
  if (hostnameOverride.length > 64) at.tooLong("hostnameOverride", 64);
  at.problems("hostnameOverride", hostnameOverride, dnsSubdomainProblems(hostnameOverride));
}

/** Sharing the host's namespaces and having a user namespace of one's own exclude each other. */
function validateHostNamespaces(spec: PodSpec, at: Report, isPod: boolean): void {
  if (spec.hostNetwork) {
    at.each("containers", spec.containers, ({ ports }, container) => {
      container.each("ports", ports, ({ hostPort = 0, containerPort }, port) => {
        // Templates leave the host port out; it is filled in when a pod is made from them.
        if (hostPort === containerPort || (!isPod && hostPort === 0)) return;
        port.invalid("hostPort", hostPort, "must match `containerPort` when `hostNetwork` is true");
      });
    });
  }
  if (spec.shareProcessNamespace && spec.hostPID) {
    const detail = "ShareProcessNamespace and HostPID cannot both be enabled";
    at.invalid("securityContext.shareProcessNamespace", true, detail);
  }
  if (spec.hostUsers !== false) return;
  const refuse = (place: Report, field: string) => place.forbidden(field, "when `hostUsers` is false");
  if (spec.hostNetwork) refuse(at, "hostNetwork");
  if (spec.hostPID) refuse(at, "HostPID");
  if (spec.hostIPC) refuse(at, "HostIPC");
  eachContainer(spec, at, (container, place) => {
    if (container.volumeDevices?.length) refuse(place, "volumeDevices");
  });
}

function validateResourceClaims(claims: NonNullable<PodSpec["resourceClaims"]>, at: Report): void {
  const names = new Set<string>();
  at.each("resourceClaims", claims, (claim, place) => {
    const { name, resourceClaimName, resourceClaimTemplateName } = claim;
    if (!name) place.required("name");
    else if (names.has(name)) place.duplicate("name", name);
    else place.problems("name", name, dnsLabelProblems(name));
    names.add(name);
    if (resourceClaimName !== undefined && resourceClaimTemplateName !== undefined) {
      const detail = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified";
      place.invalid("", claim, detail);
    } else if (resourceClaimName === undefined && resourceClaimTemplateName === undefined) {
      place.invalid("", claim, "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`");
    }
    for (const [field, value] of Object.entries({ resourceClaimName, resourceClaimTemplateName })) {
      if (value !== undefined) place.problems(field, value, dnsSubdomainProblems(value));
    }
  });
}

/** Environment variables out of a file: the file must be in an emptyDir of the pod. */
function validateEnvFiles(spec: PodSpec, at: Report): void {
  const volumes = new Map(spec.volumes?.map((volume) => [volume.name, volume]));
  eachContainer(spec, at, (container, place) => {
    container.env?.forEach(({ valueFrom }, i) => {
      if (!valueFrom?.fileKeyRef) return;
      const { volumeName } = valueFrom.fileKeyRef;
      const field = `env[${i}].valueFrom.fileKeyRef.volumeName`;
      const volume = volumes.get(volumeName);
      if (!volume) place.notFound(field, volumeName);
      else if (!volume.emptyDir) {
        place.invalid(field, volumeName, "referenced volume must be of type emptyDir");
      }
    });
  });
}
