import { Client, credentials } from "@grpc/grpc-js";
import { callServerStream, callUnary } from "../lib/grpc-call.ts";
import { clientOptions, socketAddress } from "./client-options.ts";
import { type ContentStore, createContentStore } from "./content-store.ts";
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
