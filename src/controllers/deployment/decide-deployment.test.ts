import { describe, expect, test } from "vitest";
import type { Deployment, Pod, ReplicaSet } from "../../api/meta/objects.ts";
import { ago, deploymentOf, now, podOf, setOf } from "../shared/workload.fixture.ts";
import { decideDeployment } from "./decide-deployment.ts";

const decide = (deployment: Deployment, sets: readonly ReplicaSet[] = [], pods: readonly Pod[] = []) =>
  decideDeployment({ deployment, sets, podsOf: () => pods, now });
const reasonOf = (deployment: Deployment | undefined) =>
  deployment?.status?.conditions?.find(({ type }) => type === "Progressing")?.reason;
const sizes = ({ updates }: ReturnType<typeof decide>) =>
  Object.fromEntries(updates.map(({ after }) => [after.metadata.name, after.spec?.replicas]));
const current = (replicas: number, parts = {}) =>
  setOf({
    name: "new",
    image: "web:2",
    replicas,
    age: 1,
    ...parts,
    annotations: {
      "deployment.kubernetes.io/revision": "2",
      "deployment.kubernetes.io/desired-replicas": "3",
      "deployment.kubernetes.io/max-replicas": "4",
    },
  });

describe("the first ReplicaSet", () => {
  test("is created with a name derived from its template and reported in a condition", () => {
    const { create, deployment, updates } = decide(deploymentOf());
    const hash = create?.metadata.labels?.["pod-template-hash"] ?? "";
    expect(hash).toMatch(/^[b-df-hj-np-tv-xz2456789]+$/);
    expect(create).toMatchObject({
      metadata: {
        name: `web-${hash}`,
        ownerReferences: [{ kind: "Deployment", uid: "uid-web", controller: true }],
        annotations: {
          "deployment.kubernetes.io/revision": "1",
          "deployment.kubernetes.io/max-replicas": "4",
        },
      },
      spec: {
        replicas: 3,
        selector: { matchLabels: { app: "web", "pod-template-hash": hash } },
        template: { metadata: { labels: { app: "web", "pod-template-hash": hash } } },
      },
    });
    expect(updates).toEqual([]);
    expect(deployment?.metadata.annotations?.["deployment.kubernetes.io/revision"]).toBe("1");
    expect(reasonOf(deployment)).toBe("NewReplicaSetCreated");
  });

  test("has a name that ignores key order and changes after a collision", () => {
    const name = (deployment: Deployment) => decide(deployment).create?.metadata.name;
    const { spec, metadata } = deploymentOf().spec?.template ?? {};
    const turned = deploymentOf({ template: { spec, metadata } });
    expect(name(turned)).toBe(name(deploymentOf()));
    expect(name(deploymentOf({}, { status: { collisionCount: 1 } }))).not.toBe(name(deploymentOf()));
    expect(name(deploymentOf({ image: "web:2" }))).not.toBe(name(deploymentOf()));
    expect(name(deploymentOf({}, { metadata: { name: "x".repeat(253) } }))).toHaveLength(253);
  });
});

test("gives the ReplicaSet of a new template the next revision", () => {
  const { create, updates } = decide(deploymentOf({ image: "web:2" }), [setOf()]);
  expect(create?.metadata.annotations?.["deployment.kubernetes.io/revision"]).toBe("2");
  expect(create?.spec?.replicas).toBe(1);
  expect(updates).toEqual([]);
});

test("counts revisions as 64-bit integers", () => {
  const annotations = { "deployment.kubernetes.io/revision": "3546343826724305832" };
  const { create } = decide(deploymentOf({ image: "web:2" }), [setOf({ annotations })]);
  expect(create?.metadata.annotations?.["deployment.kubernetes.io/revision"]).toBe("3546343826724305833");
});

test("gives the ReplicaSet of a rolled back template the newest revision", () => {
  const plan = decide(deploymentOf(), [setOf({ replicas: 0 }), current(3)]);
  expect(plan.create).toBeUndefined();
  expect(plan.updates[0]?.after.metadata.annotations).toMatchObject({
    "deployment.kubernetes.io/revision": "3",
    "deployment.kubernetes.io/revision-history": "1",
  });
  expect(sizes(plan)).toEqual({ "web-1": 1 });
  expect(plan.deployment?.metadata.annotations?.["deployment.kubernetes.io/revision"]).toBe("3");
});

test("writes nothing when nothing changes", () => {
  const deployment = deploymentOf({ image: "web:2" });
  const sets = [setOf({ replicas: 0 }), current(3)];
  const first = decide(deployment, sets);
  const then = decide(first.deployment ?? deployment, sets);
  const last = decide(then.deployment ?? first.deployment ?? deployment, sets);
  expect(last).toEqual({ updates: [], deletions: [] });
});

describe("Recreate", () => {
  const deployment = deploymentOf({ image: "web:2", strategy: { type: "Recreate" } });

  test("scales old ReplicaSets to zero first", () => {
    const plan = decide(deployment, [setOf()]);
    expect(plan.create).toBeUndefined();
    expect(sizes(plan)).toEqual({ "web-1": 0 });
  });

  test("waits for remaining old pods", () => {
    const going = podOf({ deleting: true });
    expect(decide(deployment, [setOf({ replicas: 0 })], [going]).create).toBeUndefined();
    expect(decide(deployment, [setOf({ replicas: 0, actual: 1 })]).create).toBeUndefined();
  });

  test("then scales the new ReplicaSet up in one step", () => {
    const ended = podOf({ phase: "Succeeded", deleting: true });
    expect(decide(deployment, [setOf({ replicas: 0 })], [ended]).create?.spec?.replicas).toBe(3);
  });
});

describe("a paused Deployment", () => {
  test("creates no ReplicaSet and reports DeploymentPaused", () => {
    const plan = decide(deploymentOf({ image: "web:2", paused: true }), [setOf()]);
    expect(plan.create).toBeUndefined();
    expect(reasonOf(plan.deployment)).toBe("DeploymentPaused");
  });

  test("is scaled", () => {
    expect(sizes(decide(deploymentOf({ paused: true, replicas: 5 }), [setOf()]))).toEqual({ "web-1": 5 });
  });

  test("keeps a failed rollout failed; a resumed rollout gets its full deadline", () => {
    const status = (reason: string) => ({
      conditions: [
        {
          type: "Progressing",
          status: "False",
          reason,
          message: "",
          lastUpdateTime: ago(9_000),
          lastTransitionTime: ago(9_000),
        },
      ],
    });
    const failed = deploymentOf({ paused: true }, { status: status("ProgressDeadlineExceeded") });
    expect(reasonOf(decide(failed, [setOf()]).deployment)).toBe("ProgressDeadlineExceeded");
    const resumed = deploymentOf({ image: "web:2" }, { status: status("DeploymentPaused") });
    const going = decide(resumed, [setOf(), current(1, { available: 0 })]).deployment;
    expect(reasonOf(going)).not.toBe("ProgressDeadlineExceeded");
  });
});

test("copies minReadySeconds and annotations to the current ReplicaSet", () => {
  const deployment = deploymentOf({ minReadySeconds: 7 }, { metadata: { annotations: { cause: "x" } } });
  const [update] = decide(deployment, [setOf()]).updates;
  expect(update?.after).toMatchObject({
    metadata: { annotations: { cause: "x" } },
    spec: { minReadySeconds: 7, replicas: 3 },
  });
});

describe("old ReplicaSets", () => {
  const complete = { replicas: 3, updatedReplicas: 3, availableReplicas: 3, observedGeneration: 1 };
  const history = [3, 2, 1].map((revision) =>
    setOf({
      name: `old-${revision}`,
      image: `web:old-${revision}`,
      replicas: 0,
      annotations: { "deployment.kubernetes.io/revision": String(revision) },
    }),
  );
  const names = (plan: ReturnType<typeof decide>) => plan.deletions.map(({ metadata }) => metadata.name);
  const deployment = deploymentOf({ image: "web:2", revisionHistoryLimit: 1 }, { status: complete });

  test("beyond the history limit are deleted when the rollout is complete", () => {
    expect(names(decide(deployment, [...history, current(3)]))).toEqual(["old-1", "old-2"]);
    const incomplete = deploymentOf({ image: "web:2", revisionHistoryLimit: 1 });
    expect(names(decide(incomplete, [...history, current(3)]))).toEqual([]);
  });

  test("that may have pods are kept", () => {
    const [newest, ...others] = history;
    const busy = others.map((set) => ({ ...set, metadata: { ...set.metadata, generation: 2 } }));
    expect(names(decide(deployment, [...(newest ? [newest] : []), ...busy, current(3)]))).toEqual([]);
  });
});

test("only updates the counts of a Deployment that is being deleted", () => {
  const deployment = deploymentOf({ image: "web:2" }, { metadata: { deletionTimestamp: ago(1) } });
  const plan = decide(deployment, [setOf()]);
  expect(plan).toMatchObject({ updates: [], deletions: [], deployment: { status: { replicas: 3 } } });
  expect(plan.create).toBeUndefined();
});
