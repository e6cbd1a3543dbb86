import { mkdir, realpath } from "node:fs/promises";
import { join } from "node:path";
import type { Pod, Volume } from "../../api/objects.ts";
import type { Client } from "../../client/client.ts";
import { createKeyedMutex } from "../../lib/keyed-mutex.ts";
import type { ReferencedObjects } from "../referenced-objects.ts";
import { StartError } from "../start-error.ts";
import { hasContent } from "./atomic-write.ts";
import { collectPayload, contentKind } from "./collect-payload.ts";
import { setUpContent } from "./content-volume.ts";
import { setUpEmptyDir } from "./empty-dir.ts";
import { prepareHostPath } from "./host-path.ts";
import { createMounter, type Mounter } from "./mounter.ts";
import { setUpClaim } from "./persistent-volume-claim.ts";
import type { MountedVolume, PodVolumes } from "./pod-volumes.ts";
import { createServiceAccountTokens } from "./service-account-tokens.ts";
import { bindSubPath } from "./sub-path.ts";
import { podsWithVolumes, tearDownPod } from "./tear-down.ts";
import { usedVolumes, volumeKind } from "./used-volumes.ts";
import { mountFailure } from "./volume-problem.ts";
import { safeName, type VolumeDeps, type VolumeRequest, volumeDirectory } from "./volume-request.ts";

export interface PodVolumesOptions extends Omit<VolumeDeps, "mounter"> {
  /** `<data>/pods`. */
  readonly podsDir: string;
  readonly client: Client;
  /** Pods are registered in it by `setUp` and `refresh`, and unregistered by `tearDown`. */
  readonly objects: ReferencedObjects;
  /** The machine's unless told. */
  readonly mounter?: Mounter;
  readonly beforeVolume?: BeforeVolume;
}

/** What the volumes of a node wait for; where it rejects, the volume fails with that. */
export type BeforeVolume = (pod: Pod, volume: Volume, signal: AbortSignal) => Promise<void>;

export interface RunningPodVolumes extends PodVolumes {
  /** Until the signal aborts: tells of pods whose tokens are to be renewed. */
  run(signal: AbortSignal): Promise<void>;
}

/** The shortest token lives ten minutes and is renewed two before its end. */
const tokenCheckMs = 30_000;

export function createPodVolumes(options: PodVolumesOptions): RunningPodVolumes {
  const { podsDir, objects, clock, logger } = options;
  const deps = { ...options, mounter: options.mounter ?? createMounter() };
  const tokens = createServiceAccountTokens(options);
  const handlers: ((podUid: string) => void)[] = [];
  /** One thing at a time for each pod: a refresh never meets a removal. */
  const perPod = createKeyedMutex();

  let realPodsDir: string | undefined;

  /** The real path of a pod's directory: the kernel names mounts by it. */
  async function podDirectory(podUid: string): Promise<string> {
    if (realPodsDir === undefined) {
      await mkdir(podsDir, { recursive: true, mode: 0o750 });
      realPodsDir = await realpath(podsDir);
    }
    return join(realPodsDir, safeName(podUid));
  }

  async function makeContent(
    request: VolumeRequest,
    directory: string,
    gathered: () => void,
  ): Promise<MountedVolume> {
    const payload = collectPayload({ ...deps, tokens }, request);
    payload.then(gathered, () => {});
    const inMemory = contentKind(request.volume)?.inMemory ?? false;
    return setUpContent(deps, request, { directory, inMemory, payload });
  }

  /** A volume that stands goes on standing when its object is deleted or the API is away: its containers run. */
  async function keepOrMakeContent(
    request: VolumeRequest,
    directory: string,
    gathered: () => void,
  ): Promise<MountedVolume> {
    try {
      return await makeContent(request, directory, gathered);
    } catch (error) {
      request.signal.throwIfAborted();
      if (!(await hasContent(directory))) throw error;
      logger.warn("a volume keeps the content that it has", { volume: request.volume.name, error });
      return { hostPath: directory, readOnly: true };
    }
  }

  /** `gathered` is called once all that comes from elsewhere is here: what is left is done on this machine. */
  async function makeVolume(request: VolumeRequest, gathered: () => void): Promise<MountedVolume> {
    const { pod, volume, podDir, signal } = request;
    await options.beforeVolume?.(pod, volume, signal);
    const content = contentKind(volume);
    if (content) {
      return keepOrMakeContent(request, volumeDirectory(podDir, content.directory, volume.name), gathered);
    }
    const kind = volumeKind(volume);
    switch (kind) {
      case "emptyDir":
        return setUpEmptyDir(deps, request);
      case "hostPath":
        return { hostPath: await prepareHostPath(volume.hostPath ?? { path: "" }), readOnly: false };
      case "persistentVolumeClaim":
        return setUpClaim(deps, request);
      default:
        throw new Error(`${kind} volumes are not supported by this kubelet`);
    }
  }

  async function refreshVolume(request: VolumeRequest): Promise<MountedVolume | undefined> {
    const content = contentKind(request.volume);
    if (!content) return undefined;
    const directory = volumeDirectory(request.podDir, content.directory, request.volume.name);
    return (await hasContent(directory)) ? makeContent(request, directory, () => {}) : undefined;
  }

  /** Tries all volumes of the pod before it fails. */
  async function forEachVolume<T>(
    pod: Pod,
    signal: AbortSignal,
    make: (request: VolumeRequest, gathered: () => void) => Promise<T>,
    onGathered = () => {},
  ): Promise<Map<string, T>> {
    const uid = pod.metadata.uid ?? "";
    const podDir = await podDirectory(uid);
    const made = new Map<string, T>();
    const failures: string[] = [];
    const wanted = usedVolumes(pod);
    const awaited = new Set(wanted);
    const attempt = async (volume: Volume) => {
      const gathered = () => {
        if (awaited.delete(volume) && awaited.size === 0) onGathered();
      };
      try {
        made.set(volume.name, await make({ pod, volume, podDir, signal }, gathered));
        gathered();
      } catch (error) {
        failures.push(mountFailure(volume.name, error));
      }
    };
    await perPod.run(uid, async () => {
      signal.throwIfAborted();
      await Promise.all(wanted.map(attempt));
    });
    signal.throwIfAborted();
    if (failures.length > 0) throw new StartError("FailedMount", failures.join("; "), { failures });
    return made;
  }

  return {
    setUp(pod, signal, onGathered) {
      objects.register(pod);
      return forEachVolume(pod, signal, makeVolume, onGathered);
    },
    async refresh(pod, signal) {
      // A pod that has ended is not followed any more.
      signal.throwIfAborted();
      objects.register(pod);
      await forEachVolume(pod, signal, refreshVolume);
    },
    async tearDown(podUid) {
      const podDir = await podDirectory(podUid);
      objects.unregister(podUid);
      await perPod.run(podUid, async () => {
        tokens.forget(podUid);
        await tearDownPod(deps.mounter, podDir);
      });
    },
    async podsOnDisk() {
      await mkdir(podsDir, { recursive: true, mode: 0o750 });
      return podsWithVolumes(podsDir);
    },
    async resolveSubPath(volume, subPath, podUid) {
      const podDir = await podDirectory(podUid);
      return perPod.run(podUid, () => bindSubPath(deps.mounter, { volume, subPath, podDir }));
    },
    onChange(handler) {
      handlers.push(handler);
      objects.onChange(handler);
    },
    async run(signal) {
      while (!signal.aborted) {
        await clock.sleep(tokenCheckMs, signal).catch(() => {});
        if (signal.aborted) return;
        for (const podUid of tokens.due()) for (const handler of handlers) handler(podUid);
      }
    },
  };
}
