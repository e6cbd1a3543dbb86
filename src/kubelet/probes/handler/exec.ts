import { status } from "@grpc/grpc-js";
import type { Container, Probe } from "../../../api/meta/objects.ts";
import type { CriClient } from "../../../cri/cri-client.ts";
import { withoutRandomIds } from "../../../cri/error-text.ts";
import { formatGoDuration } from "../../../lib/go-duration.ts";
import { isGrpcError } from "../../../lib/grpc-call.ts";
import { createExpand } from "../../model/expand.ts";
import {
  describeGrpcError,
  failed,
  notRun,
  type ProbeOutcome,
  type ProbeTarget,
  type RunOptions,
} from "./probe-handler.ts";

const maxOutputBytes = 10 * 1_024;
/** Time in addition to the probe's timeout in which the runtime must end the command. */
const runtimeGraceMs = 10_000;

/** Runs an exec probe: succeeds if the command exits with 0 in the container. */
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
    return failed(Buffer.concat([stdout, stderr]).subarray(0, maxOutputBytes).toString());
  } catch (error) {
    if (isGrpcError(error, status.DEADLINE_EXCEEDED)) {
      const after = formatGoDuration(timeoutMs);
      return failed(`command timed out: ${JSON.stringify(cmd.join(" "))} timed out after ${after}`);
    }
    return notRun(withoutRandomIds(describeGrpcError(error)));
  }
}

/** Expands `$(NAME)` with the container's literal variables. Variables from other sources are empty, as upstream. */
function expandCommand(command: readonly string[], { env = [] }: Container): string[] {
  const values = new Map(env.map(({ name, value = "" }) => [name, value]));
  const expand = createExpand();
  return command.map((word) => expand(word, (name) => values.get(name)));
}
