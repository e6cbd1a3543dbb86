import type { CriClient } from "../../cri/cri-client.ts";
import { criErrorText } from "../../cri/error-text.ts";
import { AuthConfig, type ImageSpec, PodSandboxConfig } from "../../cri/generated/cri.ts";
import type { Clock } from "../../lib/clock.ts";
import type { ImagePullProgress } from "../configuration/image-pull-progress.ts";
import type { ImageRequest } from "./image-puller.ts";
import type { ProgressBoard } from "./progress-board.ts";
import { isEventDue, type LastTold, progressMessage } from "./progress-event.ts";
import { joinErrors } from "./pull-failure.ts";
import type { RegistryLogin } from "./registry-keyring.ts";
import type { PullReport, RuntimePullCall } from "./runtime-pull.ts";

export interface Pull extends ImageRequest {
  /** As the pod names it. */
  readonly image: string;
  /** As the runtime is asked for it. */
  readonly spec: ImageSpec;
  /** Puts an event about the container on its pod. */
  readonly say: (type: "Normal" | "Warning", reason: string, message: string) => void;
}

export interface Pulled {
  readonly imageRef: string;
  /** 0 when the runtime does not say. */
  readonly sizeBytes: bigint;
  readonly tookMs: number;
}

export interface TrackedPullOptions {
  readonly cri: Pick<CriClient, "images">;
  readonly clock: Clock;
  readonly board: ProgressBoard;
  /** When the pod's events tell of it. */
  readonly every: ImagePullProgress;
  /** Until the node may tell of one of its pulls. */
  readonly turn: (signal: AbortSignal) => Promise<void>;
  readonly runtimePull: (call: RuntimePullCall) => Promise<string>;
}

/** A pull that is on the board while it runs, and in the pod's events when it takes long. */
export async function trackedPull(
  options: TrackedPullOptions,
  { logins, ...pull }: Pull & { logins: readonly RegistryLogin[] },
): Promise<Pulled> {
  const { clock, board } = options;
  const { pod, container, image } = pull;
  const startedAt = clock.now();
  const posted = board.post(pod.metadata.uid ?? "", {
    image,
    container: container.name,
    startedAt: new Date(startedAt).toISOString(),
    offset: 0,
    total: 0,
    layers: [],
  });
  const events = startTelling(options, pull);
  const onReport = (report: PullReport) => {
    posted.update(report);
    events.onReport(report);
  };
  try {
    const imageRef = await tryLogins(options, { ...pull, logins, onReport });
    return { imageRef, sizeBytes: await sizeOf(options, pull), tookMs: clock.now() - startedAt };
  } finally {
    posted.remove();
    await events.end();
  }
}

/** Tells of a pull in its pod's events, when that is due and the node's turn has come. The pull waits for neither. */
function startTelling({ clock, every, turn }: TrackedPullOptions, { image, say }: Pull) {
  let latest = { offset: 0, total: 0, now: clock.now() };
  let told: LastTold = { atMs: latest.now, offset: 0 };
  let telling: Promise<void> | undefined;
  const ended = new AbortController();

  async function tellInTurn(due: LastTold): Promise<void> {
    await turn(ended.signal).catch(() => {});
    telling = undefined;
    // Meanwhile the pull may have ended, come to its last byte or begun anew.
    if (ended.signal.aborted || !isEventDue(every, told, latest)) return;
    // The next interval begins where this one ended, however long its turn took to come.
    told = due;
    say("Normal", "Pulling", progressMessage(image, latest));
  }

  return {
    onReport({ offset, total }: PullReport): void {
      latest = { offset, total, now: clock.now() };
      // The next login, or a server that began anew, starts from nothing.
      if (offset < told.offset) told = { ...told, offset };
      if (isEventDue(every, told, latest)) telling ??= tellInTurn({ atMs: latest.now, offset });
    },
    end(): Promise<void> | undefined {
      ended.abort();
      return telling;
    },
  };
}

/** One login after the other; without one where there is none. */
async function tryLogins(
  { runtimePull }: TrackedPullOptions,
  attempt: Pull & { logins: readonly RegistryLogin[]; onReport: (report: PullReport) => void },
): Promise<string> {
  const { pod, spec, logins, signal, onReport } = attempt;
  const { name = "", namespace = "", uid = "", annotations = {} } = pod.metadata;
  const sandboxConfig = PodSandboxConfig.fromPartial({ metadata: { name, namespace, uid }, annotations });
  const errors: unknown[] = [];
  for (const login of logins.length > 0 ? logins : [undefined]) {
    const auth = login && AuthConfig.fromPartial(login);
    try {
      return await runtimePull({ request: { image: spec, auth, sandboxConfig }, signal, onReport });
    } catch (error) {
      signal.throwIfAborted();
      errors.push(error);
    }
  }
  throw new Error(joinErrors(errors.map(criErrorText)), { cause: errors[0] });
}

async function sizeOf({ cri }: TrackedPullOptions, { spec, signal }: Pull): Promise<bigint> {
  try {
    const { image } = await cri.images.imageStatus({ image: spec, verbose: false }, { signal });
    return image?.size ?? 0n;
  } catch {
    // The image is here; how large it is, is only worth a word in an event.
    return 0n;
  }
}
