import type { Node, Pod } from "../../../api/objects.ts";
import type { StatusError } from "../../../api/status-error.ts";
import {
  type KubeletCall,
  type KubeletReply,
  type KubeletTransport,
  KubeletUnreachable,
} from "./kubelet-transport.ts";

/** What the proxies of all subresources need. Both lookups reject with 404 for what is not there. */
export interface KubeletProxyDeps {
  getPod(namespace: string, name: string): Promise<Pod>;
  getNode(name: string): Promise<Node>;
  readonly transport: KubeletTransport;
}

/** The kubelet's answer; undefined when the client has gone meanwhile. Each subresource words a failure its own way. */
export async function reachKubelet(
  { transport }: Pick<KubeletProxyDeps, "transport">,
  call: KubeletCall,
  explain: (failure: string) => StatusError,
): Promise<KubeletReply | undefined> {
  try {
    return await transport(call);
  } catch (error) {
    if (call.signal.aborted) return undefined;
    throw error instanceof KubeletUnreachable ? explain(error.message) : error;
  }
}
