import { mayRestart } from "../../api/may-restart.ts";
import type { Container, ContainerStatus, PodSpec } from "../../api/objects.ts";
import { isSidecar } from "../../api/pod-resources.ts";

export type Phase = "Pending" | "Running" | "Succeeded" | "Failed";

export interface PhaseFacts {
  readonly spec: PodSpec;
  /** Of init containers, sidecars and containers. */
  readonly statuses: readonly ContainerStatus[];
  /** A container proper has been made in the present sandbox: a sidecar that restarts does not undo that. */
  readonly initialized: boolean;
  /** Nothing of the pod will be started again, whatever the restart policy says. */
  readonly final: boolean;
}

/**
 * Pending until everything has run once, Running while something runs or will again. Sidecars count as what runs, but
 * how they ended tells nothing of the pod.
 */
export function phaseOf({ spec, statuses, initialized, final }: PhaseFacts): Phase {
  const byName = new Map(statuses.map((status) => [status.name, status]));
  const staged = (container: Container) => ({ container, ...stageOf(byName.get(container.name)) });
  const sidecars = (spec.initContainers ?? []).filter(isSidecar);
  const inits = (spec.initContainers ?? []).filter((container) => !isSidecar(container)).map(staged);
  const own = spec.containers.map(staged);

  if (inits.some((init) => init.kind === "ended" && init.exitCode !== 0 && isOver(init, spec)))
    return "Failed";
  const initializing =
    inits.some(({ kind }) => kind !== "ended") ||
    (!initialized && sidecars.some(({ name }) => isNotUp(byName.get(name))));

  // A sidecar that has ended is not looked at.
  const all = [...own, ...sidecars.map(staged).filter(({ kind }) => kind !== "ended")];
  const any = (wanted: Stage["kind"]) => all.some(({ kind }) => kind === wanted);
  if (initializing || any("waiting") || any("unknown")) return "Pending";
  if (any("running")) return "Running";

  const ended = own.filter((each) => each.kind === "ended");
  if (ended.length === 0) return "Pending";
  if (!final && !ended.every((each) => isOver(each, spec))) return "Running";
  // One that waits to be started again has not succeeded, however it ended the last time.
  return ended.every(({ again, exitCode }) => !again && exitCode === 0) ? "Succeeded" : "Failed";
}

function isOver({ container, exitCode }: { container: Container; exitCode: number }, spec: PodSpec): boolean {
  return !mayRestart(container, spec, exitCode);
}

type Stage =
  | { readonly kind: "unknown" | "waiting" | "running" }
  /** `again`: it waits, after it has ended once. */
  | { readonly kind: "ended"; readonly exitCode: number; readonly again: boolean };

function stageOf(status: ContainerStatus | undefined): Stage {
  const { state, lastState } = status ?? {};
  if (state?.running) return { kind: "running" };
  if (state?.terminated) return { kind: "ended", exitCode: state.terminated.exitCode, again: false };
  if (!state?.waiting) return { kind: "unknown" };
  if (!lastState?.terminated) return { kind: "waiting" };
  return { kind: "ended", exitCode: lastState.terminated.exitCode, again: true };
}

/** Waits for its first start, or runs and has not been found started. */
function isNotUp(status: ContainerStatus | undefined): boolean {
  const { kind } = stageOf(status);
  if (kind === "running") return status?.started !== true;
  return kind === "waiting" || (kind === "unknown" && status !== undefined);
}
