import type { FieldSelector } from "../../api/meta/field-selector.ts";
import { StatusError } from "../../api/meta/status-error.ts";
import type { UserInfo } from "../request/user-info.ts";

/** Attributes of a request that authorizers decide on. Attributes that a request does not have are empty. */
export interface Attributes {
  readonly user: UserInfo;
  /** API verb, for example `list` or `escalate`. The lower-case HTTP method for non-resource requests. */
  readonly verb: string;
  readonly isResourceRequest: boolean;
  readonly apiGroup: string;
  readonly apiVersion: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  /** Name of the object. For lists and watches, the value of a `metadata.name=` field selector. */
  readonly name: string;
  readonly path: string;
  /** Field selector of the request. Nodes may list pods by `spec.nodeName` only. */
  readonly fieldSelector?: FieldSelector;
}

/** Decision of an authorizer. A request that one authorizer does not allow may be allowed by the next. */
export interface Decision {
  readonly allowed: boolean;
  /** Reason, worded as upstream. Often empty. */
  readonly reason: string;
}

export type Authorize = (attributes: Attributes) => Decision;

type Asked = Pick<Attributes, "user" | "verb" | "resource"> & Partial<Attributes>;

/** Attributes of a permission check that is derived from a request: impersonate, escalate, bind. */
export function resourceAttributes(asked: Asked): Attributes {
  return {
    isResourceRequest: true,
    apiGroup: "",
    apiVersion: "*",
    subresource: "",
    namespace: "",
    name: "",
    path: "",
    ...asked,
  };
}

interface Refused {
  readonly group: string;
  readonly resource: string;
  readonly name: string;
}

/** Forbidden error: `pods "x" is forbidden: …`, or `forbidden: …` for non-resource requests. */
export function refusal({ group, resource, name }: Refused, detail: string): StatusError {
  const qualified = group ? `${resource}.${group}` : resource;
  const subject = [qualified, name && JSON.stringify(name)].filter(Boolean).join(" ");
  const message = resource ? `${subject} is forbidden: ${detail}` : `forbidden: ${detail}`;
  return new StatusError(403, "Forbidden", message, {
    ...(name && { name }),
    ...(group && { group }),
    ...(resource && { kind: resource }),
  });
}

/** Error for a request that no authorizer allowed. */
export function forbiddenRequest(attributes: Attributes, reason: string): StatusError {
  const detail = [withoutMarkup(describe(attributes)), reason].filter(Boolean).join(": ");
  const { apiGroup: group, resource, name } = attributes;
  return refusal({ group, resource, name }, detail);
}

function describe(attributes: Attributes): string {
  const { user, verb, namespace, apiGroup, resource, subresource, path } = attributes;
  const who = `User ${JSON.stringify(user.username)} cannot ${verb}`;
  if (!attributes.isResourceRequest) return `${who} path ${JSON.stringify(path)}`;
  const what = JSON.stringify(subresource ? `${resource}/${subresource}` : resource);
  const where = namespace ? `in the namespace ${JSON.stringify(namespace)}` : "at the cluster scope";
  return `${who} resource ${what} in API group ${JSON.stringify(apiGroup)} ${where}`;
}

/** Escapes HTML as upstream does, so that browsers do not interpret an error as markup. */
function withoutMarkup(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

/** Formats a list of strings as Go does: `["a" "b"]`. */
export function quoteList(list: readonly string[]): string {
  return `[${list.map((item) => JSON.stringify(item)).join(" ")}]`;
}
