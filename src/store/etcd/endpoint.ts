import { connectivityState, Metadata, type MethodDefinition, type ServiceError } from "@grpc/grpc-js";
import { callUnary, type DuplexCall, isGrpcError, openDuplex } from "../../lib/grpc-call.ts";
import { type EtcdTls, openEtcdChannel } from "./channel.ts";
import { isAway } from "./etcd-error.ts";
import { MaintenanceService } from "./generated/etcd.ts";

/** One member of the etcd cluster. */
export interface EtcdEndpoint {
  readonly url: string;
  /** Resolves with nothing once the member has answered, else with why it does not. */
  connect(): Promise<ServiceError | undefined>;
  call<Q, A>(method: MethodDefinition<Q, A>, options: { request: Q; timeoutMs: number }): Promise<A>;
  openStream<Q, A>(method: MethodDefinition<Q, A>): DuplexCall<Q, A>;
}

interface EndpointOptions {
  tls: EtcdTls;
  connectTimeoutMs: number;
  /** Closes the connection and cancels its calls. */
  signal: AbortSignal;
}

/** A member that has lost its leader refuses such calls; else its watches would fall silent unnoticed. */
const requireLeader = new Metadata();
requireLeader.set("hasleader", "true");

export function createEtcdEndpoint(url: string, options: EndpointOptions): EtcdEndpoint {
  const { tls, connectTimeoutMs, signal } = options;
  const client = openEtcdChannel(url, tls);
  signal.addEventListener("abort", () => client.close(), { once: true });
  let connecting: Promise<ServiceError | undefined> | undefined;

  const call: EtcdEndpoint["call"] = (method, { request, timeoutMs }) =>
    callUnary(client, method, { request, timeoutMs, signal, metadata: requireLeader });

  /** A call that changes nothing, to know before a write whether there is a connection to send it over. */
  async function probe(): Promise<ServiceError | undefined> {
    try {
      await call(MaintenanceService.status, { request: {}, timeoutMs: connectTimeoutMs });
    } catch (error) {
      if (isAway(error)) return error;
      // Any other answer, even a refusal, came over a working connection.
      if (!isGrpcError(error)) throw error;
    } finally {
      connecting = undefined;
    }
  }

  return {
    url,
    async connect() {
      if (client.getChannel().getConnectivityState(false) === connectivityState.READY) return;
      connecting ??= probe();
      return connecting;
    },
    call,
    openStream: (method) => openDuplex(client, method, { signal, metadata: requireLeader }),
  };
}
