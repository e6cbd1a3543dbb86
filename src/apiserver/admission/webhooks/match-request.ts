import type { ConditionInput } from "../../../api/kinds/admissionregistration/conditions/match-conditions.ts";
import { type FieldSelector, parseFieldSelector } from "../../../api/meta/field-selector.ts";
import { forbidden } from "../../../api/meta/status-error.ts";
import type { Clock } from "../../../lib/clock.ts";
import { type Authorize, resourceAttributes } from "../../auth/attributes.ts";
import { serviceAccountGroups, serviceAccountUsername, type UserInfo } from "../../request/user-info.ts";
import type { AdmissionRequest } from "../admission-chain.ts";
import { createReview, type ReviewRequest } from "./admission-review.ts";
import type { AdmissionWebhook } from "./admission-webhook.ts";
import type { WebhookMetrics } from "./webhook-metrics.ts";

export interface MatchDeps {
  readonly authorize: Authorize;
  readonly metrics: WebhookMetrics;
  readonly clock: Clock;
}

/**
 * Evaluates the match conditions of a webhook. Returns whether it is called. Throws a StatusError if a condition fails and the
 * failure policy is Fail.
 */
export async function matchesConditions(
  deps: MatchDeps,
  { webhook, match }: AdmissionWebhook,
  request: AdmissionRequest,
  review: Omit<ReviewRequest, "uid">,
  type: "admit" | "validating",
): Promise<boolean> {
  if (!match) return true;
  const start = deps.clock.now();
  const { kind, errors, message } = await match(inputOf(deps.authorize, request, review));
  const { name, failurePolicy } = webhook;
  const isRejected = kind === "failed" && failurePolicy !== "Ignore";
  deps.metrics.observeMatch(
    { name, type, operation: request.operation },
    {
      seconds: kind === "matches" ? undefined : (deps.clock.now() - start) / 1_000,
      errors,
      isExcluded: kind !== "matches" && !isRejected,
    },
  );
  if (isRejected) throw forbidden(request.ref.resource, review.name, message);
  return kind === "matches";
}

function inputOf(
  authorize: Authorize,
  { user }: AdmissionRequest,
  review: Omit<ReviewRequest, "uid">,
): ConditionInput {
  const { object, oldObject, requestResource, subresource, namespace, name } = review;
  // As upstream, the resource is that of the request, also if the kind is that of an equivalent version.
  const shown = { ...review, uid: "", object: undefined, oldObject: undefined, resource: requestResource };
  const { group, resource } = requestResource;
  return {
    object,
    oldObject,
    request: createReview("v1", shown).request,
    authorize(verb, check, account) {
      const asked = { user: account ? serviceAccountUser(account) : user, verb };
      if ("path" in check)
        return authorize(
          resourceAttributes({
            ...asked,
            resource: "",
            apiVersion: "",
            isResourceRequest: false,
            path: check.path,
          }),
        );
      const { group: apiGroup, fieldSelector, labelSelector: _, ...rest } = check;
      return authorize(
        resourceAttributes({ ...asked, ...rest, apiGroup, fieldSelector: selectorOf(fieldSelector) }),
      );
    },
    requestResource: { group, resource, subresource, namespace, name },
  };
}

function serviceAccountUser({ namespace, name }: { namespace: string; name: string }): UserInfo {
  const username = serviceAccountUsername(namespace, name);
  return { username, groups: serviceAccountGroups(namespace), extra: {} };
}

/** An invalid selector does not restrict the check, as upstream. */
function selectorOf(text: string): FieldSelector | undefined {
  if (text === "") return undefined;
  try {
    return parseFieldSelector(text);
  } catch {
    return undefined;
  }
}
