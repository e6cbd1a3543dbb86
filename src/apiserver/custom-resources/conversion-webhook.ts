import { randomUUID } from "node:crypto";
import type { CustomResourceDefinition } from "../../api/custom/custom-resource-definition.ts";
import type { ConvertVersion } from "../../api/kinds/custom/custom-kinds.ts";
import type { KubeObject } from "../../api/meta/objects.ts";
import { StatusError } from "../../api/meta/status-error.ts";
import { isJsonObject } from "../../api/schema/json-object.ts";
import { messageOf } from "../../lib/message-of.ts";
import type { ResolveWebhook } from "../outgoing/resolve-webhook.ts";
import type { WebhookClient } from "../outgoing/webhook-client.ts";

/** How conversion webhooks are reached. */
export interface ConversionClient {
  readonly resolve: ResolveWebhook;
  readonly client: WebhookClient;
}

interface ConversionResponse {
  readonly uid?: unknown;
  readonly convertedObjects?: unknown;
  readonly result?: { readonly status?: unknown; readonly message?: unknown };
}

const reviewVersions = ["v1", "v1beta1"];
const timeoutMs = 30_000;

/**
 * Converts objects with the webhook of a definition. The webhook may change labels, annotations and everything outside of
 * the metadata. Rejects with 500 when it fails or returns something else.
 */
export function createWebhookConversion(
  definition: CustomResourceDefinition,
  { resolve, client }: ConversionClient,
): ConvertVersion {
  const { spec } = definition;
  const accepted = spec.conversion?.webhook?.conversionReviewVersions ?? [];
  const reviewVersion = accepted.find((version) => reviewVersions.includes(version)) ?? "v1";
  return async (objects, apiVersion) => {
    const subject = `${spec.group}/${apiVersion.split("/")[1]}, Kind=${spec.names.kind}`;
    const uid = randomUUID();
    const review = {
      kind: "ConversionReview",
      apiVersion: `apiextensions.k8s.io/${reviewVersion}`,
      request: { uid, desiredAPIVersion: apiVersion, objects },
    };
    try {
      const target = resolve(spec.conversion?.webhook?.clientConfig ?? {});
      const answer = await client.post(target, review, { timeoutMs });
      const converted = readResponse(answer, { uid, count: objects.length });
      return converted.map((object, i) => checkConverted(object, objects[i], { apiVersion, index: i }));
    } catch (error) {
      const message = `conversion webhook for ${subject} failed: ${messageOf(error)}`;
      throw new StatusError(500, "InternalError", message);
    }
  };
}

function readResponse(answer: unknown, expected: { uid: string; count: number }): readonly unknown[] {
  const response = (isJsonObject(answer) ? answer.response : undefined) as ConversionResponse | undefined;
  if (!isJsonObject(response)) throw new Error("the response has no `response`");
  const { uid, result, convertedObjects } = response as ConversionResponse;
  if (uid !== expected.uid)
    throw new Error(`expected response.uid=${JSON.stringify(expected.uid)}, got ${JSON.stringify(uid)}`);
  if (result?.status !== "Success")
    throw new Error(typeof result?.message === "string" ? result.message : "the result is not Success");
  const objects = Array.isArray(convertedObjects) ? convertedObjects : [];
  if (objects.length !== expected.count)
    throw new Error(`webhook returned ${objects.length} objects, expected ${expected.count}`);
  return objects;
}

/** The converted object with the metadata of the original, except for labels and annotations. */
function checkConverted(
  object: unknown,
  original: KubeObject | undefined,
  { apiVersion, index }: { apiVersion: string; index: number },
): KubeObject {
  const invalid = (detail: string) => new Error(`invalid converted object at index ${index}: ${detail}`);
  if (!isJsonObject(object) || !original) throw invalid("it is not an object");
  if (object.apiVersion !== apiVersion)
    throw invalid(`invalid groupVersion, expected=${apiVersion} got=${String(object.apiVersion)}`);
  if (object.kind !== original.kind)
    throw invalid(`invalid kind, expected=${original.kind} got=${String(object.kind)}`);
  const { metadata } = object;
  if (!isJsonObject(metadata)) throw invalid("it has no metadata");
  for (const field of ["name", "namespace", "uid"] as const) {
    if ((metadata[field] ?? "") !== (original.metadata[field] ?? ""))
      throw invalid(`must have the same ${field}: ${String(metadata[field])} != ${original.metadata[field]}`);
  }
  const { labels: _labels, annotations: _annotations, ...kept } = original.metadata;
  const restored = {
    ...kept,
    ...(isStringMap(metadata.labels) && { labels: metadata.labels }),
    ...(isStringMap(metadata.annotations) && { annotations: metadata.annotations }),
  };
  const { kind: _kind, apiVersion: _apiVersion, metadata: _metadata, ...content } = object;
  return { kind: original.kind, apiVersion, metadata: restored, ...content };
}

function isStringMap(value: unknown): value is Record<string, string> {
  return isJsonObject(value) && Object.values(value).every((item) => typeof item === "string");
}
