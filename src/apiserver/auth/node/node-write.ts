import type { KubeObject, Node, Pod } from "../../../api/meta/objects.ts";
import type { StatusError } from "../../../api/meta/status-error.ts";
import type { UserInfo } from "../../request/user-info.ts";
import type { Authorize } from "../attributes.ts";

/** Authorized write of a node, before it is stored. */
export interface NodeWrite {
  readonly user: UserInfo;
  readonly operation: "CREATE" | "UPDATE" | "DELETE";
  readonly group: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  /** Name in the URL, or that of the object on create. */
  readonly name: string;
  /** New object. Undefined on delete. */
  readonly object?: KubeObject;
  /** Stored object. Undefined on create. */
  readonly oldObject?: KubeObject;
}

export interface NodeRestrictionDeps {
  pod(namespace: string, name: string): Pod | undefined;
  node(name: string): Node | undefined;
  readonly authorize: Authorize;
}

/** Reason of a rejection, or the complete error. Undefined if the write is allowed. */
export type Rejection = string | StatusError | undefined;
