import { dirname } from "node:path";
import { status as grpcStatus } from "@grpc/grpc-js";
import type { CriClient } from "../../cri/cri-client.ts";
import {
  type Container,
  type ContainerStatus,
  ContainerState as CriState,
  type PodSandbox,
  PodSandboxState,
} from "../../cri/generated/cri.ts";
import { isGrpcError } from "../../lib/grpc-call.ts";
import { messageOf } from "../../lib/message-of.ts";
import { podLabels, readContainerAnnotations } from "../model/cri-labels.ts";
import type { ContainerState, ObservedPod } from "../model/observed-pod.ts";
import { absolutePath, messagesDirectory } from "../model/pod-paths.ts";
import { readTail } from "./container-files.ts";
import { observePod, type PodStatuses } from "./observe-pod.ts";

interface InspectDeps {
  readonly cri: {
    readonly runtime: Pick<CriClient["runtime"], "podSandboxStatus" | "containerStatus">;
  };
  readonly dataDirectory: string;
}

/** Some or all sandboxes and containers of a pod. */
interface PodParts {
  readonly sandboxes: readonly { readonly id: string }[];
  readonly containers: readonly { readonly id: string; readonly podSandboxId: string }[];
}

/** Reads the status of these parts of a pod from the runtime. Parts that no longer exist are left out. */
export async function inspectPod(
  deps: InspectDeps,
  { sandboxes, containers }: PodParts,
): Promise<ObservedPod | undefined> {
  const { runtime } = deps.cri;
  const [sandboxStatuses, containerStatuses] = await Promise.all([
    Promise.all(
      sandboxes.map(({ id }) => orGone(runtime.podSandboxStatus({ podSandboxId: id, verbose: false }))),
    ),
    Promise.all(
      containers.map(async ({ id, podSandboxId }) => {
        const response = await orGone(runtime.containerStatus({ containerId: id, verbose: false }));
        return response?.status && { sandboxId: podSandboxId, status: response.status };
      }),
    ),
  ]);
  return readStatuses(deps, {
    sandboxes: sandboxStatuses.flatMap((response) => response?.status ?? []),
    containers: containerStatuses.filter((container) => container !== undefined),
  });
}

/** Converts CRI statuses to an ObservedPod and reads the termination messages of exited containers. */
export async function readStatuses(
  deps: Pick<InspectDeps, "dataDirectory">,
  statuses: Omit<PodStatuses, "messages">,
): Promise<ObservedPod | undefined> {
  const ended = statuses.containers.filter(({ status }) => status.state === CriState.CONTAINER_EXITED);
  const messages = await Promise.all(
    ended.map(async ({ status }) => [status.id, await readTerminationMessage(deps, status)] as const),
  );
  return observePod({ ...statuses, messages: new Map(messages) });
}

async function orGone<T>(response: Promise<T>): Promise<T | undefined> {
  try {
    return await response;
  } catch (error) {
    if (isGrpcError(error, grpcStatus.NOT_FOUND)) return undefined;
    throw error;
  }
}

/** Sandboxes and containers with the UID of one pod. */
export interface PodListing {
  readonly uid: string;
  readonly sandboxes: readonly PodSandbox[];
  readonly containers: readonly Container[];
}

/** Groups sandboxes and their containers by the UID of their pod; see podLabels. */
export function listByPod(
  sandboxes: readonly PodSandbox[],
  containers: readonly Container[],
): ReadonlyMap<string, PodListing> {
  const listings = new Map<string, { uid: string; sandboxes: PodSandbox[]; containers: Container[] }>();
  const listingOf = (uid: string) => {
    const known = listings.get(uid);
    if (known) return known;
    const made = { uid, sandboxes: [], containers: [] };
    listings.set(uid, made);
    return made;
  };
  for (const sandbox of sandboxes) {
    const uid = sandbox.labels[podLabels.uid];
    if (uid) listingOf(uid).sandboxes.push(sandbox);
  }
  const listed = new Set(sandboxes.map(({ id }) => id));
  for (const container of containers) {
    const uid = container.labels[podLabels.uid];
    if (uid && listed.has(container.podSandboxId)) listingOf(uid).containers.push(container);
  }
  return listings;
}

/** Whether the known state of a pod has the same parts in the same states as the runtime's listing. */
export function isCurrent(observed: ObservedPod | undefined, listing: PodListing): boolean {
  const known = [
    ...(observed?.sandboxes ?? []).map(({ id, ready }) => `${id} ${ready}`),
    ...(observed?.containers ?? []).map(({ id, state }) => `${id} ${state.kind}`),
  ];
  const listed = new Set([
    ...listing.sandboxes.map(({ id, state }) => `${id} ${state === PodSandboxState.SANDBOX_READY}`),
    ...listing.containers.map(({ id, state }) => `${id} ${stateKinds.get(state) ?? "unknown"}`),
  ]);
  return known.length === listed.size && known.every((one) => listed.has(one));
}

const stateKinds: ReadonlyMap<CriState, ContainerState["kind"]> = new Map([
  [CriState.CONTAINER_CREATED, "created"],
  [CriState.CONTAINER_RUNNING, "running"],
  [CriState.CONTAINER_EXITED, "exited"],
]);

const maxMessageBytes = 4_096;
const maxLogBytes = 2_048;
const maxLogLines = 80;
/** Enough for the lines that are shown: more than 80 empty lines or two lines of maximum length. */
const logWindowBytes = 64 * 1_024;

/**
 * Termination message of an exited container: the end of its message file or, with FallbackToLogsOnError, of its log.
 * Never throws: if the file cannot be read, the message says so.
 */
export async function readTerminationMessage(
  { dataDirectory }: { readonly dataDirectory: string },
  status: ContainerStatus,
): Promise<string> {
  const { terminationMessagePolicy } = readContainerAnnotations(status.annotations);
  let message = "";
  try {
    const path = messageFile(dataDirectory, status);
    if (path) message = (await readTail(path, maxMessageBytes)).toString();
  } catch (error) {
    if (!isMissing(error)) return `Error on reading termination log: ${messageOf(error)}`;
  }
  const wantsLog =
    terminationMessagePolicy === "FallbackToLogsOnError" &&
    status.exitCode !== 0 &&
    status.reason !== "ContainerCannotRun";
  return message === "" && wantsLog ? readLogEnd(status.logPath) : message;
}

/**
 * Path of the message file that was mounted. Only files that the kubelet created are read: through a volume, a
 * container could redirect the path to any file of the node.
 */
function messageFile(dataDirectory: string, { annotations, labels, mounts }: ContainerStatus) {
  const { terminationMessagePath } = readContainerAnnotations(annotations);
  const uid = labels[podLabels.uid];
  const name = labels[podLabels.container];
  if (!terminationMessagePath || !uid || !name) return undefined;
  const own = messagesDirectory(dataDirectory, uid, name);
  const target = absolutePath(terminationMessagePath);
  return mounts.find(({ containerPath, hostPath }) => containerPath === target && dirname(hostPath) === own)
    ?.hostPath;
}

async function readLogEnd(path: string): Promise<string> {
  try {
    return logEnd(await readTail(path, logWindowBytes)).toString();
  } catch (error) {
    return `Error on reading termination message from logs: ${messageOf(error)}`;
  }
}

/** Content of the last lines of a CRI log (`<time> <stream> <P|F> <content>`), with partial lines joined. */
export function logEnd(tail: Buffer): Buffer {
  const lines = splitLines(tail).slice(-maxLogLines);
  const contents = lines.map((line) => {
    const header = /^\S+ (?:stdout|stderr) ([PF])(?::\S*)? /.exec(line.subarray(0, 128).toString("latin1"));
    // A line without a header is the rest of a line whose beginning was not read.
    if (!header) return Buffer.concat([line, newline]);
    const content = line.subarray(header[0].length);
    return header[1] === "P" ? content : Buffer.concat([content, newline]);
  });
  return Buffer.concat(contents).subarray(-maxLogBytes);
}

const newline = Buffer.from("\n");

function splitLines(text: Buffer): Buffer[] {
  const lines: Buffer[] = [];
  let start = 0;
  for (let end = text.indexOf(newline); end >= 0; end = text.indexOf(newline, start)) {
    lines.push(text.subarray(start, end));
    start = end + 1;
  }
  if (start < text.length) lines.push(text.subarray(start));
  return lines;
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ENOENT";
}
