import { describe, expect, test } from "vitest";
import type { Pod, PodSpec } from "../../../meta/objects.ts";
import { makePod, sentences } from "../../../pod/pod.fixture.ts";
import { validatePodUpdate } from "./validate-update.ts";

const long =
  "spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)\n";

function update(before: Partial<PodSpec>, change: (spec: PodSpec, pod: Pod) => void): string[] {
  const current = makePod(structuredClone(before));
  const next = structuredClone(current);
  change(next.spec ?? { containers: [] }, next);
  return sentences(validatePodUpdate(next, current));
}

const init = { initContainers: [{ name: "init", image: "a" }] };
const tolerations = [{ key: "a", operator: "Exists", effect: "NoExecute", tolerationSeconds: 5 }];
const gates = { schedulingGates: [{ name: "a" }, { name: "b" }] };
const term = { matchExpressions: [{ key: "zone", operator: "In", values: ["a"] }] };
const affinity = {
  nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [term] } },
};

describe("accepted updates", () => {
  test.each<[string, Partial<PodSpec>, (spec: PodSpec, pod: Pod) => void]>([
    ["nothing", {}, () => {}],
    ["labels", {}, (_, pod) => Object.assign(pod.metadata, { labels: { a: "b" } })],
    [
      "images",
      init,
      (spec) => {
        for (const container of [...spec.containers, ...(spec.initContainers ?? [])]) container.image = "new";
      },
    ],
    ["a deadline, set", {}, (spec) => Object.assign(spec, { activeDeadlineSeconds: 9 })],
    [
      "a deadline, shortened",
      { activeDeadlineSeconds: 9 },
      (spec) => Object.assign(spec, { activeDeadlineSeconds: 8 }),
    ],
    ["tolerations, added", { tolerations }, (spec) => spec.tolerations?.push({ operator: "Exists" })],
    [
      "how long is tolerated",
      { tolerations },
      (spec) => Object.assign(spec.tolerations?.[0] ?? {}, { tolerationSeconds: 9 }),
    ],
    ["gates, removed", gates, (spec) => spec.schedulingGates?.shift()],
    [
      "the node selector of a gated pod, narrowed",
      { ...gates, nodeSelector: { a: "b" } },
      (spec) => Object.assign(spec, { nodeSelector: { a: "b", c: "d" } }),
    ],
    ["the affinity of a gated pod, added", gates, (spec) => Object.assign(spec, { affinity })],
    [
      "the affinity of a gated pod, narrowed",
      { ...gates, affinity },
      (spec) => {
        const terms =
          spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms;
        terms?.[0]?.matchExpressions?.push({ key: "disk", operator: "Exists" });
      },
    ],
  ])("%s", (_, before, change) => {
    expect(update(before, change)).toEqual([]);
  });

  test("a negative grace period becomes 1", () => {
    const current = makePod();
    Object.assign(current.spec ?? {}, { terminationGracePeriodSeconds: -3 });
    const next = structuredClone(current);
    Object.assign(next.spec ?? {}, { terminationGracePeriodSeconds: 1 });
    expect(validatePodUpdate(next, current)).toEqual([]);
  });
});

describe("rejected updates", () => {
  test("rejects other changes and shows the difference", () => {
    const [sentence = "", ...rest] = update({}, (spec) => Object.assign(spec, { nodeName: "n" }));
    expect(rest).toEqual([]);
    expect(sentence.slice(0, long.length)).toBe(long);
    expect(sentence).toContain('+ "nodeName": "n"');
  });

  test.each<[string, Partial<PodSpec>, (spec: PodSpec) => void, string[]]>([
    [
      "containers, added",
      {},
      (spec) => spec.containers.push({ ...spec.containers[0], name: "b" }),
      ["spec.containers: Forbidden: pod updates may not add or remove containers"],
    ],
    [
      "a deadline, removed",
      { activeDeadlineSeconds: 9 },
      (spec) => delete spec.activeDeadlineSeconds,
      [
        "spec.activeDeadlineSeconds: Invalid value: null: must not update from a positive integer to nil value",
      ],
    ],
    [
      "a deadline, prolonged",
      { activeDeadlineSeconds: 9 },
      (spec) => {
        spec.activeDeadlineSeconds = 10;
      },
      ["spec.activeDeadlineSeconds: Invalid value: 10: must be less than or equal to previous value"],
    ],
    [
      "tolerations, removed",
      { tolerations },
      (spec) => delete spec.tolerations,
      ["spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds"],
    ],
    [
      "gates, added",
      gates,
      (spec) => spec.schedulingGates?.push({ name: "c" }),
      [
        "spec.schedulingGates[2].name: Forbidden: only deletion is allowed, but found new scheduling gate 'c'",
      ],
    ],
    [
      "the node selector of a gated pod, widened",
      { ...gates, nodeSelector: { a: "b" } },
      (spec) => {
        spec.nodeSelector = {};
      },
      [
        "spec.nodeSelector: Invalid value: {}: only additions to spec.nodeSelector are allowed (no mutations or deletions)",
      ],
    ],
    [
      "the affinity of a gated pod, widened",
      { ...gates, affinity },
      (spec) => {
        delete spec.affinity;
      },
      [
        "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms: Invalid value: []: no additions/deletions to non-empty NodeSelectorTerms list are allowed",
      ],
    ],
  ])("%s", (_, before, change, expected) => {
    expect(update(before, change)).toEqual(expected);
  });

  test("the mirror annotation", () => {
    expect(
      update({ nodeName: "n" }, (_, pod) => {
        pod.metadata.annotations = { "kubernetes.io/config.mirror": "x" };
      }),
    ).toEqual([
      "metadata.annotations[kubernetes.io/config.mirror]: Forbidden: may not add mirror pod annotation",
    ]);
  });
});
