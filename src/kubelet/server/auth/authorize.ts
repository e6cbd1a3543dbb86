import type { Client } from "../../../client/client.ts";
import type { Clock } from "../../../lib/clock.ts";
import { createAnswerCache } from "./answer-cache.ts";
import type { Caller } from "./caller.ts";

interface NodeAccess {
  readonly verb: string;
  readonly subresource: string;
}

/** Whether a caller may do something with this node. Rejects when the API server cannot be asked. */
export type Authorize = (caller: Caller, access: NodeAccess) => Promise<boolean>;

export interface AuthorizerDeps {
  readonly client: Pick<Client, "request">;
  readonly clock: Clock;
  readonly nodeName: string;
  readonly allowedMs: number;
  readonly deniedMs: number;
}

const reviewTimeoutMs = 10_000;

/** Asks the API server by SubjectAccessReview. */
export function createAuthorizer(deps: AuthorizerDeps): Authorize {
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

  return ({ username, uid, groups, extra }, { verb, subresource }) => {
    const spec = {
      resourceAttributes: { verb, version: "v1", resource: "nodes", subresource, name: deps.nodeName },
      user: username,
      groups,
      ...(uid && { uid }),
      ...(extra && { extra }),
    };
    return cache.get(JSON.stringify(spec), async () => {
      const value = await review(spec);
      return { value, forMs: value ? deps.allowedMs : deps.deniedMs };
    });
  };
}
