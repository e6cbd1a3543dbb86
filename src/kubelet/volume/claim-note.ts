import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { unless } from "./held-directory.ts";
import { markerDirectory, type VolumeRequest } from "./volume-request.ts";

/** What a pod's claim led to. */
export interface ClaimNote {
  readonly persistentVolume: string;
  readonly hostPath: string;
}

const kind = "persistent-volume";

/** Undefined when there is none, and when a crash cut it off: then the claim is looked up once more. */
export function readClaimNote({ podDir, volume }: VolumeRequest): Promise<ClaimNote | undefined> {
  return readNote(noteFile(podDir, volume.name));
}

export async function writeClaimNote({ podDir, volume }: VolumeRequest, note: ClaimNote): Promise<void> {
  const file = noteFile(podDir, volume.name);
  await mkdir(dirname(file), { recursive: true, mode: 0o750 });
  await writeFile(file, JSON.stringify(note));
}

/** Whether some pod on the node has the persistent volume. */
export async function isNotedByAny(podsDir: string, persistentVolume: string): Promise<boolean> {
  for (const pod of await readdir(podsDir, { withFileTypes: true })) {
    if (!pod.isDirectory()) continue;
    const directory = join(podsDir, pod.name, "plugins", `kubernetes.io~${kind}`);
    for (const name of (await readdir(directory).catch(unless<string[]>("ENOENT"))) ?? []) {
      const note = await readNote(join(directory, name, "claim.json"));
      if (note?.persistentVolume === persistentVolume) return true;
    }
  }
  return false;
}

function noteFile(podDir: string, volumeName: string): string {
  return join(markerDirectory(podDir, kind, volumeName), "claim.json");
}

async function readNote(file: string): Promise<ClaimNote | undefined> {
  const text = await readFile(file, "utf8").catch(unless<string>("ENOENT"));
  if (text === undefined) return undefined;
  try {
    const { persistentVolume, hostPath }: Partial<Record<keyof ClaimNote, unknown>> = JSON.parse(text);
    const isWhole = typeof persistentVolume === "string" && typeof hostPath === "string";
    return isWhole ? { persistentVolume, hostPath } : undefined;
  } catch {
    return undefined;
  }
}
