import { findProgram } from "../../driver/find-program.ts";
import { invokePlugin } from "./invoke-plugin.ts";
import type { Chain } from "./run-chain.ts";

/** Where iproute2 has not done so already when the namespace was pinned, the loopback plugin does. */
export async function bringLoopbackUp({ pod, binDirs, timeoutMs }: Chain): Promise<void> {
  const type = "loopback";
  if (findProgram("ip") || !findProgram(type, binDirs)) return;
  await invokePlugin({
    command: "ADD",
    type,
    config: { cniVersion: "0.4.0", name: "lo", type },
    binDirs,
    timeoutMs,
    pod: { ...pod, interfaceName: "lo" },
  });
}
