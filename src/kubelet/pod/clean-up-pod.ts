import { rm } from "node:fs/promises";
import { status } from "@grpc/grpc-js";
import type { CriClient } from "../../cri/cri-client.ts";
import { isGrpcError } from "../../lib/grpc-call.ts";
import type { ObservedPod } from "../observed-pod.ts";

export interface CleanUpOptions {
  readonly cri: CriClient;
  readonly observed: ObservedPod | undefined;
  /** The pod's own directories on the node. Its volumes have been torn down before. */
  readonly directories: readonly string[];
  readonly signal: AbortSignal;
}

/** Removes what the runtime and the disk still have of a pod that is over. The same again does no harm. */
export async function cleanUpPod({ cri, observed, directories, signal }: CleanUpOptions): Promise<void> {
  await Promise.all(
    (observed?.containers ?? []).map(({ id }) =>
      unlessGone(cri.runtime.removeContainer({ containerId: id }, { signal })),
    ),
  );
  for (const { id } of observed?.sandboxes ?? []) {
    await unlessGone(cri.runtime.stopPodSandbox({ podSandboxId: id }, { signal }));
    await unlessGone(cri.runtime.removePodSandbox({ podSandboxId: id }, { signal }));
  }
  for (const directory of directories) await rm(directory, { recursive: true, force: true });
}

export async function unlessGone(call: Promise<unknown>): Promise<void> {
  try {
    await call;
  } catch (error) {
    if (!isGrpcError(error, status.NOT_FOUND)) throw error;
  }
}
