import { Image as ImageMessage } from "../../cri/generated/cri.ts";
import type { Image } from "../image/images.ts";

/** An image as CRI shows it. Its user is a uid or a name, without the group. */
export function imageMessage(image: Image): ImageMessage {
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

/** What `crictl inspecti` shows beside it: the configuration with OCI's names, as other runtimes have it there. */
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
