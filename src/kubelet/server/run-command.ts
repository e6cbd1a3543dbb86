import type { CriClient } from "../../cri/cri-client.ts";
import { messageOf } from "../../lib/message-of.ts";
import { HttpError } from "./http-error.ts";
import type { RequestPath } from "./request-path.ts";
import { parseContainerPlace, requirePod, type ServedPods } from "./served-pods.ts";
import { runningContainerId } from "./stream/find-stream.ts";

/** `/run`: both outputs of a command, which is split at spaces. */
export async function runCommand(
  { pods, cri }: { pods: ServedPods; cri: Pick<CriClient, "runtime"> },
  { segments, query }: RequestPath,
  signal: AbortSignal,
): Promise<string> {
  const place = parseContainerPlace(segments.slice(1));
  if (!place) throw new HttpError(404, "404 page not found");
  const containerId = runningContainerId(requirePod(pods, place), place.container);
  const request = { containerId, cmd: (query.get("cmd") ?? "").split(" "), timeout: 0n };
  try {
    const { stdout, stderr, exitCode } = await cri.runtime.execSync(request, { signal });
    const output = Buffer.concat([stdout, stderr]).toString();
    if (exitCode === 0) return output;
    throw new Error(`command '${request.cmd.join(" ")}' exited with ${exitCode}: ${output}`);
  } catch (error) {
    throw new HttpError(500, messageOf(error));
  }
}
