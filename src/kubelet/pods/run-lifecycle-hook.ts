import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import type { Container, HttpGetAction, LifecycleHandler, Pod } from "../../api/meta/objects.ts";
import type { CriClient } from "../../cri/cri-client.ts";
import type { Clock } from "../../lib/clock.ts";

export interface HookTarget {
  readonly pod: Pod;
  readonly container: Container;
  readonly containerId: string;
  readonly podIp: string | undefined;
  readonly signal: AbortSignal;
}

export interface HookDeps {
  readonly cri: CriClient;
  readonly clock: Clock;
}

/** Longer than any grace period: exec hooks are ended by the signal. */
const execTimeoutMs = 24 * 60 * 60_000;

/** Runs a postStart or preStop handler until it completes. Throws when it fails. */
export async function runLifecycleHook(
  { cri, clock }: HookDeps,
  handler: LifecycleHandler,
  target: HookTarget,
): Promise<void> {
  const { containerId, signal } = target;
  if (handler.exec) {
    const cmd = handler.exec.command ?? [];
    const { exitCode, stderr, stdout } = await cri.runtime.execSync(
      { containerId, cmd, timeout: 0n },
      { signal, timeoutMs: execTimeoutMs },
    );
    if (exitCode === 0) return;
    const output = Buffer.concat([stdout, stderr]).toString().slice(0, 1_000);
    throw new Error(`command ${JSON.stringify(cmd)} exited with ${exitCode}: ${JSON.stringify(output)}`);
  }
  if (handler.httpGet) {
    await sendHookRequest(handler.httpGet, target);
    return;
  }
  if (handler.sleep) {
    await clock.sleep(handler.sleep.seconds * 1_000, signal);
    return;
  }
  throw new Error("the hook has no handler: one of exec, httpGet or sleep is required");
}

/** Sends the GET request of a hook. Succeeds with any status below 400 and does not read the body. */
function sendHookRequest(action: HttpGetAction, target: HookTarget): Promise<void> {
  const { container, podIp, signal } = target;
  const host = action.host || podIp;
  if (!host) throw new Error("failed to find networking container: the pod has no address yet");
  const headers = Object.fromEntries((action.httpHeaders ?? []).map(({ name, value }) => [name, value]));
  const path = action.path ?? "/";
  const options = {
    host,
    port: portNumber(action.port, container),
    path: path.startsWith("/") ? path : `/${path}`,
    headers: { "user-agent": "kube-lifecycle/1.36", accept: "*/*", ...headers },
    signal,
    agent: false,
  } as const;
  const send = action.scheme === "HTTPS" ? httpsRequest : httpRequest;
  return new Promise((resolve, reject) => {
    // As upstream, certificates of pods are not verified by hooks and probes.
    const request = send({ ...options, rejectUnauthorized: false }, (response) => {
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
