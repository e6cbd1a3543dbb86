import type { IncomingHttpHeaders } from "node:http";
import type { KubeObject } from "../../api/meta/objects.ts";
import type { Status } from "../../api/meta/status-error.ts";
import type { CachedObject } from "../storage/cached-object.ts";
import type { RequestInfo } from "./request-info.ts";
import type { UserInfo } from "./user-info.ts";

/** An authenticated request. */
export interface ApiRequest {
  readonly method: string;
  readonly info: RequestInfo;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  readonly user: UserInfo;
  /** Reads the whole body, within the size limit. */
  readBody(): Promise<Buffer>;
}

/** Result of a handler. `render` encodes objects and lists in the representation that the client accepts. */
export type ApiResponse = ObjectResponse | ListResponse | WatchResponse | BytesResponse;

export interface ObjectResponse {
  readonly kind: "object";
  readonly status: number;
  readonly object: CachedObject | KubeObject | Status;
  /** Texts of `Warning` headers. */
  readonly warnings?: readonly string[];
}

export interface ListResponse {
  readonly kind: "list";
  readonly items: readonly CachedObject[];
  readonly revision: number;
  readonly continueToken?: string;
  readonly remaining?: number;
}

export interface WatchResponse {
  readonly kind: "watch";
  /** Writes events to the sink until it closes. */
  run(sink: WatchSink): Promise<void>;
}

/** An encoded response. */
export interface BytesResponse {
  readonly kind: "bytes";
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Body;
  /** Length of the body in bytes, if known. */
  readonly bodyBytes?: number;
  readonly warnings?: readonly string[];
}

/** Bytes of one event of a watch. Watches of the same objects share them: they must not be modified. */
export type Frame = readonly Buffer[];

/** Destination of the events of a watch: an HTTP response, or a queue within the process. */
export interface WatchSink {
  write(frame: Frame): void;
  /** Bytes that were written and that the client has not read. */
  backlog(): number;
  /** Resolves when the backlog is empty or the client has disconnected. */
  drained(): Promise<void>;
  /** Counts memory that the watch keeps for this client, until it is released. */
  hold(data: object, bytes: number): void;
  release(data: object, bytes: number): void;
  end(): void;
  /** Aborts when the client disconnects. */
  readonly closed: AbortSignal;
}

/** A response body that is encoded in pieces while it is sent, so that it is never in memory as a whole. */
export interface PiecewiseBody {
  readonly byteLength: number;
  /** Memory that is held until the body is sent, without that of the pieces. */
  readonly heldBytes: number;
  /** The bytes in order. Pieces may be shared with other bodies and must not be modified. */
  pieces(): Iterable<Buffer>;
}

export type Body = Buffer | string | PiecewiseBody;

/** A body of up to this length is sent in one write. */
export const inlineBytes = 64 * 1_024;

/** Length of a body in bytes. */
export function byteLengthOf(body: Body): number {
  return typeof body === "string" ? Buffer.byteLength(body) : body.byteLength;
}

export function isPiecewise(body: Body): body is PiecewiseBody {
  return typeof body !== "string" && !Buffer.isBuffer(body);
}

/** Encodes the whole body. */
export function wholeBody(body: Body): Buffer | string {
  return isPiecewise(body) ? Buffer.concat([...body.pieces()], body.byteLength) : body;
}
