import { describe, expect, test } from "vitest";
import { builtInKinds } from "../../api/kinds/built-in-kinds.ts";
import { badRequest, unauthorized } from "../../api/meta/status-error.ts";
import { silentLogger } from "../../lib/logger.ts";
import { createKindRegistry } from "../kinds/kind-registry.ts";
import { createInFlight, createWatchLimits, defaultMaxWatches } from "../limits/request-limits.ts";
import type { BytesResponse, WatchResponse, WatchSink } from "../request/api-request.ts";
import { createMiddleware, type Exchange, type MiddlewareDeps } from "./middleware.ts";

const user = { username: "jane", groups: [], extra: {} };
const response: BytesResponse = { kind: "bytes", status: 200, headers: {}, body: "{}" };

function useMiddleware(overrides: Partial<MiddlewareDeps> = {}) {
  const stages: string[] = [];
  const middleware = createMiddleware({
    logger: silentLogger,
    metrics: {
      observe: (_, { code }) => void stages.push(`observe ${code}`),
      text: () => "",
      contentType: "",
    },
    kinds: createKindRegistry(builtInKinds),
    inFlight: {
      enter(kind) {
        stages.push(`enter ${kind}`);
        return () => void stages.push("leave");
      },
      count: () => 0,
    },
    watchLimits: createWatchLimits(defaultMaxWatches),
    proxy: () => undefined,
    tryCachedGet: () => undefined,
    async handleRequest({ user: { username }, readBody }) {
      stages.push(`handle ${username} ${await readBody()}`);
      return response;
    },
    ...overrides,
  });
  function makeExchange(fields: Partial<Exchange> = {}): Exchange {
    let code = 0;
    return {
      method: "GET",
      url: "/api/v1/namespaces/default/pods/web",
      headers: {},
      limited: true,
      authorize() {
        stages.push("authorize");
        return user;
      },
      async readBody() {
        return Buffer.from("body");
      },
      send(sent: BytesResponse | WatchResponse) {
        code = 200;
        stages.push(`send ${sent.kind}`);
      },
      sendError(error) {
        code = error.code;
        stages.push(`error ${error.code}`);
      },
      async forward() {
        code = 101;
        stages.push("forward");
      },
      status: () => code,
      ...fields,
    };
  }
  return { middleware, stages, makeExchange };
}

test("authorizes, then limits, then handles, then observes", async () => {
  const { middleware, stages, makeExchange } = useMiddleware();
  await middleware(makeExchange({ method: "POST", url: "/api/v1/namespaces/default/pods" }));
  expect(stages).toEqual([
    "authorize",
    "enter write",
    "handle jane body",
    "leave",
    "send bytes",
    "observe 200",
  ]);
});

test("serves a cached GET without a promise", () => {
  const { middleware, stages, makeExchange } = useMiddleware({ tryCachedGet: () => response });
  expect(middleware(makeExchange())).toBeUndefined();
  expect(stages).toEqual(["authorize", "send bytes", "observe 200"]);
});

test("does not read the cache before a token is authenticated", async () => {
  const { middleware, stages, makeExchange } = useMiddleware({ tryCachedGet: () => response });
  await middleware(makeExchange({ authorize: () => Promise.reject(unauthorized()) }));
  expect(stages).toEqual(["error 401", "observe 401"]);
});

test("forwards requests for a kubelet without limits", async () => {
  const proxy = { request: async () => {}, upgrade: async () => {} };
  const { middleware, stages, makeExchange } = useMiddleware({ proxy: () => proxy });
  await middleware(makeExchange({ url: "/api/v1/nodes/n1/proxy/healthz" }));
  expect(stages).toEqual(["authorize", "forward", "observe 101"]);
});

describe("limits", () => {
  test("do not apply to watches", async () => {
    const { middleware, stages, makeExchange } = useMiddleware();
    await middleware(makeExchange({ url: "/api/v1/pods?watch=true" }));
    expect(stages).not.toContain("enter read");
  });

  test("do not apply to responses that are being sent", async () => {
    const inFlight = createInFlight();
    const { middleware, makeExchange } = useMiddleware({ inFlight });
    let count = 0;
    const send = () => {
      count = inFlight.count("read");
    };
    await middleware(makeExchange({ send }));
    expect(count).toBe(0);
  });

  describe("of watches", () => {
    const url = "/api/v1/pods?watch=true";

    function useWatches(max: { total: number; perUser: number }) {
      const watchLimits = createWatchLimits(max);
      const ends: (() => void)[] = [];
      const run = () => new Promise<void>((resolve) => void ends.push(resolve));
      const parts = useMiddleware({ watchLimits, handleRequest: async () => ({ kind: "watch", run }) });
      const sink = {} as WatchSink;
      const open = (limited = true) => {
        const send = (sent: BytesResponse | WatchResponse) =>
          sent.kind === "watch" ? sent.run(sink) : undefined;
        return parts.middleware(parts.makeExchange({ url, limited, send }));
      };
      return { ...parts, watchLimits, ends, open };
    }

    test("reject with 429 until a watch ends", async () => {
      const { open, ends, stages, watchLimits } = useWatches({ total: 1, perUser: 10 });
      const first = open();
      await open();
      expect(stages).toContain("error 429");
      for (const end of ends) end();
      await first;
      expect(watchLimits.count()).toBe(0);
    });

    test("in total do not apply to listeners without limits, those of a user do", async () => {
      const { open, stages } = useWatches({ total: 1, perUser: 3 });
      void open();
      void open(false);
      void open(false);
      await open(false);
      expect(stages.filter((stage) => stage === "error 429")).toHaveLength(1);
    });
  });

  test("do not apply to listeners without limits", async () => {
    const { middleware, stages, makeExchange } = useMiddleware();
    await middleware(makeExchange({ limited: false }));
    expect(stages).not.toContain("enter read");
  });

  test("reject with 429", async () => {
    const inFlight = createInFlight();
    for (let i = 0; i < 2_000; i++) inFlight.enter("read");
    const { middleware, stages, makeExchange } = useMiddleware({ inFlight });
    await middleware(makeExchange());
    expect(stages).toEqual(["authorize", "error 429", "observe 429"]);
  });
});

describe("errors", () => {
  test("of authorization end the request", () => {
    const { middleware, stages, makeExchange } = useMiddleware();
    const authorize = () => {
      throw unauthorized();
    };
    expect(middleware(makeExchange({ authorize }))).toBeUndefined();
    expect(stages).toEqual(["error 401", "observe 401"]);
  });

  test("of the handler are sent after the limit is released", async () => {
    const handleRequest = () => Promise.reject(badRequest("no"));
    const { middleware, stages, makeExchange } = useMiddleware({ handleRequest });
    await middleware(makeExchange());
    expect(stages).toEqual(["authorize", "enter read", "leave", "error 400", "observe 400"]);
  });

  test("a path that is not valid percent-encoding is a bad request", () => {
    const { middleware, stages, makeExchange } = useMiddleware();
    void middleware(makeExchange({ url: "/api/v1/pods/%zz" }));
    expect(stages).toEqual(["error 400"]);
  });
});
