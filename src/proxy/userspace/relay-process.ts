// Relays connections of services to their endpoints, in a separate process, so that connections and the API server
// do not share an event loop. Arguments are the subnets of the pods. Reads requests from standard input and exits when it
// ends.
import { createInterface } from "node:readline";
import { systemClock } from "../../lib/clock.ts";
import { createRangeCheck } from "../../lib/ip-ranges.ts";
import { createLocalClientCheck } from "../../lib/local-clients.ts";
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
const isLocal = createLocalClientCheck({ podSubnets: process.argv.slice(2), clock: systemClock });

async function open(listener: RelayListener): Promise<OpenRelay> {
  const chooser = createEndpointChooser(listener);
  let accepts = clientCheckOf(listener);
  const opened = await (listener.protocol === "TCP" ? openTcpRelay : openUdpRelay)(listener, {
    chooser,
    accepts: (client) => accepts(client),
  });
  return {
    update(next) {
      chooser.update(next);
      accepts = clientCheckOf(next);
      opened.update(next);
    },
    close: opened.close,
  };
}

function clientCheckOf({ host, clients, sourceRanges }: RelayListener): (client: string) => boolean {
  const isInRanges = sourceRanges.length > 0 ? createRangeCheck(sourceRanges) : () => true;
  // A process of this machine connects to an address of the machine from this address, unless it chooses another one.
  return (client) => (clients === "all" || client === host || isLocal(client)) && isInRanges(client);
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
