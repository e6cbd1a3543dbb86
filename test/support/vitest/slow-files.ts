import { runsSlowTests } from "../fuzz/rounds.ts";

/**
 * Test files that `npm test` leaves out and CI runs, each with a file that covers the same feature, more briefly, in
 * every run. Single tests of other files use `slowTest` and `describeSlow`.
 */
export const slowFiles: Readonly<Record<string, string>> = {
  "test/cluster/force-deleted-pod.test.ts": "test/controllers/stateful-set-enforced.test.ts",
  "test/cluster/kill-leftovers.test.ts": "test/cluster/up-killed.test.ts",
  "test/cluster/why-causes.test.ts": "test/cluster/why.test.ts",
  "test/controllers/real-drain.test.ts": "test/controllers/drain.test.ts",
  "test/controllers/real-enforced.test.ts": "test/controllers/stateful-set-enforced.test.ts",
  "test/controllers/stateful-set-enforced-scaling.test.ts": "test/controllers/stateful-set-enforced.test.ts",
  "test/controllers/stateful-set-frontier.test.ts": "test/controllers/stateful-set-updates.test.ts",
  "test/controllers/two-managers.test.ts": "test/controllers/controller-manager.test.ts",
  "test/controllers/up-metrics.test.ts": "test/controllers/metrics.test.ts",
  "test/dashboard/looks.test.ts": "test/dashboard/views.test.ts",
  "test/dashboard/many-pods.test.ts": "test/dashboard/live.test.ts",
  "test/kubelet/containerd-progress.test.ts": "test/kubelet/containerd.test.ts",
  "test/kubelet/foreign-sandboxes.test.ts": "test/kubelet/sandbox-owner.test.ts",
  "test/kubelet/kep-3085-afterwards.test.ts": "test/kubelet/kep-3085.test.ts",
  "test/kubelet/kep-3085-handler.test.ts": "test/kubelet/kep-3085.test.ts",
  "test/kubelet/kep-3815-pod-states.test.ts": "test/kubelet/kep-3815.test.ts",
  "test/kubelet/kep-3815-restart.test.ts": "test/kubelet/kep-3815.test.ts",
  "test/kubelet/kep-950-handlers.test.ts": "test/kubelet/kep-950.test.ts",
  "test/kubelet/outage.test.ts": "test/kubelet/restart.test.ts",
  "test/kubelet/same-failure.test.ts": "test/kubelet/pod-life.test.ts",
  "test/monitor/fair-verdicts.test.ts": "test/monitor/slo-monitor.test.ts",
  "test/monitor/outage.test.ts": "test/monitor/gaps.test.ts",
  "test/monitor/slow-follower.test.ts": "test/monitor/feed.test.ts",
  "test/recover/stuck-sets.test.ts": "test/recover/controller.test.ts",
  "test/runtime/cri-crash.test.ts": "test/runtime/driver-crash.test.ts",
  "test/runtime/cri-handler-sandbox.test.ts": "test/runtime/cri-handlers.test.ts",
  "test/runtime/cri-pull-restart.test.ts": "test/runtime/cri-pull.test.ts",
  "test/store/etcd-outage.test.ts": "test/store/etcd-store.test.ts",
};

/**
 * Returns the slow files that a run leaves out: none where slow tests run, and none if its arguments name files
 * (`vitest run test/kubelet`) or select them in another way (`vitest related`).
 */
export function leftOutFiles(args: readonly string[]): readonly string[] {
  const selectsFiles = args.some((arg) => !arg.startsWith("-") && arg !== "run" && arg !== "watch");
  return runsSlowTests || selectsFiles ? [] : Object.keys(slowFiles);
}
