import { BaseSequencer, type TestSpecification } from "vitest/node";

/** The files that take longest. One that began last would be waited for alone at the end of a run. */
const longFiles = [
  "test/cluster/up-killed.test.ts",
  "test/cli-terminal/tour.test.ts",
  "test/runtime/cri-crash.test.ts",
  "test/readme.test.ts",
  "test/kubelet/containerd.test.ts",
  "test/store/lmdb-crash.test.ts",
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
