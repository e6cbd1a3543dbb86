import { spawn } from "node:child_process";
import { type ToolName, toolPath } from "./tools.ts";

export interface KubectlResult {
  code: number;
  stdout: string;
  stderr: string;
}

export interface Kubectl {
  /** Runs to its end, whatever that is. */
  run(
    args: readonly string[],
    options?: { input?: string; env?: Record<string, string> },
  ): Promise<KubectlResult>;
  /** Runs and must succeed; answers with what it printed. */
  ok(args: readonly string[], options?: { input?: string; env?: Record<string, string> }): Promise<string>;
}

/** The real kubectl, on one cluster. */
export function createKubectl(
  kubeconfig: string,
  tool: Extract<ToolName, `kubectl${string}`> = "kubectl",
): Kubectl {
  const run: Kubectl["run"] = (args, { input, env } = {}) =>
    new Promise((resolve, reject) => {
      const child = spawn(toolPath(tool), ["--kubeconfig", kubeconfig, ...args], {
        // kubectl caches discovery in the home directory: tests must not see each other's.
        env: { ...process.env, KUBECACHEDIR: `${kubeconfig}-cache`, ...env },
      });
      let stdout = "";
      let stderr = "";
      child.stdout.on("data", (chunk) => {
        stdout += chunk;
      });
      child.stderr.on("data", (chunk) => {
        stderr += chunk;
      });
      child.on("error", reject);
      child.on("close", (code) => resolve({ code: code ?? -1, stdout, stderr }));
      child.stdin.end(input ?? "");
    });
  return {
    run,
    async ok(args, options) {
      const result = await run(args, options);
      if (result.code !== 0)
        throw new Error(`kubectl ${args.join(" ")} failed:\n${result.stderr}${result.stdout}`);
      return result.stdout;
    },
  };
}
