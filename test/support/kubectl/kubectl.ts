import { type ChildProcess, spawn } from "node:child_process";
import { dirname } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { describeWithTool, type ToolName, toolPath, toolVersion } from "../programs/tools.ts";

interface KubectlResult {
  code: number;
  stdout: string;
  stderr: string;
}

/** A command line, split at spaces; a list where an argument contains some. */
type CommandLine = string | readonly string[];

interface KubectlOptions {
  input?: string;
  env?: Record<string, string>;
}

export interface Kubectl {
  /** Runs to completion; the exit code may be nonzero. */
  run(command: CommandLine, options?: KubectlOptions): Promise<KubectlResult>;
  /** Runs, fails on a nonzero exit code, and returns the output. */
  ok(command: CommandLine, options?: KubectlOptions): Promise<string>;
  /** Runs and must fail; answers with its complaint. */
  fails(command: CommandLine, options?: KubectlOptions): Promise<string>;
  /** Starts something that goes on until it is stopped. */
  follow(command: CommandLine): Following;
}

interface Following {
  /** What it has printed, or complained of, once that matches. */
  until(pattern: RegExp, stream?: "stdout" | "stderr"): Promise<string>;
  stop(): Promise<void>;
}

export type KubectlTool = Extract<ToolName, `kubectl${string}`>;

/** Declares the tests once for each kubectl, in a `describe` that names its version. */
export function describeEachKubectl(body: (tool: KubectlTool) => void): void {
  for (const tool of ["kubectl", "kubectl-older"] as const)
    describeWithTool(tool, `${tool} ${toolVersion(tool) ?? ""}`.trim(), () => body(tool));
}

/** The real kubectl, on one cluster. */
export function createKubectl(kubeconfig: string, tool: KubectlTool = "kubectl"): Kubectl {
  function start(command: CommandLine, env: Record<string, string> = {}): ChildProcess {
    const args = typeof command === "string" ? command.split(" ") : command;
    return spawn(toolPath(tool), ["--kubeconfig", kubeconfig, ...args], {
      env: {
        ...process.env,
        // kubectl caches discovery in the home directory: tests must not see each other's.
        KUBECACHEDIR: `${kubeconfig}-cache-${tool}`,
        // Where it keeps the text of a rejected edit.
        TMPDIR: dirname(kubeconfig),
        ...env,
      },
    });
  }

  const run: Kubectl["run"] = (command, { input, env } = {}) =>
    new Promise((resolve, reject) => {
      const child = start(command, env);
      const result = { code: -1, stdout: "", stderr: "" };
      collect(child, result);
      child.on("error", reject);
      child.on("close", (code) => resolve({ ...result, code: code ?? -1 }));
      child.stdin?.end(input ?? "");
    });

  return {
    run,
    async ok(command, options) {
      const { code, stdout, stderr } = await run(command, options);
      if (code !== 0) throw new Error(`kubectl ${show(command)} failed with ${code}:\n${stderr}${stdout}`);
      return stdout;
    },
    async fails(command, options) {
      const { code, stdout, stderr } = await run(command, options);
      if (code === 0) throw new Error(`kubectl ${show(command)} succeeded:\n${stderr}${stdout}`);
      return stderr;
    },
    follow(command) {
      const child = start(command);
      const printed = { stdout: "", stderr: "" };
      collect(child, printed);
      const closed = new Promise<void>((resolve) => child.on("close", () => resolve()));
      return {
        async until(pattern, stream = "stdout") {
          for (let waited = 0; !pattern.test(printed[stream]); waited += 10) {
            if (waited > 60_000)
              throw new Error(
                `kubectl ${show(command)} did not print ${pattern}:\n${printed.stderr}${printed.stdout}`,
              );
            await delay(10);
          }
          return printed[stream];
        },
        async stop() {
          child.kill("SIGKILL");
          await closed;
        },
      };
    },
  };
}

function collect(child: ChildProcess, into: { stdout: string; stderr: string }): void {
  for (const stream of ["stdout", "stderr"] as const) {
    child[stream]?.setEncoding("utf8");
    child[stream]?.on("data", (chunk: string) => {
      into[stream] += chunk;
    });
  }
}

function show(command: CommandLine): string {
  return typeof command === "string" ? command : command.join(" ");
}
