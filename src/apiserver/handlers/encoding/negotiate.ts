import { notAcceptable } from "../../../api/meta/status-error.ts";

/** Requested representation of a response: its format and transformation. */
export interface Representation {
  readonly format: Format;
  readonly as: Transformation;
  /** Version of meta.k8s.io of the transformed object. */
  readonly metaVersion: "v1" | "v1beta1";
  /** Whether the media type requests indented output (`;pretty=1`). See also `wantsPretty`. */
  readonly pretty: boolean;
}

export type Format = "json" | "yaml";
type Transformation = "object" | "table" | "partialObjectMetadata" | "partialObjectMetadataList";
type MediaParameters = ReadonlyMap<string, string>;

interface Clause {
  readonly type: string;
  readonly subtype: string;
  readonly quality: number;
  readonly parameters: MediaParameters;
}

// In order of preference: a wildcard selects the first. Protobuf is not served.
const formats: readonly Format[] = ["json", "yaml"];
const mediaTypes = formats.map(contentTypeOf);
const watchMediaTypes = ["application/json;stream=watch"];

const transformations: ReadonlyMap<string, Transformation> = new Map([
  ["Table", "table"],
  ["PartialObjectMetadata", "partialObjectMetadata"],
  ["PartialObjectMetadataList", "partialObjectMetadataList"],
]);

const plainJson: Representation = { format: "json", as: "object", metaVersion: "v1", pretty: false };

export function contentTypeOf(format: Format): string {
  return `application/${format}`;
}

/**
 * Negotiates the representation from the `Accept` header as upstream: clauses are ordered by quality, then by
 * specificity; clauses that cannot be served are skipped. Throws 406 when none is left.
 */
export function negotiate(
  accept: string | undefined,
  request: { readonly watch?: boolean; readonly table?: boolean | undefined } = {},
): Representation {
  if (!accept || accept === "application/json" || accept === "*/*") return plainJson;
  const chosen = firstAcceptable(
    accept,
    (parameters) =>
      !asksTransformation(parameters) ||
      (isKnown(parameters) && (request.table !== false || parameters.get("as") !== "Table")),
  );
  // Watches are always JSON, because YAML documents cannot be streamed.
  if (request.watch && chosen?.format !== "json") throw notAcceptable(watchMediaTypes);
  if (!chosen) throw notAcceptable(mediaTypes);
  const { format, parameters } = chosen;
  return {
    format,
    as: transformations.get(parameters.get("as") ?? "") ?? "object",
    metaVersion: parameters.get("v") === "v1beta1" ? "v1beta1" : "v1",
    pretty: parameters.get("pretty") === "1",
  };
}

/**
 * Negotiates the format of responses that are never transformed. Throws 406 when the client accepts neither JSON nor
 * YAML.
 */
export function negotiateFormat(accept: string | undefined): Format {
  if (!accept) return "json";
  const chosen = firstAcceptable(accept, (parameters) => !asksTransformation(parameters));
  if (!chosen) throw notAcceptable(mediaTypes);
  return chosen.format;
}

/** Returns the first clause of the header with a served format and `allowed` parameters. */
export function firstAcceptable(
  accept: string,
  allowed: (parameters: MediaParameters) => boolean,
): { format: Format; parameters: MediaParameters } | undefined {
  for (const { type, subtype, parameters } of parseAccept(accept)) {
    if (type !== "application" && type !== "*") continue;
    const stream = parameters.get("stream");
    const format = formats.find(
      // Only watches stream, and only as JSON.
      (format) =>
        (subtype === format || subtype === "*") && (!stream || (format === "json" && stream === "watch")),
    );
    if (format && allowed(parameters)) return { format, parameters };
  }
  return undefined;
}

function asksTransformation(parameters: MediaParameters): boolean {
  return parameters.has("as") || parameters.has("g") || parameters.has("v");
}

function isKnown(parameters: MediaParameters): boolean {
  const version = parameters.get("v");
  return (
    parameters.get("g") === "meta.k8s.io" &&
    (version === "v1" || version === "v1beta1") &&
    transformations.has(parameters.get("as") ?? "")
  );
}

function parseAccept(accept: string): Clause[] {
  const clauses = accept.split(",").flatMap((part): Clause[] => {
    const [mediaType = "", ...settings] = part.split(";").map((piece) => piece.trim());
    const [type = "", subtype = type === "*" ? "*" : "", ...rest] = mediaType.split("/");
    if (!subtype || rest.length > 0) return [];
    const parameters = new Map(settings.map(splitSetting).filter(([, value]) => value !== ""));
    const quality = parameters.has("q") ? Number.parseFloat(parameters.get("q") ?? "") || 0 : 1;
    return [{ type, subtype, quality, parameters }];
  });
  return clauses.sort((a, b) => b.quality - a.quality || wildcards(a) - wildcards(b));
}

function splitSetting(setting: string): [string, string] {
  const at = setting.indexOf("=");
  return at < 0 ? [setting, ""] : [setting.slice(0, at).trim(), setting.slice(at + 1).trim()];
}

function wildcards(clause: Clause): number {
  return Number(clause.type === "*") + Number(clause.subtype === "*");
}
