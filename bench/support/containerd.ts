import { type Containerd, startContainerd } from "../../test/support/containerd.ts";
import { toolPath } from "../../test/support/tools.ts";

/** The machine's containerd, which pulls and unpacks. */
export interface PullingContainerd extends Pick<Containerd, "stop"> {
  /** Answers with milliseconds. What was there before is removed first. */
  pull(reference: string): Promise<number>;
}

export async function startPullingContainerd(folder: string): Promise<PullingContainerd> {
  const { ctr, stop } = await startContainerd({ program: toolPath("containerd"), folder });
  return {
    async pull(reference) {
      await ctr("images", "remove", "--sync", reference).catch(() => {});
      await ctr("content", "prune", "references").catch(() => {});
      const startedAt = performance.now();
      await ctr("images", "pull", "--plain-http", reference);
      return performance.now() - startedAt;
    },
    stop,
  };
}
