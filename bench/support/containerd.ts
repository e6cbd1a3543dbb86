import { type Containerd, startContainerd } from "../../test/support/containerd.ts";
import { toolPath } from "../../test/support/tools.ts";

/** The machine's containerd, new and empty, which pulls and unpacks once. */
export interface PullingContainerd extends Pick<Containerd, "stop"> {
  /** Answers with milliseconds. */
  pull(reference: string): Promise<number>;
}

export async function startPullingContainerd(folder: string): Promise<PullingContainerd> {
  const { ctr, stop } = await startContainerd({ program: toolPath("containerd"), folder });
  return {
    async pull(reference) {
      const startedAt = performance.now();
      await ctr("images", "pull", "--plain-http", reference);
      return performance.now() - startedAt;
    },
    stop,
  };
}
