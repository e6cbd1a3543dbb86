import { describe, expect, test } from "vitest";
import type { Job } from "../../../meta/objects.ts";
import { sentences } from "../../../pod/pod.fixture.ts";
import { cellsOf } from "../../cells.fixture.ts";
import { context, useStrategy } from "../../strategy.fixture.ts";

const { make, strategy } = useStrategy("batch/v1", "Job");

const podSpec = { restartPolicy: "Never", containers: [{ name: "a", image: "a" }] };
const template = { spec: podSpec };
const indexed = { completionMode: "Indexed", completions: 3 };

function created(spec: object = {}, metadata: object = {}): Job {
  const fields = { metadata: { name: "a", namespace: "default", uid: "u1", ...metadata } };
  const job = make({ ...fields, spec: { template, ...spec } }) as Job;
  strategy.prepareForCreate?.(job, context);
  return job;
}

function createErrors(spec: object, metadata: object = {}): string[] {
  return sentences(strategy.validate?.(created(spec, metadata), context) ?? []);
}

test("defaults are those of upstream", () => {
  const { metadata, spec } = created();
  const labels = {
    "batch.kubernetes.io/controller-uid": "u1",
    "batch.kubernetes.io/job-name": "a",
    "controller-uid": "u1",
    "job-name": "a",
  };
  expect(spec).toMatchObject({
    parallelism: 1,
    completions: 1,
    backoffLimit: 6,
    completionMode: "NonIndexed",
    suspend: false,
    manualSelector: false,
    podReplacementPolicy: "TerminatingOrFailed",
    selector: { matchLabels: { "batch.kubernetes.io/controller-uid": "u1" } },
    template: { metadata: { labels } },
  });
  expect(metadata.labels).toEqual(labels);
  expect(created({ parallelism: 2 }).spec?.completions).toBeUndefined();
  expect(created({ ...indexed, backoffLimitPerIndex: 1 }).spec?.backoffLimit).toBe(2_147_483_647);
  const rule = { action: "Ignore", onPodConditions: [{ type: "DisruptionTarget" }] };
  const withPolicy = created({ podFailurePolicy: { rules: [rule] } }).spec;
  expect(withPolicy?.podReplacementPolicy).toBe("Failed");
  expect(withPolicy?.podFailurePolicy?.rules[0]?.onPodConditions?.[0]?.status).toBe("True");
});

const rules = (...list: object[]) => ({ podFailurePolicy: { rules: list } });
const onExit = (fields: object) => ({
  action: "FailJob",
  onExitCodes: { operator: "In", values: [1], ...fields },
});

describe("create", () => {
  test.each<[object, string[]]>([
    [{}, []],
    [{ ...indexed, successPolicy: { rules: [{ succeededIndexes: "0,2", succeededCount: 1 }] } }, []],
    [{ parallelism: -1 }, ["spec.parallelism: Invalid value: -1: must be greater than or equal to 0"]],
    [
      { template: { spec: { ...podSpec, restartPolicy: "Always" } } },
      ['spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"'],
    ],
    [
      { maxFailedIndexes: 1 },
      [
        "spec.backoffLimitPerIndex: Required value: when maxFailedIndexes is specified",
        "spec.maxFailedIndexes: Invalid value: 1: requires indexed completion mode",
      ],
    ],
    [
      { completionMode: "Indexed", parallelism: 1 },
      ["spec.completions: Required value: when completion mode is Indexed"],
    ],
    [
      { completionMode: "Indexed", completions: 100_001, backoffLimitPerIndex: 1, parallelism: 10_001 },
      [
        "spec.maxFailedIndexes: Required value: must be specified when completions is above 100000",
        "spec.parallelism: Invalid value: 10001: must be less than or equal to 10000 when completions are above 100000 and used with backoff limit per index",
      ],
    ],
    [
      { managedBy: "me" },
      ['spec.managedBy: Invalid value: "me": must be a domain-prefixed path (such as "acme.io/foo")'],
    ],
    [
      rules({ action: "FailIndex", onPodConditions: [{ type: "A", status: "Maybe" }] }, { action: "Count" }),
      [
        'spec.podFailurePolicy.rules[0].action: Invalid value: "FailIndex": requires the backoffLimitPerIndex to be set',
        'spec.podFailurePolicy.rules[0].onPodConditions[0].status: Unsupported value: "Maybe": supported values: "False", "True", "Unknown"',
        "spec.podFailurePolicy.rules[1]: Invalid value: specifying one of OnExitCodes and OnPodConditions is required",
      ],
    ],
    [
      rules(onExit({ containerName: "b", values: [2, 1, 1, 0] })),
      [
        'spec.podFailurePolicy.rules[0].onExitCodes.containerName: Invalid value: "b": must be one of the container or initContainer names in the pod template',
        "spec.podFailurePolicy.rules[0].onExitCodes.values[2]: Duplicate value: 1",
        "spec.podFailurePolicy.rules[0].onExitCodes.values[3]: Invalid value: 0: must not be 0 for the In operator",
        "spec.podFailurePolicy.rules[0].onExitCodes.values: Invalid value: [2,1,1,0]: must be ordered",
      ],
    ],
    [
      { ...rules(onExit({})), podReplacementPolicy: "TerminatingOrFailed" },
      ['spec.podReplacementPolicy: Unsupported value: "TerminatingOrFailed": supported values: "Failed"'],
    ],
    [
      { ...indexed, successPolicy: { rules: [{ succeededIndexes: "0-1,1" }, { succeededCount: 4 }, {}] } },
      [
        'spec.successPolicy.rules[0].succeededIndexes: Invalid value: "0-1,1": error parsing succeededIndexes: non-increasing order, previous: 1, current: 1',
        "spec.successPolicy.rules[1].succeededCount: Invalid value: 4: must be less than or equal to 3 (the number of specified completions)",
        "spec.successPolicy.rules[2]: Required value: at least one of succeededCount or succeededIndexes must be specified",
      ],
    ],
    [
      { selector: { matchLabels: { a: "b" } } },
      [
        'spec.selector: Invalid value: {"matchLabels":{"batch.kubernetes.io/controller-uid":"u1","a":"b"}}: `selector` not auto-generated',
        expect.stringContaining("`selector` does not match template `labels`"),
      ] as string[],
    ],
    [{ manualSelector: true }, ["spec.selector: Required value"]],
  ])("%j", (spec, expected) => {
    expect(createErrors(spec)).toEqual(expected);
  });

  test("rejects an Indexed Job whose host names would be too long", () => {
    const name = "a".repeat(62);
    expect(createErrors(indexed, { name })).toEqual([
      `metadata.name: Invalid value: "${name}": will not able to create pod with invalid DNS label: ${name}-2`,
    ]);
  });
});

describe("update", () => {
  function updateErrors(before: object, after: object, status: object = {}): string[] {
    const current = { ...created(before), status };
    const next = { ...created(after), status };
    return sentences(strategy.validateUpdate?.(next, current, context) ?? []);
  }

  const onNodes = { spec: { ...podSpec, nodeSelector: { disk: "ssd" } } };
  const withResources = {
    spec: { ...podSpec, containers: [{ name: "a", image: "a", resources: { requests: { cpu: "1" } } }] },
  };
  const otherImage = { spec: { ...podSpec, containers: [{ name: "a", image: "b" }] } };
  const immutable = expect.stringMatching(/^spec\.template: .*: field is immutable$/);

  test.each<[string, object, object, object, unknown[]]>([
    ["parallelism", {}, { parallelism: 5, completions: 1 }, {}, []],
    ["completions", {}, { completions: 2 }, {}, ["spec.completions: Invalid value: 2: field is immutable"]],
    [
      "an elastic Indexed Job",
      { ...indexed, parallelism: 3 },
      { ...indexed, completions: 5, parallelism: 5 },
      {},
      [],
    ],
    [
      "completions of an Indexed Job alone",
      indexed,
      { ...indexed, completions: 5 },
      {},
      ["spec.completions: Invalid value: 5: can only be modified in tandem with spec.parallelism"],
    ],
    [
      "completionMode",
      indexed,
      { completions: 3 },
      {},
      ['spec.completionMode: Invalid value: "NonIndexed": field is immutable'],
    ],
    ["the template of a running Job", {}, { template: onNodes }, {}, [immutable]],
    ["the nodes of a suspended Job", { suspend: true }, { suspend: true, template: onNodes }, {}, []],
    ["the resources of a suspended Job", { suspend: true }, { template: withResources }, {}, []],
    [
      "the nodes of a suspended Job with pods",
      { suspend: true },
      { template: onNodes },
      { startTime: "2026-01-01T00:00:00Z", active: 1 },
      [immutable],
    ],
    [
      "the image of a suspended Job",
      { suspend: true },
      { template: otherImage },
      {},
      [expect.stringMatching(/^spec\.template\.spec: .*: field is immutable$/)],
    ],
  ])("%s", (_, before, after, status, expected) => {
    expect(updateErrors(before, after, status)).toEqual(expected);
  });
});

describe("status update", () => {
  const condition = (type: string, status = "True") => ({ type, status });
  const started = { startTime: "2026-01-01T00:00:00Z" };
  const done = { ...started, completionTime: "2026-01-01T00:01:00Z" };
  const completed = { ...done, conditions: [condition("SuccessCriteriaMet"), condition("Complete")] };

  function statusErrors(before: object, after: object, spec: object = {}): string[] {
    const job = created(spec);
    const [next, current] = [after, before].map((status) => ({ ...job, status }));
    if (!next || !current) throw new Error("unreachable");
    return sentences(strategy.validateStatusUpdate?.(next, current, context) ?? []);
  }

  test.each<[string, object, object, string[]]>([
    ["a completed Job", started, completed, []],
    ["counters that grow", { failed: 1 }, { failed: 2, uncountedTerminatedPods: { failed: ["x"] } }, []],
    [
      "fewer failures",
      { failed: 2 },
      { failed: 1 },
      ["status.failed: Invalid value: 1: cannot decrease the failed counter"],
    ],
    [
      "a pod that is uncounted twice",
      {},
      { uncountedTerminatedPods: { succeeded: ["x"], failed: ["x", ""] } },
      [
        'status.uncountedTerminatedPods.failed[0]: Duplicate value: "x"',
        'status.uncountedTerminatedPods.failed[1]: Invalid value: "": must not be empty',
      ],
    ],
    [
      "Complete and Failed",
      started,
      { ...done, conditions: [condition("Complete"), condition("Failed")] },
      [
        "status.conditions: Invalid value: cannot set Complete=True and Failed=true conditions",
        "status.conditions: Invalid value: cannot set Failed=True condition without the FailureTarget=true condition",
        "status.conditions: Invalid value: cannot set Complete=True condition without the SuccessCriteriaMet=true condition",
      ],
    ],
    [
      "a finished Job with pods",
      started,
      { ...completed, active: 1, terminating: 1 },
      [
        "status.active: Invalid value: 1: active>0 is invalid for finished job",
        "status.terminating: Invalid value: 1: terminating>0 is invalid for finished job",
      ],
    ],
    [
      "a Job that resumes work after its end",
      completed,
      { ...done, conditions: [condition("SuccessCriteriaMet")] },
      [
        'status.completionTime: Invalid value: "2026-01-01T00:01:00Z": cannot set completionTime when there is no Complete=True condition',
        "status.conditions: Invalid value: cannot disable the terminal Complete=True condition",
      ],
    ],
    [
      "another start time",
      started,
      { startTime: "2026-01-01T00:00:09Z" },
      [
        'status.startTime: Invalid value: "2026-01-01T00:00:09Z": field is immutable for unsuspended job once set',
      ],
    ],
    [
      "more ready than active pods",
      {},
      { ready: 1 },
      ["status.ready: Invalid value: 1: cannot set more ready pods than active"],
    ],
    [
      "indexes of a Job without indexes",
      {},
      { completedIndexes: "0" },
      [
        'status.completedIndexes: Invalid value: "0": cannot set non-empty completedIndexes when non-indexed completion mode',
      ],
    ],
  ])("%s", (_, before, after, expected) => {
    expect(statusErrors(before, after)).toEqual(expected);
  });

  test("rejects an index that both succeeded and failed", () => {
    const spec = { ...indexed, completions: 10, backoffLimitPerIndex: 1 };
    expect(statusErrors({}, { completedIndexes: "0-4,6", failedIndexes: "5-7" }, spec)).toEqual([
      'status.failedIndexes: Invalid value: "5-7": failedIndexes and completedIndexes overlap at index: 6',
    ]);
  });
});

test("columns", () => {
  const spec = { completions: 3, template };
  const status = { succeeded: 1, startTime: "2026-01-01T00:30:00Z" };
  expect(cellsOf("Job", { spec, status })).toEqual(["x", "Running", "1/3", "30m", "60m", "a", "a", "<none>"]);
  const suspended = { conditions: [{ type: "Suspended", status: "True" }] };
  expect(cellsOf("Job", { spec: { parallelism: 2, template }, status: suspended }).slice(1, 4)).toEqual([
    "Suspended",
    "0/1 of 2",
    "",
  ]);
});
