import { expect, test } from "vitest";
import { StatusError } from "../../api/status-error.ts";
import { silentLogger } from "../../lib/logger.ts";
import { createManualClock } from "../../lib/manual-clock.ts";
import { createKubeletAnswers, type Question } from "./kubelet-answers.ts";
import { parsePulls, parseStartup } from "./parse-answers.ts";

const question = (uid: string, about: ("pulls" | "budgets")[] = ["pulls"], node = "n1"): Question => ({
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
  const asked: string[] = [];
  const answered: string[] = [];
  const signal = new AbortController().signal;
  const answers = createKubeletAnswers({
    client: {
      async request<T>(_method: string, path: string, options: { signal?: AbortSignal } = {}) {
        asked.push(path);
        return (await answer(path, options.signal)) as T;
      },
    },
    clock,
    logger: silentLogger,
    onAnswer: (uid) => answered.push(uid),
  });
  const round = async (ms = 0) => {
    await clock.advance(ms);
    answers.askDue(signal);
    await clock.advance(0);
  };
  return { answers, asked, answered, round, take: () => asked.splice(0) };
}

test("asks for what is wanted, at most once a second, and forgets what is wanted no more", async () => {
  const { answers, answered, round, take } = setUp();
  answers.want("p", question("p", ["pulls", "budgets"]));
  expect(answers.of("p")).toEqual({ pulls: [], budgets: [], advice: [] });
  await round();
  expect(take()).toEqual([
    "/api/v1/nodes/n1/proxy/imagePullProgress/a/p",
    "/api/v1/nodes/n1/proxy/startupProbes/a/p",
  ]);
  expect(answers.of("p")).toEqual({ pulls: [pull], budgets: [budget], advice: [advice] });
  expect(answered).toEqual(["p"]);
  answers.want("p", question("p", ["budgets"]));
  await round(999);
  expect(take()).toEqual([]);
  await round(1);
  expect(take()).toEqual(["/api/v1/nodes/n1/proxy/startupProbes/a/p"]);
  answers.want("p", undefined);
  await round(5_000);
  expect(take()).toEqual([]);
  expect(answers.of("p").pulls).toEqual([]);
});

test("of many, only so many are asked at one time, and each has its turn", async () => {
  const open: (() => void)[] = [];
  const { answers, asked, round } = setUp(() => new Promise((resolve) => open.push(() => resolve({}))));
  for (let i = 0; i < 25; i++) answers.want(`p${i}`, question(`p${i}`));
  await round();
  await round(1_000);
  expect(asked).toHaveLength(10);
  for (let i = 0; i < 2; i++) {
    for (const answer of open.splice(0)) answer();
    await round(1_000);
  }
  expect(new Set(asked).size).toBe(25);
});

test("a kubelet that has no answer is left alone for a minute, one that fails for seconds; others are asked", async () => {
  const failures: Record<string, Error> = {
    upstream: new StatusError(404, "NotFound", 'the server could not find it: "404 page not found"'),
    away: new StatusError(503, "ServiceUnavailable", "dial"),
    ours: new StatusError(404, "NotFound", 'not found: "pod \\"p\\" does not exist"'),
  };
  const { answers, round, take } = setUp((path) => Promise.reject(failures[path.split("/")[4] ?? ""]));
  for (const node of Object.keys(failures)) answers.want(node, question(node, ["pulls"], node));
  const nodes = async (ms: number) => {
    await round(ms);
    return take().map((path) => path.split("/")[4]);
  };
  expect(await nodes(0)).toEqual(["upstream", "away", "ours"]);
  expect(await nodes(1_000)).toEqual(["ours"]);
  expect(await nodes(5_000)).toEqual(["away", "ours"]);
  expect(await nodes(60_000)).toEqual(["upstream", "away", "ours"]);
});

test("an answer that takes too long is given up", async () => {
  const { answers, asked, round } = setUp(
    (_path, signal) =>
      new Promise((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason))),
  );
  answers.want("p", question("p"));
  await round();
  await round(2_999);
  expect(asked).toHaveLength(1);
  await round(1);
  await round(5_000);
  expect(asked).toHaveLength(2);
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
])("what a node says is read with care: %j", (body, pulls) => {
  expect(parsePulls(body)).toEqual(pulls);
  expect(parseStartup(body)).toEqual({ budgets: [], advice: [] });
});

test("a node cannot fill the page", () => {
  const layers = Array.from({ length: 10_000 }, () => ({ digest: "x".repeat(100_000) }));
  const [first, ...others] = parsePulls({ pulls: Array.from({ length: 10_000 }, () => ({ layers })) });
  expect(others).toHaveLength(49);
  expect(first?.layers).toHaveLength(200);
  expect(first?.layers[0]?.layer).toHaveLength(500);
});
