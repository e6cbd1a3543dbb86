import { status as grpcStatus } from "@grpc/grpc-js";
import type { CriClient } from "../../cri/cri-client.ts";
import { ContainerState } from "../../cri/generated/cri.ts";
import { isGrpcError } from "../../lib/grpc-call.ts";
import type { ObservedPod } from "../observed-pod.ts";
import { observePod, type PodAnswers } from "./observe-pod.ts";
import { readTerminationMessage } from "./read-termination-message.ts";

interface InspectDeps {
  readonly cri: {
    readonly runtime: Pick<CriClient["runtime"], "podSandboxStatus" | "containerStatus">;
  };
  readonly dataDirectory: string;
}

/** A pod, or some of it. */
interface PodParts {
  readonly sandboxes: readonly { readonly id: string }[];
  readonly containers: readonly { readonly id: string; readonly podSandboxId: string }[];
}

/** Asks the runtime for these parts of a pod. What has gone away meanwhile is left out. */
export async function inspectPod(
  deps: InspectDeps,
  { sandboxes, containers }: PodParts,
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
  return readAnswers(deps, {
    sandboxes: sandboxAnswers.flatMap((answer) => answer?.status ?? []),
    containers: containerAnswers.filter((container) => container !== undefined),
  });
}

/** What the runtime has said of a pod, with the last words of its containers that have ended. */
export async function readAnswers(
  deps: Pick<InspectDeps, "dataDirectory">,
  answers: Omit<PodAnswers, "messages">,
): Promise<ObservedPod | undefined> {
  const ended = answers.containers.filter(({ status }) => status.state === ContainerState.CONTAINER_EXITED);
  const messages = await Promise.all(
    ended.map(async ({ status }) => [status.id, await readTerminationMessage(deps, status)] as const),
  );
  return observePod({ ...answers, messages: new Map(messages) });
}

async function orGone<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (isGrpcError(error, grpcStatus.NOT_FOUND)) return undefined;
    throw error;
  }
}
