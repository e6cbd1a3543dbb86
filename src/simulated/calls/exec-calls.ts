import { status } from "@grpc/grpc-js";
import type { RuntimeServiceService } from "../../cri/generated/cri.ts";
import type { ServiceCalls } from "../../cri/serve-call.ts";
import { sleepUntil } from "../../lib/timer-queue.ts";
import { containerScript, type SimulatedCore } from "../model/core.ts";
import { failure, invalidArgument, unimplemented } from "../model/failure.ts";
import { findContainer, killed } from "../model/state.ts";
import type { ContainerScript, ExecCall, ExecResult } from "../scripts/scripts.ts";
import { checkRuns } from "./container-calls.ts";

export function execCalls(core: SimulatedCore) {
  const { state, clock } = core;
  return {
    async execSync({ containerId, cmd, timeout }, { signal }) {
      const container = findContainer(state, containerId);
      checkRuns(container);
      if (cmd.length === 0) throw invalidArgument("cmd is missing");
      const now = clock.now();
      const startedAt = container.state.kind === "running" ? container.state.startedAt : now;
      const { exec } = containerScript(core, container);
      const answer = decideExec(exec, { command: cmd, sinceStartMs: now - startedAt });
      const { delayMs = 0, exitCode = 0, stdout = "", stderr = "" } = answer;
      const limitMs = timeout > 0n ? 1_000 * Number(timeout) : Number.POSITIVE_INFINITY;
      await sleepUntil(clock, now + Math.min(delayMs, limitMs), signal);
      if (delayMs > limitMs)
        throw failure(status.DEADLINE_EXCEEDED, `the command did not end within ${timeout} s: timeout`);
      // The command is killed together with its container.
      const survived = container.state.kind === "running";
      return {
        stdout: Buffer.from(stdout),
        stderr: Buffer.from(stderr),
        exitCode: survived ? exitCode : killed.exitCode,
      };
    },

    async exec() {
      throw unimplemented(
        "the simulated runtime runs no processes: there is no terminal, ExecSync answers by rules",
      );
    },
    async attach() {
      throw unimplemented("the simulated runtime runs no processes: there is nothing to attach to");
    },
    async portForward() {
      throw unimplemented("the simulated runtime has no network: there are no ports to forward");
    },
  } satisfies ServiceCalls<RuntimeServiceService>;
}

/** Selects the scripted result of a command. */
export function decideExec(script: ContainerScript["exec"], call: ExecCall): ExecResult {
  if (typeof script === "function") return script(call);
  return script?.find(({ untilMs = Number.POSITIVE_INFINITY }) => call.sinceStartMs < untilMs) ?? {};
}
