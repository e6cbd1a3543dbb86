import { type ServiceError, status } from "@grpc/grpc-js";
import type { AuthConfig } from "../../cri/generated/cri.ts";
import { failure } from "../failure.ts";
import type { PullFailure, PullScript } from "../script/scripts.ts";
import { fakeDigest } from "./image-name.ts";
import type { PullPlan } from "./pull-plan.ts";

const defaultSizeBytes = 10 * 2 ** 20;
/** More no registry has in one image. */
const mostLayers = 127;

export function imageSize({ sizeBytes = defaultSizeBytes }: PullScript): number {
  return Math.max(0, Math.round(sizeBytes));
}

/** What a script means for one pull. Of an image that is here nothing has to come, but the registry is asked. */
export function planPull(
  script: PullScript,
  pull: { reference: string; here: boolean; auth: AuthConfig | undefined },
): PullPlan {
  const layers = splitLayers(script, pull);
  const { stallAtByte, stallMs, bytesPerSecond } = script;
  const problem = failureOf(script, pull.auth);
  return {
    layers,
    total: pull.here ? 0 : imageSize(script),
    startMs: script.delayMs ?? 0,
    // No rate at all is one so small that a byte takes for ever.
    bytesPerMs: Math.max((bytesPerSecond ?? Number.POSITIVE_INFINITY) / 1_000, Number.MIN_VALUE),
    ...((stallAtByte !== undefined || stallMs !== undefined) && {
      stall: { atByte: stallAtByte ?? 0, ms: stallMs ?? Number.POSITIVE_INFINITY },
    }),
    unpackMs: pull.here ? 0 : (script.unpackMs ?? 0),
    ...(problem && {
      failure: { atByte: problem.atByte ?? 0, error: pullError(problem, pull.reference) },
    }),
  };
}

/** The first ones are a byte larger where the size cannot be divided. */
function splitLayers(
  script: PullScript,
  { reference, here }: { reference: string; here: boolean },
): PullPlan["layers"] {
  const count = Math.min(Math.max(1, Math.round(script.layers ?? 1)), mostLayers);
  const size = imageSize(script);
  return Array.from({ length: count }, (_, i) => ({
    digest: fakeDigest(`layer ${i} ${reference}`),
    size: Math.floor(size / count) + (i < size % count ? 1 : 0),
    exists: here,
  }));
}

function failureOf(script: PullScript, auth: AuthConfig | undefined): PullFailure | undefined {
  const { credentials } = script;
  const known =
    !credentials || (auth?.username === credentials.username && auth.password === credentials.password);
  return known ? script.failure : { kind: "unauthorized" };
}

function pullError({ kind, message }: PullFailure, reference: string): ServiceError {
  switch (kind) {
    case "unauthorized":
      return failure(
        status.UNAUTHENTICATED,
        message ?? `pulling ${reference}: unauthorized: authentication required`,
      );
    case "notFound":
      return failure(status.NOT_FOUND, message ?? `pulling ${reference}: not found; check name and tag`);
    case "unavailable":
      return failure(status.UNAVAILABLE, message ?? `pulling ${reference}: the registry does not answer`);
  }
}
