import type * as k8s from "@kubernetes/client-node";
import { type FieldError, invalid, required } from "../../../api/meta/field-errors.ts";
import {
  type FieldRequirement,
  type FieldSelector,
  parseFieldSelector,
} from "../../../api/meta/field-selector.ts";
import type { ObjectMeta, Wire } from "../../../api/meta/objects.ts";
import { badRequest, invalidObject } from "../../../api/meta/status-error.ts";
import type { UserInfo } from "../../request/user-info.ts";
import type { Attributes, Authorize } from "../attributes.ts";

export type SelfSubjectAccessReview = Wire<k8s.V1SelfSubjectAccessReview>;
export type SubjectAccessReview = Wire<k8s.V1SubjectAccessReview>;
export type LocalSubjectAccessReview = Wire<k8s.V1LocalSubjectAccessReview>;

type Spec = Wire<k8s.V1SelfSubjectAccessReviewSpec>;

const group = "authorization.k8s.io";

/** SelfSubjectAccessReview (`kubectl auth can-i`): whether the user of the request may do something. */
export function reviewSelfAccess(
  review: SelfSubjectAccessReview,
  user: UserInfo,
  authorize: Authorize,
): SelfSubjectAccessReview {
  const kind = "SelfSubjectAccessReview";
  failOn(kind, [...specErrors(review.spec), ...metadataErrors(review.metadata, "must be empty")]);
  return { ...review, ...head(kind, review), status: decide(review.spec, user, authorize) };
}

/** SubjectAccessReview: whether another user may do something. */
export function reviewSubjectAccess(review: SubjectAccessReview, authorize: Authorize): SubjectAccessReview {
  const kind = "SubjectAccessReview";
  failOn(kind, [
    ...specErrors(review.spec),
    ...subjectErrors(review.spec),
    ...metadataErrors(review.metadata, "must be empty"),
  ]);
  return { ...review, ...head(kind, review), status: decide(review.spec, subjectOf(review), authorize) };
}

/** LocalSubjectAccessReview: as above, for one namespace. */
export function reviewLocalSubjectAccess(
  review: LocalSubjectAccessReview,
  namespace: string,
  authorize: Authorize,
): LocalSubjectAccessReview {
  const kind = "LocalSubjectAccessReview";
  const { namespace: own = "", ...metadata } = review.metadata ?? {};
  const { resourceAttributes, nonResourceAttributes } = review.spec;
  const errors = [
    ...specErrors(review.spec),
    ...subjectErrors(review.spec),
    ...metadataErrors(metadata, "must be empty except for namespace"),
  ];
  if (resourceAttributes && (resourceAttributes.namespace ?? "") !== own) {
    const field = "spec.resourceAttributes.namespace";
    errors.push(invalid(field, resourceAttributes.namespace ?? "", "must match metadata.namespace"));
  }
  if (nonResourceAttributes) {
    const detail = "disallowed on this kind of request";
    errors.push(invalid("spec.nonResourceAttributes", nonResourceAttributes, detail));
  }
  failOn(kind, errors);
  if (own !== namespace) {
    throw badRequest(`spec.resourceAttributes.namespace must match namespace: ${namespace}`);
  }
  return { ...review, ...head(kind, review), status: decide(review.spec, subjectOf(review), authorize) };
}

function head(kind: string, { metadata = {} }: { metadata?: ObjectMeta }) {
  return { kind, apiVersion: `${group}/v1`, metadata };
}

function failOn(kind: string, errors: readonly FieldError[]): void {
  if (errors.length > 0) throw invalidObject({ group, kind }, "", errors);
}

function subjectOf({ spec }: SubjectAccessReview): UserInfo {
  return { username: spec.user ?? "", uid: spec.uid, groups: spec.groups ?? [], extra: spec.extra ?? {} };
}

function decide(spec: Spec, user: UserInfo, authorize: Authorize): SubjectAccessReview["status"] {
  const { verb = "", path = "" } = spec.nonResourceAttributes ?? {};
  const asked = spec.resourceAttributes;
  const selector = readFieldSelector(asked?.fieldSelector);
  const attributes: Attributes = {
    user,
    verb: asked ? (asked.verb ?? "") : verb,
    isResourceRequest: asked !== undefined,
    apiGroup: asked?.group ?? "",
    apiVersion: asked?.version || "*",
    resource: asked?.resource ?? "",
    subresource: asked?.subresource ?? "",
    namespace: asked?.namespace ?? "",
    name: asked?.name ?? "",
    path,
    fieldSelector: selector.requirements,
  };
  const { allowed, reason } = authorize(attributes);
  return {
    allowed,
    ...(reason && { reason }),
    ...(selector.problem && { evaluationError: selector.problem }),
  };
}

function specErrors({ resourceAttributes, nonResourceAttributes }: Spec): FieldError[] {
  const errors: FieldError[] = [];
  if (resourceAttributes && nonResourceAttributes) {
    const detail = "cannot be specified in combination with resourceAttributes";
    errors.push(invalid("spec.nonResourceAttributes", nonResourceAttributes, detail));
  }
  if (!resourceAttributes && !nonResourceAttributes) {
    const detail = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
    errors.push(invalid("spec.resourceAttributes", null, detail));
  }
  return [...errors, ...checkSelectors(resourceAttributes)];
}

function subjectErrors({ user, groups }: SubjectAccessReview["spec"]): FieldError[] {
  if (user || groups?.length) return [];
  return [invalid("spec.user", "", "at least one of user or group must be specified")];
}

function metadataErrors(metadata: ObjectMeta = {}, detail: string): FieldError[] {
  const { managedFields: _, ...rest } = metadata;
  const isEmpty = Object.values(rest).every((value) => value === undefined || value === null);
  return isEmpty ? [] : [invalid("metadata", metadata, detail)];
}

type ReviewAttributes = Wire<k8s.V1ResourceAttributes>;

/** Validates that each selector is given either as text or as requirements. */
function checkSelectors(attributes: ReviewAttributes | undefined): FieldError[] {
  const { fieldSelector, labelSelector } = attributes ?? {};
  return Object.entries({ fieldSelector, labelSelector }).flatMap(([name, selector]) => {
    const field = `spec.resourceAttributes.${name}`;
    const hasRequirements = Boolean(selector?.requirements?.length);
    if (!selector || Boolean(selector.rawSelector) !== hasRequirements) return [];
    return hasRequirements
      ? [
          invalid(
            `${field}.rawSelector`,
            selector.rawSelector,
            "may not specified at the same time as requirements",
          ),
        ]
      : [
          required(
            `${field}.requirements`,
            `when ${field} is specified, requirements or rawSelector is required`,
          ),
        ];
  });
}

/**
 * Parses a field selector. Requirements that cannot be parsed are dropped, which widens the request and never narrows
 * it.
 */
function readFieldSelector(selector: ReviewAttributes["fieldSelector"]): {
  requirements: FieldSelector;
  problem?: string;
} {
  const problem = "spec.resourceAttributes.fieldSelector ignored due to parse error";
  if (selector?.rawSelector) {
    try {
      return { requirements: parseFieldSelector(selector.rawSelector) };
    } catch {
      return { requirements: [], problem };
    }
  }
  const asked = selector?.requirements ?? [];
  const requirements = asked.flatMap(({ key, operator, values = [] }): FieldRequirement[] => {
    const [value] = values;
    if (value === undefined || values.length > 1 || (operator !== "In" && operator !== "NotIn")) return [];
    return [{ field: key, operator: operator === "In" ? "=" : "!=", value }];
  });
  if (requirements.length === asked.length) return { requirements };
  return {
    requirements,
    problem: requirements.length > 0 ? problem.replace("ignored", "partially ignored") : problem,
  };
}
