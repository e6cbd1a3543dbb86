import type { Client } from "../client/client.ts";
import type { ClusterAccess } from "../client/cluster-access.ts";
import { createClient } from "../client/create-client.ts";
import type { Transport } from "../client/transport.ts";
import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import { createAccountToken } from "./account-token.ts";

interface AccountClientsOptions {
  /** Makes accounts where they are missing, and tokens for them. */
  readonly client: Client;
  /** The API server; the credentials in it are not used. */
  readonly access: Pick<ClusterAccess, "server" | "tls">;
  /** Opens a transport with the credentials that it is given. */
  readonly open: (access: ClusterAccess) => Transport;
  readonly userAgent: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

interface AccountClients {
  /** Acts as this service account of kube-system. */
  clientAs(account: string): Client;
  close(): void;
}

/** A client for each controller with the rights of its own account, by tokens that are renewed before they expire. */
export function createAccountClients(options: AccountClientsOptions): AccountClients {
  const { client, open, userAgent, clock, logger } = options;
  const { server } = options.access;
  const { cert: _cert, key: _key, ...tls } = options.access.tls;
  const closing = new AbortController();
  const clients = new Map<string, Client>();

  function connect(name: string): Client {
    const account = { namespace: "kube-system", name };
    const token = createAccountToken({ client, clock, logger, signal: closing.signal }, account);
    const transport = open({ server, tls, token: token.get });
    return createClient({
      userAgent: `${userAgent}/${name}`,
      clock,
      transport: {
        async send(request) {
          const sentAt = clock.now();
          const response = await transport.send(request);
          // Somebody has removed the account, which may be there again.
          if (response.status === 401) token.refused(sentAt);
          return response;
        },
        close: transport.close,
      },
    });
  }

  return {
    clientAs(name) {
      const known = clients.get(name) ?? connect(name);
      clients.set(name, known);
      return known;
    },
    close() {
      closing.abort(new Error("the controllers stop"));
      for (const opened of clients.values()) opened.close();
    },
  };
}
