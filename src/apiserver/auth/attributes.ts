import type { FieldSelector } from "../../api/meta/field-selector.ts";
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
