import { status } from "@grpc/grpc-js";
import type { Pod } from "../../api/meta/objects.ts";
import { allContainersOf } from "../../api/pod/pod-containers.ts";
import type { CriClient } from "../../cri/cri-client.ts";
import { PodSandboxState } from "../../cri/generated/cri.ts";
import { isGrpcError } from "../../lib/grpc-call.ts";
import { HttpError, type RequestPath } from "../../lib/http/http-exchange.ts";
import { messageOf } from "../../lib/message-of.ts";
import { runtimeContainerId } from "../model/cri-labels.ts";
import { findContainerStatus } from "./log/container-log.ts";
import { parseContainerPath, requirePod, type ServedPods } from "./served-pods.ts";

export interface StreamDeps {
  readonly pods: ServedPods;
  readonly cri: Pick<CriClient, "runtime">;
}

/** Handles `/exec` and `/attach`: returns the single-use URL of the runtime's streaming server. */
export async function findStream(
  { pods, cri }: StreamDeps,
  { segments: [kind = "", ...rest], query }: RequestPath,
  signal: AbortSignal,
): Promise<string> {
  const path = parseContainerPath(rest);
  if (!path) throw new HttpError(404, "404 page not found");
  const options = parseStreamOptions(query);
  const pod = requirePod(pods, path);
  const containerId = runningContainerId(pod, path.container);
  if (kind === "attach") {
    // Whether a process has a terminal is decided when it starts, not by the client.
    const tty = allContainersOf(pod.spec).find(({ name }) => name === path.container)?.tty ?? false;
    const request = { ...options, tty, stderr: options.stderr && !tty, containerId };
    return requestUrl(() => cri.runtime.attach(request, { signal }));
  }
  const request = { ...options, containerId, cmd: query.getAll("command") };
  return requestUrl(() => cri.runtime.exec(request, { signal }));
}

/**
 * Handles `/portForward/NAMESPACE/POD`: returns the single-use URL of the runtime's streaming server. Only clients over
 * WebSocket name the ports in the request.
 */
export async function findPortForward(
  { pods, cri }: StreamDeps,
  { segments: [, namespace = "", name = "", uid = "", ...more], query }: RequestPath,
  signal: AbortSignal,
): Promise<string> {
  if (name === "" || more.length > 0) throw new HttpError(404, "404 page not found");
  const port = query.getAll("port").flatMap((list) => list.split(",").map(Number));
  if (port.some((number) => !Number.isInteger(number) || number < 1 || number > 65_535))
    throw new HttpError(400, `unable to parse ${JSON.stringify(query.getAll("port").join(","))} as a port`);
  const pod = requirePod(pods, { namespace, pod: name, uid });
  const labelSelector = { "io.kubernetes.pod.uid": pod.metadata.uid ?? "" };
  const state = { state: PodSandboxState.SANDBOX_READY };
  return requestUrl(async () => {
    const { items } = await cri.runtime.listPodSandbox(
      { filter: { id: "", state, labelSelector } },
      { signal },
    );
    const [sandbox] = items;
    if (!sandbox) throw new HttpError(404, `pod ${name} has no running sandbox`);
    return cri.runtime.portForward({ podSandboxId: sandbox.id, port }, { signal });
  });
}

/** Returns the ID of a running container. Throws upstream's error if it is not running. */
function runningContainerId(pod: Pod, container: string): string {
  const found = findContainerStatus(pod, container);
  if (!found?.state?.running || !found.containerID)
    throw new HttpError(500, `container not found (${JSON.stringify(container)})`);
  return runtimeContainerId(found.containerID);
}

async function requestUrl(send: () => Promise<{ readonly url: string }>): Promise<string> {
  try {
    return (await send()).url;
  } catch (error) {
    throw streamError(error);
  }
}

/** Maps an error of the runtime to an HTTP error. */
function streamError(error: unknown): HttpError {
  if (error instanceof HttpError) return error;
  const message = messageOf(error);
  if (isGrpcError(error, status.NOT_FOUND)) return new HttpError(404, message);
  if (isGrpcError(error, status.RESOURCE_EXHAUSTED))
    return new HttpError(429, message, { "retry-after": "60" });
  return new HttpError(500, message);
}

/** Streams of an exec or attach session. */
interface StreamOptions {
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
  readonly tty: boolean;
}

/** Parses the query. The kubelet API names stdin, stdout and stderr `input`, `output` and `error`. */
function parseStreamOptions(query: URLSearchParams): StreamOptions {
  const isOn = (name: string) => query.get(name) === "1";
  const tty = isOn("tty");
  const options = { stdin: isOn("input"), stdout: isOn("output"), stderr: isOn("error") && !tty, tty };
  if (!options.stdin && !options.stdout && !options.stderr)
    throw new HttpError(400, "you must specify at least 1 of stdin, stdout, stderr");
  return options;
}

/** Handles `/run`: runs a command, split at spaces, and returns its stdout and stderr. */
export async function runCommand(
  { pods, cri }: { pods: ServedPods; cri: Pick<CriClient, "runtime"> },
  { segments, query }: RequestPath,
  signal: AbortSignal,
): Promise<string> {
  const path = parseContainerPath(segments.slice(1));
  if (!path) throw new HttpError(404, "404 page not found");
  const containerId = runningContainerId(requirePod(pods, path), path.container);
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
