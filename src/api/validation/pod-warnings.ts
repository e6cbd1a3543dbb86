import type { PodTemplate } from "../defaults/pod-template.ts";
import { dnsLabelProblems } from "../names.ts";
import type { Container, ObjectMeta, Pod, PodSpec } from "../objects.ts";
import { parseQuantity } from "../quantity.ts";
import { Report } from "./report.ts";
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

/** What is allowed and yet likely to surprise whoever creates a pod. */
export function podWarnings({ metadata, spec }: Pod): string[] {
  if (isStored(metadata) || !spec) return [];
  const warnings: string[] = [];
  const problems = dnsLabelProblems(metadata.name);
  if (problems.length > 0) {
    const advice =
      "this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is recommended";
    warnings.push(`metadata.name: ${advice}: [${problems.join(" ")}]`);
  }
  warnings.push(...podSpecWarnings(spec, new Report("spec")));
  return warnings;
}

/** The same for those who create what makes pods. */
export function templateWarnings({
  metadata,
  spec,
}: {
  readonly metadata: ObjectMeta;
  readonly spec?: { readonly template?: PodTemplate };
}): string[] {
  const podSpec = spec?.template?.spec;
  return isStored(metadata) || !podSpec ? [] : podSpecWarnings(podSpec, new Report("spec.template.spec"));
}

/** Later writers cannot help what they are not changing. */
function isStored(meta: ObjectMeta): boolean {
  return meta.resourceVersion !== undefined;
}

function podSpecWarnings(spec: PodSpec, at: Report): string[] {
  const warnings: string[] = [];
  for (const key of Object.keys(spec.nodeSelector ?? {})) {
    if (Object.hasOwn(deprecatedLabels, key)) {
      warnings.push(`${at.path}.nodeSelector[${key}]: ${deprecatedLabels[key]}`);
    }
  }
  at.each("topologySpreadConstraints", spec.topologySpreadConstraints, ({ labelSelector }, place) => {
    if (!labelSelector) {
      warnings.push(`${place.path}.labelSelector: a null labelSelector results in matching no pod`);
    }
  });
  eachContainer(spec, at, (container, place) => {
    warnings.push(...byteWarnings(container, place), ...envWarnings(container, place));
  });
  warnings.push(...portWarnings(spec, at));
  return warnings;
}

function byteWarnings({ resources }: Container, at: Report): string[] {
  if (!resources) return [];
  return (["limits", "requests"] as const).flatMap((list) =>
    ["memory", "ephemeral-storage"].flatMap((name) => {
      const amount = resources[list]?.[name];
      if (amount === undefined || parseQuantity(amount).nanos % 1_000_000_000n === 0n) return [];
      const path = `${at.path}.resources.${list}[${name}]`;
      return [`${path}: fractional byte value "${amount}" is invalid, must be an integer`];
    }),
  );
}

/** A variable may build on an earlier one of the same name, but not replace it. */
function envWarnings({ env = [] }: Container, at: Report): string[] {
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

function portWarnings(spec: PodSpec, at: Report): string[] {
  const warnings: string[] = [];
  const byNumber = new Map<string, Report>();
  const byName = new Map<string, Report>();
  eachContainer(spec, at, ({ ports }, container) => {
    container.each("ports", ports, (port, place) => {
      const number = `${port.containerPort}/${port.protocol}/${port.hostIP ?? ""}/${port.hostPort ?? 0}`;
      const same = byNumber.get(number);
      if (same) warnings.push(`${place.path}: duplicate port definition with ${same.path}`);
      else byNumber.set(number, place);
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
