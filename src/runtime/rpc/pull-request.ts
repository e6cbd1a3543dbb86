import type { AuthConfig, PullImageRequest, PullImageWithProgressRequest } from "../../cri/generated/cri.ts";
import { type ReportGranularity, requestedGranularity } from "../../cri/report-meter.ts";
import type { PullRequest, RegistryAuth } from "../image/images.ts";
import { invalidArgument } from "../runtime-error.ts";

type PullWithoutSignal = Omit<PullRequest, "signal">;

/** What a plain PullImage asks for: no reports. */
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
