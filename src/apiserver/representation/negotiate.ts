import { notAcceptable } from "../../api/status-error.ts";

/** How a client wants an answer: in which syntax, and transformed into what. */
export interface Representation {
  readonly format: Format;
  readonly as: Transformation;
  /** Which version of meta.k8s.io the transformed object is of. */
  readonly metaVersion: "v1" | "v1beta1";
  /** The media type itself asked for indented output (`;pretty=1`); see also `wantsPretty`. */
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

// The order counts: a wildcard gets the first. Protobuf is not served.
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
 * Reads an `Accept` header as upstream does: clauses by quality, then by how specific they are; a clause that
 * asks for something not served is passed over. Throws 406 when nothing is left.
 */
export function negotiate(accept: string | undefined, request: { watch?: boolean } = {}): Representation {
  if (!accept || accept === "application/json" || accept === "*/*") return plainJson;
  const chosen = firstAcceptable(
    accept,
    (parameters) => !asksTransformation(parameters) || isKnown(parameters),
  );
  // YAML documents cannot be told apart in a stream: a watch is JSON.
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

/** For answers that are never transformed. Throws 406 when the client takes neither JSON nor YAML. */
export function negotiateFormat(accept: string | undefined): Format {
  if (!accept) return "json";
  const chosen = firstAcceptable(accept, (parameters) => !asksTransformation(parameters));
  if (!chosen) throw notAcceptable(mediaTypes);
  return chosen.format;
}

/** The best clause of the header in a format that is served and with parameters that are `allowed`. */
export function firstAcceptable(
  accept: string,
  allowed: (parameters: MediaParameters) => boolean,
): { format: Format; parameters: MediaParameters } | undefined {
  for (const { type, subtype, parameters } of parseAccept(accept)) {
    if (type !== "application" && type !== "*") continue;
    const stream = parameters.get("stream");
    const format = formats.find(
      // Only JSON streams, and the only stream is a watch.
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
