import { Client, credentials, Metadata } from "@grpc/grpc-js";
import { callServerStream, callUnary } from "../lib/grpc-call.ts";
import { clientOptions, socketAddress } from "./client-options.ts";
import { ContentService, type Info, type Status } from "./generated/containerd.ts";

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

export function createContentStore(client: Client): ContentStore {
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
