// Relays connections of services to their endpoints, in a separate process, so that connections and the API server
// do not share an event loop. Reads requests from standard input and exits when it ends.
import { createInterface } from "node:readline";
import { messageOf } from "../../lib/message-of.ts";
import { createEndpointChooser } from "./choose-endpoint.ts";
import { listenerKey, type RelayListener, type RelayRequest, type RelayResponse } from "./relay-message.ts";
import { openTcpRelay } from "./tcp-relay.ts";
import { openUdpRelay } from "./udp-relay.ts";

interface OpenRelay {
  update(listener: RelayListener): void;
  close(): Promise<void>;
}

const relays = new Map<string, OpenRelay>();

async function open(listener: RelayListener): Promise<OpenRelay> {
  const chooser = createEndpointChooser(listener);
  const opened = await (listener.protocol === "TCP" ? openTcpRelay : openUdpRelay)(listener, chooser);
  return {
    update(next) {
      chooser.update(next);
      opened.update(next);
    },
    close: opened.close,
  };
}

async function apply({ id, set, close }: RelayRequest): Promise<RelayResponse> {
  const failures: string[] = [];
  for (const key of close) {
    await relays.get(key)?.close();
    relays.delete(key);
  }
  for (const listener of set) {
    const key = listenerKey(listener);
    const known = relays.get(key);
    if (known) known.update(listener);
    else
      await open(listener).then(
        (relay) => relays.set(key, relay),
        (error) => failures.push(`cannot listen on ${key}: ${messageOf(error)}`),
      );
  }
  return { id, failures };
}

let last: Promise<unknown> = Promise.resolve();
// Ctrl-C in a terminal signals all its processes. The relay ends when the proxy closes its standard input.
process.on("SIGINT", () => {});
const input = createInterface({ input: process.stdin });
input.on("line", (line) => {
  last = last
    .then(() => apply(JSON.parse(line)))
    .then((response) => process.stdout.write(`${JSON.stringify(response)}\n`));
});
input.on("close", () => process.exit());
