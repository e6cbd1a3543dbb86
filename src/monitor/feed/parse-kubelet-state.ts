import type { KnownAdvice, KnownBudget } from "../../explain/explanation.ts";
import { isMapping } from "../../lib/is-mapping.ts";
import type { PullView } from "./feed-message.ts";

/** Limits for data from a node, which is not trusted. */
const maxItems = 50;
const maxLayers = 200;

/** Parses the response of `/imagePullProgress/NAMESPACE/POD` of a kubelet. */
export function parsePulls(body: unknown): readonly PullView[] {
  return listIn(body, "pulls", maxItems).map((pull) => ({
    container: readText(pull.container),
    image: readText(pull.image),
    startedAt: readText(pull.startedAt),
    offset: readCount(pull.offset),
    total: readCount(pull.total),
    layers: listIn(pull, "layers", maxLayers).map((layer) => ({
      layer: readText(layer.digest),
      offset: readCount(layer.offset),
      total: readCount(layer.total),
      stage: readText(layer.stage),
    })),
  }));
}

/** Parses the response of `/startupProbes/NAMESPACE/POD` of a kubelet. */
export function parseStartupProbes(body: unknown): {
  readonly budgets: readonly KnownBudget[];
  readonly advice: readonly KnownAdvice[];
} {
  return {
    budgets: listIn(body, "probes", maxItems).map((probe) => ({
      container: readText(probe.container),
      failures: readCount(probe.failures),
      secondsLeft: readCount(probe.secondsLeft),
    })),
    advice: listIn(body, "advice", maxItems).map((advice) => ({
      container: readText(advice.container),
      periodSeconds: readCount(advice.periodSeconds),
      failureThreshold: readCount(advice.failureThreshold),
      slowestSeconds: readCount(advice.slowestSeconds),
      reason: readText(advice.reason),
    })),
  };
}

function listIn(body: unknown, field: string, max: number): Record<string, unknown>[] {
  const list = isMapping(body) ? body[field] : undefined;
  return Array.isArray(list) ? list.slice(0, max).filter(isMapping) : [];
}

function readText(value: unknown): string {
  return typeof value === "string" ? value.slice(0, 500) : "";
}

function readCount(value: unknown): number {
  return typeof value === "number" && Number.isFinite(value) && value > 0 ? value : 0;
}
