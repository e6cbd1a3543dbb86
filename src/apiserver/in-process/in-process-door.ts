import { setImmediate as nextTurn } from "node:timers/promises";
import { badRequest } from "../../api/status-error.ts";
import type { Logger } from "../../lib/logger.ts";
import type { Answer, ApiRequest, BytesAnswer } from "../api-request.ts";
import type { UserInfo } from "../auth/user-info.ts";
import type { ApiMetrics } from "../metrics/api-metrics.ts";
import { parseRequest, type RequestInfo, splitUrl } from "../request-info.ts";
import { toStatusError } from "../to-status-error.ts";
import { createQueueSink, type QueueSink } from "./queue-sink.ts";

/** What a component in the server's own process asks: all that HTTP would carry, without it. */
interface InProcessRequest {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

interface InProcessAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** A watch's comes piece by piece. */
  readonly body: string | Buffer | AsyncGenerator<string>;
}

export interface InProcessDoor {
  /** Undefined for what goes to a kubelet: that needs a connection. */
  answer(user: UserInfo, request: InProcessRequest): Promise<InProcessAnswer | undefined>;
  /** Every open watch fails. */
  close(): void;
}

interface DoorDeps {
  readonly logger: Logger;
  readonly metrics: ApiMetrics;
  /** Whether they may; throws 403. */
  admitUser(user: UserInfo, info: RequestInfo, query: URLSearchParams): void;
  answer(request: ApiRequest): Promise<Answer>;
  answerAtOnce(request: Pick<ApiRequest, "info" | "query" | "headers">): BytesAnswer | undefined;
  goesToKubelet(info: RequestInfo): boolean;
}

/** The server's entrance for those in its own process: the same rights, the same answers, no TLS and no HTTP. */
export function createInProcessDoor(deps: DoorDeps): InProcessDoor {
  const { logger, metrics } = deps;
  const watches = new Set<QueueSink>();

  async function respond(request: ApiRequest): Promise<InProcessAnswer> {
    const answer = deps.answerAtOnce(request) ?? (await deps.answer(request));
    switch (answer.kind) {
      case "bytes":
        return answer;
      case "watch": {
        const sink = createQueueSink();
        watches.add(sink);
        void answer
          .run(sink)
          .catch(sink.fail)
          .finally(() => watches.delete(sink));
        return { status: 200, headers: { "content-type": "application/json" }, body: sink.read() };
      }
      default:
        throw new Error("the answer was not rendered");
    }
  }

  return {
    async answer(user, { method, path, headers, body }) {
      // A turn of the event loop for each, as a connection would take: a chain of reads holds nobody else up.
      await nextTurn();
      const startedAt = performance.now();
      const { path: plainPath, query } = splitUrl(path);
      const info = parseRequest(method, plainPath, query);
      if (info && deps.goesToKubelet(info)) return undefined;
      let answer: InProcessAnswer;
      try {
        if (!info) throw badRequest("the path of the request is not valid percent-encoding");
        deps.admitUser(user, info, query);
        const readBody = async () => Buffer.from(body ?? "");
        answer = await respond({ method, info, query, headers, user, readBody });
      } catch (error) {
        const failure = toStatusError(error);
        if (failure.code === 500) logger.error("request failed", { method, path: plainPath, error });
        answer = failed(failure);
      }
      const seconds = (performance.now() - startedAt) / 1_000;
      if (info) metrics.observe(info, { code: answer.status, seconds, dryRun: query.has("dryRun") });
      return answer;
    },
    close() {
      for (const watch of watches) watch.fail(new Error("the API server has stopped"));
    },
  };
}

function failed(failure: ReturnType<typeof toStatusError>): InProcessAnswer {
  const retryAfter = failure.details?.retryAfterSeconds;
  return {
    status: failure.code,
    headers: {
      "content-type": "application/json",
      ...(retryAfter !== undefined && { "retry-after": String(retryAfter) }),
    },
    body: JSON.stringify(failure.toStatus()),
  };
}
