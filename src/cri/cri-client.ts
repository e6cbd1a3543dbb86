import { Client, credentials, Metadata } from "@grpc/grpc-js";
import { callServerStream, callUnary } from "../lib/grpc-call.ts";
import { ContentService, type Info, type Status } from "./generated/containerd.ts";
import { ImageServiceService, RuntimeServiceService } from "./generated/cri.ts";

/** Client of a CRI runtime on a unix socket: Kindling, containerd or CRI-O. Failures are grpc-js errors. */
export interface CriClient {
  readonly runtime: ServiceClient<RuntimeServiceService>;
  readonly images: ServiceClient<ImageServiceService>;
  /** Content store on the same socket, if the runtime is containerd. */
  readonly contentStore?: ContentStore;
  close(): void;
}

interface CallOptions {
  readonly signal?: AbortSignal;
  /** Timeout of unary calls. Default: two minutes, as in the kubelet. */
  readonly timeoutMs?: number;
}

type ServiceClient<Service> = { readonly [Name in keyof Service]: MethodClient<Service[Name]> };

type MethodClient<Method> = Method extends {
  responseStream: infer Streams;
  requestSerialize: (request: infer Request) => Buffer;
  responseDeserialize: (bytes: Buffer) => infer Response;
}
  ? Streams extends true
    ? (request: Request, options?: Pick<CallOptions, "signal">) => AsyncIterable<Response>
    : (request: Request, options?: CallOptions) => Promise<Response>
  : never;

interface AnyMethod {
  readonly path: string;
  readonly responseStream: boolean;
  requestSerialize(request: never): Buffer;
  responseDeserialize(bytes: Buffer): unknown;
}

const defaultTimeoutMs = 120_000;
/** Creates a client for `unix:///run/x.sock` or a path. Connects on the first call. */
export function connectCri(endpoint: string): CriClient {
  const client = new Client(socketAddress(endpoint), credentials.createInsecure(), clientOptions);
  return {
    runtime: serviceClient(client, RuntimeServiceService),
    images: serviceClient(client, ImageServiceService),
    contentStore: createContentStore(client),
    close: () => client.close(),
  };
}

function serviceClient<Service extends Readonly<Record<string, AnyMethod>>>(
  client: Client,
  service: Service,
): ServiceClient<Service> {
  const methods = Object.entries(service).map(([name, method]) => [name, methodClient(client, method)]);
  return Object.fromEntries(methods);
}

function methodClient(client: Client, method: AnyMethod) {
  if (method.responseStream) {
    return (request: never, { signal }: CallOptions = {}) =>
      callServerStream(client, method, { request, signal });
  }
  return (request: never, { signal, timeoutMs = defaultTimeoutMs }: CallOptions = {}) =>
    callUnary(client, method, { request, signal, timeoutMs });
}

/** CRI's message size limit, for example for lists and the output of ExecSync. */
const maxMessageBytes = 16 * 1_024 * 1_024;

/** Options of grpc-js for sockets of runtimes. */
const clientOptions = {
  "grpc.max_receive_message_length": maxMessageBytes,
  "grpc.max_send_message_length": maxMessageBytes,
  // Reconnects quickly to a runtime that was just started or restarted.
  "grpc.initial_reconnect_backoff_ms": 100,
  "grpc.max_reconnect_backoff_ms": 3_000,
};

/** Converts an endpoint into a grpc-js address. */
export function socketAddress(endpoint: string): string {
  const path = endpoint.replace(/^unix:(\/\/)?/, "");
  if (!path.startsWith("/"))
    throw new Error(`${endpoint} is not a unix socket; write unix:///path/to/socket`);
  return `unix:${path}`;
}

/**
 * Content store of containerd, on the socket where containerd also serves CRI. Only calls that read: the socket gives root
 * access to the node, and progress needs no more than these three.
 */
export interface ContentStore {
  /** Lists the blobs that are being written. */
  statuses(signal: AbortSignal): Promise<readonly Status[]>;
  /** Lists the complete blobs that match one of the filters. */
  list(filters: readonly string[], signal: AbortSignal): Promise<readonly Info[]>;
  /** Reads a blob of at most `maxBytes`. Throws if it is larger. */
  read(digest: string, options: { readonly maxBytes: number; readonly signal: AbortSignal }): Promise<Buffer>;
}

const timeoutMs = 10_000;
/** Namespace of containerd in which its CRI plugin pulls images. */
const namespace = "k8s.io";

/** Creates a content store of its own connection, which the caller closes. */
export function connectContentStore(endpoint: string): ContentStore & { close(): void } {
  const client = new Client(socketAddress(endpoint), credentials.createInsecure(), clientOptions);
  return { ...createContentStore(client), close: () => client.close() };
}

function createContentStore(client: Client): ContentStore {
  const metadata = new Metadata();
  metadata.set("containerd-namespace", namespace);
  return {
    async statuses(signal) {
      const call = { request: { filters: [] }, metadata, timeoutMs, signal };
      return (await callUnary(client, ContentService.listStatuses, call)).statuses;
    },
    async list(filters, signal) {
      const request = { filters: [...filters] };
      const found: Info[] = [];
      const limited = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
      const call = { request, metadata, signal: limited };
      for await (const { info } of callServerStream(client, ContentService.list, call)) found.push(...info);
      return found;
    },
    async read(digest, { maxBytes, signal }) {
      const request = { digest, offset: 0, size: 0 };
      const limited = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
      const chunks: Buffer[] = [];
      let bytes = 0;
      const call = { request, metadata, signal: limited };
      for await (const { data } of callServerStream(client, ContentService.read, call)) {
        bytes += data.length;
        if (bytes > maxBytes) throw new Error(`${digest} is larger than ${maxBytes} bytes`);
        chunks.push(data);
      }
      return Buffer.concat(chunks);
    },
  };
}
