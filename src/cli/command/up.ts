import type { Command } from "commander";
import { addControlPlaneOptions, type ControlPlaneFlags, runControlPlane } from "../control-plane.ts";

const examples = `
Examples:
  kindling up
  kindling up --data-dir ./cluster --listen 127.0.0.1:0
  kindling up --store memory --feature-gates StartupProbe=false`;

export function configure(command: Command): void {
  addControlPlaneOptions(command)
    .addHelpText("after", examples)
    .action((flags: ControlPlaneFlags) =>
      runControlPlane(
        flags,
        ({ url, kubeconfig }) =>
          `The cluster is up at ${url}\n\n  export KUBECONFIG=${kubeconfig}\n  kubectl get namespaces\n\nCtrl-C stops it; the data stays in ${flags.dataDir}\n`,
      ),
    );
}
