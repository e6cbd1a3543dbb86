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
      // Its CRI part gives an image names of its own: while one of them is left, nothing is removed.
      const names = (await ctr("images", "list", "-q")).split("\n").filter(Boolean);
      if (names.length > 0) await ctr("images", "remove", "--sync", ...names);
      await ctr("content", "prune", "references").catch(() => {});
      const startedAt = performance.now();
      await ctr("images", "pull", "--plain-http", reference);
      return performance.now() - startedAt;
    },
    stop,
  };
}
