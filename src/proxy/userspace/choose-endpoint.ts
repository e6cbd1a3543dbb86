import { createLruMap } from "../../lib/lru-map.ts";
import type { RelayListener } from "./relay-message.ts";

type Endpoint = RelayListener["endpoints"][number];

/** Chooses endpoints for the connections of one listener. */
export interface EndpointChooser {
  /** Returns the endpoints to try, the best first. Empty without endpoints. */
  choose(client: string, now: number): readonly Endpoint[];
  /** Remembers the endpoint that the client has reached. */
  reached(client: string, endpoint: Endpoint, now: number): void;
  update(listener: Pick<RelayListener, "endpoints" | "affinitySeconds">): void;
}

/** Maximum number of clients that are remembered for each listener. */
const maxClients = 10_000;
/** Maximum number of endpoints that are tried for one connection. */
const maxAttempts = 3;

export function createEndpointChooser(
  listener: Pick<RelayListener, "endpoints" | "affinitySeconds">,
  random: () => number = Math.random,
): EndpointChooser {
  let { endpoints, affinitySeconds } = listener;
  const clients = createLruMap<{ readonly endpoint: string; readonly until: number }>(maxClients);

  return {
    choose(client, now) {
      const start = Math.floor(random() * endpoints.length);
      const inOrder = [...endpoints.slice(start), ...endpoints.slice(0, start)];
      const known = affinitySeconds === undefined ? undefined : clients.get(client);
      const kept =
        known && known.until > now && inOrder.find((endpoint) => nameOf(endpoint) === known.endpoint);
      const all = kept ? [kept, ...inOrder.filter((endpoint) => endpoint !== kept)] : inOrder;
      return all.slice(0, maxAttempts);
    },
    reached(client, endpoint, now) {
      if (affinitySeconds !== undefined)
        clients.set(client, { endpoint: nameOf(endpoint), until: now + affinitySeconds * 1_000 });
    },
    update(next) {
      ({ endpoints, affinitySeconds } = next);
    },
  };
}

function nameOf({ address, port }: Endpoint): string {
  return `${address} ${port}`;
}
