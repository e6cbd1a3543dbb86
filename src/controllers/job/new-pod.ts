import { controllerReference } from "../../api/meta/object-facts.ts";
import type { Container, Job, Pod } from "../../api/meta/objects.ts";
import {
  countOf,
  failureCountKey,
  ignoredFailureCountKey,
  indexKey,
  specOf,
  trackingFinalizer,
} from "./job-facts.ts";
import { judgeFailure } from "./job-policies.ts";

const indexVariable = "JOB_COMPLETION_INDEX";
/** Longest prefix of a generated name. */
const maxGenerateNameLength = 58;

interface NewPodOptions {
  /** Completion index. Undefined for a Job without indexes. */
  readonly index: number | undefined;
  /** The failed pod of the index that the new pod replaces, whose failure count it continues. */
  readonly replaced: Pod | undefined;
}

export function newPod(job: Job, { index, replaced }: NewPodOptions): Pod {
  const { name = "", namespace } = job.metadata;
  const { metadata = {}, spec } = specOf(job).template ?? {};
  const { finalizers = [] } = metadata;
  const labels = { ...metadata.labels };
  const annotations = { ...metadata.annotations };
  if (index !== undefined) {
    labels[indexKey] = `${index}`;
    annotations[indexKey] = `${index}`;
    if (job.spec?.backoffLimitPerIndex !== undefined)
      Object.assign(annotations, failureCounts(job, replaced));
  }
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      generateName: index === undefined ? `${name}-` : indexedGenerateName(name, index),
      namespace,
      ...(Object.keys(labels).length > 0 && { labels }),
      ...(Object.keys(annotations).length > 0 && { annotations }),
      finalizers: finalizers.includes(trackingFinalizer) ? finalizers : [...finalizers, trackingFinalizer],
      ownerReferences: [controllerReference(job)],
    },
    ...(spec && {
      spec:
        index === undefined
          ? spec
          : {
              ...spec,
              hostname: `${name}-${index}`,
              containers: spec.containers.map(withIndexVariable),
              ...(spec.initContainers && { initContainers: spec.initContainers.map(withIndexVariable) }),
            },
    }),
  };
}

function indexedGenerateName(name: string, index: number): string {
  const suffix = `-${index}-`;
  return name.slice(0, maxGenerateNameLength - suffix.length) + suffix;
}

function withIndexVariable(container: Container): Container {
  const { env = [] } = container;
  if (env.some(({ name }) => name === indexVariable)) return container;
  const fieldRef = { fieldPath: `metadata.labels['${indexKey}']` };
  return { ...container, env: [...env, { name: indexVariable, valueFrom: { fieldRef } }] };
}

function failureCounts(job: Job, replaced: Pod | undefined): Record<string, string> {
  if (!replaced) return { [failureCountKey]: "0" };
  const { counts } = judgeFailure(job, replaced);
  const failures = countOf(replaced, failureCountKey) + Number(counts);
  const ignored = countOf(replaced, ignoredFailureCountKey) + Number(!counts);
  return {
    [failureCountKey]: `${failures}`,
    ...(ignored > 0 && { [ignoredFailureCountKey]: `${ignored}` }),
  };
}
