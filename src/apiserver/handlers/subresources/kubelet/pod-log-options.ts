import { type FieldError, forbidden, invalid } from "../../../../api/meta/field-errors.ts";
import { badRequest, invalidObject } from "../../../../api/meta/status-error.ts";

export interface PodLogOptions {
  /** Name of the container. Empty if the client did not set it. */
  readonly container: string;
  /** Whether the kubelet's certificate is not verified for this request. */
  readonly skipVerify: boolean;
  /** Query of the request to the kubelet. */
  readonly query: URLSearchParams;
}

interface Bounds {
  readonly sinceSeconds: number | undefined;
  readonly sinceTime: number | undefined;
  readonly tailLines: number | undefined;
  readonly limitBytes: number | undefined;
}

/** Parses the query of `pods/NAME/log`. Throws 400 for values that cannot be parsed and 422 for invalid ones. */
export function parsePodLogOptions(podName: string, query: URLSearchParams): PodLogOptions {
  const values: Bounds = {
    sinceSeconds: readInteger(query, "sinceSeconds"),
    sinceTime: readTime(query, "sinceTime"),
    tailLines: readInteger(query, "tailLines"),
    limitBytes: readInteger(query, "limitBytes"),
  };
  const errors = validate(values);
  if (query.has("stream")) errors.push(forbidden("stream", "may not be specified"));
  if (errors.length > 0) throw invalidObject({ group: "", kind: "PodLogOptions" }, podName, errors);

  const asked = new URLSearchParams();
  for (const flag of ["follow", "previous", "timestamps"]) {
    if (readFlag(query, flag)) asked.set(flag, "true");
  }
  const { sinceTime, ...numbers } = values;
  for (const [name, value] of Object.entries(numbers)) {
    if (value !== undefined) asked.set(name, String(value));
  }
  if (sinceTime !== undefined)
    asked.set("sinceTime", new Date(sinceTime).toISOString().replace(/\.\d+Z$/, "Z"));
  return {
    container: query.get("container") ?? "",
    skipVerify: readFlag(query, "insecureSkipTLSVerifyBackend"),
    query: asked,
  };
}

function validate({ sinceSeconds, sinceTime, tailLines, limitBytes }: Bounds): FieldError[] {
  const errors: FieldError[] = [];
  if (tailLines !== undefined && tailLines < 0) {
    errors.push(invalid("tailLines", tailLines, "must be greater than or equal to 0"));
  }
  if (limitBytes !== undefined && limitBytes < 1) {
    errors.push(invalid("limitBytes", limitBytes, "must be greater than 0"));
  }
  if (sinceSeconds !== undefined && sinceTime !== undefined) {
    // As upstream for a field without a name.
    errors.push(forbidden("[]", "at most one of `sinceTime` or `sinceSeconds` may be specified"));
  } else if (sinceSeconds !== undefined && sinceSeconds < 1) {
    errors.push(invalid("sinceSeconds", sinceSeconds, "must be greater than 0"));
  }
  return errors;
}

/** Parses a boolean. True if it is present, unless it is `0` or `false`. */
export function readFlag(query: URLSearchParams, name: string): boolean {
  const value = query.get(name);
  return value !== null && value !== "0" && value.toLowerCase() !== "false";
}

function readInteger(query: URLSearchParams, name: string): number | undefined {
  const value = query.get(name);
  if (value === null) return undefined;
  if (!/^[+-]?\d+$/.test(value)) {
    throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(value)}: invalid syntax`);
  }
  const number = Number(value);
  if (!Number.isSafeInteger(number)) {
    throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(value)}: value out of range`);
  }
  return number;
}

/** Parses an RFC 3339 time to milliseconds since the epoch. */
function readTime(query: URLSearchParams, name: string): number | undefined {
  const value = query.get(name);
  if (!value || value === "null") return undefined;
  const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/.test(value)
    ? Date.parse(value)
    : Number.NaN;
  if (Number.isNaN(time)) {
    const quoted = JSON.stringify(value);
    throw badRequest(
      `parsing time ${quoted} as "2006-01-02T15:04:05Z07:00": cannot parse ${quoted} as "2006"`,
    );
  }
  return time;
}
