import { BaseSequencer, type TestSpecification } from "vitest/node";

/** The slowest files. They start first, so that no worker runs one alone at the end. */
const longFiles = [
  "test/cli-terminal/tour.test.ts",
  "test/monitor/fair-verdicts.test.ts",
  "test/testing/faults.test.ts",
  "test/cluster/kill-leftovers.test.ts",
  "test/cluster/status-down-reset.test.ts",
  "test/recover/controller.test.ts",
  "test/kubelet/foreign-sandboxes.test.ts",
  "test/kubelet/container/hooks-and-order.test.ts",
  "test/kubelet/server/kubectl.test.ts",
  "test/kubelet/kep-3085-handler.test.ts",
  "test/controllers/two-managers.test.ts",
  "test/controllers/stateful-set-frontier.test.ts",
  "test/testing/clock.test.ts",
  "test/runtime/cri-handler-sandbox.test.ts",
  "test/runtime/cri-pull-restart.test.ts",
  "test/kubelet/kep-3085-afterwards.test.ts",
  "test/controllers/controller-manager.test.ts",
  "test/kubelet/kep-950.test.ts",
  "test/monitor/slo-monitor.test.ts",
  "test/store/etcd-outage.test.ts",
  "test/runtime/network-cni.test.ts",
];

export class LongFilesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return sorted.sort((a, b) => place(a) - place(b));
  }
}

function place({ moduleId }: TestSpecification): number {
  const index = longFiles.findIndex((path) => moduleId.endsWith(`/${path}`));
  return index < 0 ? longFiles.length : index;
}
