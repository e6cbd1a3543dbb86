import type { ImagePuller, PullProgress } from "../image/image-puller.ts";
import { HttpError } from "./http-error.ts";
import type { RequestPath } from "./request-path.ts";
import type { ServedPods } from "./served-pods.ts";

export interface PullProgressDeps {
  readonly pods: ServedPods;
  readonly progress: Pick<ImagePuller, "progress" | "followProgress">;
}

/** What `/imagePullProgress/NAMESPACE/POD` shows: pulls that run for the pod now. */
export interface PullsNow {
  readonly pulls: readonly PullProgress[];
}

export function pullsNow(deps: PullProgressDeps, path: RequestPath): PullsNow {
  return { pulls: deps.progress.progress(podUid(deps.pods, path)) };
}

/** The same as JSON lines, one for each change. */
export function followPulls(
  deps: PullProgressDeps,
  path: RequestPath,
  signal: AbortSignal,
): AsyncIterable<string> {
  return lines(deps.progress.followProgress(podUid(deps.pods, path), signal));
}

async function* lines(changes: AsyncIterable<readonly PullProgress[]>): AsyncGenerator<string> {
  for await (const pulls of changes) yield `${JSON.stringify({ pulls } satisfies PullsNow)}\n`;
}

function podUid(pods: ServedPods, { segments: [, namespace = "", name = ""] }: RequestPath): string {
  const uid = pods.find(namespace, name)?.metadata.uid;
  if (!uid) throw new HttpError(404, `pod ${JSON.stringify(name)} does not exist`);
  return uid;
}
