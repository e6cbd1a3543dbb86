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
      if (!this.up) return away(`${url} is down`);
    },
  };
}

function away(details: string, code = status.UNAVAILABLE): ServiceError {
  return Object.assign(new Error(details), { code, details, metadata: new Metadata() });
}

const failover = (...members: Member[]) =>
  createEtcdFailover(members, { timeoutMs: 1_000, clock, signal: abort.signal });

/** A call that fails as often as there are errors, and logs when it was made where. */
function attempts(errors: unknown[]) {
  return async ({ url }: Member): Promise<string> => {
    log.push(`${clock.now()} ${url}`);
    const error = errors.shift();
    if (error) throw error;
    return `answer of ${url}`;
  };
}

describe("call", () => {
  test("stays with one member while that answers", async () => {
    const members = failover(a, b);
    for (const _call of [1, 2]) expect(await members.call("once", attempts([]))).toBe("answer of a");
  });

  test("a repeatable call goes on to the next member, after growing pauses", async () => {
    const answer = failover(a, b).call("repeatable", attempts([away("1"), away("2"), away("3")]));
    await clock.advance(1_000);
    expect(await answer).toBe("answer of b");
    expect(log).toEqual(["0 a", "20 b", "60 a", "140 b"]);
  });

  test("a repeatable call gives up in time and says what it heard of each member", async () => {
    const answer = failover(a, b).call(
      "repeatable",
      attempts([1, 2, 3, 4, 5, 6, 7].map((i) => away(`reason ${i}`))),
    );
    const outcome = expect(answer).rejects.toMatchObject({
      code: "unavailable",
      message: "etcd is unavailable: a: reason 5; b: reason 6",
    });
    await clock.advance(1_000);
    await outcome;
    expect(log.at(-1)).toBe("620 b");
  });

  test("a call that must happen once is not made again, and the next call goes elsewhere", async () => {
    const members = failover(a, b);
    await expect(members.call("once", attempts([away("reset", status.INTERNAL)]))).rejects.toMatchObject({
      code: "unavailable",
      message: "etcd at a failed, so the write may or may not have happened: reset",
    });
    expect(await members.call("once", attempts([]))).toBe("answer of b");
  });

  test("a call that must happen once waits for a connection", async () => {
    a.up = false;
    const answer = failover(a).call("once", attempts([]));
    await clock.advance(100);
    a.up = true;
    await clock.advance(100);
    expect(await answer).toBe("answer of a");
    expect(log).toEqual(["140 a"]);
  });

  test("an answer that is a refusal is not asked for again", async () => {
    const refusal = away("etcdserver: mvcc: database space exceeded", status.RESOURCE_EXHAUSTED);
    await expect(failover(a, b).call("repeatable", attempts([refusal]))).rejects.toMatchObject({
      code: "noSpace",
    });
    expect(log).toEqual(["0 a"]);
  });

  test("many calls that fail together move on by one member", async () => {
    const members = failover(a, b, member("c"));
    const calls = [1, 2, 3].map(() => members.call("repeatable", attempts([away("gone")])));
    await clock.advance(100);
    expect(await Promise.all(calls)).toEqual(["answer of b", "answer of b", "answer of b"]);
  });

  test("an abort ends the wait with its reason", async () => {
    a.up = false;
    const outcome = expect(failover(a).call("repeatable", attempts([]))).rejects.toThrow("stopped");
    await clock.advance(10);
    abort.abort(new Error("stopped"));
    await outcome;
  });

  test("needs a member", () => {
    expect(() => failover()).toThrow("at least one endpoint");
  });
});

describe("keepRunning", () => {
  test("starts the session again whenever it ends, on the next member, until the signal aborts", async () => {
    b.up = false;
    const running = failover(a, b).keepRunning(async (endpoint) => {
      log.push(`${clock.now()} ${endpoint.url}`);
      if (log.length < 3) throw away("broken");
    });
    const outcome = expect(running).rejects.toThrow("stopped");
    await clock.advance(1_000);
    expect(log).toEqual(["0 a", "60 a", "300 a"]);
    abort.abort(new Error("stopped"));
    await outcome;
  });

  test("a failure that is not the network's ends it", async () => {
    const running = failover(a).keepRunning(() => Promise.reject(new Error("a bug")));
    await expect(running).rejects.toThrow("a bug");
  });
});
