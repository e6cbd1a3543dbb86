import type { IncomingMessage } from "node:http";
import type { TLSSocket } from "node:tls";
import type { Clock } from "../../lib/clock.ts";
import { HttpError } from "../../lib/http/http-exchange.ts";
import type { Logger } from "../../lib/logger.ts";
import type { Client } from "../api/client.ts";
import { authenticate, type Caller, createAccessReviewer, createTokenReviewer } from "./authenticate.ts";

export interface AuthenticationOptions {
  /** Accept anonymous requests. Defaults to false. */
  readonly anonymous?: boolean;
  /** Authenticate bearer tokens with TokenReviews. Defaults to true. */
  readonly webhook?: boolean;
  /** Accept tokens for node agents in the header `agentTokenHeader`. Defaults to false. */
  readonly agentTokens?: boolean;
}

export interface AuthorizationOptions {
  /** Defaults to `Webhook`: SubjectAccessReviews. */
  readonly mode?: "Webhook" | "AlwaysAllow";
}

interface RequestAuthorizerDeps {
  readonly client: Pick<Client, "request">;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly nodeName: string;
  readonly authentication?: AuthenticationOptions;
  readonly authorization?: AuthorizationOptions;
}

/** Cache durations of TokenReviews, and of allowed and denied SubjectAccessReviews; upstream's defaults. */
const cacheMs = 120_000;
const allowedMs = 300_000;
const deniedMs = 30_000;

/** Authenticates and authorizes a request. Throws an HttpError if rejected. `root` is the first segment of its path. */
export type AuthorizeRequest = (request: IncomingMessage, root: string) => Promise<void>;

export function createRequestAuthorizer(deps: RequestAuthorizerDeps): AuthorizeRequest {
  const { client, clock, logger, nodeName, authentication = {}, authorization = {} } = deps;
  const { anonymous = false, webhook = true, agentTokens = false } = authentication;
  const { mode = "Webhook" } = authorization;
  const reviewToken = webhook ? createTokenReviewer({ client, clock, cacheMs }) : undefined;
  const reviewAgentToken = agentTokens
    ? createTokenReviewer({ client, clock, cacheMs, audiences: [agentAudience] })
    : undefined;
  const authorize =
    mode === "AlwaysAllow" ? async () => true : createAccessReviewer({ client, clock, allowedMs, deniedMs });

  async function authenticateRequest(request: IncomingMessage): Promise<Caller> {
    // The server accepts TLS only.
    const socket = request.socket as TLSSocket;
    const agentToken = reviewAgentToken && request.headers[agentTokenHeader];
    const credentials =
      typeof agentToken === "string"
        ? { socket, authorization: `Bearer ${agentToken}` }
        : { socket, authorization: request.headers.authorization };
    const caller = await authenticate(credentials, {
      reviewToken: typeof agentToken === "string" ? reviewAgentToken : reviewToken,
      allowAnonymous: anonymous,
      now: clock.now,
    }).catch((error: unknown) => {
      logger.warn("failed to authenticate a request", { error });
      return undefined;
    });
    if (!caller) throw new HttpError(401, "Unauthorized");
    return caller;
  }

  return async (request, root) => {
    const caller = await authenticateRequest(request);
    const { verb, subresources } = requestAttributes(request.method ?? "", root);
    const about = `user=${caller.username}, verb=${verb}, resource=nodes`;
    for (const subresource of subresources) {
      const resourceAttributes = { verb, version: "v1", resource: "nodes", subresource, name: nodeName };
      const allowed = await authorize(caller, { resourceAttributes }).catch((error: unknown) => {
        logger.warn("failed to authorize a request", { user: caller.username, verb, subresource, error });
        throw new HttpError(500, `Authorization error (${about}, subresource=${subresource})`);
      });
      if (allowed) return;
    }
    throw new HttpError(403, `Forbidden (${about}, subresource(s)=[${subresources.join(" ")}])\n`);
  };
}

/** Attributes for authorization: a verb on a subresource of the node. */
interface RequestAttributes {
  readonly verb: string;
  /** Subresources in the order in which they are checked. One that is allowed is enough. */
  readonly subresources: readonly string[];
}

const verbs: Readonly<Record<string, string>> = {
  POST: "create",
  GET: "get",
  PUT: "update",
  PATCH: "patch",
  DELETE: "delete",
};

const subresources: Readonly<Record<string, readonly string[]>> = {
  // KEP-2862: fine-grained subresources for monitoring, with `proxy` as the fallback.
  imagePullProgress: ["imagepullprogress", "proxy"],
  pods: ["pods", "proxy"],
  runningpods: ["pods", "proxy"],
  healthz: ["healthz", "proxy"],
  configz: ["configz", "proxy"],
  stats: ["stats"],
  metrics: ["metrics"],
  logs: ["log"],
  checkpoint: ["checkpoint"],
  statusz: ["statusz"],
  flagz: ["configz"],
};

/** Returns the attributes for a method and the first segment of the path. */
export function requestAttributes(method: string, root: string): RequestAttributes {
  return {
    verb: Object.hasOwn(verbs, method) ? (verbs[method] ?? "") : "",
    subresources: (Object.hasOwn(subresources, root) ? subresources[root] : undefined) ?? ["proxy"],
  };
}

/** Audience of tokens for node agents. The API server does not accept them. */
export const agentAudience = "kindling-node-agent";

/** Header with such a token. The API server's proxy removes the header `Authorization`. */
export const agentTokenHeader = "kindling-node-agent-token";
