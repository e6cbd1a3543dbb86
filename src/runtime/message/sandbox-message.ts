import { type PodSandbox, PodSandboxState, PodSandboxStatus } from "../../cri/generated/cri.ts";
import { toNanos } from "../../cri/nanos.ts";
import type { SandboxRecord } from "../state/sandbox-record.ts";

export function sandboxMessage(sandbox: SandboxRecord): PodSandbox {
  const { id, config, createdAt, runtimeHandler } = sandbox;
  const { metadata, labels, annotations } = config;
  const state = sandboxStateValue(sandbox);
  return { id, metadata, state, createdAt: toNanos(createdAt), labels, annotations, runtimeHandler };
}

export function sandboxStatusMessage(sandbox: SandboxRecord): PodSandboxStatus {
  const { config, state } = sandbox;
  const [ip = "", ...additional] = state.kind === "ready" ? state.addresses : [];
  return PodSandboxStatus.fromPartial({
    ...sandboxMessage(sandbox),
    network: { ip, additionalIps: additional.map((address) => ({ ip: address })) },
    linux: { namespaces: { options: config.linux?.securityContext?.namespaceOptions ?? {} } },
  });
}

export function sandboxStateValue({ state }: SandboxRecord): PodSandboxState {
  return state.kind === "ready" ? PodSandboxState.SANDBOX_READY : PodSandboxState.SANDBOX_NOTREADY;
}
