import { type KindlingRun, runKindling } from "../programs/run-kindling.ts";
import { type ApiClient, connectClient } from "./api-server.ts";

/** `kindling apiserver` in a separate process, as users run it. */
export interface ServerProcess extends ApiClient, Pick<KindlingRun, "exit" | "output"> {
  readonly url: string;
  readonly kubeconfig: string;
  readonly pid: number | undefined;
  kill(signal: "SIGKILL" | "SIGTERM"): void;
}

/** Resolves once it serves. */
export async function startServerProcess(args: readonly string[]): Promise<ServerProcess> {
  const { child, output, exit } = await runKindling(["apiserver", ...args]);
  // A test process that ends early leaves no server behind.
  const killWithUs = () => child.kill("SIGKILL");
  process.on("exit", killWithUs);
  child.once("exit", () => process.off("exit", killWithUs));

  const served = await new Promise<RegExpExecArray | null>((resolve) => {
    child.stdout?.on("data", () => {
      const match = /^API server: (\S+)\nkubeconfig: (\S+)\n/m.exec(output.stdout);
      if (match) resolve(match);
    });
    child.once("close", () => resolve(null));
  });
  const [, url, kubeconfig] = served ?? [];
  if (!url || !kubeconfig) throw new Error(`the server ended: ${output.stderr}`);
  return {
    ...(await connectClient(url, kubeconfig)),
    url,
    kubeconfig,
    pid: child.pid,
    output,
    exit,
    kill: (signal) => void child.kill(signal),
  };
}
