import { isMapping } from "../../lib/is-mapping.ts";
import type { KnownAdvice, KnownBudget } from "../explain/explanation.ts";
import type { PullView } from "./feed-message.ts";

/** No image has more, and a node that claims so shall not fill the page. */
const mostPulls = 50;
const mostLayers = 200;

/** What a kubelet says under `/imagePullProgress/NAMESPACE/POD`. A node is not trusted further than its own pods. */
export function parsePulls(body: unknown): readonly PullView[] {
  return listIn(body, "pulls", mostPulls).map((pull) => ({
    container: readText(pull.container),
    image: readText(pull.image),
    startedAt: readText(pull.startedAt),
    offset: readCount(pull.offset),
    total: readCount(pull.total),
    layers: listIn(pull, "layers", mostLayers).map((layer) => ({
      layer: readText(layer.digest),
      offset: readCount(layer.offset),
      total: readCount(layer.total),
      stage: readText(layer.stage),
    })),
  }));
}

/** And under `/startupProbes/NAMESPACE/POD`. */
export function parseStartup(body: unknown): {
  readonly budgets: readonly KnownBudget[];
  readonly advice: readonly KnownAdvice[];
} {
  return {
    budgets: listIn(body, "probes", mostPulls).map((probe) => ({
      container: readText(probe.container),
      failures: readCount(probe.failures),
      secondsLeft: readCount(probe.secondsLeft),
    })),
    advice: listIn(body, "advice", mostPulls).map((advice) => ({
      container: readText(advice.container),
      periodSeconds: readCount(advice.periodSeconds),
      failureThreshold: readCount(advice.failureThreshold),
      slowestSeconds: readCount(advice.slowestSeconds),
      reason: readText(advice.reason),
    })),
  };
}

function listIn(body: unknown, field: string, most: number): Record<string, unknown>[] {
  const list = isMapping(body) ? body[field] : undefined;
  return Array.isArray(list) ? list.slice(0, most).filter(isMapping) : [];
}

function readText(value: unknown): string {
  return typeof value === "string" ? value.slice(0, 500) : "";
}

function readCount(value: unknown): number {
  return typeof value === "number" && Number.isFinite(value) && value > 0 ? value : 0;
}
