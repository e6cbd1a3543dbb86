import { chmod, mkdir, rm } from "node:fs/promises";
import { connect } from "node:net";
import { dirname } from "node:path";
import { Server, ServerCredentials, type UntypedServiceImplementation } from "@grpc/grpc-js";
import { createTaskGroup, type TaskGroup } from "../lib/task-group.ts";
import { socketAddress } from "./cri-client.ts";
import { ImageServiceService, RuntimeServiceService } from "./generated/cri.ts";
import { serializeProgress } from "./progress-message.ts";

export interface SocketServer {
  /** Cancels the calls in progress and resolves when they have ended. */
  close(): Promise<void>;
}

const imageService = {
  ...ImageServiceService,
  pullImageWithProgress: {
    ...ImageServiceService.pullImageWithProgress,
    responseSerialize: serializeProgress,
  },
};
const maxMessageBytes = 16 * 1_024 * 1_024;

/** Serves both CRI services on a unix socket. Replaces the socket of a stopped daemon; fails if one is listening. */
export async function listenOnSocket(
  /** `unix:///path` */
  listen: string,
  services: { runtime: UntypedServiceImplementation; images: UntypedServiceImplementation },
): Promise<SocketServer> {
  const address = socketAddress(listen);
  const path = address.slice("unix:".length);
  if (await answers(path)) throw new Error(`${path} is in use: another runtime is listening on it`);
  await mkdir(dirname(path), { recursive: true });
  await rm(path, { force: true });

  const server = new Server({
    "grpc.max_receive_message_length": maxMessageBytes,
    "grpc.max_send_message_length": maxMessageBytes,
  });
  const calls = createTaskGroup();
  server.addService(RuntimeServiceService, trackCalls(services.runtime, calls));
  server.addService(imageService, trackCalls(services.images, calls));
  try {
    await bind(server, address);
    // Access to the runtime is equivalent to root.
    await chmod(path, 0o660);
  } catch (error) {
    server.forceShutdown();
    throw error;
  }
  return {
    async close() {
      server.forceShutdown();
      await calls.settled();
      await rm(path, { force: true });
    },
  };
}

/** Wraps handlers to add the promises that they return to a group. */
function trackCalls(handlers: UntypedServiceImplementation, calls: TaskGroup): UntypedServiceImplementation {
  const tracked = Object.entries(handlers).map(([name, handle]) => {
    // Handlers use two other call types; the arguments are passed on unchanged.
    const call = handle as (...args: readonly unknown[]) => unknown;
    return [
      name,
      (...args: readonly unknown[]) => {
        const result = call(...args);
        if (result instanceof Promise) calls.add(result);
      },
    ] as const;
  });
  return Object.fromEntries(tracked);
}

function bind(server: Server, address: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.bindAsync(address, ServerCredentials.createInsecure(), (error) =>
      error ? reject(error) : resolve(),
    );
  });
}

function answers(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
}
