import { createServer } from "node:net";
import { stoppable } from "../lib/stoppable.ts";

/**
 * Keeps a port from being given to anybody else; who connects is cut off at once. Returns what gives it back.
 */
export async function holdPort(address: {
  readonly host: string;
  readonly port: number;
}): Promise<() => Promise<void>> {
  const server = createServer((socket) => socket.destroy());
  const release = stoppable(server);
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(address, resolve);
  });
  return release;
}
