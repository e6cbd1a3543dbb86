import type { FieldSelector } from "../../api/field-selector.ts";
import type { UserInfo } from "./user-info.ts";

/** Everything that authorization looks at. The empty string stands for what a request does not have. */
export interface Attributes {
  readonly user: UserInfo;
  /** `list`, `escalate`; the method in lower case for paths that are no resources. */
  readonly verb: string;
  readonly isResourceRequest: boolean;
  readonly apiGroup: string;
  readonly apiVersion: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  /** For lists and watches the value of a `metadata.name=` field selector. */
  readonly name: string;
  readonly path: string;
  /** Nodes may list pods only by `spec.nodeName`: they need this to be told. */
  readonly fieldSelector?: FieldSelector;
}

/** There is no "denied": who is not allowed by one authorizer may be by the next. */
export interface Decision {
  readonly allowed: boolean;
  /** Why, in upstream's words; often empty. */
  readonly reason: string;
}

export type Authorize = (attributes: Attributes) => Decision;

type Asked = Pick<Attributes, "user" | "verb" | "resource"> & Partial<Attributes>;

/** Attributes of a question that no request asked in this form: impersonate, escalate, bind. */
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
