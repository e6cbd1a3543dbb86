import type { EventView, Feed, PodView, StatefulSetView } from "../../../src/monitor/feed/feed-message.ts";
import { sampleFinished } from "./sample-finished.ts";
import { samplePod, samplePull } from "./sample-pod.ts";

/** Feed of an empty cluster. */
export function emptyFeed(now: number): Feed {
  return {
    now,
    cluster: { server: "https://127.0.0.1:6443", version: "v1.36.0" },
    starting: [],
    finished: [],
    statefulSets: [],
    slos: [],
    nodes: [],
    events: [],
  };
}

/** Pods in every stage, some of them stuck. */
function samplePods(now: number): readonly PodView[] {
  const ago = (seconds: number) => now - seconds * 1_000;
  const crash = ago(312);
  const gone = ago(96);
  const sandbox = ago(22);
  const init = ago(14.3);
  const probed = ago(47);
  const fresh = ago(0.6);
  return [
    samplePod(now, {
      uid: "crash",
      name: "ledger-7c9f4d5b8-x2k4q",
      owner: "Deployment/ledger",
      node: "node-2",
      createdMs: crash,
      stage: "crashing",
      because: "Container ledger ended with exit code 1 (6 times); the next try is in 2 min 40 s.",
      isTransient: false,
      fix: "read what it said: kubectl logs ledger-7c9f4d5b8-x2k4q -n shop -c ledger --previous",
      spans: [
        { name: "scheduling", startMs: crash, endMs: crash + 300 },
        { name: "volumes and sandbox", startMs: crash + 300, endMs: crash + 1_500 },
        { name: "images and containers", startMs: crash + 1_500, endMs: crash + 9_000 },
        { name: "until ready", startMs: crash + 9_000, endMs: undefined },
      ],
    }),
    samplePod(now, {
      uid: "config",
      name: "mailer-0",
      namespace: "post",
      owner: "StatefulSet/mailer",
      createdMs: gone,
      stage: "creating",
      because: 'CreateContainerConfigError: configmap "mailer-settings" not found.',
      isTransient: false,
      fix: "make it: kubectl create configmap mailer-settings -n post --from-literal=KEY=VALUE",
    }),
    samplePod(now, {
      uid: "probe",
      name: "search-2",
      owner: "StatefulSet/search",
      node: "node-3",
      createdMs: probed,
      stage: "starting",
      because: "Container search runs; its startup probe has failed 7 of 30 times.",
      resolvesWhen: "when the probe succeeds; after 150 s the container is started again",
      fix: "if it needs longer, raise startupProbe.failureThreshold; its log: kubectl logs search-2 -n shop -c search",
      spans: [
        { name: "scheduling", startMs: probed, endMs: probed + 400 },
        { name: "volumes and sandbox", startMs: probed + 400, endMs: probed + 3_100 },
        { name: "init restore", startMs: probed + 3_200, endMs: probed + 9_400 },
        { name: "images and containers", startMs: probed + 9_400, endMs: probed + 11_800 },
        { name: "until ready", startMs: probed + 11_800, endMs: undefined },
      ],
      probes: [{ container: "search", failures: 7, threshold: 30, periodSeconds: 5 }],
    }),
    samplePod(now, {
      uid: "sandbox",
      name: "cache-4",
      owner: "StatefulSet/cache",
      node: "node-3",
      createdMs: sandbox,
      stage: "volumes",
      because: "Waits for volume data: MountVolume.MountDevice failed, timed out waiting for the device.",
      resolvesWhen: "when the device comes",
      spans: [
        { name: "scheduling", startMs: sandbox, endMs: sandbox + 500 },
        { name: "volumes and sandbox", startMs: sandbox + 500, endMs: undefined },
      ],
    }),
    samplePod(now, {
      uid: "init",
      name: "report-29174-lq8zt",
      namespace: "batch",
      owner: "Job/report-29174",
      createdMs: init,
      stage: "init",
      because: "Init container fetch-data runs; the others wait for its end.",
      resolvesWhen: "when it ends with exit code 0",
      fix: "its log: kubectl logs report-29174-lq8zt -n batch -c fetch-data",
      spans: [
        { name: "scheduling", startMs: init, endMs: init + 150 },
        { name: "volumes and sandbox", startMs: init + 150, endMs: init + 1_900 },
        { name: "init fetch-data", startMs: init + 2_000, endMs: undefined },
      ],
    }),
    samplePod(now, { uid: "pull", createdMs: ago(9.4), pulls: [samplePull(now, 0.52)] }),
    samplePod(now, {
      uid: "pull-2",
      name: "web-1",
      node: "node-2",
      createdMs: ago(6.1),
      pulls: [samplePull(now, 0.23)],
    }),
    samplePod(now, {
      uid: "fresh",
      name: "checkout-5d8f9c6b7-9hwzn",
      owner: "Deployment/checkout",
      node: undefined,
      createdMs: fresh,
      stage: "scheduling",
      because: "Waits for a node: 0 of 3 nodes fit, Insufficient cpu.",
      resolvesWhen: "when other pods go or a node with more room comes",
      fix: "lower resources.requests of the pod, remove others, or add a node: kubectl describe nodes",
      spans: [{ name: "scheduling", startMs: fresh, endMs: undefined }],
    }),
  ];
}

function sampleSets(): readonly StatefulSetView[] {
  const strip = (
    states: readonly (readonly [number, StatefulSetView["ordinals"][number]["health"], string])[],
  ): StatefulSetView["ordinals"] =>
    states
      .flatMap(([count, health, revision]) => Array.from({ length: count }, () => ({ health, revision })))
      .map((each, ordinal) => ({ ordinal, ...each }));
  const set = (name: string, more: Partial<StatefulSetView>): StatefulSetView => ({
    namespace: "shop",
    name,
    strategy: "RollingUpdate",
    replicas: more.ordinals?.length ?? 0,
    updateRevision: "new",
    ordinals: [],
    blockedBy: undefined,
    ...more,
  });
  return [
    set("web", {
      strategy: "RollingUpdate, 2 at a time",
      updateRevision: "web-84fc1",
      ordinals: strip([
        [6, "ready", "web-6b7d9"],
        [1, "starting", "web-84fc1"],
        [5, "ready", "web-84fc1"],
      ]),
    }),
    set("mailer", {
      namespace: "post",
      updateRevision: "mailer-5c2d7",
      ordinals: strip([
        [2, "ready", "mailer-66bb4"],
        [1, "failing", "mailer-5c2d7"],
        [1, "terminating", "mailer-5c2d7"],
        [1, "missing", ""],
      ]),
      blockedBy:
        'The rollout waits for mailer-2: CreateContainerConfigError: configmap "mailer-settings" not found.',
    }),
    set("search", {
      strategy: "OnDelete",
      updateRevision: "search-5f6b8",
      ordinals: strip([
        [140, "ready", "search-5f6b8"],
        [12, "ready", "search-77c5d"],
        [8, "starting", "search-5f6b8"],
      ]),
    }),
  ];
}

/** A small shop on a busy afternoon: something of everything. */
export function sampleFeed(now: number): Feed {
  const event = (secondsAgo: number, more: Partial<EventView>): EventView => ({
    uid: `event-${secondsAgo}`,
    time: new Date(now - secondsAgo * 1_000).toISOString(),
    type: "Normal",
    reason: "Pulling",
    object: "Pod shop/web-0",
    message: "Pulling image registry.example/shop/web:2.1",
    count: 1,
    ...more,
  });
  return {
    ...emptyFeed(now),
    starting: samplePods(now),
    finished: sampleFinished(now, 900),
    statefulSets: sampleSets(),
    slos: [
      {
        name: "starts-in-10s",
        kind: "latency",
        objective: "99 % of pods are ready within 10 s, image pulls left out, over 28 days.",
        target: 0.99,
        budgetLeft: 0.62,
        burnRate: 0.4,
        good: 17_512,
        total: 17_580,
        breaches: [
          { class: "StorageClass standard", bad: 51, total: 4_210 },
          { class: "RuntimeClass gvisor", bad: 11, total: 1_730 },
          { class: "namespace batch", bad: 6, total: 2_904 },
        ],
      },
      {
        name: "sandbox-success",
        kind: "success",
        objective: "99.9 % of sandboxes are ready within 30 s, over 7 days.",
        target: 0.999,
        budgetLeft: -0.36,
        burnRate: 14.4,
        good: 4_404,
        total: 4_410,
        breaches: [{ class: "StorageClass standard", bad: 6, total: 1_055 }],
      },
      {
        name: "first-container",
        kind: "latency",
        objective: "95 % of pods have a running container within 5 s, over a day.",
        target: 0.95,
        budgetLeft: 0.14,
        burnRate: 1.2,
        good: 1_121,
        total: 1_172,
        breaches: [{ class: "namespace shop", bad: 40, total: 702 }],
      },
    ],
    nodes: [
      { name: "node-1", ready: true, pods: 41, starting: 3, runtime: "kindling://0.1.0", kubelet: "v1.36.0" },
      {
        name: "node-2",
        ready: true,
        pods: 38,
        starting: 2,
        runtime: "containerd://2.1.9",
        kubelet: "v1.36.0",
      },
      {
        name: "node-3",
        ready: false,
        pods: 17,
        starting: 2,
        runtime: "containerd://2.1.9",
        kubelet: "v1.35.2",
      },
    ],
    events: [
      event(2, {}),
      event(5, {
        type: "Warning",
        reason: "FailedMount",
        object: "Pod shop/cache-4",
        message: 'MountVolume.MountDevice failed for volume "data": timed out waiting for the device',
        count: 4,
      }),
      event(9, { reason: "Scheduled", message: "Successfully assigned shop/web-0 to node-1" }),
      event(21, {
        type: "Warning",
        reason: "BackOff",
        object: "Pod shop/ledger-7c9f4d5b8-x2k4q",
        message: "Back-off restarting failed container ledger",
        count: 18,
      }),
      event(47, {
        type: "Warning",
        reason: "Unhealthy",
        object: "Pod shop/search-2",
        message: "Startup probe failed: HTTP probe failed with statuscode: 503",
        count: 7,
      }),
      event(64, {
        reason: "SuccessfulCreate",
        object: "StatefulSet shop/web",
        message: "create Pod web-0 in StatefulSet web successful",
      }),
    ],
  };
}
