import type { Container, Probe } from "../../../api/objects.ts";
import type { CriClient } from "../../../cri/cri-client.ts";
import type { ProbeKind } from "../decide-probe.ts";
import { runExec } from "./exec.ts";
import { failed, type ProbeHandler } from "./probe-handler.ts";

export interface SimulatedProbesDeps {
  readonly runtime: Pick<CriClient["runtime"], "execSync">;
  /** Why a probe fails; undefined where it does not. */
  failureOf(containerId: string, kind: ProbeKind): string | undefined;
}

/** For a node on which no container ever runs: nobody listens at a pod's address, so that only rules let a probe fail. */
export function simulatedProbes({ runtime, failureOf }: SimulatedProbesDeps): ProbeHandler {
  return async (probe, target, options) => {
    const failure = failureOf(target.containerId, kindOf(probe, target.container));
    if (failure !== undefined) return failed(failure);
    return probe.exec ? runExec(runtime, probe.exec, { target, ...options }) : { kind: "success" };
  };
}

function kindOf(probe: Probe, { startupProbe, livenessProbe }: Container): ProbeKind {
  if (probe === startupProbe) return "startup";
  return probe === livenessProbe ? "liveness" : "readiness";
}
