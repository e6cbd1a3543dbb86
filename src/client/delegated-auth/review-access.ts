import type { Clock } from "../../lib/clock.ts";
import type { Client } from "../client.ts";
import { createAnswerCache } from "./answer-cache.ts";
import type { Caller } from "./caller.ts";

/** What a caller wants to do, in the words of a SubjectAccessReview. */
type Access =
  | {
      readonly resourceAttributes: {
        readonly verb: string;
        readonly group?: string;
        readonly version?: string;
        readonly resource: string;
        readonly subresource?: string;
        readonly name?: string;
      };
    }
  | { readonly nonResourceAttributes: { readonly verb: string; readonly path: string } };

/** Whether a caller may do that. Rejects when the API server cannot be asked. */
export type ReviewAccess = (caller: Caller, access: Access) => Promise<boolean>;

export interface AccessReviewerDeps {
  readonly client: Pick<Client, "request">;
  readonly clock: Clock;
  /** How long a yes holds. */
  readonly allowedMs: number;
  /** How long a no holds. */
  readonly deniedMs: number;
}

const reviewTimeoutMs = 10_000;

/** Asks the API server by SubjectAccessReview. */
export function createAccessReviewer(deps: AccessReviewerDeps): ReviewAccess {
  const cache = createAnswerCache<boolean>({ clock: deps.clock, capacity: 1_000, mostOpen: 50 });

  async function review(spec: unknown): Promise<boolean> {
    const { status } = await deps.client.request<{ status?: { allowed?: boolean } }>(
      "POST",
      "/apis/authorization.k8s.io/v1/subjectaccessreviews",
      {
        body: { apiVersion: "authorization.k8s.io/v1", kind: "SubjectAccessReview", spec },
        signal: AbortSignal.timeout(reviewTimeoutMs),
      },
    );
    return status?.allowed === true;
  }

  return ({ username, uid, groups, extra }, access) => {
    const spec = { ...access, user: username, groups, ...(uid && { uid }), ...(extra && { extra }) };
    return cache.get(JSON.stringify(spec), async () => {
      const value = await review(spec);
      return { value, forMs: value ? deps.allowedMs : deps.deniedMs };
    });
  };
}
