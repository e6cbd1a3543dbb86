import { humanDuration } from "../../../../lib/human-duration.ts";
import { isTrue } from "../../../meta/object-facts.ts";
import type { Job } from "../../../meta/objects.ts";
import { defaultPodTemplate } from "../../../pod/defaults/pod.ts";
import { workloadNameWarnings } from "../../../pod/validation/pod-warnings.ts";
import { containersColumn, imagesColumn } from "../../apps/workload.ts";
import { ageColumn, column, formatSelector, nameColumn, type Sparse, wideColumn } from "../../columns.ts";
import { dropGatedTemplateFields } from "../../core/pod/drop-gated-fields.ts";
import { defineKind } from "../../kind-definition.ts";
import { keepField, raiseGenerationOnSpecChange, type Strategy, startGeneration } from "../../strategy.ts";
import { defaultPodFailurePolicy } from "../job-policies.ts";
import { jobSpecWarnings } from "../job-spec.ts";
import { jobLabels, validateJob, validateJobUpdate } from "./validate-job.ts";
import { validateJobStatusUpdate } from "./validate-status.ts";

const strategy: Strategy<Job> = {
  orphanWarning:
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or " +
    "set propagationPolicy=Orphan to suppress this warning",
  selectableFields: { "status.successful": ({ status }) => `${status?.succeeded ?? 0}` },

  applyDefaults: defaultJob,

  prepareForCreate(next, { features }) {
    startGeneration(next);
    if (!next.spec?.manualSelector) generateSelector(next);
    defaultLabels(next);
    next.status = {};
    dropGatedTemplateFields(next, undefined, features);
  },

  prepareForUpdate(next, current, { features }) {
    keepField(next, current, "status");
    dropGatedTemplateFields(next, current, features);
    raiseGenerationOnSpecChange(next, current);
  },

  prepareForStatusUpdate(next, current) {
    keepField(next, current, "spec");
  },

  validate: validateJob,
  validateUpdate: validateJobUpdate,
  validateStatusUpdate: validateJobStatusUpdate,

  warnings({ metadata, spec }, _context, current) {
    if (!spec || (current && current.metadata.generation === metadata.generation)) return [];
    return [...(current ? [] : workloadNameWarnings(metadata)), ...jobSpecWarnings(spec, "spec")];
  },
};

export const jobKind = defineKind<Job>({
  resource: { group: "batch", version: "v1", plural: "jobs", kind: "Job", categories: ["all"] },
  subresources: ["status"],
  strategy,
  columns: [
    nameColumn,
    column("Status", "State of the Job", stateOf),
    column("Completions", "Pods that succeeded, of those wanted", completionsOf),
    column("Duration", "Time that the Job has taken", durationOf),
    ageColumn,
    containersColumn,
    imagesColumn,
    wideColumn(
      "Selector",
      "Which pods belong to it",
      ({ spec }) => formatSelector(spec?.selector) || "<none>",
    ),
  ],
});

function defaultJob(job: Job): void {
  const { spec } = job;
  if (!spec) return;
  if (spec.completions === undefined && spec.parallelism === undefined) spec.completions = 1;
  spec.parallelism ??= 1;
  spec.backoffLimit ??= spec.backoffLimitPerIndex === undefined ? 6 : 2 ** 31 - 1;
  spec.completionMode ??= "NonIndexed";
  spec.suspend ??= false;
  spec.podReplacementPolicy ??= spec.podFailurePolicy ? "Failed" : "TerminatingOrFailed";
  spec.manualSelector ??= false;
  defaultPodFailurePolicy(spec);
  defaultPodTemplate(spec.template);
  defaultLabels(job);
}

/** A Job without labels has those of its template, including the generated ones. */
function defaultLabels({ metadata, spec }: Job): void {
  const labels = spec?.template?.metadata?.labels;
  if (labels && Object.keys(metadata.labels ?? {}).length === 0) metadata.labels = { ...labels };
}

/** Makes the pods of a Job its own. Labels of the user are kept: validation rejects those that contradict it. */
function generateSelector({ metadata: { name = "", uid = "" }, spec }: Job): void {
  if (!spec) return;
  spec.template ??= {};
  spec.template.metadata ??= {};
  const { metadata } = spec.template;
  const labels = { ...metadata.labels };
  for (const key of [jobLabels.legacyName, jobLabels.name]) labels[key] ??= name;
  for (const key of [jobLabels.legacyUid, jobLabels.uid]) labels[key] ??= uid;
  metadata.labels = labels;
  spec.selector = {
    ...spec.selector,
    matchLabels: { [jobLabels.uid]: uid, ...spec.selector?.matchLabels },
  };
}

function stateOf(job: Sparse<Job>): string {
  if (isTrue(job, "Complete")) return "Complete";
  if (isTrue(job, "Failed")) return "Failed";
  if (job.metadata.deletionTimestamp) return "Terminating";
  const state = ["Suspended", "FailureTarget", "SuccessCriteriaMet"].find((type) => isTrue(job, type));
  return state ?? "Running";
}

function completionsOf({ spec, status }: Sparse<Job>): string {
  const succeeded = status?.succeeded ?? 0;
  if (spec?.completions !== undefined) return `${succeeded}/${spec.completions}`;
  const parallelism = spec?.parallelism ?? 0;
  return parallelism > 1 ? `${succeeded}/1 of ${parallelism}` : `${succeeded}/1`;
}

function durationOf({ status }: Sparse<Job>, now: number): string {
  if (!status?.startTime) return "";
  const end = status.completionTime ? Date.parse(status.completionTime) : now;
  return humanDuration(end - Date.parse(status.startTime));
}
