import type { Command } from "commander";
import { type ControlPlaneOptions, startControlPlane } from "../../cluster.ts";
import { featureGatesOption } from "../feature-gates-option.ts";
import { listenOption } from "../listen-option.ts";
import { addLogOptions, loggerOf } from "../log-options.ts";
import { addStoreOptions, type StoreFlags, storeOptionsOf } from "../store-options.ts";
import { untilStopped } from "../until-stopped.ts";

type Flags = StoreFlags &
  Parameters<typeof loggerOf>[0] &
  Pick<ControlPlaneOptions, "listen" | "kubeconfig" | "tokenFile"> & {
    featureGates: ControlPlaneOptions["features"];
  };

export function configure(command: Command): void {
  addLogOptions(addStoreOptions(command))
    .addOption(listenOption("127.0.0.1:6443"))
    .option(
      "--kubeconfig <file>",
      "where to write the administrator's kubeconfig (default: kubeconfig in the data dir)",
    )
    .option("--token-auth-file <file>", 'bearer tokens: token,user,uid,"group1,group2" in each line')
    .addOption(featureGatesOption())
    .addHelpText(
      "after",
      `
Examples:
  kindling apiserver
  kindling apiserver --data-dir /var/lib/kindling --listen 0.0.0.0:6443
  kindling apiserver --store etcd --etcd-endpoints http://127.0.0.1:2379 --listen 127.0.0.1:0`,
    )
    .action(async (flags: Flags & { tokenAuthFile?: string }) => {
      const store = await storeOptionsOf(flags);
      await untilStopped(async (signal) => {
        const { dataDir, listen, kubeconfig, tokenAuthFile: tokenFile, featureGates: features } = flags;
        const controlPlane = await startControlPlane({
          dataDir,
          store,
          listen,
          features,
          logger: loggerOf(flags),
          kubeconfig,
          tokenFile,
        });
        process.stdout.write(`API server: ${controlPlane.url}\nkubeconfig: ${controlPlane.kubeconfig}\n`);
        await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
        await controlPlane.close();
      });
    });
}
