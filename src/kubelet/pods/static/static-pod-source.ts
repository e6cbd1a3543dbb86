import { createHash } from "node:crypto";
import { watch } from "node:fs";
import { open, readdir } from "node:fs/promises";
import { join } from "node:path";
import { parse } from "yaml";
import type { Pod } from "../../../api/meta/objects.ts";
import { validateObjectMeta } from "../../../api/meta/validate-metadata.ts";
import { defaultPod } from "../../../api/pod/defaults/pod.ts";
import { validatePod } from "../../../api/pod/validation/pod.ts";
import { builtInSchema } from "../../../api/schema/built-in-schema.ts";
import { decodeBody } from "../../../api/schema/decode-body.ts";
import type { Clock } from "../../../lib/clock.ts";
import type { Logger } from "../../../lib/logger.ts";
import { createWakeUp } from "../../../lib/wake-up.ts";
import { hashAnnotation, sourceAnnotation } from "../../model/cri-labels.ts";

export interface StaticPodSourceOptions {
  readonly directory: string;
  readonly nodeName: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called with all pods of the directory, by UID, after each read. */
  readonly onPods: (pods: ReadonlyMap<string, Pod>) => void;
}

const rereadMs = 20_000;
const maxFileBytes = 10 * 1024 * 1024;

/** Reads the static pod directory when it changes and every 20 s. */
export async function runStaticPodSource(
  options: StaticPodSourceOptions,
  signal: AbortSignal,
): Promise<void> {
  const { directory, clock, logger } = options;
  const wakeUp = createWakeUp();
  let watching = false;
  const notWatched = (error: unknown) => {
    if (watching)
      logger.warn("the watch of the static pod directory failed; it is read every 20 s", { error });
    watching = false;
  };
  while (!signal.aborted) {
    const woken = wakeUp.next();
    if (!watching) {
      try {
        // Watches before reading, so that no change is missed.
        watch(directory, { signal }, () => wakeUp.wake()).on("error", notWatched);
        watching = true;
      } catch (error) {
        logger.debug("the static pod directory cannot be watched yet", { directory, error });
      }
    }
    try {
      options.onPods(await readStaticPods(options));
    } catch (error) {
      // A directory that is temporarily unreadable must not terminate its pods.
      logger.error("failed to read the static pod directory", { directory, error });
    }
    await woken.orAt(clock.now() + rereadMs, { clock, signal }).catch(() => {});
  }
}

async function readStaticPods({
  directory,
  nodeName,
  logger,
}: StaticPodSourceOptions): Promise<ReadonlyMap<string, Pod>> {
  const pods = new Map<string, Pod>();
  for (const file of (await listFiles(directory)).sort()) {
    // As upstream, dot files are ignored: editors create them.
    if (file.startsWith(".")) continue;
    const path = join(directory, file);
    try {
      const pod = parseStaticPod({ path, text: await readSmallFile(path) }, nodeName);
      pods.set(pod.metadata.uid ?? "", pod);
    } catch (error) {
      logger.error("invalid static pod manifest", { path, error });
    }
  }
  return pods;
}

/** As upstream, a missing directory has no pods and may be created later. */
async function listFiles(directory: string): Promise<string[]> {
  try {
    return await readdir(directory);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return [];
    throw error;
  }
}

async function readSmallFile(path: string): Promise<string> {
  const file = await open(path);
  try {
    const { size } = await file.stat();
    if (size > maxFileBytes) throw new Error(`${path} is larger than ${maxFileBytes} bytes`);
    return await file.readFile("utf8");
  } finally {
    await file.close();
  }
}

const podKind = { group: "", version: "v1", kind: "Pod" };

export interface StaticPodFile {
  readonly path: string;
  readonly text: string;
}

/**
 * Parses a static pod. Its UID is derived from node, path and content: an edited file is a new pod, and a restarted
 * kubelet recognizes its pods. Throws an error with the invalid field.
 */
export function parseStaticPod({ path, text }: StaticPodFile, nodeName: string): Pod {
  const json = JSON.stringify(parse(text));
  const { object: pod } = decodeBody<Pod>(builtInSchema, podKind, json, { fieldValidation: "Strict" });
  const uid = createHash("md5").update(`${nodeName}\n${path}\n${text}`).digest("hex");
  const { name = "", namespace = "default", labels, annotations } = pod.metadata ?? {};
  pod.metadata = {
    ...(labels && { labels }),
    name: `${name}-${nodeName.toLowerCase()}`,
    namespace,
    uid,
    annotations: { ...annotations, [hashAnnotation]: uid, [sourceAnnotation]: "file" },
  };
  pod.spec = { ...pod.spec, containers: pod.spec?.containers ?? [], nodeName };
  // Static pods tolerate all NoExecute taints.
  pod.spec.tolerations = [...(pod.spec.tolerations ?? []), { operator: "Exists", effect: "NoExecute" }];
  delete pod.status;
  defaultPod(pod);
  const rules = { namespaced: true, nameRule: "dnsSubdomain" } as const;
  const [problem] = [...validateObjectMeta(pod.metadata, rules), ...validatePod(pod)];
  if (problem) throw new Error(`${problem.field}: ${problem.message}`);
  return pod;
}
