import { FieldErrors } from "../../meta/field-errors.ts";
import { dnsLabelProblems } from "../../meta/names.ts";
import type { Container, ObjectMeta, Pod, PodSpec } from "../../meta/objects.ts";
import { parseQuantity } from "../../meta/quantity.ts";
import type { PodTemplate } from "../defaults/pod.ts";
import type { ClaimSpec } from "./claim-spec.ts";
import { eachContainer } from "./windows.ts";

/** Node labels that have newer names. */
const deprecatedLabels: Readonly<Record<string, string>> = {
  "beta.kubernetes.io/arch": 'deprecated since v1.14; use "kubernetes.io/arch" instead',
  "beta.kubernetes.io/os": 'deprecated since v1.14; use "kubernetes.io/os" instead',
  "failure-domain.beta.kubernetes.io/region":
    'deprecated since v1.17; use "topology.kubernetes.io/region" instead',
  "failure-domain.beta.kubernetes.io/zone":
    'deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
  "beta.kubernetes.io/instance-type":
    'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead',
  "node-role.kubernetes.io/master": 'use "node-role.kubernetes.io/control-plane" instead',
};

type Template = {
  readonly metadata: ObjectMeta;
  readonly spec?: { readonly template?: PodTemplate };
};

/**
 * Warnings about valid but likely unintended settings of a new pod. Updates get none, because controllers write most of
 * them.
 */
export function podWarnings({ metadata, spec }: Pod, _context?: unknown, current?: Pod): string[] {
  if (current || !spec) return [];
  const advice =
    "this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is recommended";
  return [...nameWarnings(metadata, advice), ...podSpecWarnings(spec, metadata, new FieldErrors(""))];
}

/** Warnings about the pod template of a workload. */
export function templateWarnings({ metadata, spec }: Template, current: Template | undefined): string[] {
  if (current && current.metadata.generation === metadata.generation) return [];
  return podTemplateWarnings(spec?.template, "spec.template");
}

/** Warnings about a pod template in the given field. */
export function podTemplateWarnings(template: PodTemplate | undefined, field: string): string[] {
  if (!template?.spec) return [];
  return podSpecWarnings(template.spec, template.metadata ?? {}, new FieldErrors(field));
}

/** Warnings about the template of a workload, and about a name of the workload that is not a valid host name. */
export function namedTemplateWarnings(next: Template, _context?: unknown, current?: Template): string[] {
  return [...(current ? [] : workloadNameWarnings(next.metadata)), ...templateWarnings(next, current)];
}

export function workloadNameWarnings(metadata: ObjectMeta): string[] {
  const advice =
    "this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended";
  return nameWarnings(metadata, advice);
}

function nameWarnings({ name = "" }: ObjectMeta, advice: string): string[] {
  const problems = dnsLabelProblems(name);
  return problems.length > 0 ? [`metadata.name: ${advice}: [${problems.join(" ")}]`] : [];
}

function podSpecWarnings(spec: PodSpec, meta: ObjectMeta, pod: FieldErrors): string[] {
  const at = pod.child("spec");
  const warnings: string[] = [];
  for (const key of Object.keys(spec.nodeSelector ?? {})) {
    if (Object.hasOwn(deprecatedLabels, key)) {
      warnings.push(`${at.path}.nodeSelector[${key}]: ${deprecatedLabels[key]}`);
    }
  }
  at.each("topologySpreadConstraints", spec.topologySpreadConstraints, (constraint, place) => {
    const { topologyKey, labelSelector } = constraint;
    if (Object.hasOwn(deprecatedLabels, topologyKey))
      warnings.push(`${place.path}.topologyKey: ${topologyKey} is ${deprecatedLabels[topologyKey]}`);
    if (!labelSelector) warnings.push(`${place.path}.labelSelector: ${matchesNothing}`);
  });
  warnings.push(...volumeWarnings(spec, at), ...listWarnings(spec, at));
  warnings.push(...annotationWarnings(spec, meta, pod));
  eachContainer(spec, at, (container, place) => {
    warnings.push(...byteWarnings(container, place), ...envWarnings(container, place));
  });
  warnings.push(...portWarnings(spec, at));
  if ((spec.terminationGracePeriodSeconds ?? 0) < 0) {
    const advice = "must be >= 0; negative values are invalid and will be treated as 1";
    warnings.push(`${at.path}.terminationGracePeriodSeconds: ${advice}`);
  }
  warnings.push(...affinityWarnings(spec, at));
  return warnings;
}

const matchesNothing = "a null labelSelector results in matching no pod";

/** Releases in which volume types were deprecated and became non-functional. */
const oldVolumes = {
  photonPersistentDisk: "deprecated in v1.11, non-functional in v1.16+",
  gitRepo: "deprecated in v1.11, and disabled by default in v1.33+",
  scaleIO: "deprecated in v1.16, non-functional in v1.22+",
  flocker: "deprecated in v1.22, non-functional in v1.25+",
  storageos: "deprecated in v1.22, non-functional in v1.25+",
  quobyte: "deprecated in v1.22, non-functional in v1.25+",
  glusterfs: "deprecated in v1.25, non-functional in v1.26+",
  cephfs: "deprecated in v1.28, non-functional in v1.31+",
  rbd: "deprecated in v1.28, non-functional in v1.31+",
} as const satisfies Partial<Record<keyof NonNullable<PodSpec["volumes"]>[number], string>>;

function volumeWarnings({ volumes }: PodSpec, at: FieldErrors): string[] {
  const warnings: string[] = [];
  at.each("volumes", volumes, (volume, place) => {
    for (const [type, advice] of Object.entries(oldVolumes)) {
      const shown = type === "storageos" ? "storageOS" : type;
      if (Object.hasOwn(volume, type)) warnings.push(`${place.path}.${shown}: ${advice}`);
    }
    const claim = volume.ephemeral?.volumeClaimTemplate?.spec;
    if (claim) warnings.push(...claimSpecWarnings(claim, place.child("ephemeral.volumeClaimTemplate.spec")));
  });
  return warnings;
}

export function claimSpecWarnings({ resources }: ClaimSpec, at: FieldErrors): string[] {
  return (["requests", "limits"] as const).flatMap((list) =>
    fractionalBytes(resources?.[list]?.storage, at, `resources.${list}[storage]`),
  );
}

function fractionalBytes(amount: string | undefined, at: FieldErrors, field: string): string[] {
  if (amount === undefined || parseQuantity(amount).nanos % 1_000_000_000n === 0n) return [];
  return [`${at.path}.${field}: fractional byte value "${amount}" is invalid, must be an integer`];
}

/** Lists whose entries are identified by a field that validation does not require to be unique. */
function listWarnings({ hostAliases = [], imagePullSecrets = [] }: PodSpec, at: FieldErrors): string[] {
  if (hostAliases.length + imagePullSecrets.length === 0) return [];
  const warnings: string[] = [];
  const repeated = (field: string, values: readonly string[], name: string) =>
    values.forEach((value, i) => {
      if (values.indexOf(value) < i)
        warnings.push(`${at.path}.${field}[${i}].${name}: duplicate ${name} ${JSON.stringify(value)}`);
    });
  const ips = hostAliases.map(({ ip }) => ip);
  const names = imagePullSecrets.map(({ name = "" }) => name);
  repeated("hostAliases", ips, "ip");
  repeated("imagePullSecrets", names, "name");
  names.forEach((name, i) => {
    if (name === "") warnings.push(`${at.path}.imagePullSecrets[${i}].name: invalid empty name ""`);
  });
  return warnings;
}

/** Warnings about annotations that fields have replaced. */
function annotationWarnings(spec: PodSpec, meta: ObjectMeta, pod: FieldErrors): string[] {
  const { annotations } = meta;
  if (!annotations) return [];
  const warnings: string[] = [];
  const warn = (key: string, advice: string) => {
    if (annotations[key] !== undefined)
      warnings.push(`${pod.child(`metadata.annotations[${key}]`).path}: ${advice}`);
  };
  const seccomp = 'non-functional in v1.27+; use the "seccompProfile" field instead';
  const appArmor = 'deprecated since v1.30; use the "appArmorProfile" field instead';
  if (!spec.securityContext?.seccompProfile) warn("seccomp.security.alpha.kubernetes.io/pod", seccomp);
  eachContainer(spec, pod, ({ name, securityContext }) => {
    if (!securityContext?.seccompProfile)
      warn(`container.seccomp.security.alpha.kubernetes.io/${name}`, seccomp);
    if (!securityContext?.appArmorProfile)
      warn(`container.apparmor.security.beta.kubernetes.io/${name}`, appArmor);
  });
  return warnings;
}

function affinityWarnings({ affinity }: PodSpec, at: FieldErrors): string[] {
  if (!affinity) return [];
  const warnings: string[] = [];
  for (const side of ["podAffinity", "podAntiAffinity"] as const) {
    const place = at.child(`affinity.${side}`);
    const required = "requiredDuringSchedulingIgnoredDuringExecution";
    place.each(required, affinity[side]?.[required], ({ labelSelector }, term) => {
      if (!labelSelector) warnings.push(`${term.path}.labelSelector: ${matchesNothing}`);
    });
    const preferred = "preferredDuringSchedulingIgnoredDuringExecution";
    place.each(preferred, affinity[side]?.[preferred], ({ podAffinityTerm }, term) => {
      if (!podAffinityTerm?.labelSelector)
        warnings.push(`${term.path}.podAffinityTerm.labelSelector: ${matchesNothing}`);
    });
  }
  return warnings;
}

function byteWarnings({ resources }: Container, at: FieldErrors): string[] {
  if (!resources) return [];
  return ["memory", "ephemeral-storage"].flatMap((name) =>
    (["limits", "requests"] as const).flatMap((list) =>
      fractionalBytes(resources[list]?.[name], at, `resources.${list}[${name}]`),
    ),
  );
}

/** Warnings about duplicate variables. A variable may refer to an earlier one of the same name. */
function envWarnings({ env = [] }: Container, at: FieldErrors): string[] {
  const seen = new Set<string>();
  return env.flatMap(({ name, value = "", valueFrom }, i) => {
    const reference = `$(${name})`;
    const builds = !valueFrom && value !== reference && value.includes(reference);
    const hides = seen.has(name) && !builds;
    seen.add(name);
    if (!hides) return [];
    return [
      `${at.path}.env[${i}]: hides previous definition of ${JSON.stringify(name)}, which may be dropped when using apply`,
    ];
  });
}

function portWarnings(spec: PodSpec, at: FieldErrors): string[] {
  const warnings: string[] = [];
  const byNumber = new Map<string, FieldErrors[]>();
  const byName = new Map<string, FieldErrors>();
  eachContainer(spec, at, ({ ports }, container) => {
    container.each("ports", ports, (port, place) => {
      const number = `${port.containerPort}/${port.protocol}/${port.hostIP ?? ""}/${port.hostPort ?? 0}`;
      const same = byNumber.get(number) ?? [];
      warnings.push(...same.map((other) => `${place.path}: duplicate port definition with ${other.path}`));
      byNumber.set(number, [...same, place]);
      if (!port.name) return;
      const first = byName.get(port.name)?.path;
      if (first) {
        warnings.push(
          `${place.path}: duplicate port name "${port.name}" with ${first}, services and probes that select ports by name will use ${first}`,
        );
      } else byName.set(port.name, place);
    });
  });
  return warnings;
}
