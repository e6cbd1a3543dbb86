// Clauses: 3085-11
import { mkdir, realpath } from "node:fs/promises";
import { join } from "node:path";
import type { Pod, Volume } from "../../api/meta/objects.ts";
import { allContainersOf } from "../../api/pod/pod-containers.ts";
import type { Client } from "../../client/api/client.ts";
import { createKeyedMutex } from "../../lib/keyed-mutex.ts";
import type { ReferencedObjects } from "../model/referenced-objects.ts";
import { StartError } from "../model/start-error.ts";
import { hasContent } from "./atomic-write.ts";
import { collectPayload, contentKind } from "./collect-payload.ts";
import { setUpContent } from "./content-volume.ts";
import { prepareHostPath, setUpEmptyDir } from "./local-directories.ts";
import { createMounter, type Mounter } from "./mounter.ts";
import { setUpClaim } from "./persistent-volume-claim.ts";
import { createServiceAccountTokens } from "./service-account-tokens.ts";
import { bindSubPath } from "./sub-path.ts";
import { tearDownPod } from "./tear-down.ts";
import {
  type MountedVolume,
  mountFailure,
  safeName,
  type VolumeDeps,
  type VolumeRequest,
  volumeDirectory,
} from "./volume-request.ts";

/** Mounted volumes of a pod by volume name. */
export type MountedVolumes = ReadonlyMap<string, MountedVolume>;

export interface PodVolumes {
  /**
   * Sets up all volumes of the pod; repeated calls are cheap. After trying all volumes, throws a StartError (`FailedMount`)
   * with upstream's text for each that failed. `onGathered` is called when all objects and claims have been found and only
   * mounting and writing is left.
   */
  setUp(pod: Pod, signal: AbortSignal, onGathered?: () => void): Promise<MountedVolumes>;
  /**
   * Updates existing ConfigMap, Secret, downward API and token volumes atomically and watches their objects from then on,
   * including volumes from before a restart of the kubelet. Creates no volumes.
   */
  refresh(pod: Pod, signal: AbortSignal): Promise<void>;
  /** Unmounts and removes all volumes of the pod, but never the target of a hostPath or claim. */
  tearDown(podUid: string): Promise<void>;
  /** Returns the host path of a path inside a volume and creates it if missing. Symbolic links cannot leave the volume. */
  resolveSubPath(volume: MountedVolume, subPath: string, podUid: string): Promise<string>;
  /** Registers a handler that is called with a pod's UID when an object of its volumes changes. */
  onChange(handler: (podUid: string) => void): void;
}

export interface PodVolumesOptions extends Omit<VolumeDeps, "mounter"> {
  /** `<data>/pods`. */
  readonly podsDir: string;
  readonly client: Client;
  /** `setUp` and `refresh` register pods here; `tearDown` unregisters them. */
  readonly objects: ReferencedObjects;
  /** Defaults to the mounter of this machine. */
  readonly mounter?: Mounter;
  readonly beforeVolume?: BeforeVolume;
}

/** Hook that is awaited before each volume is set up. If it rejects, the volume fails with its error. */
export type BeforeVolume = (pod: Pod, volume: Volume, signal: AbortSignal) => Promise<void>;

export interface RunningPodVolumes extends PodVolumes {
  /** Notifies `onChange` handlers about pods with expiring tokens, until the signal aborts. */
  run(signal: AbortSignal): Promise<void>;
}

/** Interval of the token check. The shortest token lifetime is ten minutes, renewed two minutes before it expires. */
const tokenCheckMs = 30_000;

export function createPodVolumes(options: PodVolumesOptions): RunningPodVolumes {
  const { podsDir, objects, clock, logger } = options;
  const deps = { ...options, mounter: options.mounter ?? createMounter() };
  const tokens = createServiceAccountTokens(options);
  const handlers: ((podUid: string) => void)[] = [];
  /** Serializes the operations of each pod, so that a refresh and a removal do not overlap. */
  const perPod = createKeyedMutex();

  let realPodsDir: string | undefined;

  /** Returns the real path of a pod's directory, as the kernel reports it in mounts. */
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

  /** An existing volume stays valid while its object is deleted or the API server is unavailable. */
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
      logger.warn("failed to update a volume; it keeps its content", { volume: request.volume.name, error });
      return { hostPath: directory, readOnly: true };
    }
  }

  /** Sets up one volume. `gathered` is called when its objects have been read and only local work is left. */
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

  /** Sets up all volumes, and throws after all have been tried. */
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
      // Objects of a removed pod are no longer watched.
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

/** Returns the volumes that a container mounts. Others are not set up. */
export function usedVolumes(pod: Pod): Volume[] {
  const names = new Set<string>();
  for (const { volumeMounts = [], volumeDevices = [] } of allContainersOf(pod.spec)) {
    for (const { name } of [...volumeMounts, ...volumeDevices]) names.add(name);
  }
  return (pod.spec?.volumes ?? []).filter((volume) => names.has(volume.name));
}

const notSources = new Set(["name"]);

/** Returns the volume type: the field that is set. Defaults to emptyDir, as upstream. */
export function volumeKind(volume: Volume): string {
  const fields = Object.entries(volume).filter(
    ([field, value]) => value !== undefined && !notSources.has(field),
  );
  return fields[0]?.[0] ?? "emptyDir";
}
