import { type FieldError, FieldErrors } from "../../../meta/field-errors.ts";
import { isEqual } from "../../../meta/is-equal.ts";
import { isTrue } from "../../../meta/object-facts.ts";
import type { Job } from "../../../meta/objects.ts";
import {
  firstCommonIndex,
  IndexFormatError,
  type IndexInterval,
  parseIndexes,
  parseInterval,
} from "../completion-indexes.ts";

type Status = NonNullable<Job["status"]>;

const isComplete = (job: Job) => isTrue(job, "Complete");
const isFailed = (job: Job) => isTrue(job, "Failed");
const isFailureTarget = (job: Job) => isTrue(job, "FailureTarget");
const isSuccessCriteriaMet = (job: Job) => isTrue(job, "SuccessCriteriaMet");
const isFinished = (job: Job) => isComplete(job) || isFailed(job);

/** What both versions of a Job say, and whether it changed. Rules apply to what changed only, as upstream. */
interface Update {
  readonly next: Job;
  readonly current: Job;
  changed(...readers: readonly ((job: Job) => unknown)[]): boolean;
}

export function validateJobStatusUpdate(next: Job, current: Job): FieldError[] {
  const at = new FieldErrors("status");
  const changed: Update["changed"] = (...readers) =>
    readers.some((read) => !isEqual(read(next), read(current)));
  const update = { next, current, changed };
  validateCounts(next.status ?? {}, at);
  validateConditions(update, at);
  validateTimes(update, at);
  validateFinished(update, at);
  validateIndexes(update, at);
  validateTransition(update, at);
  return at.errors;
}

function validateCounts(status: Status, at: FieldErrors): void {
  for (const field of ["active", "succeeded", "failed", "ready", "terminating"] as const) {
    at.nonNegative(field, status[field]);
  }
  const seen = new Set<string>();
  for (const list of ["succeeded", "failed"] as const) {
    at.each(`uncountedTerminatedPods.${list}`, status.uncountedTerminatedPods?.[list], (uid, place) => {
      if (uid === "") place.invalid("", uid, "must not be empty");
      else if (seen.has(uid)) place.duplicate("", uid);
      seen.add(uid);
    });
  }
}

function validateConditions({ next, changed }: Update, at: FieldErrors): void {
  const reject = (detail: string) => at.invalidWithoutValue("conditions", detail);
  if (changed(isComplete, isFailed) && isComplete(next) && isFailed(next))
    reject("cannot set Complete=True and Failed=true conditions");
  if (changed(isComplete, isFailureTarget) && isComplete(next) && isFailureTarget(next))
    reject("cannot set Complete=True and FailureTarget=true conditions");
  if (changed(isFailed, failedIndexes) && isFailed(next) && !isFailureTarget(next))
    reject("cannot set Failed=True condition without the FailureTarget=true condition");
  if (changed(isComplete, isSuccessCriteriaMet) && isComplete(next) && !isSuccessCriteriaMet(next))
    reject("cannot set Complete=True condition without the SuccessCriteriaMet=true condition");
  if (isSuccessCriteriaMet(next) && isFailed(next))
    reject("cannot set SuccessCriteriaMet=True and Failed=true conditions");
  if (isSuccessCriteriaMet(next) && isFailureTarget(next))
    reject("cannot set SuccessCriteriaMet=True and FailureTarget=true conditions");
  if (next.spec?.successPolicy && !isSuccessCriteriaMet(next) && isComplete(next))
    reject("cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True");
}

const startTime = ({ status }: Job) => status?.startTime;
const completionTime = ({ status }: Job) => status?.completionTime;

function validateTimes({ next, current, changed }: Update, at: FieldErrors): void {
  const started = startTime(next);
  const completed = completionTime(next);
  if (changed(isComplete, completionTime)) {
    if (completed && !isComplete(next)) {
      const detail = "cannot set completionTime when there is no Complete=True condition";
      at.invalid("completionTime", completed, detail);
    }
    if (!completed && isComplete(next))
      at.required("completionTime", "completionTime is required for Complete jobs");
  }
  const isBefore = started && completed && Date.parse(completed) < Date.parse(started);
  if (changed(startTime, completionTime) && isBefore)
    at.invalid("completionTime", completed, "must be equal to or after `startTime`");
  if (completed && completionTime(current) && changed(completionTime))
    at.invalid("completionTime", completed, "field is immutable");
  const isResuming = isTrue(current, "Suspended") && suspendedStatus(next) === "False";
  if (startTime(current) && changed(startTime) && !isResuming && !next.spec?.suspend)
    at.invalid("startTime", started ?? null, "field is immutable for unsuspended job once set");
}

function suspendedStatus({ status }: Job): string | undefined {
  return status?.conditions?.find(({ type }) => type === "Suspended")?.status;
}

function validateFinished({ next, changed }: Update, at: FieldErrors): void {
  const { spec, status = {} } = next;
  const { active = 0, ready = 0, terminating = 0, uncountedTerminatedPods: uncounted } = status;
  const activeOf = ({ status }: Job) => status?.active ?? 0;
  if (changed(({ status }) => status?.ready, activeOf) && ready > active)
    at.invalid("ready", ready, "cannot set more ready pods than active");
  if (!isFinished(next)) return;
  if (changed(isFinished, activeOf) && active > 0)
    at.invalid("active", active, "active>0 is invalid for finished job");
  const neverStarted = spec?.suspend === true && spec.completions === 0;
  if (changed(isFinished, startTime) && !status.startTime && !neverStarted)
    at.required("startTime", "startTime is required for finished job");
  const uncountedPods = (uncounted?.failed?.length ?? 0) + (uncounted?.succeeded?.length ?? 0);
  if (changed(isFinished, ({ status }) => status?.uncountedTerminatedPods) && uncountedPods > 0)
    at.invalid("uncountedTerminatedPods", uncounted, "must be empty for finished job");
  if (changed(isFinished, ({ status }) => status?.terminating) && terminating > 0)
    at.invalid("terminating", terminating, "terminating>0 is invalid for finished job");
}

const completedIndexes = ({ status }: Job) => status?.completedIndexes ?? "";
const failedIndexes = ({ status }: Job) => status?.failedIndexes;

function validateIndexes({ next, changed }: Update, at: FieldErrors): void {
  const { completions, backoffLimitPerIndex, completionMode } = next.spec ?? {};
  const completed = completedIndexes(next);
  const failed = failedIndexes(next);
  if (changed(completedIndexes)) {
    if (completions !== undefined) validateFormat("completedIndexes", completed, completions, at);
    if (completed !== "" && completionMode !== "Indexed") {
      const detail = "cannot set non-empty completedIndexes when non-indexed completion mode";
      at.invalid("completedIndexes", completed, detail);
    }
  }
  if (failed === undefined) return;
  if (changed(failedIndexes)) {
    if (completions !== undefined && backoffLimitPerIndex !== undefined)
      validateFormat("failedIndexes", failed, completions, at);
    if (backoffLimitPerIndex === undefined) {
      const detail = "cannot set non-null failedIndexes when backoffLimitPerIndex is null";
      at.invalid("failedIndexes", failed, detail);
    }
  }
  if (completions === undefined || !changed(failedIndexes, completedIndexes)) return;
  const common = firstCommonIndex(
    readableIntervals(completed, completions),
    readableIntervals(failed, completions),
  );
  if (common !== undefined)
    at.invalid("failedIndexes", failed, `failedIndexes and completedIndexes overlap at index: ${common}`);
}

function validateFormat(field: string, text: string, completions: number, at: FieldErrors): void {
  try {
    parseIndexes(text, completions);
  } catch (error) {
    if (!(error instanceof IndexFormatError)) throw error;
    at.invalid(field, text, `error parsing ${field}: ${error.message}`);
  }
}

/** Intervals of a list without those that cannot be parsed. */
function readableIntervals(text: string, completions: number): readonly IndexInterval[] {
  return (text === "" ? [] : text.split(",")).flatMap((part) => {
    try {
      return [parseInterval(part, completions)];
    } catch (error) {
      if (error instanceof IndexFormatError) return [];
      throw error;
    }
  });
}

function validateTransition({ next, current }: Update, at: FieldErrors): void {
  const reject = (detail: string) => at.invalidWithoutValue("conditions", detail);
  for (const type of ["Failed", "Complete", "FailureTarget"]) {
    if (isTrue(current, type) && !isTrue(next, type))
      reject(`cannot disable the terminal ${type}=True condition`);
  }
  const { completionMode, completions, parallelism } = next.spec ?? {};
  const isElastic = completionMode === "Indexed" && completions === parallelism;
  for (const field of isElastic ? (["failed"] as const) : (["failed", "succeeded"] as const)) {
    const count = next.status?.[field] ?? 0;
    if (count < (current.status?.[field] ?? 0))
      at.invalid(field, count, `cannot decrease the ${field} counter`);
  }
  if (isSuccessCriteriaMet(current) && !isSuccessCriteriaMet(next))
    reject("cannot disable the SuccessCriteriaMet=True condition");
  if (isComplete(current) && !isSuccessCriteriaMet(current) && isSuccessCriteriaMet(next))
    reject("cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions");
}
