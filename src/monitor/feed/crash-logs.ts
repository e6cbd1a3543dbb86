import type { ContainerStatus, Pod } from "../../api/meta/objects.ts";
import { StatusError } from "../../api/meta/status-error.ts";
import type { Client } from "../../client/api/client.ts";
import type { ContainerLog } from "../../explain/explanation.ts";

const maxLines = 5;
const maxLineLength = 300;
const maxBytes = 20_000;
/** Maximum number of containers whose logs are read. */
const maxContainers = 3;

/** Reads the last log lines of crashing containers, as far as they exist and the caller may read them. */
export async function readCrashLogs(
  client: Pick<Client, "readText">,
  pod: Pod,
  signal: AbortSignal,
): Promise<readonly ContainerLog[]> {
  const logs = await Promise.all(
    crashingContainers(pod)
      .slice(0, maxContainers)
      .map(async ({ container, runs }): Promise<ContainerLog> => {
        for (const run of runs) {
          const lines = await readLog(client, { pod, container, run }, signal);
          if (lines.length > 0) return { container, lines };
        }
        return { container, lines: [] };
      }),
  );
  return logs.filter(({ lines }) => lines.length > 0);
}

type Run = "current" | "previous";

interface CrashingContainer {
  readonly container: string;
  /** Runs whose logs may show the crash, the most likely one first. */
  readonly runs: readonly Run[];
}

export function crashingContainers({ status }: Pod): readonly CrashingContainer[] {
  const statuses = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  return statuses.flatMap((each) => {
    const runs = crashedRuns(each);
    return runs.length > 0 ? [{ container: each.name, runs }] : [];
  });
}

function crashedRuns({ state, lastState }: ContainerStatus): readonly Run[] {
  if (state?.terminated) return state.terminated.exitCode === 0 ? [] : ["current"];
  if (state?.waiting?.reason !== "CrashLoopBackOff" || !lastState?.terminated) return [];
  return ["previous", "current"];
}

async function readLog(
  client: Pick<Client, "readText">,
  { pod, container, run }: { readonly pod: Pod; readonly container: string; readonly run: Run },
  signal: AbortSignal,
): Promise<readonly string[]> {
  const { namespace, name } = pod.metadata;
  const query = new URLSearchParams({
    container,
    tailLines: String(maxLines),
    limitBytes: String(maxBytes),
    ...(run === "previous" && { previous: "true" }),
  });
  try {
    const text = await client.readText(`/api/v1/namespaces/${namespace}/pods/${name}/log?${query}`, {
      signal,
    });
    return lastLines(text);
  } catch (error) {
    // Forbidden, or the log does not exist any more.
    if (error instanceof StatusError) return [];
    throw error;
  }
}

/** Last lines that are not blank, shortened. */
export function lastLines(text: string): readonly string[] {
  return text
    .split("\n")
    .map((line) => line.trimEnd())
    .filter(Boolean)
    .slice(-maxLines)
    .map((line) => (line.length > maxLineLength ? `${line.slice(0, maxLineLength)}…` : line));
}
