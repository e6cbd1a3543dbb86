import { dirname } from "node:path";
import type { ContainerStatus } from "../../cri/generated/cri.ts";
import { messageOf } from "../../lib/message-of.ts";
import { podLabels, readContainerAnnotations } from "./cri-labels.ts";
import { absolutePath, messagesDirectory } from "./pod-paths.ts";
import { readTail } from "./read-tail.ts";

const maxMessageBytes = 4_096;
const maxLogBytes = 2_048;
const maxLogLines = 80;
/** Longer than any two lines of a log and than 80 empty ones: enough for what is shown of it. */
const logWindowBytes = 64 * 1_024;

/**
 * What a container that has ended left to say: the end of its termination message file, or, where its policy says so,
 * it failed and wrote none, the end of its log. Never throws: that it cannot be read is the message then.
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
 * The file that was mounted for it. One of the kubelet's own only: where a volume is mounted in its place, a container
 * that swaps a directory for a link could make the kubelet read any file of the node.
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

/** What the last lines of a CRI log say: `<time> <stream> <P|F> <content>`, parts of a line joined. */
export function logEnd(tail: Buffer): Buffer {
  const lines = splitLines(tail).slice(-maxLogLines);
  const contents = lines.map((line) => {
    const header = /^\S+ (?:stdout|stderr) ([PF])(?::\S*)? /.exec(line.subarray(0, 128).toString("latin1"));
    // Without one it is the rest of a line so long that its beginning was not read, or no line of ours.
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
