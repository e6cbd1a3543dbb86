import { CronScheduleError, parseCronSchedule } from "../../../../lib/cron-schedule.ts";
import { ageOf } from "../../../../lib/human-duration.ts";
import { isTimeZone } from "../../../../lib/time-zone.ts";
import { type FieldError, FieldErrors } from "../../../meta/field-errors.ts";
import type { CronJob } from "../../../meta/objects.ts";
import { defaultPodTemplate } from "../../../pod/defaults/pod.ts";
import { workloadNameWarnings } from "../../../pod/validation/pod-warnings.ts";
import { containersColumn, imagesColumn } from "../../apps/workload.ts";
import {
  ageColumn,
  column,
  formatSelector,
  integerColumn,
  nameColumn,
  type Sparse,
  wideColumn,
} from "../../columns.ts";
import { dropGatedTemplateFields } from "../../core/pod/drop-gated-fields.ts";
import { defineKind } from "../../kind-definition.ts";
import { keepField, raiseGenerationOnSpecChange, type Strategy, startGeneration } from "../../strategy.ts";
import { defaultPodFailurePolicy } from "../job-policies.ts";
import { jobSpecWarnings, validateJobSpec } from "../job-spec.ts";

type Spec = NonNullable<CronJob["spec"]>;

const noSpec: Spec = { schedule: "", jobTemplate: {} };

const strategy: Strategy<CronJob> = {
  applyDefaults({ spec }) {
    if (!spec) return;
    spec.concurrencyPolicy ||= "Allow";
    spec.suspend ??= false;
    spec.successfulJobsHistoryLimit ??= 3;
    spec.failedJobsHistoryLimit ??= 1;
    const job = spec.jobTemplate?.spec;
    if (!job) return;
    defaultPodFailurePolicy(job);
    defaultPodTemplate(job.template);
  },

  prepareForCreate(next, { features }) {
    startGeneration(next);
    next.status = {};
    dropGatedTemplateFields(next.spec?.jobTemplate ?? {}, undefined, features);
  },

  prepareForUpdate(next, current, { features }) {
    keepField(next, current, "status");
    dropGatedTemplateFields(next.spec?.jobTemplate ?? {}, current.spec?.jobTemplate, features);
    raiseGenerationOnSpecChange(next, current);
  },

  prepareForStatusUpdate(next, current) {
    keepField(next, current, "spec");
  },

  validate({ metadata: { name = "" }, spec = noSpec }) {
    const at = new FieldErrors("");
    validateSpec(spec, undefined, at.child("spec"));
    // The controller appends `-` and ten digits to the name of each Job.
    if (name.length > 52) at.invalid("metadata.name", name, "must be no more than 52 characters");
    return at.errors;
  },

  validateUpdate({ spec = noSpec }, current): FieldError[] {
    const at = new FieldErrors("spec");
    validateSpec(spec, current.spec ?? noSpec, at);
    return at.errors;
  },

  warnings({ metadata, spec = noSpec }, _context, current) {
    const warnings = current ? [] : workloadNameWarnings(metadata);
    if (!current || current.metadata.generation !== metadata.generation)
      warnings.push(...jobSpecWarnings(spec.jobTemplate?.spec ?? { template: {} }, "spec.jobTemplate.spec"));
    if (current && spec.schedule?.includes("TZ")) {
      const link = "https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/";
      warnings.push(
        `cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see ${link} for more details`,
      );
    }
    return warnings;
  },
};

export const cronJobKind = defineKind<CronJob>({
  resource: {
    group: "batch",
    version: "v1",
    plural: "cronjobs",
    kind: "CronJob",
    shortNames: ["cj"],
    categories: ["all"],
  },
  subresources: ["status"],
  strategy,
  columns: [
    nameColumn,
    column("Schedule", "When Jobs are created, in Cron format", ({ spec }) => spec?.schedule ?? ""),
    column("Timezone", "Time zone of the schedule", ({ spec }) => spec?.timeZone ?? "<none>"),
    column("Suspend", "Whether no further Jobs are created", ({ spec }) => suspendCell(spec?.suspend), {
      type: "boolean",
    }),
    integerColumn("Active", "Jobs that are running", ({ status }) => status?.active?.length ?? 0),
    column("Last Schedule", "Time since a Job was last created", ({ status }, now) =>
      status?.lastScheduleTime ? ageOf(status.lastScheduleTime, now) : "<none>",
    ),
    ageColumn,
    { ...containersColumn, cell: (object, now) => containersColumn.cell(jobOf(object), now) },
    { ...imagesColumn, cell: (object, now) => imagesColumn.cell(jobOf(object), now) },
    wideColumn(
      "Selector",
      "Which pods belong to it",
      ({ spec }) => formatSelector(spec?.jobTemplate?.spec?.selector) || "<none>",
    ),
  ],
});

/** The Job that the CronJob creates, for columns of workloads. */
function jobOf({ apiVersion, kind, metadata, spec }: Sparse<CronJob>) {
  return { apiVersion, kind, metadata, spec: spec?.jobTemplate?.spec };
}

function suspendCell(suspend: boolean | undefined): string {
  if (suspend === undefined) return "<unset>";
  return suspend ? "True" : "False";
}

function validateSpec(spec: Spec, old: Spec | undefined, at: FieldErrors): void {
  if (!spec.schedule) at.required("schedule");
  else validateSchedule(spec, old, at);
  at.nonNegative("startingDeadlineSeconds", spec.startingDeadlineSeconds);
  if (spec.timeZone !== undefined && spec.timeZone !== old?.timeZone) validateTimeZone(spec.timeZone, at);
  at.requiredOneOf("concurrencyPolicy", spec.concurrencyPolicy, ["Allow", "Forbid", "Replace"]);
  const job = spec.jobTemplate?.spec ?? { template: {} };
  const place = at.child("jobTemplate.spec");
  validateJobSpec(job, place);
  if (job.selector) place.invalid("selector", job.selector, "`selector` will be auto-generated");
  if (job.manualSelector) place.notSupported("manualSelector", true, ["nil", "false"]);
  at.nonNegative("successfulJobsHistoryLimit", spec.successfulJobsHistoryLimit);
  at.nonNegative("failedJobsHistoryLimit", spec.failedJobsHistoryLimit);
}

function validateSchedule({ schedule, timeZone }: Spec, old: Spec | undefined, at: FieldErrors): void {
  try {
    parseCronSchedule(schedule);
  } catch (error) {
    if (!(error instanceof CronScheduleError)) throw error;
    at.invalid("schedule", schedule, error.message);
  }
  if (!schedule.includes("TZ")) return;
  if (!old?.schedule?.includes("TZ"))
    at.invalid("schedule", schedule, "cannot use TZ or CRON_TZ in schedule, use timeZone field instead");
  else if (timeZone !== undefined)
    at.invalid("schedule", schedule, "cannot use both timeZone field and TZ or CRON_TZ in schedule");
}

function validateTimeZone(timeZone: string, at: FieldErrors): void {
  if (timeZone === "") at.invalid("timeZone", timeZone, "timeZone must be nil or non-empty string");
  else if (timeZone.toLowerCase() === "local") {
    const link = "https://www.iana.org/time-zones";
    at.invalid("timeZone", timeZone, `timeZone must be an explicit time zone as defined in ${link}`);
    if (timeZone !== "Local") at.invalid("timeZone", timeZone, `unknown time zone ${timeZone}`);
  } else if (!isTimeZone(timeZone)) at.invalid("timeZone", timeZone, `unknown time zone ${timeZone}`);
}
