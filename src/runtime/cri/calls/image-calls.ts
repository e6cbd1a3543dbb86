// Clauses: 3542-1, 3542-3
import { toNanos } from "../../../cri/field-values.ts";
import {
  type AuthConfig,
  type FilesystemUsage,
  type ImageFsInfoRequest,
  type ImageFsInfoResponse,
  Image as ImageMessage,
  type ImageStatusRequest,
  type ImageStatusResponse,
  type ListImagesRequest,
  type ListImagesResponse,
  type PullImageRequest,
  type PullImageResponse,
  type PullImageWithProgressRequest,
  type PullImageWithProgressResponse,
  type RemoveImageRequest,
  type RemoveImageResponse,
} from "../../../cri/generated/cri.ts";
import {
  createProgressMessages,
  type ReportGranularity,
  requestedGranularity,
} from "../../../cri/progress-message.ts";
import type { StreamRpc, UnaryRpc } from "../../../cri/serve-call.ts";
import type { Clock } from "../../../lib/clock.ts";
import { invalidArgument, RuntimeError } from "../../errors/runtime-error.ts";
import type { Image, Images, PullRequest } from "../../images/images.ts";
import type { RegistryAuth } from "../../registry/credentials.ts";

export function pullImage({
  images,
}: {
  images: Pick<Images, "pull">;
}): UnaryRpc<PullImageRequest, PullImageResponse> {
  return async (request, { signal }) => {
    for await (const report of images.pull({ ...parsePull(request), signal })) {
      if (report.kind === "done") return { imageRef: imageReference(report.image) };
    }
    throw new RuntimeError("internal", "the pull ended without an image");
  };
}

/** Pulls an image with a report per interval; the last message has the reference that containers are created from. */
export function pullImageWithProgress({
  images,
}: {
  images: Pick<Images, "pull">;
}): StreamRpc<PullImageWithProgressRequest, PullImageWithProgressResponse> {
  return async function* (request, { signal }) {
    const pull = { ...parsePullWithProgress(request), signal };
    const toMessage = createProgressMessages({ verbose: request.verbosity });
    for await (const report of images.pull(pull))
      yield toMessage(report, report.kind === "done" ? imageReference(report.image) : pull.reference);
  };
}

/** Image ID, as in containerd: kubelets compare it with the ID in ImageStatus and create containers from it. */
function imageReference(image: Image): string {
  return image.id;
}

type PullWithoutSignal = Omit<PullRequest, "signal">;

/** Parses a plain PullImage, which has no reports. */
export function parsePull(request: PullImageRequest): PullWithoutSignal {
  const reference = request.image?.image;
  if (!reference) throw invalidArgument("image.image is missing");
  return {
    reference,
    auth: parseAuth(request.auth),
    noProgressTimeoutMs: 1_000 * (request.noProgressTimeout?.value ?? 0),
    granularity: { kind: "none" },
  };
}

export function parsePullWithProgress(request: PullImageWithProgressRequest): PullWithoutSignal {
  if (!request.request) throw invalidArgument("request is missing");
  const pull = parsePull(request.request);
  const timeout = request.noProgressTimeout;
  return {
    ...pull,
    noProgressTimeoutMs: timeout ? 1_000 * timeout.value : pull.noProgressTimeoutMs,
    granularity: parseGranularity(request),
  };
}

function parseGranularity(request: PullImageWithProgressRequest): ReportGranularity {
  const granularity = requestedGranularity(request);
  if (granularity) return granularity;
  throw invalidArgument(`granularity_type ${request.granularityType}: 0 is size, 1 time, 2 none`);
}

function parseAuth(auth: AuthConfig | undefined): RegistryAuth | undefined {
  if (!auth) return undefined;
  return {
    ...(auth.username && { username: auth.username }),
    ...(auth.password && { password: auth.password }),
    ...(auth.auth && { auth: auth.auth }),
    ...(auth.identityToken && { identityToken: auth.identityToken }),
    ...(auth.registryToken && { registryToken: auth.registryToken }),
    ...(auth.serverAddress && { serverAddress: auth.serverAddress }),
  };
}

/** Status of an image. A missing image is a response without an image, not an error. */
export function imageStatus({
  images,
}: {
  images: Pick<Images, "find">;
}): UnaryRpc<ImageStatusRequest, ImageStatusResponse> {
  return async ({ image: spec, verbose }) => {
    if (!spec?.image) throw invalidArgument("image.image is missing");
    const image = images.find(spec.image);
    if (!image) return { image: undefined, info: {} };
    return { image: imageMessage(image), info: verbose ? imageInfo(image) : {} };
  };
}

export function listImages({
  images,
}: {
  images: Pick<Images, "list" | "find">;
}): UnaryRpc<ListImagesRequest, ListImagesResponse> {
  return async ({ filter }) => {
    const wanted = filter?.image?.image;
    if (!wanted) return { images: images.list().map(imageMessage) };
    const found = images.find(wanted);
    return { images: found ? [imageMessage(found)] : [] };
  };
}

/** Removes an image. Succeeds if it does not exist. */
export function removeImage({
  images,
}: {
  images: Pick<Images, "find" | "remove">;
}): UnaryRpc<RemoveImageRequest, RemoveImageResponse> {
  return async ({ image }) => {
    if (!image?.image) throw invalidArgument("image.image is missing");
    if (images.find(image.image)) await images.remove(image.image);
    return {};
  };
}

/** Usage of the file system. Images and root file systems share one; kubelets expect both to be listed. */
export function imageFsInfo({
  images,
  clock,
}: {
  images: Pick<Images, "usage">;
  clock: Clock;
}): UnaryRpc<ImageFsInfoRequest, ImageFsInfoResponse> {
  return async () => {
    const { mountpoint, usedBytes, inodesUsed } = await images.usage();
    const usage: FilesystemUsage = {
      timestamp: toNanos(clock.now()),
      fsId: { mountpoint },
      usedBytes: { value: BigInt(usedBytes) },
      inodesUsed: { value: BigInt(inodesUsed) },
    };
    return { imageFilesystems: [usage], containerFilesystems: [usage] };
  };
}

/** CRI message of an image. Its user is a UID or a name, without the group. */
function imageMessage(image: Image): ImageMessage {
  const [user = ""] = image.config.user.split(":");
  const isUid = /^\d+$/.test(user);
  return ImageMessage.fromPartial({
    id: image.id,
    repoTags: [...image.repoTags],
    repoDigests: [...image.repoDigests],
    size: BigInt(image.size),
    ...(isUid && { uid: { value: BigInt(user) } }),
    ...(!isUid && { username: user }),
    spec: { image: image.id },
    pinned: image.pinned,
  });
}

/** Information for `crictl inspecti`: the configuration with OCI's names, as in other runtimes. */
export function imageInfo({ config }: Image): { info: string } {
  const names = (values: readonly string[]) => Object.fromEntries(values.map((value) => [value, {}]));
  const { user, env, entrypoint, command, workingDir, labels, stopSignal, volumes, exposedPorts } = config;
  const spec = {
    User: user || undefined,
    ExposedPorts: exposedPorts.length > 0 ? names(exposedPorts) : undefined,
    Env: env,
    Entrypoint: entrypoint.length > 0 ? entrypoint : undefined,
    Cmd: command.length > 0 ? command : undefined,
    Volumes: volumes.length > 0 ? names(volumes) : undefined,
    WorkingDir: workingDir || undefined,
    Labels: labels,
    StopSignal: stopSignal,
  };
  return { info: JSON.stringify({ imageSpec: { config: spec } }) };
}
