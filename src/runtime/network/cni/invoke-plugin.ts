import { isMapping } from "../../../lib/is-mapping.ts";
import { findProgram } from "../../driver/find-program.ts";
import { endLeftoverProcesses } from "../end-leftover-processes.ts";
import { NetworkError } from "../network-error.ts";
import { podVariable, runProcess } from "../run-process.ts";

type CniCommand = "ADD" | "DEL" | "CHECK" | "STATUS" | "VERSION";

export interface PluginCall {
  readonly command: CniCommand;
  readonly type: string;
  readonly config: Readonly<Record<string, unknown>>;
  readonly binDirs: readonly string[];
  readonly timeoutMs: number;
  readonly pod?: PodArguments;
}

export interface PodArguments {
  readonly podId: string;
  readonly namespacePath: string;
  readonly args: string;
  readonly interfaceName: string;
}

/** Runs one plugin: parameters in the environment, configuration in, result or error out, both JSON. */
export async function invokePlugin(call: PluginCall): Promise<Readonly<Record<string, unknown>>> {
  const { command, type, pod, timeoutMs } = call;
  const path = findProgram(type, call.binDirs);
  if (!path)
    throw new NetworkError("pluginFailed", `CNI plugin ${type} is not in ${call.binDirs.join(" or ")}`);
  const outcome = await runProcess(path, [], {
    input: JSON.stringify(call.config),
    env: {
      CNI_COMMAND: command,
      CNI_PATH: call.binDirs.join(":"),
      ...(pod
        ? {
            CNI_CONTAINERID: pod.podId,
            CNI_NETNS: pod.namespacePath,
            CNI_IFNAME: pod.interfaceName,
            CNI_ARGS: pod.args,
            [podVariable]: pod.podId,
          }
        : {}),
    },
    timeoutMs,
  });
  if (outcome.kind === "timedOut") {
    // Its children may have left its process group.
    if (pod) await endLeftoverProcesses(pod.podId, { graceMs: 0 });
    const seconds = timeoutMs / 1_000;
    throw new NetworkError(
      "pluginTimedOut",
      `CNI plugin ${type} did not end ${command} within ${seconds} s${tail(outcome.stderr)}`,
    );
  }
  const answer = parse(outcome.stdout);
  if (outcome.exitCode !== 0) {
    const why = answer ? describeError(answer) : `exit code ${outcome.exitCode}`;
    throw new NetworkError(
      "pluginFailed",
      `CNI plugin ${type} failed to ${command}: ${why}${tail(outcome.stderr)}`,
    );
  }
  if (!answer && command === "ADD")
    throw new NetworkError("pluginFailed", `CNI plugin ${type} answered ${command} with no result`);
  return answer ?? {};
}

function parse(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isMapping(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function describeError({ code, msg, details }: Record<string, unknown>): string {
  return [msg, details].filter(Boolean).join("; ") + (code === undefined ? "" : ` (code ${code})`);
}

function tail(stderr: string): string {
  const text = stderr.trim().slice(-500);
  return text ? `: ${text}` : "";
}
