import type { CriClient } from "../../cri/cri-client.ts";
import type { Image, StatusResponse, VersionResponse } from "../../cri/generated/cri.ts";
import type { Clock } from "../../lib/clock.ts";

/** Last version and status of the runtime, with the time of the response. */
export interface RuntimeState {
  readonly version: VersionResponse;
  readonly status: StatusResponse;
  readonly atMs: number;
}

/** Timeout, so that a hanging runtime does not delay the node status. */
const timeoutMs = 5_000;

export async function readRuntime(
  runtime: Pick<CriClient["runtime"], "version" | "status">,
  { clock, signal }: { clock: Clock; signal: AbortSignal },
): Promise<RuntimeState> {
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
