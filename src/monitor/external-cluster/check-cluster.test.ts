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
    /Kubernetes 1\.28, older than the required 1\.29: .* feature gate PodReadyToStartContainersCondition/,
  ],
  ["1", "26", /Kubernetes 1\.26, .*PodHasNetwork of 1\.25 to 1\.27 is not read/],
  ["undefined", "undefined", undefined],
])("describes release %s.%s as %s", (major, minor, warning) => {
  const described = describeRelease(major, minor);
  if (warning) expect(described).toMatch(warning);
  else expect(described).toBeUndefined();
});

interface Review {
  readonly spec: {
    readonly resourceAttributes: { readonly resource: string; readonly subresource?: string };
  };
}

/** Messages logged for a monitor that lacks these permissions. */
async function warningsWithout(missing: readonly string[], isOnLoopback = false): Promise<string[]> {
  const logged: string[] = [];
  await checkCluster(
    {
      isOnLoopback,
      logger: createLogger({
        format: "json",
        level: "info",
        destination: { write: (line) => logged.push(String(JSON.parse(line).msg)) },
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
  return logged;
}

test("logs nothing when no permission is missing", async () => {
  expect(await warningsWithout([])).toEqual([]);
});

test("logs each missing permission and its consequence", async () => {
  expect(await warningsWithout(["pods", "nodes/proxy", "statefulsets"])).toEqual([
    expect.stringMatching(
      /^the monitor is not allowed to list and watch pods in all namespaces, so nothing is measured; bind/,
    ),
    expect.stringMatching(/^the monitor is not allowed to list and watch statefulsets\.apps /),
    expect.stringMatching(/^the monitor is not allowed to get nodes\/proxy /),
  ]);
});

test("does not require review permissions on loopback", async () => {
  const reviews = ["tokenreviews", "subjectaccessreviews"];
  expect(await warningsWithout(reviews)).toHaveLength(2);
  expect(await warningsWithout(reviews, true)).toEqual([]);
});
