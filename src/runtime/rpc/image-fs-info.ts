import type { FilesystemUsage, ImageFsInfoRequest, ImageFsInfoResponse } from "../../cri/generated/cri.ts";
import { toNanos } from "../../cri/nanos.ts";
import type { UnaryRpc } from "../../cri/serve-call.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Images } from "../image/images.ts";

/** Images and root file systems share one disk; kubelets want both named. */
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
