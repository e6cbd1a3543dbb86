import { expect, test } from "vitest";
import { annotatedContainer, parseAnnotations } from "./annotations.ts";

const parse = (own: Record<string, string>) =>
  parseAnnotations(
    Object.fromEntries(Object.entries(own).map(([key, value]) => [`simulated.kindling.dev/${key}`, value])),
  );

test("a pod without annotations has no script", () => {
  expect(parseAnnotations({ "kubernetes.io/config.source": "api" })).toBeUndefined();
});

test.each([
  [{ "sandbox-delay": "1.5s" }, { sandbox: { delayMs: 1_500 } }],
  [{ "sandbox-delay": "forever" }, { sandbox: { delayMs: Number.POSITIVE_INFINITY } }],
  [
    { "sandbox-error": "no route", "sandbox-error-times": "3" },
    { sandbox: { networkError: "no route", errorTimes: 3 } },
  ],
  [{ "start-delay": "500ms" }, { containers: { "": { startDelayMs: 500 } } }],
  [
    { exit: "code=1 after=2s times=3" },
    { containers: { "": { exit: { code: 1, afterMs: 2_000, times: 3 } } } },
  ],
  [{ exit: "code=0" }, { containers: { "": { exit: { code: 0 } } } }],
  [{ "exec-exit": "code=1 until=3s" }, { containers: { "": { exec: [{ exitCode: 1, untilMs: 3_000 }] } } }],
  [{ "log.side.car": "hello" }, { containers: { "side.car": { log: "hello" } } }],
  [
    { pull: "size=1Gi rate=50Mi layers=4 stall-at=512Mi stall=forever" },
    {
      pull: {
        sizeBytes: 2 ** 30,
        bytesPerSecond: 50 * 2 ** 20,
        layers: 4,
        stallAtByte: 2 ** 29,
        stallMs: Number.POSITIVE_INFINITY,
      },
    },
  ],
  [{ pull: "failure=not-found" }, { pull: { failure: { kind: "notFound" } } }],
])("%j", (annotations, expected) => {
  expect(parse(annotations)).toMatchObject(expected);
});

test("annotations for one container take precedence over those for all", () => {
  const scripts = parse({ "start-delay": "1s", "start-delay.web": "2s", "stop-delay": "3s" });
  expect(annotatedContainer(scripts, "web")).toEqual({ startDelayMs: 2_000, stopDelayMs: 3_000 });
  expect(annotatedContainer(scripts, "other")).toEqual({ startDelayMs: 1_000, stopDelayMs: 3_000 });
  expect(annotatedContainer(undefined, "web")).toBeUndefined();
});

test.each([
  [{ "sandbox-delay": "soon" }, /sandbox-delay: "soon": write it like "2s"/],
  [{ "sandbox-delay.web": "2s" }, /unknown annotation/],
  [{ exit: "code=x" }, /exit: "code=x": write it like "code=1 after=2s times=3"/],
  [{ exit: "after=2s" }, /write it like/],
  [{ exit: "code=1 colour=red" }, /write it like/],
  [{ pull: "size=1Zi" }, /write it like "size=1Gi/],
  [{ pull: "failure=constructor" }, /write it like/],
  [{ __proto: "x" }, /unknown annotation; the annotations are sandbox-delay,/],
])("rejects %j", (annotations, message) => {
  expect(() => parse(annotations as Record<string, string>)).toThrow(message);
});
