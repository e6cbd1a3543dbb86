import type * as k8s from "@kubernetes/client-node";
import { podDisruptionBudgetKind } from "../../../api/kinds/policy/pod-disruption-budget/kind.ts";
import type { KubeObject, Pod, Wire } from "../../../api/meta/objects.ts";
import { labelSelectorOf, matchesLabels } from "../../../api/meta/selector.ts";
import { badRequest, internalError, StatusError } from "../../../api/meta/status-error.ts";
import { formatTime } from "../../../api/meta/time.ts";
import { builtInSchema } from "../../../api/schema/built-in-schema.ts";
import { decodeBody } from "../../../api/schema/decode-body.ts";
import type { ApiRequest, ApiResponse } from "../../request/api-request.ts";
import { bodyAsJson } from "../../request/body-as-json.ts";
import { keyPrefix } from "../../storage/object-key.ts";
import type { Change, ObjectRef } from "../../storage/object-store.ts";
import { deleteObject } from "../verbs/delete.ts";
import type { WriteDeps } from "../verbs/write-deps.ts";
import { parseWriteOptions } from "../verbs/write-options.ts";

type Eviction = KubeObject & Wire<k8s.V1Eviction>;
type Budget = KubeObject & Wire<k8s.V1PodDisruptionBudget>;

const evictionKind = { group: "policy", version: "v1", kind: "Eviction" };
const budgetResource = podDisruptionBudgetKind.resource;

/** `pods/NAME/eviction`: deletes the pod if its disruption budgets allow it. */
export async function handleEviction(
  deps: WriteDeps,
  request: ApiRequest,
  ref: ObjectRef,
): Promise<ApiResponse> {
  const text = await bodyAsJson(await request.readBody(), request.headers["content-type"], builtInSchema);
  const { object: eviction } = decodeBody<Eviction>(builtInSchema, evictionKind, text, {
    fieldValidation: "Ignore",
  });
  if (eviction.metadata?.name !== ref.name)
    throw badRequest("name in URL does not match name in Eviction object");

  const pod = (await deps.objectStore.get(ref)).parse() as Pod;
  const dryRun =
    parseWriteOptions(request.query, "CreateOptions").dryRun ||
    (eviction.deleteOptions?.dryRun?.length ?? 0) > 0;
  const { user } = request;
  await deps.admission.admit({
    operation: "create",
    ref,
    subresource: "eviction",
    object: eviction,
    current: undefined,
    user,
    dryRun,
  });
  if (needsBudget(pod)) await takeFromBudget(deps, pod, dryRun);
  const options = { ...eviction.deleteOptions, ...(dryRun && { dryRun: ["All"] }) };
  if (!dryRun) await setDisruptionTarget(deps, ref);
  await deleteObject(deps, { ref, options, user });
  return {
    kind: "object",
    status: 201,
    object: { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success", code: 201 },
  };
}

/** Sets the condition DisruptionTarget, which shows the reason while the pod terminates. */
async function setDisruptionTarget({ objectStore, clock }: WriteDeps, ref: ObjectRef): Promise<void> {
  await objectStore.change(ref, (cached): Change => {
    const pod = cached.parse() as Pod;
    const others = pod.status?.conditions?.filter(({ type }) => type !== "DisruptionTarget") ?? [];
    const condition = {
      type: "DisruptionTarget",
      status: "True",
      lastTransitionTime: formatTime(clock.now()),
      reason: "EvictionByEvictionAPI",
      message: "Eviction API: evicting",
    };
    const evicted: Pod = { ...pod, status: { ...pod.status, conditions: [...others, condition] } };
    return { kind: "put", object: evicted };
  });
}

/** Pods that are finished, pending or being deleted do not need a budget. */
function needsBudget(pod: Pod): boolean {
  const phase = pod.status?.phase;
  return (
    phase !== "Succeeded" &&
    phase !== "Failed" &&
    phase !== "Pending" &&
    pod.metadata.deletionTimestamp === undefined
  );
}

async function takeFromBudget(deps: WriteDeps, pod: Pod, dryRun: boolean): Promise<void> {
  const budgets = [...budgetsOf(deps, pod)];
  if (budgets.length > 1) {
    throw internalError(
      "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
    );
  }
  const budget = budgets[0];
  if (!budget) return;
  const ref: ObjectRef = {
    resource: budgetResource,
    namespace: pod.metadata.namespace ?? "",
    name: budget.metadata.name ?? "",
  };
  await deps.objectStore.change(ref, (cached): Change => {
    const current = cached.parse() as Budget;
    checkAllowed(current, pod);
    if (dryRun) return { kind: "keep" };
    return { kind: "put", object: withDisruption(current, pod, deps.clock.now()) };
  });
}

function* budgetsOf({ objectStore }: WriteDeps, pod: Pod): Generator<Budget> {
  for (const cached of objectStore
    .cache(budgetResource)
    .range(keyPrefix(budgetResource, pod.metadata.namespace))) {
    const budget = cached.parse() as Budget;
    const selector = labelSelectorOf(budget.spec?.selector);
    if (selector && matchesLabels(selector, pod.metadata.labels)) yield budget;
  }
}

function checkAllowed(budget: Budget, pod: Pod): void {
  const { status, spec, metadata } = budget;
  const observed = (status?.observedGeneration ?? 0) >= (metadata.generation ?? 0);
  const isReady =
    pod.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True") ?? false;
  const healthy =
    (status?.currentHealthy ?? 0) >= (status?.desiredHealthy ?? 0) && (status?.desiredHealthy ?? 0) > 0;
  // An unhealthy pod does not count towards the healthy pods of a budget.
  if (!isReady && (spec?.unhealthyPodEvictionPolicy === "AlwaysAllow" || healthy)) return;
  if (!observed)
    throw refused(`The disruption budget ${metadata.name} is still being processed by the server.`, 10);
  if ((status?.disruptionsAllowed ?? 0) <= 0) {
    const needs = `The disruption budget ${metadata.name} needs ${status?.desiredHealthy ?? 0} healthy pods and has ${status?.currentHealthy ?? 0} currently`;
    throw refused(needs, undefined);
  }
}

function withDisruption(budget: Budget, pod: Pod, now: number): Budget {
  const status = budget.status ?? {
    currentHealthy: 0,
    desiredHealthy: 0,
    disruptionsAllowed: 0,
    expectedPods: 0,
  };
  const disruptedPods = { ...status.disruptedPods, [pod.metadata.name ?? ""]: formatTime(now) };
  return {
    ...budget,
    status: {
      ...status,
      disruptionsAllowed: Math.max(0, (status.disruptionsAllowed ?? 0) - 1),
      disruptedPods,
    },
  };
}

function refused(cause: string, retryAfterSeconds: number | undefined): StatusError {
  return new StatusError(
    429,
    "TooManyRequests",
    "Cannot evict pod as it would violate the pod's disruption budget.",
    {
      causes: [{ reason: "DisruptionBudget", message: cause }],
      ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
    },
  );
}
