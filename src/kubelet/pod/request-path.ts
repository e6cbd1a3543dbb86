import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import type { Container, HttpGetAction } from "../../api/objects.ts";

export interface RequestOptions {
  readonly container: Container;
  /** The pod's address, where the action names no host. */
  readonly host: string | undefined;
  readonly signal: AbortSignal;
}

/** The GET of a lifecycle hook: any answer below 400 will do, and nobody reads it. */
export function requestPath(action: HttpGetAction, options: RequestOptions): Promise<void> {
  const { signal } = options;
  const host = action.host || options.host;
  if (!host) throw new Error("failed to find networking container: the pod has no address yet");
  const headers = Object.fromEntries((action.httpHeaders ?? []).map(({ name, value }) => [name, value]));
  const path = action.path ?? "/";
  const target = {
    host,
    port: portNumber(action.port, options.container),
    path: path.startsWith("/") ? path : `/${path}`,
    headers: { "user-agent": "kube-lifecycle/1.36", accept: "*/*", ...headers },
    signal,
    agent: false,
  } as const;
  const send = action.scheme === "HTTPS" ? httpsRequest : httpRequest;
  return new Promise((resolve, reject) => {
    // A pod's certificate is its own affair, as for upstream's hooks and probes.
    const request = send({ ...target, rejectUnauthorized: false }, (response) => {
      response.destroy();
      const { statusCode = 0 } = response;
      if (statusCode < 400) resolve();
      else reject(new Error(`HTTP status ${statusCode}`));
    });
    request.on("error", reject);
    request.end();
  });
}

function portNumber(port: number | string, container: Container): number {
  const named = (container.ports ?? []).find(({ name }) => name === String(port))?.containerPort;
  const number = named ?? Number(port);
  if (Number.isInteger(number) && number > 0 && number < 65_536) return number;
  throw new Error(`no port ${JSON.stringify(port)} in container ${container.name}`);
}
