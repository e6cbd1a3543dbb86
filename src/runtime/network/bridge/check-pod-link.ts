import { readlink } from "node:fs/promises";
import { basename } from "node:path";
import { broken } from "../network-error.ts";
import { isPinned } from "../pin-namespaces.ts";
import { runProcess } from "../run-process.ts";
import { hostLinkName } from "./link-batch.ts";

/** Rejects with what is missing between the pod's address and the bridge. */
export async function checkPodLink(pod: {
  podId: string;
  bridge: string;
  address: string;
  namespacePath: string;
}): Promise<void> {
  const { podId, bridge, address, namespacePath } = pod;
  if (!(await isPinned(namespacePath))) throw broken(podId, `its namespace ${namespacePath} is gone`);
  const link = hostLinkName(podId);
  const master = await readlink(`/sys/class/net/${link}/master`).catch(() => "");
  if (basename(master) !== bridge) throw broken(podId, `its link ${link} is not on the bridge ${bridge}`);
  const shown = await runProcess("nsenter", [
    `--net=${namespacePath}`,
    ...["ip", "-4", "-oneline", "address", "show", "dev", "eth0", "up"],
  ]);
  if (shown.kind !== "exited" || !shown.stdout.includes(` ${address}/`))
    throw broken(podId, `eth0 does not have its address ${address}: ${shown.stderr.trim()}`);
}
