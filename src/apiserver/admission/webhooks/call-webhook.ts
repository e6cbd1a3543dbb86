import { randomUUID } from "node:crypto";
import { badRequest, StatusError } from "../../../api/meta/status-error.ts";
import type { Clock } from "../../../lib/clock.ts";
import type { Logger } from "../../../lib/logger.ts";
import { messageOf } from "../../../lib/message-of.ts";
import type { ResolveWebhook } from "../../outgoing/resolve-webhook.ts";
import { WebhookCallError, type WebhookClient } from "../../outgoing/webhook-client.ts";
import type { AdmissionRequest } from "../admission-chain.ts";
import {
  createReview,
  deniedBy,
  failedCalling,
  InvalidPatch,
  InvalidReview,
  type ReviewRequest,
  type ReviewResponse,
  readReview,
  reviewVersionOf,
} from "./admission-review.ts";
import type { AdmissionWebhook } from "./admission-webhook.ts";
import type { CallOutcome, WebhookMetrics } from "./webhook-metrics.ts";

export interface CallDeps {
  readonly resolve: ResolveWebhook;
  readonly client: WebhookClient;
  readonly metrics: WebhookMetrics;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Calls a webhook. Returns the operations of its patch, or undefined. Throws the StatusError of a denied request, or of a
 * failed call unless the failure policy ignores it.
 */
export async function callWebhook(
  deps: CallDeps,
  hook: AdmissionWebhook,
  request: AdmissionRequest,
  review: Omit<ReviewRequest, "uid">,
  type: "admit" | "validating",
): Promise<unknown> {
  const { webhook } = hook;
  const { name, failurePolicy } = webhook;
  if (request.dryRun && webhook.sideEffects !== "None" && webhook.sideEffects !== "NoneOnDryRun")
    throw badRequest(`admission webhook ${JSON.stringify(name)} does not support dry run`);
  const start = deps.clock.now();
  const observe = (outcome: CallOutcome) => {
    const seconds = (deps.clock.now() - start) / 1_000;
    deps.metrics.observe({ name, type, operation: request.operation }, { seconds, outcome });
  };
  let response: ReviewResponse;
  try {
    response = await send(deps, hook, review, type === "admit");
  } catch (error) {
    const ignored = failurePolicy === "Ignore";
    const reason = callFailure(error);
    observe({ kind: "failed", code: error instanceof WebhookCallError ? error.code : 503, ignored });
    deps.logger.warn(ignored ? "a webhook failed and is ignored" : "a webhook failed", { name, reason });
    if (ignored) return undefined;
    throw failedCalling(name, reason);
  }
  request.warnings?.push(...response.warnings);
  if (!response.allowed) {
    const error = deniedBy(name, response.result);
    observe({ kind: "denied", code: error.code });
    throw error;
  }
  observe({ kind: "allowed" });
  return response.patch;
}

async function send(
  { resolve, client }: CallDeps,
  { webhook }: AdmissionWebhook,
  review: Omit<ReviewRequest, "uid">,
  mutating: boolean,
): Promise<ReviewResponse> {
  const version = reviewVersionOf(webhook.admissionReviewVersions);
  if (!version) throw new Error("webhook does not accept known AdmissionReview versions (v1, v1beta1)");
  const uid = randomUUID();
  const { timeoutSeconds = 10, clientConfig } = webhook;
  const target = resolve(clientConfig, `?timeout=${timeoutSeconds}s`);
  const body = createReview(version, { ...review, uid });
  const answer = await client.post(target, body, { timeoutMs: timeoutSeconds * 1_000 });
  return readReview(answer, { uid, version, mutating });
}

function callFailure(error: unknown): string {
  if (error instanceof WebhookCallError) return `failed to call webhook: ${error.message}`;
  if (error instanceof InvalidPatch) return error.message;
  if (error instanceof InvalidReview) return `received invalid webhook response: ${error.message}`;
  if (error instanceof StatusError) throw error;
  return `could not create admission objects: ${messageOf(error)}`;
}
