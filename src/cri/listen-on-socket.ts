import { chmod, mkdir, rm } from "node:fs/promises";
import { connect } from "node:net";
import { dirname } from "node:path";
import { Server, ServerCredentials, type UntypedServiceImplementation } from "@grpc/grpc-js";
import { socketAddress } from "./cri-client.ts";
import { ImageServiceService, RuntimeServiceService } from "./generated/cri.ts";
import { serializeProgress } from "./serialize-progress.ts";

export interface SocketServer {
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

/** Serves both CRI services on a unix socket. What an ended daemon left there is replaced, a living one is not. */
export async function listenOnSocket(
  /** `unix:///path` */
  listen: string,
  services: { runtime: UntypedServiceImplementation; images: UntypedServiceImplementation },
): Promise<SocketServer> {
  const address = socketAddress(listen);
  const path = address.slice("unix:".length);
  if (await answers(path)) throw new Error(`${path} is in use: another runtime listens there`);
  await mkdir(dirname(path), { recursive: true });
  await rm(path, { force: true });

  const server = new Server({
    "grpc.max_receive_message_length": maxMessageBytes,
    "grpc.max_send_message_length": maxMessageBytes,
  });
  server.addService(RuntimeServiceService, services.runtime);
  server.addService(imageService, services.images);
  try {
    await bind(server, address);
    // Whoever may talk to the runtime is root here: nobody else.
    await chmod(path, 0o660);
  } catch (error) {
    server.forceShutdown();
    throw error;
  }
  return {
    async close() {
      server.forceShutdown();
      await rm(path, { force: true });
    },
  };
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
