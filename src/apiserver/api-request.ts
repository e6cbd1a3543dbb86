import type { IncomingHttpHeaders } from "node:http";
import type { KubeObject } from "../api/objects.ts";
import type { Status } from "../api/status-error.ts";
import type { UserInfo } from "./auth/user-info.ts";
import type { CachedObject } from "./cache/cached-object.ts";
import type { RequestInfo } from "./request-info.ts";

/** A request once it is known who sent it. */
export interface ApiRequest {
  readonly method: string;
  readonly info: RequestInfo;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  readonly user: UserInfo;
  /** Reads the whole body, within the size limit. */
  readBody(): Promise<Buffer>;
}

/** What a verb answers with; `render` turns objects and lists into bytes in the form that the client asked for. */
export type Answer = ObjectAnswer | ListAnswer | WatchAnswer | BytesAnswer;

export interface ObjectAnswer {
  readonly kind: "object";
  readonly status: number;
  readonly object: CachedObject | KubeObject | Status;
  /** For `Warning` headers. */
  readonly warnings?: readonly string[];
}

export interface ListAnswer {
  readonly kind: "list";
  readonly items: readonly CachedObject[];
  readonly revision: number;
  readonly continueToken?: string;
  readonly remaining?: number;
}

export interface WatchAnswer {
  readonly kind: "watch";
  /** Feeds the sink until it closes. */
  run(sink: WatchSink): Promise<void>;
}

/** Bytes in their final form. */
export interface BytesAnswer {
  readonly kind: "bytes";
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | string;
  /** How long the body is in bytes, where that is known already. */
  readonly bodyBytes?: number;
  readonly warnings?: readonly string[];
}

/** Where a watch writes; over HTTP it is the response, inside a process it is a queue. */
export interface WatchSink {
  write(chunk: string): void;
  /** Bytes that were written and that the client has not taken yet. */
  backlog(): number;
  /** Resolves once the backlog is gone, or the client is. */
  drained(): Promise<void>;
  end(): void;
  /** Aborts when the client goes. */
  readonly closed: AbortSignal;
}
