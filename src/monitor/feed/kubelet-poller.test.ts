import { expect, test } from "vitest";
import { StatusError } from "../../api/meta/status-error.ts";
import { silentLogger } from "../../lib/logger.ts";
import { createManualClock } from "../../lib/manual-clock.ts";
import { createKubeletPoller, type PollTarget } from "./kubelet-poller.ts";
import { parsePulls, parseStartupProbes } from "./pull-reader.ts";

const target = (uid: string, about: ("pulls" | "budgets")[] = ["pulls"], node = "n1"): PollTarget => ({
  uid,
  namespace: "a",
  name: uid,
  node,
  about: new Set(about),
});
const pull = { container: "c", image: "i", startedAt: "t", offset: 1, total: 2, layers: [] };

const budget = { container: "c", failures: 3, secondsLeft: 270 };
const advice = { container: "c", periodSeconds: 5, failureThreshold: 37, slowestSeconds: 60, reason: "r" };

function setUp(
  answer: (path: string, signal?: AbortSignal) => unknown = () => ({
    pulls: [pull],
    probes: [budget],
    advice: [advice],
  }),
) {
  const clock = createManualClock(1_000_000);
  const requests: string[] = [];
  const updated: string[] = [];
  const signal = new AbortController().signal;
  const poller = createKubeletPoller({
    client: {
      async request<T>(_method: string, path: string, options: { signal?: AbortSignal } = {}) {
        requests.push(path);
        return (await answer(path, options.signal)) as T;
      },
    },
    clock,
    logger: silentLogger,
  });
  poller.onUpdate((uid) => updated.push(uid));
  const round = async (ms = 0) => {
    await clock.advance(ms);
    poller.pollDue(signal);
    await clock.advance(0);
  };
  return { poller, requests, updated, round, take: () => requests.splice(0) };
}

test("polls each target at most once a second and drops the state of removed targets", async () => {
  const { poller, updated, round, take } = setUp();
  poller.setTarget("p", target("p", ["pulls", "budgets"]));
  expect(poller.get("p")).toEqual({ pulls: [], budgets: [], advice: [] });
  await round();
  expect(take()).toEqual([
    "/api/v1/nodes/n1/proxy/imagePullProgress/a/p",
    "/api/v1/nodes/n1/proxy/startupProbes/a/p",
  ]);
  expect(poller.get("p")).toEqual({ pulls: [pull], budgets: [budget], advice: [advice] });
  expect(updated).toEqual(["p"]);
  poller.setTarget("p", target("p", ["budgets"]));
  await round(999);
  expect(take()).toEqual([]);
  await round(1);
  expect(take()).toEqual(["/api/v1/nodes/n1/proxy/startupProbes/a/p"]);
  poller.setTarget("p", undefined);
  await round(5_000);
  expect(take()).toEqual([]);
  expect(poller.get("p").pulls).toEqual([]);
});

test("limits concurrent requests and polls all targets in turn", async () => {
  const open: (() => void)[] = [];
  const { poller, requests, round } = setUp(() => new Promise((resolve) => open.push(() => resolve({}))));
  for (let i = 0; i < 25; i++) poller.setTarget(`p${i}`, target(`p${i}`));
  await round();
  await round(1_000);
  expect(requests).toHaveLength(10);
  for (let i = 0; i < 2; i++) {
    for (const answer of open.splice(0)) answer();
    await round(1_000);
  }
  expect(new Set(requests).size).toBe(25);
});

test("retries a kubelet without the endpoint after a minute and a failing one after seconds", async () => {
  const failures: Record<string, Error> = {
    upstream: new StatusError(404, "NotFound", 'the server could not find it: "404 page not found"'),
    away: new StatusError(503, "ServiceUnavailable", "dial"),
    ours: new StatusError(404, "NotFound", 'not found: "pod \\"p\\" does not exist"'),
  };
  const noToken = new StatusError(403, "Forbidden", "no tokens for node agents");
  const { poller, round, take } = setUp((path) =>
    Promise.reject(failures[path.split("/")[4] ?? ""] ?? noToken),
  );
  for (const node of Object.keys(failures)) poller.setTarget(node, target(node, ["pulls"], node));
  const nodes = async (ms: number) => {
    await round(ms);
    const requests = take().filter((path) => path.includes("/nodes/"));
    return requests.map((path) => path.split("/")[4]);
  };
  expect(await nodes(0)).toEqual(["upstream", "away", "ours"]);
  expect(await nodes(1_000)).toEqual(["ours"]);
  expect(await nodes(5_000)).toEqual(["away", "ours"]);
  expect(await nodes(60_000)).toEqual(["upstream", "away", "ours"]);
});

test("aborts a request after its timeout", async () => {
  const { poller, requests, round } = setUp(
    (_path, signal) =>
      new Promise((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason))),
  );
  poller.setTarget("p", target("p"));
  await round();
  await round(2_999);
  expect(requests).toHaveLength(1);
  await round(1);
  await round(5_000);
  expect(requests).toHaveLength(2);
});

test.each([
  [undefined, []],
  ["pulls", []],
  [{ pulls: 7 }, []],
  [{ pulls: [null, "x", 3] }, []],
  [{ pulls: [{}] }, [{ container: "", image: "", startedAt: "", offset: 0, total: 0, layers: [] }]],
  [
    {
      pulls: [
        {
          ...pull,
          offset: -1,
          total: "9",
          layers: [{ digest: "sha256:1", offset: Number.POSITIVE_INFINITY, total: 5, stage: "done" }],
        },
      ],
    },
    [{ ...pull, offset: 0, total: 0, layers: [{ layer: "sha256:1", offset: 0, total: 5, stage: "done" }] }],
  ],
])("parses untrusted state: %j", (body, pulls) => {
  expect(parsePulls(body)).toEqual(pulls);
  expect(parseStartupProbes(body)).toEqual({ budgets: [], advice: [] });
});

test("limits the size of the state", () => {
  const layers = Array.from({ length: 10_000 }, () => ({ digest: "x".repeat(100_000) }));
  const [first, ...others] = parsePulls({ pulls: Array.from({ length: 10_000 }, () => ({ layers })) });
  expect(others).toHaveLength(49);
  expect(first?.layers).toHaveLength(200);
  expect(first?.layers[0]?.layer).toHaveLength(500);
});
