import type { StatusReason } from "../../../api/meta/status-error.ts";
import { internalError, StatusError } from "../../../api/meta/status-error.ts";
import { isJsonObject } from "../../../api/schema/json-object.ts";
import { messageOf } from "../../../lib/message-of.ts";
import type { UserInfo } from "../../request/user-info.ts";

interface GroupVersionKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

interface GroupVersionResource {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
}

/** Content of an AdmissionReview. */
export interface ReviewRequest {
  readonly uid: string;
  readonly kind: GroupVersionKind;
  readonly resource: GroupVersionResource;
  readonly requestKind: GroupVersionKind;
  readonly requestResource: GroupVersionResource;
  readonly subresource: string;
  readonly name: string;
  readonly namespace: string;
  readonly operation: string;
  readonly user: UserInfo;
  readonly object: object | undefined;
  readonly oldObject: object | undefined;
  readonly dryRun: boolean;
  readonly options: object | undefined;
}

export type ReviewVersion = "v1" | "v1beta1";

/** First version that both sides know. */
export function reviewVersionOf(accepted: readonly string[]): ReviewVersion | undefined {
  return accepted.find((version): version is ReviewVersion => version === "v1" || version === "v1beta1");
}

export function createReview(version: ReviewVersion, request: ReviewRequest) {
  const { subresource, name, namespace, user, options } = request;
  return {
    kind: "AdmissionReview",
    apiVersion: `admission.k8s.io/${version}`,
    request: {
      uid: request.uid,
      kind: request.kind,
      resource: request.resource,
      ...(subresource && { subResource: subresource }),
      requestKind: request.requestKind,
      requestResource: request.requestResource,
      ...(subresource && { requestSubResource: subresource }),
      ...(name && { name }),
      ...(namespace && { namespace }),
      operation: request.operation,
      userInfo: {
        username: user.username,
        ...(user.uid && { uid: user.uid }),
        ...(user.groups.length > 0 && { groups: user.groups }),
        ...(Object.keys(user.extra).length > 0 && { extra: user.extra }),
      },
      object: request.object ?? null,
      oldObject: request.oldObject ?? null,
      dryRun: request.dryRun,
      options: options ?? null,
    },
  };
}

/** Response of a webhook. */
export interface ReviewResponse {
  readonly allowed: boolean;
  /** Operations of a JSON patch. Undefined if the object is not changed. */
  readonly patch: unknown;
  readonly result: unknown;
  readonly warnings: readonly string[];
}

/** A response that does not answer the request. The message is upstream's. */
export class InvalidReview extends Error {
  override readonly name: string = "InvalidReview";
}

/** A valid response whose patch cannot be applied. */
export class InvalidPatch extends InvalidReview {
  override readonly name = "InvalidPatch";
}

/** Reads the response of a webhook. Throws InvalidReview. */
export function readReview(
  review: unknown,
  { uid, version, mutating }: { uid: string; version: ReviewVersion; mutating: boolean },
): ReviewResponse {
  const { response, apiVersion = "", kind = "" } = isJsonObject(review) ? review : {};
  if (!isJsonObject(response)) throw new InvalidReview("webhook response was absent");
  if (version === "v1") {
    if (response.uid !== uid)
      throw new InvalidReview(
        `expected response.uid=${JSON.stringify(uid)}, got ${JSON.stringify(response.uid ?? "")}`,
      );
    if (apiVersion !== "admission.k8s.io/v1" || kind !== "AdmissionReview") {
      const [group, itsVersion] = String(apiVersion).includes("/")
        ? String(apiVersion).split("/", 2)
        : ["", apiVersion];
      throw new InvalidReview(
        `expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got ${group}/${itsVersion}, Kind=${kind}`,
      );
    }
    checkPatch(response, mutating);
  }
  const warnings = Array.isArray(response.warnings) ? response.warnings : [];
  const encoded = mutating && typeof response.patch === "string" ? response.patch : "";
  return {
    allowed: response.allowed === true,
    patch: encoded === "" ? undefined : decodePatch(encoded),
    result: response.status,
    warnings: warnings.filter((warning) => typeof warning === "string"),
  };
}

function checkPatch(
  { patch = "", patchType }: { patch?: unknown; patchType?: unknown },
  mutating: boolean,
): void {
  if (!mutating) {
    if (patch !== "") throw new InvalidReview("validating webhook may not return response.patch");
    if (patchType !== undefined)
      throw new InvalidReview("validating webhook may not return response.patchType");
    return;
  }
  if (patch !== "" && patchType === undefined)
    throw new InvalidReview("webhook returned response.patch but not response.patchType");
  if (patch === "" && patchType !== undefined)
    throw new InvalidReview("webhook returned response.patchType but not response.patch");
  if (patchType === "") throw new InvalidReview('webhook returned invalid response.patchType of ""');
  if (patchType !== undefined && patchType !== "JSONPatch")
    throw new InvalidPatch(`unsupported patch type ${JSON.stringify(patchType)}`);
}

function decodePatch(encoded: string): unknown[] {
  try {
    const patch: unknown = JSON.parse(Buffer.from(encoded, "base64").toString());
    if (Array.isArray(patch)) return patch;
    throw new Error("it is not a list of operations");
  } catch (error) {
    throw new InvalidPatch(`received undecodable patch in webhook response: ${messageOf(error)}`);
  }
}

/** Error of a request that a webhook denied, with the status that the webhook returned. */
export function deniedBy(name: string, result: unknown): StatusError {
  const { message, reason, code, details } = isJsonObject(result) ? result : {};
  const denied = `admission webhook ${JSON.stringify(name)} denied the request`;
  const explanation = message || reason;
  return new StatusError(
    typeof code === "number" && Number.isInteger(code) && code >= 400 && code <= 599 ? code : 400,
    // Safe: a reason is any text for clients.
    (typeof reason === "string" && reason !== "" ? reason : undefined) as StatusReason,
    explanation ? `${denied}: ${String(explanation)}` : `${denied} without explanation`,
    isJsonObject(details) ? details : undefined,
  );
}

/** Error of a request whose webhook could not be called. */
export function failedCalling(name: string, reason: string): StatusError {
  return internalError(`failed calling webhook ${JSON.stringify(name)}: ${reason}`);
}
