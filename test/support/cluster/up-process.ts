import { createKubectl, type Kubectl } from "../kubectl/kubectl.ts";
import { type KindlingRun, runKindling } from "../programs/run-kindling.ts";

/** `kindling up` in a separate process, as users run it. */
export interface UpProcess extends Pick<KindlingRun, "output" | "exit"> {
  readonly kubeconfig: string;
  readonly kubectl: Kubectl;
  kill(signal: "SIGKILL" | "SIGTERM"): Promise<number | null>;
}

/** Resolves once it prints that the cluster is up. */
export async function startUp(args: readonly string[]): Promise<UpProcess> {
  const { child, output, exit } = await runKindling(["up", "--listen", "127.0.0.1:0", ...args]);
  const killWithUs = () => child.kill("SIGKILL");
  process.on("exit", killWithUs);
  child.once("exit", () => process.off("exit", killWithUs));
  const kubeconfig = await new Promise<string | undefined>((resolve) => {
    child.stdout?.on("data", () => {
      const match = /export KUBECONFIG=(\S+)\n/.exec(output.stdout);
      if (match) resolve(match[1]);
    });
    child.once("close", () => resolve(undefined));
  });
  if (!kubeconfig) throw new Error(`kindling up ended: ${output.stderr}`);
  return {
    kubeconfig,
    kubectl: createKubectl(kubeconfig),
    output,
    exit,
    async kill(signal) {
      child.kill(signal);
      return exit;
    },
  };
}
