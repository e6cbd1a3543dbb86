import { runQuietTool, runTool } from "../run-process.ts";
import type { CniConfig } from "./cni-config.ts";

/**
 * The bridge and ptp plugins up to 1.1 find their masquerading rules by the addresses inside the pod's namespace:
 * when that or its interface is gone, DEL leaves the rules. This removes them.
 */
export async function removeMasquerade(podId: string, { name, plugins }: CniConfig): Promise<void> {
  if (!plugins.some(({ ipMasq }) => ipMasq === true)) return;
  const remaining = async () =>
    renderMasqueradeRemoval(await runTool("iptables-save", ["-t", "nat"]), { podId, networkName: name });
  const input = await remaining();
  if (!input) return;
  try {
    await runQuietTool("iptables-restore", ["--noflush", "--wait"], { input });
  } catch (error) {
    // A plugin that outlived its daemon may have removed them in between; then there is nothing to complain about.
    if (await remaining()) throw error;
  }
}

/** Input for iptables-restore; undefined when there is nothing to remove. */
export function renderMasqueradeRemoval(
  saved: string,
  { podId, networkName }: { podId: string; networkName: string },
): string | undefined {
  const comment = `--comment "name: \\"${networkName}\\" id: \\"${podId}\\""`;
  const jumps = saved
    .split("\n")
    .filter((line) => line.startsWith("-A POSTROUTING ") && line.includes(comment))
    .flatMap((line) => {
      const chain = / -j (CNI-[0-9a-f]{24})$/.exec(line)?.[1];
      return chain ? [{ line, chain }] : [];
    });
  if (jumps.length === 0) return undefined;
  return [
    "*nat",
    ...jumps.map(({ chain }) => `:${chain} - [0:0]`),
    ...jumps.map(({ line }) => line.replace("-A", "-D")),
    ...jumps.map(({ chain }) => `-X ${chain}`),
    "COMMIT",
    "",
  ].join("\n");
}
