import type { Command } from "commander";
import { startControlPlane } from "../../cluster/control-plane.ts";
import { addControlPlaneOptions, type ControlPlaneFlags, runControlPlane } from "../run-control-plane.ts";

const examples = `
Examples:
  kindling apiserver
  kindling apiserver --data-dir /var/lib/kindling --listen 0.0.0.0:6443
  kindling apiserver --store etcd --etcd-endpoints http://127.0.0.1:2379 --listen 127.0.0.1:0`;

export function configure(command: Command): void {
  addControlPlaneOptions(command)
    .addHelpText("after", examples)
    .action((flags: ControlPlaneFlags) =>
      runControlPlane(
        flags,
        startControlPlane,
        ({ url, kubeconfig }) => `API server: ${url}\nkubeconfig: ${kubeconfig}\n`,
      ),
    );
}
