import type { KubeObject, Node, Pod } from "../../../api/objects.ts";
import type { StatusError } from "../../../api/status-error.ts";
import type { Authorize } from "../attributes.ts";
import type { UserInfo } from "../user-info.ts";

/** A write that has been authorized and is about to happen. */
export interface NodeWrite {
  readonly user: UserInfo;
  readonly operation: "CREATE" | "UPDATE" | "DELETE";
  readonly group: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  /** From the URL; on create from the object. */
  readonly name: string;
  /** What shall be; missing on delete. */
  readonly object?: KubeObject;
  /** What is; missing on create. */
  readonly oldObject?: KubeObject;
}

export interface NodeRestrictionDeps {
  pod(namespace: string, name: string): Pod | undefined;
  node(name: string): Node | undefined;
  readonly authorize: Authorize;
}

/** A sentence about what is not allowed, or an answer of its own. */
export type Refusal = string | StatusError | undefined;
