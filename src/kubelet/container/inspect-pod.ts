import { status as grpcStatus } from "@grpc/grpc-js";
import type { CriClient } from "../../cri/cri-client.ts";
import { ContainerState } from "../../cri/generated/cri.ts";
import { isGrpcError } from "../../lib/grpc-call.ts";
import type { ObservedPod } from "../observed-pod.ts";
import type { PodListing } from "./list-by-pod.ts";
import { observePod } from "./observe-pod.ts";
import { readTerminationMessage } from "./read-termination-message.ts";

interface InspectDeps {
  readonly cri: {
    readonly runtime: Pick<CriClient["runtime"], "podSandboxStatus" | "containerStatus">;
  };
  readonly dataDirectory: string;
}

/** Asks the runtime for all of a pod that it listed. What goes away meanwhile is left out. */
export async function inspectPod(
  deps: InspectDeps,
  { sandboxes, containers }: PodListing,
): Promise<ObservedPod | undefined> {
  const { runtime } = deps.cri;
  const [sandboxAnswers, containerAnswers] = await Promise.all([
    Promise.all(
      sandboxes.map(({ id }) => orGone(runtime.podSandboxStatus({ podSandboxId: id, verbose: false }))),
    ),
    Promise.all(
      containers.map(async ({ id, podSandboxId }) => {
        const answer = await orGone(runtime.containerStatus({ containerId: id, verbose: false }));
        return answer?.status && { sandboxId: podSandboxId, status: answer.status };
      }),
    ),
  ]);
  const found = containerAnswers.filter((container) => container !== undefined);
  const ended = found.filter(({ status }) => status.state === ContainerState.CONTAINER_EXITED);
  const messages = await Promise.all(
    ended.map(async ({ status }) => [status.id, await readTerminationMessage(deps, status)] as const),
  );
  return observePod({
    sandboxes: sandboxAnswers.flatMap((answer) => answer?.status ?? []),
    containers: found,
    messages: new Map(messages),
  });
}

async function orGone<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (isGrpcError(error, grpcStatus.NOT_FOUND)) return undefined;
    throw error;
  }
}
