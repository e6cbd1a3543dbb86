import type { IncomingMessage } from "node:http";
import { badRequest, internalError, StatusError, type StatusReason } from "../../../api/status-error.ts";

/** How much of a kubelet's complaint is read. */
const maxTextBytes = 50_000;

const texts: Readonly<Record<number, readonly [StatusReason, string]>> = {
  401: ["Unauthorized", "the server has asked for the client to provide credentials"],
  404: ["NotFound", "the server could not find the requested resource"],
  405: ["MethodNotAllowed", "the server does not allow this method on the requested resource"],
  429: ["TooManyRequests", "the server has received too many requests and has asked us to try again later"],
  503: ["ServiceUnavailable", "the server is currently unable to handle the request"],
};

/** What the API says when a kubelet refuses to show a log. */
export function logRefused(code: number, text: string, podName: string): StatusError {
  if (code === 500) return internalError(text);
  if (code === 400) return badRequest(text);
  const [reason, message] = texts[code] ?? otherText(code, text);
  // The gap before the resource is where upstream has no verb to put.
  return new StatusError(code, reason, `${message} ( pods/log ${podName})`, {
    name: podName,
    kind: "pods/log",
  });
}

function otherText(code: number, text: string): [StatusReason, string] {
  if (code === 403) return ["Forbidden", text];
  const message =
    code > 500
      ? `an error on the server (${JSON.stringify(text)}) has prevented the request from succeeding`
      : `the server responded with the status code ${code} but did not return more information`;
  return ["InternalError", message];
}

export function isRedirect({ statusCode = 0, headers }: IncomingMessage): boolean {
  return statusCode >= 300 && statusCode < 400 && headers.location !== undefined;
}

/** The beginning of an answer's body; the rest is not waited for. */
export async function readText(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of response) {
    chunks.push(chunk);
    length += chunk.length;
    if (length >= maxTextBytes) break;
  }
  return Buffer.concat(chunks).subarray(0, maxTextBytes).toString();
}
