import { expect, test } from "vitest";
import { createLogger } from "../../lib/logger.ts";
import { checkCluster, describeRelease } from "./check-cluster.ts";

test.each([
  ["1", "36", undefined],
  ["1", "29", undefined],
  ["1", "29+", undefined],
  ["2", "0", undefined],
  [
    "1",
    "28+",
    /release 1\.28, and 1\.29 or later is wanted: .* feature gate PodReadyToStartContainersCondition/,
  ],
  ["1", "26", /release 1\.26, .*PodHasNetwork, of 1\.25 to 1\.27, is not read/],
  ["undefined", "undefined", undefined],
])("of release %s.%s it says %s", (major, minor, sentence) => {
  const said = describeRelease(major, minor);
  if (sentence) expect(said).toMatch(sentence);
  else expect(said).toBeUndefined();
});

interface Review {
  readonly spec: {
    readonly resourceAttributes: { readonly resource: string; readonly subresource?: string };
  };
}

/** What is said to a monitor that lacks these. */
async function saidWithout(missing: readonly string[], isOnLoopback = false): Promise<string[]> {
  const said: string[] = [];
  await checkCluster(
    {
      isOnLoopback,
      logger: createLogger({
        format: "json",
        level: "info",
        destination: { write: (line) => said.push(String(JSON.parse(line).msg)) },
      }),
      client: {
        async request<T>(_method: string, path: string, options?: { body?: unknown }): Promise<T> {
          if (path === "/version") return { major: "1", minor: "30" } as T;
          const { resource, subresource } = (options as { body: Review }).body.spec.resourceAttributes;
          const name = subresource ? `${resource}/${subresource}` : resource;
          return { status: { allowed: !missing.includes(name) } } as T;
        },
      },
    },
    new AbortController().signal,
  );
  return said;
}

test("nothing is said where nothing is missing", async () => {
  expect(await saidWithout([])).toEqual([]);
});

test("each right that is missing is named with what it is for", async () => {
  expect(await saidWithout(["pods", "nodes/proxy", "statefulsets"])).toEqual([
    expect.stringMatching(
      /^the monitor may not list and watch pods in the whole cluster, so nothing is measured: give/,
    ),
    expect.stringMatching(/^the monitor may not list and watch statefulsets\.apps /),
    expect.stringMatching(/^the monitor may not get nodes\/proxy /),
  ]);
});

test("on loopback nobody is reviewed", async () => {
  const reviews = ["tokenreviews", "subjectaccessreviews"];
  expect(await saidWithout(reviews)).toHaveLength(2);
  expect(await saidWithout(reviews, true)).toEqual([]);
});
