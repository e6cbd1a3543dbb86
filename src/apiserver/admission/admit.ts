import type { KubeObject } from "../../api/objects.ts";
import type { UserInfo } from "../auth/user-info.ts";
import type { ObjectRef } from "../registry/registry.ts";

/** A write on its way to the store, after defaults and before validation. */
export interface AdmissionRequest {
  readonly operation: "create" | "update" | "delete";
  readonly ref: ObjectRef;
  readonly subresource: string;
  /** What is to be written; admission may change it. Missing for a delete. */
  readonly object: KubeObject | undefined;
  /** What is there. Missing for a create. */
  readonly current: KubeObject | undefined;
  readonly user: UserInfo;
  /** Nothing may be kept of it. */
  readonly dryRun: boolean;
}

/** Throws a StatusError to refuse. */
export type Admit = (request: AdmissionRequest) => Promise<void>;
