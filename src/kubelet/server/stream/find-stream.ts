import { status } from "@grpc/grpc-js";
import type { Pod } from "../../../api/objects.ts";
import { allContainersOf } from "../../../api/pod-containers.ts";
import type { CriClient } from "../../../cri/cri-client.ts";
import { isGrpcError } from "../../../lib/grpc-call.ts";
import { messageOf } from "../../../lib/message-of.ts";
import { runtimeContainerId } from "../container-id.ts";
import { HttpError } from "../http-error.ts";
import { findContainerStatus } from "../log/choose-log-container.ts";
import type { RequestPath } from "../request-path.ts";
import { parseContainerPlace, requirePod, type ServedPods } from "../served-pods.ts";
import { parseStreamOptions } from "./stream-options.ts";

export interface StreamDeps {
  readonly pods: ServedPods;
  readonly cri: Pick<CriClient, "runtime">;
}

/** `/exec` and `/attach`: the address at which the runtime serves it, for one connection. */
export async function findStream(
  { pods, cri }: StreamDeps,
  { segments: [kind = "", ...rest], query }: RequestPath,
  signal: AbortSignal,
): Promise<string> {
  const place = parseContainerPlace(rest);
  if (!place) throw new HttpError(404, "404 page not found");
  const options = parseStreamOptions(query);
  const pod = requirePod(pods, place);
  const containerId = runningContainerId(pod, place.container);
  if (kind === "attach") {
    // A process has a terminal or none from its start on, whatever the client would like.
    const tty = allContainersOf(pod.spec).find(({ name }) => name === place.container)?.tty ?? false;
    const request = { ...options, tty, stderr: options.stderr && !tty, containerId };
    return askRuntime(() => cri.runtime.attach(request, { signal }));
  }
  const request = { ...options, containerId, cmd: query.getAll("command") };
  return askRuntime(() => cri.runtime.exec(request, { signal }));
}

/** Throws upstream's sentence for one that does not run. */
export function runningContainerId(pod: Pod, container: string): string {
  const found = findContainerStatus(pod, container);
  if (!found?.state?.running || !found.containerID)
    throw new HttpError(500, `container not found (${JSON.stringify(container)})`);
  return runtimeContainerId(found.containerID);
}

async function askRuntime(ask: () => Promise<{ readonly url: string }>): Promise<string> {
  try {
    return (await ask()).url;
  } catch (error) {
    throw streamError(error);
  }
}

/** A runtime's refusal in HTTP's words. */
function streamError(error: unknown): HttpError {
  const message = messageOf(error);
  if (isGrpcError(error, status.NOT_FOUND)) return new HttpError(404, message);
  if (isGrpcError(error, status.RESOURCE_EXHAUSTED))
    return new HttpError(429, message, { "retry-after": "60" });
  return new HttpError(500, message);
}
