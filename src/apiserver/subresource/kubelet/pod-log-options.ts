import { type FieldError, forbidden, invalid } from "../../../api/field-error.ts";
import { invalidObject } from "../../../api/status-error.ts";
import { readFlag, readInteger, readTime } from "./query-values.ts";

export interface PodLogOptions {
  /** Empty when the client did not name one. */
  readonly container: string;
  /** The kubelet's certificate need not be verified for this request. */
  readonly skipVerify: boolean;
  /** What the kubelet is asked for. */
  readonly query: URLSearchParams;
}

interface Bounds {
  readonly sinceSeconds: number | undefined;
  readonly sinceTime: number | undefined;
  readonly tailLines: number | undefined;
  readonly limitBytes: number | undefined;
}

/** Reads the query of `pods/NAME/log`. Throws 400 for what cannot be read and 422 for what makes no sense. */
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
    // Upstream's spelling of a field without a name.
    errors.push(forbidden("[]", "at most one of `sinceTime` or `sinceSeconds` may be specified"));
  } else if (sinceSeconds !== undefined && sinceSeconds < 1) {
    errors.push(invalid("sinceSeconds", sinceSeconds, "must be greater than 0"));
  }
  return errors;
}
