import { Metadata, type ServiceError, status } from "@grpc/grpc-js";
import { beforeEach, describe, expect, test } from "vitest";
import { createManualClock, type ManualClock } from "../../lib/manual-clock.ts";
import { createEtcdFailover } from "./failover.ts";

interface Member {
  url: string;
  connect(): Promise<ServiceError | undefined>;
  up: boolean;
}

let clock: ManualClock;
let abort: AbortController;
let log: string[];
const [a, b]: [Member, Member] = [member("a"), member("b")];

beforeEach(() => {
  clock = createManualClock();
  abort = new AbortController();
  log = [];
  a.up = true;
  b.up = true;
});

function member(url: string): Member {
  return {
    url,
    up: true,
    async connect() {
      if (!this.up) return unavailable(`${url} is down`);
    },
  };
}

function unavailable(details: string, code = status.UNAVAILABLE): ServiceError {
  return Object.assign(new Error(details), { code, details, metadata: new Metadata() });
}

const failover = (...members: Member[]) =>
  createEtcdFailover(members, { timeoutMs: 1_000, clock, signal: abort.signal });

/** Call that fails with the given errors in turn, and logs its time and member. */
function attempts(errors: unknown[]) {
  return async ({ url }: Member): Promise<string> => {
    log.push(`${clock.now()} ${url}`);
    const error = errors.shift();
    if (error) throw error;
    return `response of ${url}`;
  };
}

describe("call", () => {
  test("uses one member while it responds", async () => {
    const members = failover(a, b);
    for (const _call of [1, 2]) expect(await members.call("once", attempts([]))).toBe("response of a");
  });

  test("retries a repeatable call on the next member, with increasing delays", async () => {
    const response = failover(a, b).call(
      "repeatable",
      attempts([unavailable("1"), unavailable("2"), unavailable("3")]),
    );
    await clock.advance(1_000);
    expect(await response).toBe("response of b");
    expect(log).toEqual(["0 a", "20 b", "60 a", "140 b"]);
  });

  test("a repeatable call times out with the last error of each member", async () => {
    const response = failover(a, b).call(
      "repeatable",
      attempts([1, 2, 3, 4, 5, 6, 7].map((i) => unavailable(`reason ${i}`))),
    );
    const outcome = expect(response).rejects.toMatchObject({
      code: "unavailable",
      message: "etcd is unavailable: a: reason 5; b: reason 6",
    });
    await clock.advance(1_000);
    await outcome;
    expect(log.at(-1)).toBe("620 b");
  });

  test("does not retry a call of kind once; the next call uses the next member", async () => {
    const members = failover(a, b);
    await expect(
      members.call("once", attempts([unavailable("reset", status.INTERNAL)])),
    ).rejects.toMatchObject({
      code: "unavailable",
      message: "etcd at a failed; the write may or may not have been applied: reset",
    });
    expect(await members.call("once", attempts([]))).toBe("response of b");
  });

  test("a call of kind once waits for a connection", async () => {
    a.up = false;
    const response = failover(a).call("once", attempts([]));
    await clock.advance(100);
    a.up = true;
    await clock.advance(100);
    expect(await response).toBe("response of a");
    expect(log).toEqual(["140 a"]);
  });

  test("does not retry an error response", async () => {
    const refusal = unavailable("etcdserver: mvcc: database space exceeded", status.RESOURCE_EXHAUSTED);
    await expect(failover(a, b).call("repeatable", attempts([refusal]))).rejects.toMatchObject({
      code: "noSpace",
    });
    expect(log).toEqual(["0 a"]);
  });

  test("concurrent failures switch by one member", async () => {
    const members = failover(a, b, member("c"));
    const calls = [1, 2, 3].map(() => members.call("repeatable", attempts([unavailable("gone")])));
    await clock.advance(100);
    expect(await Promise.all(calls)).toEqual(["response of b", "response of b", "response of b"]);
  });

  test("aborting ends the delay with the signal's reason", async () => {
    a.up = false;
    const outcome = expect(failover(a).call("repeatable", attempts([]))).rejects.toThrow("stopped");
    await clock.advance(10);
    abort.abort(new Error("stopped"));
    await outcome;
  });

  test("requires a member", () => {
    expect(() => failover()).toThrow("at least one endpoint");
  });
});

describe("keepRunning", () => {
  test("restarts the session on the next member whenever it ends, until the signal aborts", async () => {
    b.up = false;
    const running = failover(a, b).keepRunning(async (endpoint) => {
      log.push(`${clock.now()} ${endpoint.url}`);
      if (log.length < 3) throw unavailable("broken");
    });
    const outcome = expect(running).rejects.toThrow("stopped");
    await clock.advance(1_000);
    expect(log).toEqual(["0 a", "60 a", "300 a"]);
    abort.abort(new Error("stopped"));
    await outcome;
  });

  test("fails with errors that are not connection failures", async () => {
    const running = failover(a).keepRunning(() => Promise.reject(new Error("a bug")));
    await expect(running).rejects.toThrow("a bug");
  });
});
