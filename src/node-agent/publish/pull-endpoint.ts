import type { ServerResponse } from "node:http";
import type { Pod } from "../../api/meta/objects.ts";
import { HttpError, type RequestPath, readFlag, sendJson, sendStream } from "../../lib/http/http-exchange.ts";
import type { ContainerPull } from "../../lib/image/pull-progress.ts";

/** Running pulls by pod. */
interface ServedProgress {
  progress(podUid: string): readonly ContainerPull[];
  followProgress(podUid: string, signal: AbortSignal): AsyncIterable<readonly ContainerPull[]>;
}

export interface PullProgressDeps {
  /** Finds a pod of this node. */
  readonly pods: { find(namespace: string, name: string): Pod | undefined };
  readonly progress: ServedProgress;
}

/** Response of `/imagePullProgress/NAMESPACE/POD`: running pulls of the pod. */
interface PullList {
  readonly pulls: readonly ContainerPull[];
}

function listPulls(deps: PullProgressDeps, path: RequestPath): PullList {
  return { pulls: deps.progress.progress(podUid(deps.pods, path)) };
}

/** Response of `/imagePullProgress/NAMESPACE/POD?watch`: JSON lines, one for each change. */
function watchPulls(deps: PullProgressDeps, path: RequestPath, signal: AbortSignal): AsyncIterable<string> {
  return lines(deps.progress.followProgress(podUid(deps.pods, path), signal));
}

async function* lines(changes: AsyncIterable<readonly ContainerPull[]>): AsyncGenerator<string> {
  for await (const pulls of changes) yield `${JSON.stringify({ pulls } satisfies PullList)}\n`;
}

function podUid(
  pods: PullProgressDeps["pods"],
  { segments: [, namespace = "", name = ""] }: RequestPath,
): string {
  const uid = pods.find(namespace, name)?.metadata.uid;
  if (!uid) throw new HttpError(404, `pod ${JSON.stringify(name)} does not exist`);
  return uid;
}

/** Handles `/imagePullProgress/NAMESPACE/POD`. The caller has authorized the request. */
export async function handlePullProgress(
  deps: PullProgressDeps,
  {
    path,
    response,
    signal,
  }: { readonly path: RequestPath; readonly response: ServerResponse; readonly signal: AbortSignal },
): Promise<void> {
  if (path.segments.length !== 3) throw new HttpError(404, "404 page not found");
  if (!readFlag(path.query, "watch")) return sendJson(response, listPulls(deps, path));
  const changes = watchPulls(deps, path, signal);
  await sendStream(response, changes, { type: "application/json", signal });
}
