import { expect, test } from "vitest";
import type { KubeObject, Pod } from "../api/meta/objects.ts";
import type { Client } from "../client/api/client.ts";
import { createAsyncQueue } from "../lib/async-queue.ts";
import { silentLogger } from "../lib/logger.ts";
import { createManualClock } from "../lib/manual-clock.ts";
import type { RuleSet } from "./compile/rule-set.ts";
import { createPolicyEnforcer } from "./policy-enforcer.ts";

const policy = { metadata: { name: "p", namespace: "ns", uid: "p" }, spec: { podSelector: {} } };
const pod = (uid: string, labels = {}) =>
  ({
    metadata: { name: uid, namespace: "ns", uid, labels },
    spec: { nodeName: "here", containers: [] },
    status: {},
  }) as unknown as Pod;

/** An enforcer whose tables are written when the test lets them. */
function setUp(policies: readonly object[]) {
  const changes = createAsyncQueue<object>({ capacity: 100 });
  const client = {
    list: async (resource: string) => ({
      items: resource === "networkpolicies" ? policies : [],
      resourceVersion: "1",
    }),
    async *watch(resource: string, { signal }: { signal: AbortSignal }) {
      if (resource === "pods") yield* changes;
      if (signal.aborted) return;
      await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
    },
  } as unknown as Client;
  const written: (RuleSet | undefined)[] = [];
  let failure: Error | undefined;
  const clock = createManualClock();
  const enforcer = createPolicyEnforcer({
    client,
    nodeName: "here",
    tables: {
      async sync(rules) {
        if (failure) throw failure;
        written.push(rules);
      },
      isIntact: async () => true,
    },
    clock,
    logger: silentLogger,
  });
  const stop = new AbortController();
  const running = enforcer.run(stop.signal);
  return {
    enforcer,
    written,
    clock,
    fail: (error: Error | undefined) => {
      failure = error;
    },
    change: (type: string, object: KubeObject) => changes.push({ type, object }),
    async close() {
      stop.abort(new Error("the test ends"));
      changes.end();
      await running;
    },
  };
}

const signal = new AbortController().signal;

test("a pod is protected when the rules with its address are written", async ({ onTestFinished }) => {
  const { enforcer, written, close } = setUp([policy]);
  onTestFinished(close);
  await enforcer.protect(pod("a"), ["10.0.0.1"], signal);
  expect(written.at(-1)?.isolated.ingress.has("10.0.0.1")).toBe(true);
  const count = written.length;
  await enforcer.protect(pod("a"), ["10.0.0.1"], signal);
  expect(written).toHaveLength(count);
});

test("an address belongs to the pod that got it last", async ({ onTestFinished }) => {
  const { enforcer, written, close } = setUp([
    { ...policy, spec: { podSelector: { matchLabels: { x: "y" } } } },
  ]);
  onTestFinished(close);
  await enforcer.protect(pod("a", { x: "y" }), ["10.0.0.1"], signal);
  expect(written.at(-1)?.isolated.ingress.size).toBe(1);
  await enforcer.protect(pod("b"), ["10.0.0.1"], signal);
  expect(written.at(-1)?.isolated.ingress.size).toBe(0);
});

test("a deleted pod is no longer known, and its address is not either", async ({ onTestFinished }) => {
  const { enforcer, written, change, close } = setUp([policy]);
  onTestFinished(close);
  await enforcer.protect(pod("a"), ["10.0.0.1"], signal);
  change("ADDED", pod("a"));
  change("DELETED", pod("a"));
  await expect.poll(() => written.at(-1)?.pods.size).toBe(0);
});

test("without policies there are no rules, and pods do not wait for any", async ({ onTestFinished }) => {
  const { enforcer, written, close } = setUp([]);
  onTestFinished(close);
  await enforcer.protect(pod("a"), ["10.0.0.1"], signal);
  expect(new Set(written)).toEqual(new Set([undefined]));
});

test("a pod does not start while the rules cannot be written", async ({ onTestFinished }) => {
  const { enforcer, written, fail, clock, close } = setUp([policy]);
  onTestFinished(close);
  fail(new Error("no nft"));
  await expect(enforcer.protect(pod("a"), ["10.0.0.1"], signal)).rejects.toThrow("no nft");
  fail(undefined);
  const again = enforcer.protect(pod("a"), ["10.0.0.1"], signal);
  // The loop waits before it tries again.
  await expect
    .poll(async () => {
      await clock.advance(1_000);
      return written.at(-1)?.pods.has("10.0.0.1");
    })
    .toBe(true);
  await again;
});
