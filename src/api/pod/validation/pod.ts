import { type FieldError, FieldErrors } from "../../meta/field-errors.ts";
import {
  dnsLabelProblems,
  dnsSubdomainProblems,
  dnsSubdomainWithUnderscoreProblems,
  qualifiedNameProblems,
  rangeProblems,
} from "../../meta/names.ts";
import type { ObjectMeta, Pod, PodSpec } from "../../meta/objects.ts";
import { ipProblems } from "../../meta/validate-ip.ts";
import { validateAnnotations, validateLabels } from "../../meta/validate-metadata.ts";
import type { PodTemplate } from "../defaults/pod.ts";
import { type ContainerContext, validateAllContainers, validateImage } from "./container.ts";
import { validatePodAnnotations, validateProfilesAgree } from "./pod-annotations.ts";
import { validatePodResources, validateResourceRequirements } from "./resources.ts";
import {
  validateAffinity,
  validateSchedulingGates,
  validateToleration,
  validateTopologySpread,
} from "./scheduling.ts";
import { validatePodSecurityContext } from "./security-context.ts";
import { validateVolumes } from "./volume.ts";
import { eachContainer, validateHostProcess, validateOs } from "./windows.ts";

const noSpec: PodSpec = { containers: [] };

export function validatePod(pod: Pod): FieldError[] {
  const { spec = noSpec } = pod;
  const errors = validatePodContent(pod);
  const at = new FieldErrors("spec", errors);
  if (spec.ephemeralContainers?.length) at.forbidden("ephemeralContainers", "cannot be set on create");
  if (spec.nodeName && spec.schedulingGates?.length) {
    at.forbidden("nodeName", "cannot be set until all schedulingGates have been cleared");
  }
  if (pod.metadata.annotations) validateProfilesAgree(pod.metadata.annotations, spec, at);
  return errors;
}

/** Validates a pod on create and on every update. */
export function validatePodContent({ metadata, spec = noSpec }: Pod): FieldError[] {
  const at = new FieldErrors("spec");
  if (metadata.annotations) {
    validatePodAnnotations(metadata.annotations, new FieldErrors("metadata.annotations", at.errors), spec);
  }
  validatePodSpec(spec, at, metadata);
  if (!spec.serviceAccountName) validateNoTokens(spec, at);
  at.nonNegative("terminationGracePeriodSeconds", spec.terminationGracePeriodSeconds);
  at.each("containers", spec.containers, validateImage);
  at.each("initContainers", spec.initContainers, validateImage);
  return at.errors;
}

function validateNoTokens(spec: PodSpec, at: FieldErrors): void {
  spec.volumes?.forEach(({ projected }, i) => {
    projected?.sources?.forEach((source, j) => {
      if (!source.serviceAccountToken) return;
      const field = `volumes[${i}].projected.sources[${j}].serviceAccountToken`;
      at.forbidden(field, "must not be specified when serviceAccountName is not set");
    });
  });
}

export function validatePodTemplate(template: PodTemplate, at: FieldErrors): void {
  const { metadata = {}, spec = noSpec } = template;
  validateLabels(metadata.labels, at.child("labels"));
  validateAnnotations(metadata.annotations, at.child("annotations"));
  const place = at.child("spec");
  if (metadata.annotations) validatePodAnnotations(metadata.annotations, at.child("annotations"), spec);
  validatePodSpec(spec, place);
  if (metadata.annotations) validateProfilesAgree(metadata.annotations, spec, place);
  if (spec.ephemeralContainers?.length) {
    place.forbidden("ephemeralContainers", "ephemeral containers not allowed in pod template");
  }
}

/** Validates a pod spec. `podMeta` is undefined for templates. */
function validatePodSpec(spec: PodSpec, at: FieldErrors, podMeta?: ObjectMeta): void {
  if (spec.terminationGracePeriodSeconds === undefined) at.required("terminationGracePeriodSeconds");
  const facts: ContainerContext = {
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

function validateNames(spec: PodSpec, at: FieldErrors): void {
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

function validateHostname(spec: PodSpec, at: FieldErrors): void {
  const { hostname, subdomain, hostnameOverride } = spec;
  if (hostname) at.problems("hostname", hostname, dnsLabelProblems(hostname));
  if (subdomain) at.problems("subdomain", subdomain, dnsLabelProblems(subdomain));
  if (hostnameOverride === undefined) return;
  const reject = (reason: string) => at.forbidden("hostnameOverride", `may not be specified when ${reason}`);
  if (spec.setHostnameAsFQDN) reject("setHostnameAsFQDN is true");
  if (spec.hostNetwork) reject("hostNetwork is true");
  if (hostnameOverride.length > 64) at.tooLong("hostnameOverride", 64);
  at.problems("hostnameOverride", hostnameOverride, dnsSubdomainProblems(hostnameOverride));
}

/** Rejects host namespaces together with a user namespace of the pod. */
function validateHostNamespaces(spec: PodSpec, at: FieldErrors, isPod: boolean): void {
  if (spec.hostNetwork) {
    at.each("containers", spec.containers, ({ ports }, container) => {
      container.each("ports", ports, ({ hostPort = 0, containerPort }, port) => {
        // In templates the host port may be missing; the default is set when a pod is created.
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
  const reject = (place: FieldErrors, field: string) => place.forbidden(field, "when `hostUsers` is false");
  if (spec.hostNetwork) reject(at, "hostNetwork");
  if (spec.hostPID) reject(at, "HostPID");
  if (spec.hostIPC) reject(at, "HostIPC");
  eachContainer(spec, at, (container, place) => {
    if (container.volumeDevices?.length) reject(place, "volumeDevices");
  });
}

function validateResourceClaims(claims: NonNullable<PodSpec["resourceClaims"]>, at: FieldErrors): void {
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

/** Validates environment variables from files, which must be in an emptyDir of the pod. */
function validateEnvFiles(spec: PodSpec, at: FieldErrors): void {
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

/** Limit of resolvers. */
const maxNameservers = 3;
const maxSearches = 32;
const maxSearchChars = 2048;

function validateDns({ dnsPolicy, dnsConfig, hostAliases }: PodSpec, at: FieldErrors): void {
  at.requiredOneOf("dnsPolicy", dnsPolicy, ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"]);
  if (dnsPolicy === "None" && !dnsConfig) {
    at.required("dnsConfig", "must provide `dnsConfig` when `dnsPolicy` is None");
  } else if (dnsPolicy === "None" && !dnsConfig?.nameservers?.length) {
    const detail = "must provide at least one DNS nameserver when `dnsPolicy` is None";
    at.required("dnsConfig.nameservers", detail);
  } else if (dnsConfig) {
    validateDnsConfig(dnsConfig, at.child("dnsConfig"));
  }
  at.each("hostAliases", hostAliases, ({ ip, hostnames }, place) => {
    place.problems("ip", ip, ipProblems(ip));
    hostnames?.forEach((name, i) => {
      place.problems(`hostnames[${i}]`, name, dnsSubdomainProblems(name));
    });
  });
}

function validateDnsConfig(config: NonNullable<PodSpec["dnsConfig"]>, at: FieldErrors): void {
  const { nameservers = [], searches = [], options = [] } = config;
  if (nameservers.length > maxNameservers) {
    at.invalid("nameservers", nameservers, `must not have more than ${maxNameservers} nameservers`);
  }
  nameservers.forEach((address, i) => {
    at.problems(`nameservers[${i}]`, address, ipProblems(address));
  });
  if (searches.length > maxSearches) {
    at.invalid("searches", searches, `must not have more than ${maxSearches} search paths`);
  }
  if (searches.join(" ").length > maxSearchChars) {
    const detail = `must not have more than ${maxSearchChars} characters (including spaces) in the search list`;
    at.invalid("searches", searches, detail);
  }
  searches.forEach((search, i) => {
    if (search === ".") return;
    const domain = search.replace(/\.$/, "");
    at.problems(`searches[${i}]`, domain, dnsSubdomainWithUnderscoreProblems(domain));
  });
  options.forEach((option, i) => {
    if (!option.name) at.required(`options[${i}]`, "must not be empty");
  });
}
