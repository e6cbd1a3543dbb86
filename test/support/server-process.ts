import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { type ApiClient, connectClient } from "./api-server.ts";
import { bundle } from "./bundle.ts";

/** `kindling apiserver` in a process of its own, as users run it. */
export interface ServerProcess extends ApiClient {
  readonly url: string;
  readonly kubeconfig: string;
  kill(signal: "SIGKILL" | "SIGTERM"): void;
  readonly exit: Promise<Exit>;
}

interface Exit {
  /** Null after a kill. */
  code: number | null;
  stdout: string;
  stderr: string;
}

let bundled: Promise<string> | undefined;

/** Runs a `kindling` command line from the current source to its end, unless `until` is printed first. */
async function launch(
  args: readonly string[],
  until?: RegExp,
): Promise<{ child: ChildProcess; exit: Promise<Exit>; match: string[] }> {
  bundled ??= bundle("src/cli/main.ts");
  const child = spawn(process.execPath, [await bundled, ...args], { stdio: ["ignore", "pipe", "pipe"] });
  // A test process that ends early leaves no server behind.
  const killWithUs = () => child.kill("SIGKILL");
  process.on("exit", killWithUs);
  const output = { stdout: "", stderr: "" };
  const exit = once(child, "close").then(([code]: (number | null)[]) => {
    process.off("exit", killWithUs);
    return { code: code ?? null, ...output };
  });
  const match = await new Promise<string[]>((resolve, reject) => {
    child.stderr?.on("data", (chunk) => {
      output.stderr += chunk;
    });
    child.stdout?.on("data", (chunk) => {
      output.stdout += chunk;
      const found = until?.exec(output.stdout);
      if (found) resolve([...found]);
    });
    exit.then(() => resolve([]), reject);
  });
  return { child, exit, match };
}

/** To the end of the command. */
export async function runKindling(args: readonly string[]): Promise<Exit> {
  return (await launch(args)).exit;
}

export async function startServerProcess(args: readonly string[]): Promise<ServerProcess> {
  const { child, exit, match } = await launch(
    ["apiserver", ...args],
    /^API server: (\S+)\nkubeconfig: (\S+)\n/m,
  );
  const [, url, kubeconfig] = match;
  if (!url || !kubeconfig) throw new Error(`the server ended: ${(await exit).stderr}`);
  return {
    ...(await connectClient(url, kubeconfig)),
    url,
    kubeconfig,
    exit,
    kill: (signal) => void child.kill(signal),
  };
}
