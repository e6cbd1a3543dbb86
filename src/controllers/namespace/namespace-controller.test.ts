import { describe, expect, test } from "vitest";
import type { Pod } from "../../api/meta/objects.ts";
import type { Emptying } from "./empty-namespace.ts";
import { estimateTermination } from "./empty-namespace.ts";
import { namespaceConditions } from "./namespace-controller.ts";

const done: Emptying = { deletionErrors: [], remaining: new Map(), finalizers: new Map() };
const first = "2026-01-01T00:00:00Z";
const later = "2026-01-01T00:01:00Z";

describe("namespaceConditions", () => {
  test("are all False when nothing is left", () => {
    expect(
      namespaceConditions([], done, first).map(({ type, status, reason }) => [type, status, reason]),
    ).toEqual([
      ["NamespaceDeletionDiscoveryFailure", "False", "ResourcesDiscovered"],
      ["NamespaceDeletionGroupVersionParsingFailure", "False", "ParsedGroupVersions"],
      ["NamespaceDeletionContentFailure", "False", "ContentDeleted"],
      ["NamespaceContentRemaining", "False", "ContentRemoved"],
      ["NamespaceFinalizersRemaining", "False", "ContentHasNoFinalizers"],
    ]);
  });

  const cases: [string, Partial<Emptying>, string, string, string][] = [
    [
      "the remaining resources",
      {
        remaining: new Map([
          ["pods.", 2],
          ["deployments.apps", 1],
        ]),
      },
      "NamespaceContentRemaining",
      "SomeResourcesRemain",
      "Some resources are remaining: deployments.apps has 1 resource instances, pods. has 2 resource instances",
    ],
    [
      "the remaining finalizers",
      { finalizers: new Map([["example.com/hold", 3]]) },
      "NamespaceFinalizersRemaining",
      "SomeFinalizersRemain",
      "Some content in the namespace has finalizers remaining: example.com/hold in 3 resource instances",
    ],
    [
      "deletion errors",
      { deletionErrors: ["b failed", "a failed"] },
      "NamespaceDeletionContentFailure",
      "ContentDeletionFailed",
      "Failed to delete all resource types, 2 remaining: a failed, b failed",
    ],
    [
      "discovery errors",
      { discoveryError: "no answer" },
      "NamespaceDeletionDiscoveryFailure",
      "DiscoveryFailed",
      "no answer",
    ],
  ];
  test.each(cases)("reports %s", (_, found, type, reason, message) => {
    const conditions = namespaceConditions([], { ...done, ...found }, first);
    expect(conditions.filter(({ status }) => status === "True")).toEqual([
      { type, status: "True", lastTransitionTime: first, reason, message },
    ]);
  });

  test("returns the same array while nothing changes and keeps transition times while the status does", () => {
    const busy = { ...done, remaining: new Map([["pods.", 2]]) };
    const before = namespaceConditions([], busy, first);
    expect(namespaceConditions(before, busy, later)).toBe(before);
    const fewer = namespaceConditions(before, { ...done, remaining: new Map([["pods.", 1]]) }, later);
    expect(fewer[3]).toMatchObject({
      lastTransitionTime: first,
      message: expect.stringContaining("1 resource"),
    });
    expect(namespaceConditions(fewer, done, later)[3]).toMatchObject({
      status: "False",
      lastTransitionTime: later,
    });
  });
});

describe("estimateTermination", () => {
  const pod = (terminationGracePeriodSeconds: number, phase: string) =>
    ({ spec: { terminationGracePeriodSeconds }, status: { phase } }) as Pod;
  const cases: [string, Parameters<typeof estimateTermination>[0], number][] = [
    ["nothing is left", { deletedAtMs: 0, now: 0, hasFinalizers: false, pods: [] }, 0],
    ["finalizers", { deletedAtMs: 0, now: 99_000, hasFinalizers: true, pods: [] }, 15],
    [
      "the longest grace period of running pods",
      {
        deletedAtMs: 0,
        now: 1,
        hasFinalizers: false,
        pods: [pod(5, "Running"), pod(30, "Running"), pod(60, "Failed")],
      },
      30,
    ],
    [
      "an expired grace period",
      { deletedAtMs: 0, now: 30_000, hasFinalizers: false, pods: [pod(30, "Running")] },
      0,
    ],
  ];
  test.each(cases)("%s", (_, facts, expected) => {
    expect(estimateTermination(facts)).toBe(expected);
  });
});
