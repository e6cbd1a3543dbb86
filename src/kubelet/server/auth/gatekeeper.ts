import type { IncomingMessage } from "node:http";
import type { TLSSocket } from "node:tls";
import type { Client } from "../../../client/client.ts";
import { authenticate } from "../../../client/delegated-auth/authenticate.ts";
import type { Caller } from "../../../client/delegated-auth/caller.ts";
import { createAccessReviewer } from "../../../client/delegated-auth/review-access.ts";
import { createTokenReviewer } from "../../../client/delegated-auth/review-token.ts";
import type { Clock } from "../../../lib/clock.ts";
import type { Logger } from "../../../lib/logger.ts";
import { HttpError } from "../http-error.ts";
import { requestAttributes } from "./request-attributes.ts";

export interface AuthenticationOptions {
  /** Off unless told. */
  readonly anonymous?: boolean;
  /** Bearer tokens by TokenReview; on unless told. */
  readonly webhook?: boolean;
}

export interface AuthorizationOptions {
  /** By SubjectAccessReview unless told. */
  readonly mode?: "Webhook" | "AlwaysAllow";
}

export interface GatekeeperDeps {
  readonly client: Pick<Client, "request">;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly nodeName: string;
  readonly authentication?: AuthenticationOptions;
  readonly authorization?: AuthorizationOptions;
}

/** How long an answer of the API server's is good for. */
const cacheMs = 120_000;
const allowedMs = 300_000;
const deniedMs = 30_000;

/** Lets a request in, or throws what it is refused with. `root` is the first segment of its path. */
export type Admit = (request: IncomingMessage, root: string) => Promise<void>;

export function createGatekeeper(deps: GatekeeperDeps): Admit {
  const { client, clock, logger, nodeName, authentication = {}, authorization = {} } = deps;
  const { anonymous = false, webhook = true } = authentication;
  const { mode = "Webhook" } = authorization;
  const reviewToken = webhook ? createTokenReviewer({ client, clock, cacheMs }) : undefined;
  const authorize =
    mode === "AlwaysAllow" ? async () => true : createAccessReviewer({ client, clock, allowedMs, deniedMs });

  async function identify(request: IncomingMessage): Promise<Caller> {
    // The server speaks TLS only.
    const socket = request.socket as TLSSocket;
    const credentials = { socket, authorization: request.headers.authorization };
    const caller = await authenticate(credentials, {
      reviewToken,
      allowAnonymous: anonymous,
      now: clock.now,
    }).catch((error: unknown) => {
      logger.warn("a caller could not be authenticated", { error });
      return undefined;
    });
    if (!caller) throw new HttpError(401, "Unauthorized");
    return caller;
  }

  return async (request, root) => {
    const caller = await identify(request);
    const { verb, subresources } = requestAttributes(request.method ?? "", root);
    const about = `user=${caller.username}, verb=${verb}, resource=nodes`;
    for (const subresource of subresources) {
      const resourceAttributes = { verb, version: "v1", resource: "nodes", subresource, name: nodeName };
      const allowed = await authorize(caller, { resourceAttributes }).catch((error: unknown) => {
        logger.warn("a caller could not be authorized", { user: caller.username, verb, subresource, error });
        throw new HttpError(500, `Authorization error (${about}, subresource=${subresource})`);
      });
      if (allowed) return;
    }
    throw new HttpError(403, `Forbidden (${about}, subresource(s)=[${subresources.join(" ")}])\n`);
  };
}
