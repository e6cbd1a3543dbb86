// Clauses: 3542-14
import { StatusError } from "../../api/meta/status-error.ts";
import type { Client } from "../../client/api/client.ts";
import { agentAudience, agentTokenHeader } from "../../client/delegated-auth/authorize-node-request.ts";
import type { KnownAdvice, KnownBudget } from "../../explain/explanation.ts";
import type { Clock } from "../../lib/clock.ts";
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
    ...(pull.queued === true && { queued: true }),
    ...(Array.isArray(pull.oneOf) && { oneOf: pull.oneOf.slice(0, maxItems).map(readText) }),
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

/** Pod whose pulls are read. */
export interface PulledPod {
  readonly node: string;
  readonly namespace: string;
  readonly name: string;
}

/**
 * Reads the running pulls of a pod through the API server's proxy: from its kubelet if that is Kindling's, else from the node
 * agent on the same node. Rejects with the kubelet's error if there is neither.
 */
export type ReadPulls = (pod: PulledPod, signal: AbortSignal) => Promise<readonly PullView[]>;

/** Port of `kindling node-agent`. */
const agentPort = 10265;
/** Service account of examples/node-agent/rbac.yaml, for which readers request tokens. */
const readerAccount = "/api/v1/namespaces/kube-system/serviceaccounts/kindling-pull-reader";
const tokenSeconds = 600;
/** Delay before a token is requested again after the API server has refused one. */
const refusedRetryMs = 60_000;

export function createPullReader({
  client,
  clock,
}: {
  readonly client: Pick<Client, "request">;
  readonly clock: Clock;
}): ReadPulls {
  const nodesWithAgent = new Set<string>();
  let token: { readonly text: string | undefined; readonly untilMs: number } | undefined;

  /**
   * Returns a token that only node agents accept. The proxy removes the caller's credentials, and an agent must not see
   * credentials that are valid elsewhere.
   */
  async function agentToken(signal: AbortSignal): Promise<string | undefined> {
    const now = clock.now();
    if (token && token.untilMs > now) return token.text;
    try {
      const body = {
        apiVersion: "authentication.k8s.io/v1",
        kind: "TokenRequest",
        spec: { audiences: [agentAudience], expirationSeconds: tokenSeconds },
      };
      const { status } = await client.request<{ status?: { token?: string } }>(
        "POST",
        `${readerAccount}/token`,
        { body, signal },
      );
      token = { text: status?.token, untilMs: now + (tokenSeconds * 1_000) / 2 };
    } catch (error) {
      if (!(error instanceof StatusError)) throw error;
      token = { text: undefined, untilMs: now + refusedRetryMs };
    }
    return token.text;
  }

  async function readAgent({ node, namespace, name }: PulledPod, signal: AbortSignal): Promise<unknown> {
    const text = await agentToken(signal);
    if (text === undefined) return undefined;
    const path = `/api/v1/nodes/https:${node}:${agentPort}/proxy/imagePullProgress/${namespace}/${name}`;
    try {
      const body = await client.request("GET", path, { headers: { [agentTokenHeader]: text }, signal });
      nodesWithAgent.add(node);
      return body;
    } catch (error) {
      if (!(error instanceof StatusError)) throw error;
      nodesWithAgent.delete(node);
      return undefined;
    }
  }

  return async (pod, signal) => {
    const { node, namespace, name } = pod;
    if (nodesWithAgent.has(node)) {
      const body = await readAgent(pod, signal);
      if (body !== undefined) return parsePulls(body);
    }
    try {
      const path = `/api/v1/nodes/${node}/proxy/imagePullProgress/${namespace}/${name}`;
      return parsePulls(await client.request("GET", path, { signal }));
    } catch (error) {
      if (!lacksEndpoint(error)) throw error;
      const body = await readAgent(pod, signal);
      if (body === undefined) throw error;
      return parsePulls(body);
    }
  };
}

/** Whether the kubelet does not have the endpoint. Kindling's kubelet returns 404 only for a pod that does not exist. */
function lacksEndpoint(error: unknown): boolean {
  return error instanceof StatusError && error.code === 404 && !error.message.includes("does not exist");
}
