import { rm } from "node:fs/promises";
import { status } from "@grpc/grpc-js";
import type { Pod } from "../../api/meta/objects.ts";
import type { Client } from "../../client/api/client.ts";
import { isConflict, isNotFound } from "../../client/transport/status-errors.ts";
import type { CriClient } from "../../cri/cri-client.ts";
import { isGrpcError } from "../../lib/grpc-call.ts";
import type { ObservedPod } from "../model/observed-pod.ts";

export interface CleanUpOptions {
  readonly cri: CriClient;
  readonly observed: ObservedPod | undefined;
  /** Directories of the pod on the node. Its volumes must have been torn down before. */
  readonly directories: readonly string[];
  readonly signal: AbortSignal;
}

/** Removes the containers, sandboxes and directories of a terminated pod. Idempotent. */
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

/** Waits for a CRI call and ignores NOT_FOUND. */
export async function unlessGone(call: Promise<unknown>): Promise<void> {
  try {
    await call;
  } catch (error) {
    if (!isGrpcError(error, status.NOT_FOUND)) throw error;
  }
}

/** Deletes a pod from the API without a grace period. The UID precondition protects a new pod of the same name. */
export async function deletePod(
  client: Pick<Client, "delete">,
  { metadata }: Pod,
  signal: AbortSignal,
): Promise<void> {
  const { namespace = "", name = "", uid = "" } = metadata;
  try {
    await client.delete(
      "pods",
      { namespace, name },
      { gracePeriodSeconds: 0, preconditions: { uid }, signal },
    );
  } catch (error) {
    if (!isNotFound(error) && !isConflict(error)) throw error;
  }
}
