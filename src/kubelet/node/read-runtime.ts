import type { CriClient } from "../../cri/cri-client.ts";
import type { Image, StatusResponse, VersionResponse } from "../../cri/generated/cri.ts";
import type { Clock } from "../../lib/clock.ts";

/** What the runtime last said of itself, and when. */
export interface RuntimeAnswer {
  readonly version: VersionResponse;
  readonly status: StatusResponse;
  readonly atMs: number;
}

/** A runtime that hangs must not hold up the node's status for longer. */
const timeoutMs = 5_000;

export async function readRuntime(
  runtime: Pick<CriClient["runtime"], "version" | "status">,
  { clock, signal }: { clock: Clock; signal: AbortSignal },
): Promise<RuntimeAnswer> {
  const options = { signal, timeoutMs };
  const [version, status] = await Promise.all([
    runtime.version({ version: "0.1.0" }, options),
    runtime.status({ verbose: false }, options),
  ]);
  return { version, status, atMs: clock.now() };
}

export async function readImages(
  images: Pick<CriClient["images"], "listImages">,
  signal: AbortSignal,
): Promise<readonly Image[]> {
  return (await images.listImages({ filter: undefined }, { signal, timeoutMs })).images;
}
