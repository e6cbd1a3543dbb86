import { status } from "@grpc/grpc-js";
import type { Container, Probe } from "../../../api/objects.ts";
import type { CriClient } from "../../../cri/cri-client.ts";
import { formatGoDuration } from "../../../lib/go-duration.ts";
import { isGrpcError } from "../../../lib/grpc-call.ts";
import { createExpand } from "../../container/expand.ts";
import { describeGrpcError } from "./describe-grpc-error.ts";
import { failed, notRun, type ProbeOutcome, type ProbeTarget, type RunOptions } from "./probe-handler.ts";

const mostOutputBytes = 10 * 1_024;
/** The runtime ends the command; one that does not get to it within this time has hung itself. */
const runtimeGraceMs = 10_000;

/** Whether the command ends with 0 inside the container. */
export async function runExec(
  runtime: Pick<CriClient["runtime"], "execSync">,
  { command = [] }: NonNullable<Probe["exec"]>,
  { target, timeoutMs, signal }: RunOptions & { readonly target: ProbeTarget },
): Promise<ProbeOutcome> {
  const { container, containerId } = target;
  const cmd = expandCommand(command, container);
  const timeout = BigInt(Math.ceil(timeoutMs / 1_000));
  try {
    const { exitCode, stdout, stderr } = await runtime.execSync(
      { containerId, cmd, timeout },
      { signal, timeoutMs: timeoutMs + runtimeGraceMs },
    );
    if (exitCode === 0) return { kind: "success" };
    return failed(Buffer.concat([stdout, stderr]).subarray(0, mostOutputBytes).toString());
  } catch (error) {
    if (isGrpcError(error, status.DEADLINE_EXCEEDED)) {
      const after = formatGoDuration(timeoutMs);
      return failed(`command timed out: ${JSON.stringify(cmd.join(" "))} timed out after ${after}`);
    }
    return notRun(describeGrpcError(error));
  }
}

/** `$(NAME)` stands for a variable of the container that is written out in the pod; what comes from elsewhere is empty. */
function expandCommand(command: readonly string[], { env = [] }: Container): string[] {
  const values = new Map(env.map(({ name, value = "" }) => [name, value]));
  const expand = createExpand();
  return command.map((word) => expand(word, (name) => values.get(name)));
}
