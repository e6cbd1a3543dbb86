import { Client, credentials } from "@grpc/grpc-js";
import { callServerStream, callUnary } from "../lib/grpc-call.ts";
import { ImageServiceService, RuntimeServiceService } from "./generated/cri.ts";

/** A runtime on the other end of a unix socket: ours, containerd, CRI-O. Failures are grpc-js errors. */
export interface CriClient {
  readonly runtime: ServiceClient<RuntimeServiceService>;
  readonly images: ServiceClient<ImageServiceService>;
  close(): void;
}

interface CallOptions {
  readonly signal?: AbortSignal;
  /** Two minutes unless told, as kubelets have it; only for calls with one answer. */
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
/** CRI's own limit: what a list of everything on a node, or the output of one ExecSync, may take. */
const maxMessageBytes = 16 * 1_024 * 1_024;

/** `unix:///run/x.sock` or the bare path. Connects with the first call. */
export function connectCri(endpoint: string): CriClient {
  const client = new Client(socketAddress(endpoint), credentials.createInsecure(), {
    "grpc.max_receive_message_length": maxMessageBytes,
    "grpc.max_send_message_length": maxMessageBytes,
    // A runtime that was just started or restarted: look again soon.
    "grpc.initial_reconnect_backoff_ms": 100,
    "grpc.max_reconnect_backoff_ms": 3_000,
  });
  return {
    runtime: serviceClient(client, RuntimeServiceService),
    images: serviceClient(client, ImageServiceService),
    close: () => client.close(),
  };
}

/** The address as grpc-js wants it. */
export function socketAddress(endpoint: string): string {
  const path = endpoint.replace(/^unix:(\/\/)?/, "");
  if (!path.startsWith("/")) throw new Error(`${endpoint}: write it unix:///path/to/socket`);
  return `unix:${path}`;
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
