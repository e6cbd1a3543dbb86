import { expect, test } from "vitest";
import type { Pod, StatefulSet } from "../../api/meta/objects.ts";
import { viewStatefulSet } from "./stateful-set-views.ts";

const now = Date.parse("2030-01-01T01:00:00Z");
const ago = (seconds: number) => new Date(now - seconds * 1_000).toISOString();

interface PodParts {
  revision?: string;
  ready?: boolean;
  waiting?: string;
  crashed?: boolean;
  phase?: string;
  deleting?: boolean;
  ageSeconds?: number;
}

function podOf(ordinal: number, facts: PodParts = {}): Pod {
  const {
    revision = "new",
    ready = true,
    waiting,
    crashed,
    phase = "Running",
    deleting,
    ageSeconds = 5,
  } = facts;
  const state = waiting ? { waiting: { reason: waiting } } : { running: {} };
  const lastState = crashed ? { terminated: { exitCode: 1 } } : {};
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: `db-${ordinal}`,
      creationTimestamp: ago(ageSeconds),
      labels: { "controller-revision-hash": revision },
      ...(deleting && { deletionTimestamp: ago(ageSeconds) }),
    },
    status: {
      phase,
      conditions: [{ type: "Ready", status: ready ? "True" : "False" }],
      containerStatuses: [{ name: "c", image: "", imageID: "", ready, restartCount: 0, state, lastState }],
    },
  };
}

function view(pods: readonly Pod[], spec: Partial<StatefulSet["spec"]> = {}, status: object = {}) {
  const set = {
    apiVersion: "apps/v1",
    kind: "StatefulSet",
    metadata: { namespace: "a", name: "db" },
    spec: { replicas: 3, selector: {}, template: {}, ...spec },
    status: { replicas: pods.length, updateRevision: "new", ...status },
  } as StatefulSet;
  return viewStatefulSet({ set, pods, explain: ({ metadata }) => `why of ${metadata.name}`, now });
}

const all = [podOf(0), podOf(1), podOf(2)];

test("lists ordinals in order with revision and health", () => {
  const pods = [
    podOf(10, { deleting: true, ready: false }),
    podOf(2, { ready: false, waiting: "ContainerCreating", phase: "Pending" }),
    podOf(0),
    podOf(3, { ready: false, waiting: "CrashLoopBackOff" }),
    podOf(4, { revision: "old", ready: false, crashed: true }),
    podOf(5, { ready: false, phase: "Failed" }),
  ];
  const { ordinals, ...rest } = view(pods, { replicas: 6 });
  expect(rest).toMatchObject({
    namespace: "a",
    name: "db",
    strategy: "RollingUpdate",
    replicas: 6,
    updateRevision: "new",
  });
  expect(ordinals).toEqual([
    { ordinal: 0, revision: "new", health: "ready" },
    { ordinal: 1, revision: "", health: "missing" },
    { ordinal: 2, revision: "new", health: "starting" },
    { ordinal: 3, revision: "new", health: "failing" },
    { ordinal: 4, revision: "old", health: "failing" },
    { ordinal: 5, revision: "new", health: "failing" },
    { ordinal: 10, revision: "new", health: "terminating" },
  ]);
});

test("respects the first ordinal and limits the number of ordinals", () => {
  expect(
    view([podOf(5)], { replicas: 2, ordinals: { start: 5 } }).ordinals.map(({ ordinal }) => ordinal),
  ).toEqual([5, 6]);
  expect(view([], { replicas: 2_000_000_000 }).ordinals).toHaveLength(1_000);
});

const onDelete = { updateStrategy: { type: "OnDelete" } };
const partitioned = { updateStrategy: { type: "RollingUpdate", rollingUpdate: { partition: 2 } } };
const stuck = { conditions: [{ type: "Progressing", status: "False", message: "quota is used up" }] };
const recreated = {
  conditions: [{ type: "Progressing", status: "False", reason: "RecreateCompleted", message: "all are new" }],
};
const old = { revision: "old" };

test.each([
  { it: "nothing when complete", pods: all, blockedBy: undefined },
  {
    it: "nothing when Recreate is complete",
    pods: [podOf(0)],
    status: recreated,
    blockedBy: undefined,
  },
  { it: "nothing while a pod starts", pods: [podOf(0), podOf(1, { ready: false })], blockedBy: undefined },
  {
    it: "a pod that takes long",
    pods: [podOf(0, { ready: false, ageSeconds: 31 })],
    blockedBy: /^db-0: why of db-0$/,
  },
  {
    it: "a pod that fails, at once",
    pods: [podOf(0), podOf(1, { ready: false, waiting: "ErrImagePull" })],
    blockedBy: /^db-1: why/,
  },
  {
    it: "a failing pod of an older revision",
    pods: [podOf(0, { ...old, ready: false, crashed: true })],
    blockedBy: /older revision.* db-0: why of db-0$/,
  },
  {
    it: "the deletion of pods with OnDelete",
    pods: [podOf(0, old), podOf(1, old), podOf(2)],
    spec: onDelete,
    blockedBy: /OnDelete/,
  },
  { it: "nothing when all pods were deleted with OnDelete", pods: all, spec: onDelete, blockedBy: undefined },
  {
    it: "a partition",
    pods: [podOf(0, old), podOf(1, old), podOf(2)],
    spec: partitioned,
    blockedBy: /below 2 keep/,
  },
  {
    it: "nothing above the partition",
    pods: [podOf(0, old), podOf(2, old)],
    spec: { ...partitioned, replicas: 2 },
    blockedBy: undefined,
  },
  {
    it: "the reason given by the controller",
    pods: [podOf(0)],
    status: stuck,
    blockedBy: /^quota is used up$/,
  },
])("explains that a rollout waits for $it", ({ pods, spec, status, blockedBy }) => {
  const explained = view(pods, spec, status).blockedBy;
  if (blockedBy) expect(explained).toMatch(blockedBy);
  else expect(explained).toBeUndefined();
});
